// Package catalog finds the model that an id means, and the abilities of that
// model.
//
// [ParseID] reads an id as hosts, databases and people write it and takes it
// apart: provider, organisation, family, version, variant, size. It never
// fails. [Catalog.Lookup] adds the abilities of the model, from rules that are
// data: the embedded files under data/, an imported database, and the user's
// own models.yaml, each over the one before. Every answer has three values
// (yes, no, unknown) and may depend on a condition. [Model.Explain] names the
// rule that gave it.
//
// Catalogues are values: [Catalog.With], [Catalog.Load] and [Catalog.Import]
// return a new one and leave the old one unchanged. The whole package is safe
// for concurrent use and never uses the network.
package catalog

// Package catalog knows which model an id means and what that model can do.
//
// [ParseID] reads an id as hosts, databases and people write it and takes it
// apart: provider, organisation, family, version, variant, size. It never
// fails. [Catalog.Lookup] adds what the model can do, from rules that are data:
// the embedded files under data/, an imported database, and the user's own
// models.yaml, each over the one before. Every answer has three values (yes,
// no, unknown), may hold under a condition only, and can say which rule gave
// it ([Model.Explain]).
//
// Catalogues are values: [Catalog.With], [Catalog.Load] and [Catalog.Import]
// return a new one and leave the old one as it was. All of it is safe for
// concurrent use, and nothing here touches the network.
package catalog

package openapi

// JSON is the document as it was read, with holes.
func JSON(d *Document) []byte { return mustJSON(d.tree) }

package openapi

// JSON is the parsed document, with holes.
func JSON(d *Document) []byte { return mustJSON(d.tree) }

package schema

import "encoding/json"

// Schema is a JSON Schema as data: JSON text, of draft 2020-12 unless its $schema
// names draft-07 or another. It is an alias: the schema of a tool definition or a
// vendor's answer needs no conversion.
type Schema = json.RawMessage

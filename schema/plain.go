package schema

import "slices"

// plain reports whether a schema is certainly valid and leads nowhere: it has only
// the keywords of plainKeyword, each with a value that every draft from 6 on
// allows. About everything else the library decides. It must not err on the other
// side; the tests hold it against the library.
func plain(n *node) bool {
	if n.kind == Boolean {
		return true
	}
	if n.kind != Object {
		return false
	}
	for i, name := range n.names {
		if !plainKeyword(name, n.list[i]) {
			return false
		}
	}
	return true
}

// plainKeyword reports whether a keyword of plain schemas may have that value.
func plainKeyword(name string, v *node) bool {
	switch name {
	case "properties":
		return v.kind == Object && allPlain(v.list)
	case "anyOf", "oneOf", "allOf":
		return v.kind == Array && len(v.list) > 0 && allPlain(v.list)
	case "items", "additionalProperties":
		return plain(v)
	case "type":
		return knownType(v)
	case "required":
		return distinctStrings(v)
	case "$schema":
		return v.kind == String && slices.Contains(plainDrafts, v.text)
	case "const", "default":
		return true
	case "enum", "examples":
		return v.kind == Array
	case "title", "description", "format", "$comment":
		return v.kind == String
	case "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum":
		return v.kind == Number
	case "minLength", "maxLength", "minItems", "maxItems":
		return isCount(v)
	case "uniqueItems", "deprecated", "readOnly", "writeOnly":
		return v.kind == Boolean
	}
	return false
}

func allPlain(list []*node) bool {
	return !slices.ContainsFunc(list, func(n *node) bool { return !plain(n) })
}

// plainDrafts are the drafts that programs write into the schemas of tools.
var plainDrafts = []string{"https://json-schema.org/draft/2020-12/schema", "http://json-schema.org/draft-07/schema#"}

var typeWords = words("string number integer boolean object array null")

// knownType is a word, or a list of different ones.
func knownType(n *node) bool {
	if n.kind == String {
		return typeWords[n.text]
	}
	return distinctStrings(n) && len(n.list) > 0 && !slices.ContainsFunc(n.list, func(word *node) bool { return !typeWords[word.text] })
}

// distinctStrings is a list of strings of which no two are the same, short enough to
// compare each with each.
func distinctStrings(n *node) bool {
	if n.kind != Array || len(n.list) > 100 {
		return false
	}
	for i, item := range n.list {
		if item.kind != String || slices.ContainsFunc(n.list[:i], func(o *node) bool { return o.text == item.text }) {
			return false
		}
	}
	return true
}

// isCount is a small number of things, written as one.
func isCount(n *node) bool {
	if n.kind != Number || n.text == "" || len(n.text) > 9 {
		return false
	}
	return !slices.ContainsFunc([]byte(n.text), func(c byte) bool { return c < '0' || c > '9' })
}

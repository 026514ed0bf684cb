package schema

import (
	"errors"
	"slices"
	"strings"

	"github.com/toolpost/toolpost/internal/clip"
)

// placedError is the error of a keyword, with its place in the schema.
type placedError struct {
	at  string
	err error
}

func (e *placedError) Error() string { return e.err.Error() }

func (e *placedError) Unwrap() error { return e.err }

func placed(at string, err error) error { return &placedError{at, err} }

// externalError is the error of a reference to another document.
type externalError struct {
	url string
	err error
}

func (e *externalError) Error() string { return e.err.Error() }

func (e *externalError) Unwrap() error { return e.err }

// maxSkipped bounds how many keywords are left out of one schema.
const maxSkipped = 64

// Runnable returns a schema that [Compile] accepts, for tools whose own program checks arguments as well. It leaves out
// what cannot be checked here, and returns the places, sorted: patterns with lookaround or backreferences, which the description
// keeps, references to other documents, an unknown $schema, and keywords with values that their draft does not allow. The booleans and lists of items of
// earlier drafts become the keywords of today. A schema that compiles is returned unchanged. Other errors, like a
// reference that leads nowhere, are those of Compile.
func Runnable(s Schema) (out Schema, skipped []string, err error) {
	if _, err = Compile(s); err == nil {
		return s, nil, nil
	}
	root, parsed := parse(s)
	if parsed != nil {
		return nil, nil, err
	}
	r := &repairer{modern: draftOf(root) == draftOf(object())}
	if named := root.get("$schema"); named != nil && r.modern && !strings.Contains(named.text, "/draft/2020-12/") {
		root.drop("$schema")
		r.skip("/$schema")
	}
	r.walk(root, "")
repair:
	for len(r.skipped) <= maxSkipped {
		if _, err = Compile(Schema(root.String())); err == nil {
			slices.Sort(r.skipped) // the compiler reads references in no order
			return Schema(root.String()), r.skipped, nil
		}
		var placed *placedError
		var external *externalError
		switch {
		case errors.As(err, &external):
			if before := len(r.skipped); r.external(root, "", external.url) == before {
				return nil, nil, err
			}
		case !errors.As(err, &placed) || !r.remove(root, placed.at):
			break repair
		}
	}
	return nil, nil, err
}

type repairer struct {
	modern  bool // the schema is of the newest draft, or names none
	skipped []string
}

func (r *repairer) skip(at pointer) { r.skipped = append(r.skipped, string(at)) }

// The keywords that hold schemas: by name, in a list, and alone.
var (
	schemasByName = []string{"properties", "patternProperties", "$defs", "definitions", "dependentSchemas"}
	schemaLists   = []string{"allOf", "anyOf", "oneOf", "prefixItems", "items"}
	schemasAlone  = []string{"items", "additionalItems", "additionalProperties", "unevaluatedItems", "unevaluatedProperties", "contains", "propertyNames", "not", "if", "then", "else", "contentSchema"}
)

// walk repairs the keywords whose place an error does not always name, in a schema and all inside of it.
func (r *repairer) walk(n *node, at pointer) {
	if n == nil || n.kind != Object {
		return
	}
	r.patterns(n, at)
	if r.modern {
		older(n)
	}
	inside(n, at, r.walk)
}

// inside visits the schemas in a schema.
func inside(n *node, at pointer, visit func(*node, pointer)) {
	for i, name := range n.names {
		v, here := n.list[i], at.at(name)
		switch {
		case v.kind == Object && slices.Contains(schemasByName, name):
			for j, inner := range v.names {
				visit(v.list[j], here.at(inner))
			}
		case v.kind == Array && slices.Contains(schemaLists, name):
			for j, inner := range v.list {
				visit(inner, here.index(j))
			}
		case slices.Contains(schemasAlone, name):
			visit(v, here)
		}
	}
}

// external removes the references to another document, and returns how many keywords are left out now.
func (r *repairer) external(n *node, at pointer, url string) int {
	if n == nil || n.kind != Object {
		return len(r.skipped)
	}
	if ref := n.get("$ref"); ref != nil && ref.kind == String {
		document, _, _ := strings.Cut(ref.text, "#")
		if document != "" && (document == url || strings.HasSuffix(url, "/"+strings.TrimPrefix(document, "./"))) {
			n.drop("$ref")
			r.skip(at.at("$ref"))
			n.describe("$ref: " + clip.Bytes(ref.text, 200))
		}
	}
	inside(n, at, func(n *node, at pointer) { r.external(n, at, url) })
	return len(r.skipped)
}

// describe adds a note to the description of a schema.
func (n *node) describe(note string) {
	if d := n.get("description"); d != nil && d.kind == String && d.text != "" {
		note = d.text + " (" + note + ")"
	}
	n.set("description", text(note))
}

// patterns removes the patterns that cannot be run.
func (r *repairer) patterns(n *node, at pointer) {
	if p := n.get("pattern"); p != nil && p.kind == String && !runs(p.text) {
		n.drop("pattern")
		r.skip(at.at("pattern"))
		n.describe("pattern: " + clip.Bytes(p.text, 200))
	}
	by := n.get("patternProperties")
	if by == nil || by.kind != Object {
		return
	}
	for _, name := range slices.Clone(by.names) {
		if !runs(name) {
			by.drop(name)
			// Without the pattern it is unknown which properties are additional.
			n.drop("additionalProperties")
			n.drop("unevaluatedProperties")
			r.skip(at.at("patternProperties").at(name))
		}
	}
}

func runs(pattern string) bool {
	_, err := compilePattern(pattern)
	return err == nil
}

// older turns keywords of earlier drafts into those of today, which mean the same.
func older(n *node) {
	for exclusive, bound := range map[string]string{"exclusiveMinimum": "minimum", "exclusiveMaximum": "maximum"} {
		switch v := n.get(exclusive); {
		case v.is(true) && n.has(bound):
			n.set(exclusive, n.drop(bound))
		case v.is(true), v.is(false):
			n.drop(exclusive)
		}
	}
	if items := n.get("items"); items != nil && items.kind == Array && !n.has("prefixItems") {
		n.drop("items")
		n.set("prefixItems", items)
		if more := n.drop("additionalItems"); more != nil {
			n.set("items", more)
		}
	}
}

// remove takes the keyword at a place out of a schema, and reports whether it did. Where a schema has to be, it becomes one
// that accepts everything.
func (r *repairer) remove(root *node, at string) bool {
	if !strings.HasPrefix(at, "/") {
		return false
	}
	var path []string
	for name := range strings.SplitSeq(at[1:], "/") {
		path = append(path, strings.ReplaceAll(strings.ReplaceAll(name, "~1", "/"), "~0", "~"))
	}
	for i := len(path) - 1; i >= 0; i-- {
		above, child := "", root.find(location(path[:i+1]))
		if i > 0 {
			above = path[i-1]
		}
		parent := root.find(location(path[:i]))
		if child == nil || parent == nil {
			continue
		}
		switch {
		case slices.Contains(schemasByName, above), parent.kind == Array && slices.Contains(schemaLists, above):
			*child = *object()
		case parent.kind == Object:
			parent.drop(path[i])
		default:
			continue // an item of a keyword, which is removed as a whole
		}
		r.skip(location(path[:i+1]))
		return true
	}
	return false
}

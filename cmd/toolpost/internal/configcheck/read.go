package configcheck

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"

	"github.com/toolpost/toolpost/cmd/toolpost/internal/cli"
	"github.com/toolpost/toolpost/internal/near"
	"github.com/toolpost/toolpost/internal/yamlcheck"
)

// Schema describes a kind of configuration file.
type Schema struct {
	Root reflect.Type // the struct of the file
	// Hint returns advice on an unknown field, "" if there is none. Nil gives no advice.
	Hint func(key, section string) string
	// Filled is the section whose texts must not be empty.
	Filled string
}

// Read reads the text of a file into a struct of the type Root, and reports unknown fields and malformed values. A
// malformed value is left unset.
func (s *Schema) Read(file string, text []byte, into any) *Report {
	r := &Report{File: file, schema: s}
	line := new(yamlcheck.LineError)
	if err := yamlcheck.Check(text); errors.As(err, &line) {
		r.unreadable(text, line.Line, line.Problem)
		return r
	} else if err != nil {
		r.unreadable(text, 0, err.Error())
		return r
	}
	tree, err := yamlcheck.Parse(text)
	if err != nil {
		line, problem := Problem(err)
		r.unreadable(text, line, problem)
		return r
	}
	r.tree, r.anchors, r.zero = tree, make(map[string]ast.Node), make(map[string]bool)
	for _, doc := range tree.Docs {
		r.walk(doc.Body, reflect.ValueOf(into).Elem(), "")
	}
	return r
}

// Parsed reports whether the file is YAML.
func (r *Report) Parsed() bool { return r.tree != nil }

// Empty reports whether a valid file has no settings.
func (r *Report) Empty() bool {
	if r.tree == nil {
		return false
	}
	for _, doc := range r.tree.Docs {
		if n := r.resolve(doc.Body); n != nil && n.Type() != ast.CommentType && n.Type() != ast.NullType {
			return false
		}
	}
	return true
}

// bareStar matches an unquoted * as a value, which starts an alias in YAML.
var bareStar = regexp.MustCompile(`(?m)^[ \t-]*[a-z_]+:[ \t]+\*[ \t]*(#.*)?$`)

// unreadable records why a file is not YAML.
func (r *Report) unreadable(text []byte, line int, problem string) {
	if at := bareStar.FindIndex(text); at != nil {
		line, problem = 1+bytes.Count(text[:at[0]], []byte("\n")), `an unquoted * starts an alias in YAML; write "*"`
	}
	r.malformed(line, "", problem)
}

// resolve returns the value of an anchor, an alias or a tag.
func (r *Report) resolve(n ast.Node) ast.Node {
	for range 8 { // an alias may refer to another alias
		switch x := n.(type) {
		case *ast.AnchorNode:
			r.anchors[x.Name.String()] = x.Value
			n = x.Value
		case *ast.AliasNode:
			n = r.anchors[x.Value.String()]
		case *ast.TagNode:
			n = x.Value
		default:
			return n
		}
	}
	return n
}

// walk decodes a value and records its mistakes.
func (r *Report) walk(n ast.Node, into reflect.Value, path string) {
	written := n
	if n = r.resolve(n); n == nil && written != nil && written.Type() == ast.AliasType {
		r.malformed(lineOf(written), path, fmt.Sprintf("unknown anchor %q", strings.TrimPrefix(written.String(), "*")))
	}
	if n == nil || n.Type() == ast.CommentType {
		return
	}
	if problem := r.schema.mismatch(n, into.Type(), path); problem != "" {
		r.malformed(lineOf(n), path, problem)
		return
	}
	list, isList := n.(*ast.SequenceNode)
	switch t := into.Type(); {
	case n.Type() == ast.NullType:
	case t.Kind() == reflect.Pointer:
		into.Set(reflect.New(t.Elem()))
		if r.walk(n, into.Elem(), path); slices.Contains(r.form, path) {
			into.SetZero() // treat the setting as absent, because 0 may have a meaning
		}
	case isList && t.Kind() == reflect.Slice:
		into.Set(reflect.MakeSlice(t, len(list.Values), len(list.Values)))
		for i, v := range list.Values {
			r.walk(v, into.Index(i), fmt.Sprintf("%s[%d]", path, i))
		}
	case isMapping(n) && isSection(t):
		r.section(n, into, path)
	case isMapping(n) && t.Kind() == reflect.Map && isSection(t.Elem()):
		r.named(n, into, path)
	default:
		r.value(n, into, path)
	}
}

// value decodes a value without nested settings.
func (r *Report) value(n ast.Node, into reflect.Value, path string) {
	if err := yaml.NodeToValue(n, into.Addr().Interface(), yaml.Strict(), yaml.DisallowUnknownField()); err != nil {
		line, problem := Problem(err)
		r.malformed(cmp.Or(line, lineOf(n)), path, problem)
		into.SetZero()
	} else if into.CanInt() && into.IsZero() {
		r.zero[path] = true
	}
}

// named decodes a mapping whose keys the user chooses.
func (r *Report) named(n ast.Node, into reflect.Value, path string) {
	made := reflect.MakeMap(into.Type())
	for k, v := range Members(n) {
		name := Scalar(k)
		if name == "" || name == "<<" {
			continue
		}
		if problem := r.schema.tooDeep(r.resolve(v), name, path, into.Type().Elem()); problem != "" {
			r.malformed(lineOf(k), path+"."+name, problem)
			continue
		}
		one := reflect.New(into.Type().Elem()).Elem()
		r.walk(v, one, path+"."+name)
		made.SetMapIndex(reflect.ValueOf(name), one)
	}
	into.Set(made)
}

// section decodes the settings of a section.
func (r *Report) section(n ast.Node, into reflect.Value, path string) {
	for k, v := range Members(n) {
		name := Scalar(k)
		if k.Type() == ast.MergeKeyType {
			r.section(r.resolve(v), into, path)
			continue
		}
		if name == "" {
			continue // decoding reports the error
		}
		at := strings.TrimPrefix(path+"."+name, ".")
		if f, ok := fieldNamed(into.Type(), name); ok {
			r.walk(v, f.Of(into), at)
			continue
		}
		keys := fieldKeys(into.Type())
		hint := cmp.Or(r.schema.misplaced(name, path), cli.DidYouMean(name, keys))
		r.malformed(lineOf(k), at, fmt.Sprintf("unknown field %q%s", name, hint))
		for _, meant := range near.Names(name, keys, 1) {
			r.meant = append(r.meant, strings.TrimPrefix(path+"."+meant, ".")) // no second report that this setting is missing
		}
	}
}

package schema

import (
	"reflect"
	"slices"
	"strings"
)

// field is a field of a struct as encoding/json sees it.
type field struct {
	reflect.StructField
	name     string
	tagged   bool // the name comes from a tag
	depth    int  // of embedding
	optional bool
	quoted   bool // ",string"
}

// fields returns the fields of a struct in order, those of embedded structs in
// place of them. Of several with one name the least deeply embedded counts,
// then the one named by a tag; if that leaves two, none does.
func fields(t reflect.Type) []field {
	all := collect(t, 0, false, nil)
	best := make(map[string]int) // index into all, -1 if two clash
	for i, f := range all {
		have, seen := best[f.name]
		switch {
		case !seen || have >= 0 && beats(f, all[have]):
			best[f.name] = i
		case have >= 0 && !beats(all[have], f):
			best[f.name] = -1
		}
	}
	var out []field
	for i, f := range all {
		if best[f.name] == i {
			out = append(out, f)
		}
	}
	return out
}

func beats(a, b field) bool {
	return a.depth < b.depth || a.depth == b.depth && a.tagged && !b.tagged
}

// collect lists all fields, embedded ones included; a struct embedded in
// itself ends the walk.
func collect(t reflect.Type, depth int, optional bool, outer []reflect.Type) []field {
	if slices.Contains(outer, t) {
		return nil
	}
	outer = append(outer, t)
	var out []field
	for i := range t.NumField() {
		sf := t.Field(i)
		tag := sf.Tag.Get("json")
		if tag == "-" {
			continue
		}
		name, options, _ := strings.Cut(tag, ",")
		inner := sf.Type
		if inner.Kind() == reflect.Pointer {
			inner = inner.Elem()
		}
		if sf.Anonymous && name == "" && inner.Kind() == reflect.Struct {
			if sf.IsExported() || sf.Type.Kind() == reflect.Struct { // encoding/json cannot set an embedded pointer to an unexported struct
				out = append(out, collect(inner, depth+1, optional || sf.Type.Kind() == reflect.Pointer, outer)...)
			}
			continue
		}
		if !sf.IsExported() {
			continue
		}
		f := field{StructField: sf, name: name, tagged: name != "", depth: depth}
		if name == "" {
			f.name = sf.Name
		}
		has := func(option string) bool { return slices.Contains(strings.Split(options, ","), option) }
		f.optional = optional || sf.Type.Kind() == reflect.Pointer || has("omitempty") || has("omitzero")
		f.quoted = has("string")
		out = append(out, f)
	}
	return out
}

// mustNode reads JSON that this package has just written.
func mustNode(s string) *node {
	r := newReader(s, maxDepth)
	n, err := r.node()
	if err != nil {
		panic(err)
	}
	return n
}

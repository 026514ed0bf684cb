package losses

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
)

// place is the position of a value in a document.
type place struct {
	path []string  // names of members, numbers of elements, and kinds of the objects on the way
	set  func(any) // puts another value there
	cut  func()    // takes the value away, until the next set
}

// walk calls see with the values of a document, each with its place. It descends into a value if see returns true.
func walk(v any, at place, see func(v any, at place) bool) {
	if !see(v, at) {
		return
	}
	switch v := v.(type) {
	case map[string]any:
		path := append(slices.Clone(at.path), kinds(v)...)
		for _, key := range sorted(v) {
			walk(v[key], place{append(slices.Clone(path), key), func(n any) { v[key] = n }, func() { delete(v, key) }}, see)
		}
	case []any:
		for i, val := range v {
			walk(val, place{append(slices.Clone(at.path), fmt.Sprint(i)),
				func(n any) { v[i] = n; at.set(v) }, func() { at.set(slices.Delete(slices.Clone(v), i, i+1)) }}, see)
		}
	}
}

func sorted(v map[string]any) []string { return slices.Sorted(maps.Keys(v)) }

func parse(body []byte) (any, error) {
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	var v any
	return v, d.Decode(&v)
}

package configcheck

import (
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/goccy/go-yaml/ast"
)

// places maps the key of each setting to its possible places: "" is the top of the file, "gateway.routes[]" an entry of
// a list, and "providers.NAME" an entry with a user-defined name.
func places(root reflect.Type) map[string][]string {
	places := map[string][]string{}
	findPlaces(root, "", places)
	return places
}

// findPlaces adds the settings of a type and of its nested types.
func findPlaces(t reflect.Type, at string, places map[string][]string) {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice || t.Kind() == reflect.Map {
		at += map[reflect.Kind]string{reflect.Slice: "[]", reflect.Map: ".NAME"}[t.Kind()]
		t = t.Elem()
	}
	if !isSection(t) {
		return
	}
	for _, f := range Fields(t) {
		places[f.Key] = append(places[f.Key], at)
		findPlaces(f.Type, strings.TrimPrefix(at+"."+f.Key, "."), places)
	}
}

// entryNumber matches the index of a list entry in a path.
var entryNumber = regexp.MustCompile(`\[\d+\]`)

// misplaced suggests where a misplaced setting belongs, "" if no setting has this name. Near places come first, because
// a wrong indentation moves a setting to a neighbouring section.
func (s *Schema) misplaced(name, path string) string {
	if s.Hint != nil {
		if hint := s.Hint(name, path); hint != "" {
			return "; " + hint
		}
	}
	here := entryNumber.ReplaceAllString(path, "[]")
	found := slices.Clone(places(s.Root)[name])
	if len(found) == 0 {
		return ""
	}
	slices.SortStableFunc(found, func(a, b string) int { return distance(here, a) - distance(here, b) })
	words := placeWords(found[0])
	if len(found) > 1 && distance(here, found[1]) == distance(here, found[0]) {
		words += ", or " + placeWords(found[1])
	}
	return "; it belongs " + words
}

// distance returns the number of sections to leave and to enter between two places. Another top section is farther away
// than any place in the same one.
func distance(a, b string) int {
	from, to := strings.FieldsFunc(a, between), strings.FieldsFunc(b, between)
	if len(from) > 0 && (len(to) == 0 || from[0] != to[0]) {
		return otherSection + len(to)
	}
	shared := 0
	for shared < min(len(from), len(to)) && from[shared] == to[shared] {
		shared++
	}
	return len(from) + len(to) - 2*shared
}

// otherSection is larger than any distance within a section.
const otherSection = 100

// between reports whether a character separates the parts of a place.
func between(r rune) bool { return r == '.' || r == '[' }

// placeWords describes a place in words.
func placeWords(place string) string {
	list, inList := strings.CutSuffix(place, "[]")
	above, named := strings.CutSuffix(place, ".NAME")
	switch {
	case place == "":
		return "at the top level, without indentation"
	case inList:
		return "in an entry of " + strings.ReplaceAll(list, "[]", "")
	case named:
		return "below a name in " + strings.ReplaceAll(above, "[]", "")
	}
	return "below " + strings.ReplaceAll(place, "[]", "")
}

// tooDeep reports that a top section is probably indented below a section with user-defined names, and so parsed as one
// of these names. It returns "" unless the content has settings of the top section, because a user-defined name may be
// any word.
func (s *Schema) tooDeep(n ast.Node, name, path string, row reflect.Type) string {
	top, ok := fieldNamed(s.Root, name)
	if !ok || path == "" || row.Kind() != reflect.Struct || top.Type.Kind() != reflect.Map && !isSection(top.Type) {
		return ""
	}
	fits := false
	for k := range Members(n) {
		if _, ok := fieldNamed(row, Scalar(k)); ok {
			return ""
		}
		if isSection(top.Type) {
			_, ok := fieldNamed(top.Type, Scalar(k))
			fits = fits || ok
		} else {
			fits = true
		}
	}
	if !fits {
		return ""
	}
	return fmt.Sprintf("%s is indented below %s and is read as a name there; it belongs at the top level, without indentation", name, path)
}

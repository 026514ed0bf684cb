package main

import (
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/goccy/go-yaml/ast"
)

// settingPlaces maps the name of each setting to its possible places: "" is the top of the file, "gateway.routes[]" an
// entry of a list, and "providers.NAME" an entry with a user-defined name.
var settingPlaces = sync.OnceValue(func() map[string][]string {
	places := map[string][]string{}
	findPlaces(reflect.TypeFor[settings](), "", places)
	return places
})

// findPlaces adds the settings of a type and of its nested types.
func findPlaces(t reflect.Type, at string, places map[string][]string) {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice || t.Kind() == reflect.Map {
		at += map[reflect.Kind]string{reflect.Slice: "[]", reflect.Map: ".NAME"}[t.Kind()]
		t = t.Elem()
	}
	if !hasSettings(t) {
		return
	}
	for i := range t.NumField() {
		f := t.Field(i)
		name, opts, _ := strings.Cut(f.Tag.Get("yaml"), ",")
		switch {
		case opts == "inline":
			findPlaces(f.Type, at, places)
		case f.IsExported() && name != "":
			places[name] = append(places[name], at)
			findPlaces(f.Type, strings.TrimPrefix(at+"."+name, "."), places)
		}
	}
}

// entryNumber matches the index of a list entry in a path.
var entryNumber = regexp.MustCompile(`\[\d+\]`)

// wrongPlace suggests where a misplaced setting belongs, "" if no setting has this name. Near places come first,
// because a wrong indentation moves a setting to a neighbouring section.
func wrongPlace(name, path string) string {
	if name == "api_key" || name == "key" {
		return "; a key does not stand in the file: key_env names the variable of the environment that holds it"
	}
	if path == "" && slices.Contains(liteSections, name) {
		return "; this looks like a configuration of LiteLLM's proxy, of which 'toolpost serve import FILE' makes one of a gateway"
	}
	here := entryNumber.ReplaceAllString(path, "[]")
	places := slices.Clone(settingPlaces()[name])
	if len(places) == 0 {
		return ""
	}
	slices.SortStableFunc(places, func(a, b string) int { return steps(here, a) - steps(here, b) })
	words := placeWords(places[0])
	if len(places) > 1 && steps(here, places[1]) == steps(here, places[0]) {
		words += ", or " + placeWords(places[1])
	}
	return "; it stands " + words
}

// steps returns the distance between two places: the number of sections to leave and to enter. Another top section is
// farther away than any place in the same one.
func steps(a, b string) int {
	from, to := strings.FieldsFunc(a, between), strings.FieldsFunc(b, between)
	if len(from) > 0 && (len(to) == 0 || from[0] != to[0]) {
		return otherSection + len(to)
	}
	same := 0
	for same < min(len(from), len(to)) && from[same] == to[same] {
		same++
	}
	return len(from) + len(to) - 2*same
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
		return "at the top of the file, without spaces before it"
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
func tooDeep(n ast.Node, name, path string, row reflect.Type) string {
	f, isSection := sectionOf(name)
	if !isSection || path == "" || row.Kind() != reflect.Struct {
		return ""
	}
	known, sections := map[string]reflect.Value{}, map[string]reflect.Value{}
	settingKeys(reflect.New(row).Elem(), known)
	if hasSettings(f) {
		settingKeys(reflect.New(f).Elem(), sections)
	}
	some := false
	for k := range members(n) {
		if _, ok := known[scalar(k)]; ok {
			return ""
		}
		_, ok := sections[scalar(k)]
		some = some || ok || len(sections) == 0
	}
	if !some {
		return ""
	}
	return fmt.Sprintf("%s stands below %s here and is taken for a name in it; it stands at the top of the file, without spaces before it", name, path)
}

// sectionOf returns the type of a top setting that has nested settings.
func sectionOf(name string) (reflect.Type, bool) {
	t := reflect.TypeFor[settings]()
	for i := range t.NumField() {
		f := t.Field(i)
		if tag, _, _ := strings.Cut(f.Tag.Get("yaml"), ","); tag == name && f.IsExported() {
			return f.Type, f.Type.Kind() == reflect.Map || hasSettings(f.Type)
		}
	}
	return nil, false
}

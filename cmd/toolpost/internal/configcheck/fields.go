// Package configcheck reads configuration files into structs whose fields declare the settings. It reports all mistakes
// of a file at once, each with its line.
//
// A field declares a setting in its tags:
//
//	yaml      the key; ",inline" adds the settings of a struct to the section
//	help      the description
//	default   the default, for people; a 0 in the file means the default then, and is a warning
//	unset     what holds without a value, where 0 means the same
//	min, max  the bounds of a number or a duration; 0 is always allowed, except for pointers
//	negative  what a value below 0 means; without it, the value is refused where there is a minimum
//	values    the words that a text may be
//	restart   "yes": a running gateway keeps the value; "presence": it keeps whether there is a value
package configcheck

import (
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"
)

// Field is the declaration of a setting.
type Field struct {
	Key  string
	Type reflect.Type
	Tag  reflect.StructTag

	index []int
}

// Of returns the value of the setting in a section.
func (f Field) Of(section reflect.Value) reflect.Value { return section.FieldByIndex(f.index) }

var declared sync.Map // reflect.Type to []Field

// Fields returns the settings of a section in the order of their declaration.
func Fields(section reflect.Type) []Field {
	if known, ok := declared.Load(section); ok {
		return known.([]Field)
	}
	var list []Field
	for i := range section.NumField() {
		f := section.Field(i)
		key, opts, _ := strings.Cut(f.Tag.Get("yaml"), ",")
		switch {
		case opts == "inline":
			for _, inner := range Fields(f.Type) {
				inner.index = append([]int{i}, inner.index...)
				list = append(list, inner)
			}
		case f.IsExported() && key != "" && key != "-":
			list = append(list, Field{Key: key, Type: f.Type, Tag: f.Tag, index: []int{i}})
		}
	}
	declared.Store(section, list)
	return list
}

// fieldNamed returns the setting with a key.
func fieldNamed(section reflect.Type, key string) (Field, bool) {
	list := Fields(section)
	i := slices.IndexFunc(list, func(f Field) bool { return f.Key == key })
	if i < 0 {
		return Field{}, false
	}
	return list[i], true
}

// fieldKeys returns the sorted keys of a section.
func fieldKeys(section reflect.Type) (keys []string) {
	for _, f := range Fields(section) {
		keys = append(keys, f.Key)
	}
	slices.Sort(keys)
	return keys
}

// isSection reports whether a type is a struct with settings.
func isSection(t reflect.Type) bool { return t.Kind() == reflect.Struct && len(Fields(t)) > 0 }

// durations is the type of duration settings.
var durations = reflect.TypeFor[time.Duration]()

// KindOf describes the values of a type for people.
func KindOf(t reflect.Type) string {
	switch kind := t.Kind(); {
	case kind == reflect.Pointer:
		return KindOf(t.Elem())
	case t == durations:
		return "duration"
	case kind == reflect.Slice && t.Elem().Kind() == reflect.Struct:
		return "list"
	case kind == reflect.Slice && t.Elem().Kind() == reflect.Int:
		return "list of numbers"
	case kind == reflect.Slice:
		return "list of texts"
	case kind == reflect.Map:
		return "keys and values"
	case kind == reflect.Struct:
		return "settings"
	case kind == reflect.Bool:
		return "true or false"
	case kind == reflect.Int, kind == reflect.Int64, kind == reflect.Float64:
		return "number"
	}
	return "text"
}

// Setting is a setting with its path, for a reference page.
type Setting struct {
	Path string // like routes.to.weight
	Field
}

// All returns the settings of a section and of the sections in it.
func All(section reflect.Type) []Setting { return all(section, "") }

func all(section reflect.Type, above string) (list []Setting) {
	for _, f := range Fields(section) {
		path := strings.TrimPrefix(above+"."+f.Key, ".")
		list = append(list, Setting{path, f})
		inner := f.Type
		for inner.Kind() == reflect.Pointer || inner.Kind() == reflect.Slice {
			inner = inner.Elem()
		}
		if isSection(inner) {
			list = append(list, all(inner, path)...)
		}
	}
	return list
}

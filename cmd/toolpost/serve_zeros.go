package main

import (
	"fmt"
	"reflect"
	"strings"
)

// zeros warns about settings that are 0 in the file and have another default. There, 0 means the default, but the user
// may have meant none or no limit. Settings with a meaning for 0 are pointers.
func (m *mistakes) zeros(v reflect.Value, path string) {
	for i := range v.NumField() {
		f, value := v.Type().Field(i), v.Field(i)
		name, opts, _ := strings.Cut(f.Tag.Get("yaml"), ",")
		at := path + "." + name
		switch kind := f.Type.Kind(); {
		case opts == "inline":
			m.zeros(value, path)
		case name == "" || !f.IsExported():
		case kind == reflect.Struct:
			m.zeros(value, at)
		case kind == reflect.Slice && f.Type.Elem().Kind() == reflect.Struct:
			for k := range value.Len() {
				m.zeros(value.Index(k), fmt.Sprintf("%s[%d]", at, k))
			}
		case (kind == reflect.Int || kind == reflect.Int64) && value.IsZero() && f.Tag.Get("default") != "" && m.zero[at]:
			m.warn(at, "0 means the default, which is %s; leave it out, or write another value", f.Tag.Get("default"))
		}
	}
}

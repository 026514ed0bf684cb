package js

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
)

// Explain returns the error of a decoder in words: a value of the wrong type is named
// by its place in the JSON and by the types of JSON, where encoding/json has names of Go.
// Other errors are returned unchanged.
func Explain(err error) error {
	var wrong *json.UnmarshalTypeError
	if !errors.As(err, &wrong) {
		return err
	}
	what := "it"
	if wrong.Field != "" {
		what = fmt.Sprintf("%q", wrong.Field)
	}
	return fmt.Errorf("%s is %s and must be %s", what, article(wrong.Value), article(TypeName(wrong.Type)))
}

// article puts "a" or "an" before the name of a type.
func article(name string) string {
	switch {
	case name == "bool":
		return "a boolean"
	case name == "array" || name == "object" || name == "integer":
		return "an " + name
	}
	return "a " + name // number may be followed by the number
}

// TypeName returns the word of JSON for a Go type.
func TypeName(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Bool:
		return "boolean"
	case reflect.String:
		return "string"
	case reflect.Slice, reflect.Array:
		return "array"
	case reflect.Struct, reflect.Map:
		return "object"
	case reflect.Float32, reflect.Float64:
		return "number"
	case reflect.Pointer:
		return TypeName(t.Elem())
	}
	return "integer"
}

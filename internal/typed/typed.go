// Package typed turns structured answers into Go values, for packages refine and agent.
package typed

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/schema"
)

// maxNames limits the members that an error lists.
const maxNames = 20

// Output returns out with the schema of T, unless it has one.
func Output[T any](out *llm.OutputFormat) (*llm.OutputFormat, error) {
	if out != nil && len(out.Schema) > 0 {
		return out, nil
	}
	s, err := schema.For[T]()
	if err != nil {
		return nil, err
	}
	format := llm.OutputFormat{Name: outputName(reflect.TypeFor[T]())}
	if out != nil {
		format = *out
	}
	format.Schema = s
	return &format, nil
}

// outputName returns a name that vendors accept.
func outputName(t reflect.Type) string {
	name := []rune(t.Name())
	for i, r := range name {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || i > 0 && r >= '0' && r <= '9' || r == '_' {
			continue
		}
		name[i] = '_'
	}
	if len(name) == 0 || len(name) > 64 {
		return "output"
	}
	return string(name)
}

// Decode decodes a value. Members that T does not have are ignored.
func Decode[T any](raw json.RawMessage) (T, error) {
	var v T
	err := schema.DecodeKnown(raw, &v)
	return v, err
}

// Check returns the check that a value can be decoded, and that each of checks accepts it.
func Check[T any](checks ...func(T) error) func(json.RawMessage) error {
	return func(raw json.RawMessage) error {
		v, err := Decode[T](raw)
		if err == nil {
			err = foreign[T](raw)
		}
		for i := 0; err == nil && i < len(checks); i++ {
			err = checks[i](v)
		}
		return err
	}
}

// foreign refuses an object that has members and none that T knows: it would be
// a zero T. A schema of the caller may have members that T leaves out, but not
// only such.
func foreign[T any](raw json.RawMessage) error {
	s, err := schema.For[T]()
	if err != nil {
		return nil // T has no schema that lists its members
	}
	known := schema.ShapeOf(s).Properties()
	if len(known) == 0 {
		return nil
	}
	var has map[string]json.RawMessage
	if json.Unmarshal(raw, &has) != nil || len(has) == 0 || slices.ContainsFunc(known, func(name string) bool { _, ok := has[name]; return ok }) {
		return nil
	}
	var v T
	if schema.Decode(raw, &v) == nil {
		return nil // fields that the schema does not tell
	}
	return fmt.Errorf("the object has none of the members %s", strings.Join(known[:min(len(known), maxNames)], ", "))
}

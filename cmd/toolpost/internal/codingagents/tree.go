package codingagents

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"
)

// A configuration is a tree of object, []any, string, json.Number, bool and nil. Unlike a map, an object has an order.
type object []member

type member struct {
	key   string
	value any
}

// get returns the value of a key.
func (o object) get(key string) (value any, ok bool) {
	i := slices.IndexFunc(o, func(m member) bool { return m.key == key })
	if i < 0 {
		return nil, false
	}
	return o[i].value, true
}

// parseTree parses JSON.
func parseTree(text string) (any, error) {
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	v, err := readTree(d)
	if err != nil {
		return nil, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("text follows the value")
	}
	return v, nil
}

func readTree(d *json.Decoder) (any, error) {
	t, err := d.Token()
	if err != nil {
		return nil, err
	}
	open, ok := t.(json.Delim)
	if !ok {
		return t, nil
	}
	obj, list := object{}, []any{}
	for d.More() {
		var key string
		if open == '{' {
			t, err := d.Token()
			if err != nil {
				return nil, err
			}
			key, _ = t.(string)
		}
		v, err := readTree(d)
		if err != nil {
			return nil, err
		}
		if open == '{' {
			obj = append(obj, member{key, v})
		} else {
			list = append(list, v)
		}
	}
	if _, err := d.Token(); err != nil {
		return nil, err
	}
	if open == '{' {
		return obj, nil
	}
	return list, nil
}

// unknown is a value that is not known. Its member is left out.
type unknown struct{}

// filled replaces the placeholders of a tree. A member whose value is not known is left out, and so is an object that
// loses all its members.
func filled(v any, value func(string) any) any {
	switch v := v.(type) {
	case string:
		return value(v)
	case []any:
		out := []any{}
		for _, e := range v {
			if e = filled(e, value); e != (unknown{}) {
				out = append(out, e)
			}
		}
		return out
	case object:
		out := object{}
		for _, m := range v {
			key, _ := value(m.key).(string)
			key, whole := strings.CutSuffix(key, "!")
			x := filled(m.value, value)
			if isUnknown(x) || whole && !sameSize(x, m.value) {
				continue
			}
			out = append(out, member{key, x})
		}
		if len(out) == 0 && len(v) > 0 {
			return unknown{}
		}
		return out
	}
	return v
}

// sameSize reports whether two objects have the same number of members.
func sameSize(a, b any) bool {
	x, _ := a.(object)
	y, _ := b.(object)
	return len(x) == len(y)
}

func isUnknown(v any) bool { _, ok := v.(unknown); return ok }

// merged returns a tree with the values of another: objects are merged, elements of lists are matched by what identifies
// them, and everything else is replaced.
func merged(old, with any) any {
	switch with := with.(type) {
	case object:
		before, ok := old.(object)
		if !ok {
			return with
		}
		out := slices.Clone(before)
		for _, m := range with {
			if i := slices.IndexFunc(out, func(o member) bool { return o.key == m.key }); i >= 0 {
				out[i].value = merged(out[i].value, m.value)
			} else {
				out = append(out, m)
			}
		}
		return out
	case []any:
		before, ok := old.([]any)
		if !ok {
			return with
		}
		out := slices.Clone(before)
		for _, e := range with {
			if i := slices.IndexFunc(out, func(o any) bool { return sameElement(o, e) }); i >= 0 {
				out[i] = merged(out[i], e)
			} else {
				out = append(out, e)
			}
		}
		return out
	}
	return with
}

// missing returns a tree without the default values that another tree has a value for. The key of a default value ends
// in "?".
func missing(old, with any) any {
	o, ok := with.(object)
	if !ok {
		return with
	}
	before, _ := old.(object)
	out := object{}
	for _, m := range o {
		key, isDefault := strings.CutSuffix(m.key, "?")
		value, has := before.get(key)
		if has && isDefault {
			continue
		}
		out = append(out, member{key, missing(value, m.value)})
	}
	return out
}

// identities are the keys that identify an object of a list, the first that it has.
var identities = []string{"id", "model_id", "name"}

// sameElement reports whether two elements of lists are the same one, perhaps with other settings.
func sameElement(a, b any) bool {
	x, ok := a.(object)
	y, ok2 := b.(object)
	if !ok || !ok2 {
		return equalTrees(a, b)
	}
	for _, key := range identities {
		if want, has := y.get(key); has {
			got, _ := x.get(key)
			return equalTrees(got, want)
		}
	}
	return equalTrees(a, b)
}

// equalTrees reports whether two trees have the same values, whatever the order of their members.
func equalTrees(a, b any) bool {
	switch a := a.(type) {
	case object:
		b, ok := b.(object)
		if !ok || len(a) != len(b) {
			return false
		}
		return !slices.ContainsFunc(a, func(m member) bool {
			v, ok := b.get(m.key)
			return !ok || !equalTrees(m.value, v)
		})
	case []any:
		b, ok := b.([]any)
		return ok && slices.EqualFunc(a, b, equalTrees)
	}
	return a == b
}

// jsonText renders a tree as JSON. The first line is not indented.
func jsonText(v any, indent string) string {
	switch v := v.(type) {
	case object:
		if len(v) == 0 {
			return "{}"
		}
		var b strings.Builder
		for i, m := range v {
			b.WriteString([]string{"{", ","}[min(i, 1)] + "\n" + indent + "  " + quoted(m.key) + ": " + jsonText(m.value, indent+"  "))
		}
		return b.String() + "\n" + indent + "}"
	case []any:
		if len(v) == 0 {
			return "[]"
		}
		var parts []string
		plain := true
		for _, e := range v {
			_, isObject := e.(object)
			plain = plain && !isObject
		}
		for _, e := range v {
			parts = append(parts, jsonText(e, indent+"  "))
		}
		if plain {
			return "[" + strings.Join(parts, ", ") + "]"
		}
		return "[\n" + indent + "  " + strings.Join(parts, ",\n"+indent+"  ") + "\n" + indent + "]"
	}
	return scalar(v)
}

// scalar renders a value without parts as JSON, which is also TOML and YAML.
func scalar(v any) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if e.Encode(v) != nil {
		return "null"
	}
	return strings.TrimSuffix(b.String(), "\n")
}

func quoted(s string) string { return scalar(s) }

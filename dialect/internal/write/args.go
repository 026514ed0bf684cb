package write

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/toolpost/toolpost/dialect/spec"
	"github.com/toolpost/toolpost/internal/js"
)

// arguments writes the arguments of a call in the form of the dialect.
func (w *writer) arguments(raw json.RawMessage) (string, error) {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 {
		raw = json.RawMessage("{}")
	}
	args, err := members(raw)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	switch w.Body {
	case spec.JSONBody:
		w.json(&b, raw)
	case spec.PythonBody:
		err = w.kwargs(&b, args)
	case spec.ParamsBody:
		err = w.params(&b, args)
	case spec.BareBody:
		err = w.bare(&b, raw)
	case spec.YAMLBody:
		w.yaml(&b, args)
	}
	return b.String(), err
}

// json writes a value with the spaces that models put into JSON, and escapes
// the first letter of a marker that is in a string. Everything else,
// numbers and escapes included, stays unchanged.
func (w *writer) json(b *strings.Builder, raw json.RawMessage) {
	for i := 0; i < len(raw); i++ {
		switch c := raw[i]; c {
		case ' ', '\t', '\n', '\r':
		case ',', ':':
			b.WriteByte(c)
			if !w.Tight {
				b.WriteByte(' ')
			}
		case '"':
			end := js.EndOfString(raw, i)
			b.WriteString(w.escapeMarkers(string(raw[i:end])))
			i = end - 1
		default:
			b.WriteByte(c)
		}
	}
}

// escapeMarkers escapes the first letter of every marker in a quoted string. No
// marker starts with a letter that is part of an escape.
func (w *writer) escapeMarkers(quoted string) string {
	for _, m := range w.markers {
		if strings.Contains(quoted, m) {
			r, size := utf8.DecodeRuneInString(m)
			quoted = strings.ReplaceAll(quoted, m, fmt.Sprintf(`\u%04x`, r)+m[size:])
		}
	}
	return quoted
}

// yaml writes a mapping of YAML whose values are JSON, which is YAML, too.
func (w *writer) yaml(b *strings.Builder, args []member) {
	for _, m := range args {
		if identifier(m.key) {
			b.WriteString(m.key)
		} else {
			b.WriteString(w.escapeMarkers(quote(m.key)))
		}
		b.WriteString(": ")
		w.json(b, m.value)
		b.WriteByte('\n')
	}
}

// kwargs writes Python keyword arguments.
func (w *writer) kwargs(b *strings.Builder, args []member) error {
	for i, m := range args {
		if !identifier(m.key) {
			return fmt.Errorf("%.80q cannot be a Python keyword", m.key)
		}
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(m.key)
		b.WriteByte('=')
		w.python(b, m.value)
	}
	return nil
}

// identifier reports whether s can be a Python keyword argument that the reader
// accepts, which includes a bound on its length.
func identifier(s string) bool {
	for i, r := range s {
		if r != '_' && !unicode.IsLetter(r) && (i == 0 || !unicode.IsDigit(r)) {
			return false
		}
	}
	return s != "" && len(s) <= spec.MaxWord
}

var pythonWords = map[string]string{"true": "True", "false": "False", "null": "None"}

// python writes a value as a Python literal.
func (w *writer) python(b *strings.Builder, raw json.RawMessage) {
	switch jsonKindOf(raw) {
	case isString:
		b.WriteString(w.escapeMarkers(pythonString(str(raw))))
	case isNumber:
		b.Write(raw)
	case isBool, isNull:
		b.WriteString(pythonWords[string(raw)])
	case isArray:
		b.WriteByte('[')
		for i, v := range arrayItems(raw) {
			if i > 0 {
				b.WriteString(", ")
			}
			w.python(b, v)
		}
		b.WriteByte(']')
	case isObject:
		b.WriteByte('{')
		entries, _ := members(raw) // it came out of a decoder
		for i, m := range entries {
			if i > 0 {
				b.WriteString(", ")
			}
			b.WriteString(w.escapeMarkers(pythonString(m.key)))
			b.WriteString(": ")
			w.python(b, m.value)
		}
		b.WriteByte('}')
	}
}

// pythonString quotes s for Python: the escapes of JSON, but characters
// beyond the basic plane unchanged, because Python lacks surrogate pairs.
func pythonString(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case r < ' ' || r == 0x7f:
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// params writes one element per parameter.
func (w *writer) params(b *strings.Builder, args []member) error {
	for _, m := range args {
		if err := w.element(b, m.key, m.value); err != nil {
			return err
		}
	}
	return nil
}

func (w *writer) element(b *strings.Builder, key string, raw json.RawMessage) error {
	if key != "" && !plain(key) {
		return fmt.Errorf("the key %q would be read as markup", key)
	}
	k := jsonKindOf(raw)
	if items := arrayItems(raw); k == isArray && w.Item == "=" && repeatable(items) {
		for _, v := range items {
			if err := w.element(b, key, v); err != nil {
				return err
			}
		}
		return nil
	}
	template, value := w.Param, ""
	nested := w.nests(raw)
	switch {
	case nested:
		var inner strings.Builder
		if err := w.entries(&inner, raw); err != nil {
			return err
		}
		template, value = w.Node, inner.String()
	case k == isString:
		value = w.leaf(str(raw))
	default:
		var inner strings.Builder
		w.json(&inner, raw)
		value = inner.String()
		w.raw = w.raw || strings.Contains(value, "<")
	}
	if !nested && w.Node != "" && k >= isObject { // it is written as JSON text; the type "object" or "array" would mean elements
		k = isNumber
	}
	attr := ""
	if key != "" {
		attr = ` name="` + key + `"`
	}
	b.WriteString(strings.NewReplacer("$key", key, "$value", value, "$attr", attr,
		"$type", w.typeName(k), "$string", strconv.FormatBool(k == isString)).Replace(template))
	return nil
}

// repeatable reports whether a list can be written by repeating its element:
// one item would be read back as a single value, and the items of an inner list
// as items of the outer one.
func repeatable(items []json.RawMessage) bool {
	return len(items) > 1 && !slices.ContainsFunc(items, func(v json.RawMessage) bool { return jsonKindOf(v) == isArray })
}

// nests reports whether raw is written as elements within an element. Empty
// objects and arrays would vanish that way, so they are written as JSON; so is
// a list that the dialect would write by repeating its only element.
func (w *writer) nests(raw json.RawMessage) bool {
	switch jsonKindOf(raw) {
	case isObject:
		entries, _ := members(raw) // it came out of a decoder
		keys := !slices.ContainsFunc(entries, func(m member) bool { return !plain(m.key) })
		return w.Node != "" && len(entries) > 0 && keys
	case isArray:
		return w.Node != "" && w.Item != "=" && len(arrayItems(raw)) > 0
	}
	return false
}

func (w *writer) entries(b *strings.Builder, raw json.RawMessage) error {
	if jsonKindOf(raw) == isArray {
		for _, v := range arrayItems(raw) {
			if err := w.element(b, w.Item, v); err != nil {
				return err
			}
		}
		return nil
	}
	entries, _ := members(raw) // it came out of a decoder
	return w.params(b, entries)
}

// leaf writes a string as raw text.
func (w *writer) leaf(s string) string {
	w.raw = w.raw || strings.Contains(s, "<")
	if w.CData && strings.ContainsAny(s, "<&") {
		return "<![CDATA[" + strings.ReplaceAll(s, "]]>", "]]]]><![CDATA[>") + "]]>"
	}
	if w.Entities && strings.Contains(s, "&") && !strings.Contains(s, "<") {
		s = strings.ReplaceAll(s, "&", "&amp;")
	}
	if w.OwnLines && (strings.HasPrefix(s, "\n") || strings.HasSuffix(s, "\n")) {
		return "\n" + s + "\n"
	}
	return s
}

var jsonTypes = []string{"string", "number", "boolean", "null", "object", "array"}

func (w *writer) typeName(k jsonKind) string {
	if w.Types == nil {
		return jsonTypes[k]
	}
	return w.Types[k]
}

// bare writes a value with unquoted keys and strings between delimiters.
func (w *writer) bare(b *strings.Builder, raw json.RawMessage) error {
	switch jsonKindOf(raw) {
	case isString:
		s := str(raw)
		w.raw = w.raw || strings.Contains(s, "<")
		b.WriteString(w.Delim + s + w.Delim)
	case isArray:
		b.WriteByte('[')
		for i, v := range arrayItems(raw) {
			if i > 0 {
				b.WriteByte(',')
			}
			if err := w.bare(b, v); err != nil {
				return err
			}
		}
		b.WriteByte(']')
	case isObject:
		b.WriteByte('{')
		entries, _ := members(raw) // it came out of a decoder
		for i, m := range entries {
			if !plain(m.key) || strings.Contains(m.key, ":") {
				return fmt.Errorf("the key %q would be read as markup", m.key)
			}
			if i > 0 {
				b.WriteByte(',')
			}
			b.WriteString(m.key + ":")
			if err := w.bare(b, m.value); err != nil {
				return err
			}
		}
		b.WriteByte('}')
	default:
		b.Write(raw)
	}
	return nil
}

package engine

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/toolpost/toolpost/schema"
)

// elem is an element that was read whole.
type elem struct{ key, inner, prefix string }

// putElements writes the elements of one key: one value, or a list.
func (m *machine) putElements(list []elem, count *int) {
	if len(list) == 0 || !m.call.open {
		return
	}
	m.argKey(list[0].key, count)
	var shape *schema.Shape
	if m.shape() != nil {
		shape = m.shape().Property(list[0].key)
	}
	m.arg(string(joinElements(list, shape, 0)))
}

// joinElements returns the value of the elements of one key, which stand in
// depth others.
func joinElements(list []elem, shape *schema.Shape, depth int) json.RawMessage {
	wantsList := shape != nil && shape.Types()&^schema.Null == schema.Array
	if len(list) == 1 {
		v := elementValue(list[0], shape, depth)
		if wantsList && v[0] != '[' && !strings.HasPrefix(string(v), "null") {
			return json.RawMessage("[" + string(v) + "]")
		}
		return v
	}
	out := []byte{'['}
	for i, e := range list {
		if i > 0 {
			out = append(out, ',')
		}
		var item *schema.Shape
		if wantsList {
			item = shape.Item(i)
		}
		out = append(out, elementValue(e, item, depth)...)
	}
	return append(out, ']')
}

// maxElements bounds how deep elements are taken apart: what is deeper is text.
// Every level looks at all that is deeper once more.
const maxElements = 32

// elementValue reads an element: an object of its children, a list of its
// items, or the text in it.
func elementValue(e elem, shape *schema.Shape, depth int) json.RawMessage {
	types := schema.Any
	if shape != nil {
		types = shape.Types()
	}
	list, ok := elements(e.inner, e.prefix)
	if !ok || len(list) == 0 || types == schema.String || depth == maxElements {
		return elementText(e, types)
	}
	if types&schema.Array != 0 && (allItems(list) || types&^schema.Null == schema.Array && !shape.Item(0).Declares(list[0].key)) {
		out := []byte{'['}
		for i, item := range list {
			if i > 0 {
				out = append(out, ',')
			}
			var s *schema.Shape
			if shape != nil {
				s = shape.Item(i)
			}
			out = append(out, elementValue(item, s, depth+1)...)
		}
		return append(out, ']')
	}
	out := []byte{'{'}
	for i := 0; i < len(list); {
		j := i + 1
		for j < len(list) && list[j].key == list[i].key {
			j++
		}
		if i > 0 {
			out = append(out, ',')
		}
		var s *schema.Shape
		if shape != nil {
			s = shape.Property(list[i].key)
		}
		out = append(append(out, quoteJSON(list[i].key)...), ':')
		out = append(out, joinElements(list[i:j], s, depth+1)...)
		i = j
	}
	return append(out, '}')
}

// elementText reads an element that holds no others.
func elementText(e elem, types schema.Types) json.RawMessage {
	text := e.inner
	if types != schema.String || e.prefix == "" {
		text = strings.TrimSpace(text)
	}
	switch {
	case text == "" && types&^schema.Null == schema.Array:
		return json.RawMessage("[]")
	case text == "" && types&^schema.Null == schema.Object:
		return json.RawMessage("{}")
	case e.key == mixedText:
		return json.RawMessage(quoteJSON(e.inner))
	}
	if e.prefix == "" && strings.IndexByte(text, '<') < 0 {
		text = unescapeXML(text)
	}
	return typed(types, text)
}

// allItems reports whether elements are the items of a list: each is called
// item, or is numbered.
func allItems(list []elem) bool {
	for i, e := range list {
		if e.key != "item" && !isNumbered(e.key+">", i) {
			return false
		}
	}
	return true
}

// isNumbered reports whether a tag that goes on like s has the number i, from 0
// or from 1.
func isNumbered(s string, i int) bool {
	return strings.HasPrefix(s, strconv.Itoa(i)+">") || strings.HasPrefix(s, strconv.Itoa(i+1)+">")
}

// mixedText is the key of text that stands between elements.
const mixedText = "$text"

// elements splits s into elements; ok is false if there is anything else. Only
// where tags have a prefix, so that there is no doubt what is one, text between
// them is put beside them.
func elements(s, prefix string) (list []elem, ok bool) {
	var text strings.Builder
	defer func() {
		if strings.TrimSpace(text.String()) != "" && len(list) > 0 {
			list = append(list, elem{mixedText, text.String(), prefix})
		}
	}()
	for {
		if i := strings.Index(s, prefix+"<"); prefix != "" && i > 0 && len(strings.TrimSpace(s[:i])) > 0 {
			text.WriteString(s[:i])
			s = s[i:]
		}
		s = strings.TrimSpace(s)
		if s == "" {
			return list, true
		}
		rest, found := strings.CutPrefix(s, prefix)
		rest = strings.TrimLeft(rest, " \t\r\n")
		if !found || len(rest) < 3 || rest[0] != '<' || !isNameStart(rest[1]) && !isNumbered(rest[1:], len(list)) {
			return list, false
		}
		i := 1
		for i < len(rest) && isNameByte(rest[i]) {
			i++
		}
		if i >= len(rest) || rest[i] != '>' {
			return list, false
		}
		key := rest[1:i]
		inner, after, found := cutElement(rest[i+1:], key, prefix)
		if !found {
			return list, false
		}
		list = append(list, elem{key, inner, prefix})
		s = after
	}
}

// cutElement splits s at the end of the element key, which may hold others of
// the same name.
func cutElement(s, key, prefix string) (inner, after string, ok bool) {
	open, end := prefix+"<"+key+">", prefix+"</"+key+">"
	depth, at := 1, 0
	for {
		e := strings.Index(s[at:], end)
		if e < 0 {
			return "", "", false
		}
		depth += strings.Count(s[at:at+e], open) - 1
		if depth == 0 {
			return s[:at+e], s[at+e+len(end):], true
		}
		at += e + len(end)
	}
}

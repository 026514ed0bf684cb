package values

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/toolpost/toolpost/dialect/internal/chars"
	"github.com/toolpost/toolpost/schema"
)

// Elem is an element that was read completely.
type Elem struct{ Key, Inner, Prefix string }

// JoinElements returns the value of the elements of one key: one value, or a list. depth is the number of enclosing
// elements.
func JoinElements(list []Elem, shape *schema.Shape, depth int) json.RawMessage {
	wantsList := shape != nil && shape.Types()&^schema.Null == schema.Array
	if len(list) == 1 {
		v := ElementValue(list[0], shape, depth)
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
		out = append(out, ElementValue(e, item, depth)...)
	}
	return append(out, ']')
}

// maxElements limits the depth of elements that are parsed; deeper ones are text. Each level scans all deeper levels
// again.
const maxElements = 32

// ElementValue returns the value of an element: an object of its children, a list of its items, or its text.
func ElementValue(e Elem, shape *schema.Shape, depth int) json.RawMessage {
	types := schema.Any
	if shape != nil {
		types = shape.Types()
	}
	list, ok := Elements(e.Inner, e.Prefix)
	if !ok || len(list) == 0 || types == schema.String || depth == maxElements {
		return elementText(e, types)
	}
	if types&schema.Array != 0 && (allItems(list) || types&^schema.Null == schema.Array && !shape.Item(0).Declares(list[0].Key)) {
		out := []byte{'['}
		for i, item := range list {
			if i > 0 {
				out = append(out, ',')
			}
			var s *schema.Shape
			if shape != nil {
				s = shape.Item(i)
			}
			out = append(out, ElementValue(item, s, depth+1)...)
		}
		return append(out, ']')
	}
	out := []byte{'{'}
	for i := 0; i < len(list); {
		j := i + 1
		for j < len(list) && list[j].Key == list[i].Key {
			j++
		}
		if i > 0 {
			out = append(out, ',')
		}
		var s *schema.Shape
		if shape != nil {
			s = shape.Property(list[i].Key)
		}
		out = append(append(out, chars.QuoteJSON(list[i].Key)...), ':')
		out = append(out, JoinElements(list[i:j], s, depth+1)...)
		i = j
	}
	return append(out, '}')
}

// CData returns the content of a CDATA section if text is nothing else.
func CData(text string) string {
	inner, ok := strings.CutPrefix(strings.TrimSpace(text), "<![CDATA[")
	if !ok {
		return text
	}
	if inner, ok = strings.CutSuffix(inner, "]]>"); !ok || strings.Contains(inner, "]]>") {
		return text
	}
	return inner
}

// Lines returns the text of an element without the white space that only lays out the element. One line has none around
// it. Several lines keep their indentation, and the newline at their end if the first line follows the tag directly.
func Lines(text string) string {
	line := strings.TrimSpace(text)
	if strings.IndexByte(line, '\n') < 0 {
		return line
	}
	first := strings.IndexByte(text[:strings.Index(text, line)], '\n') + 1
	last := strings.LastIndexByte(text, '\n')
	switch {
	case strings.TrimSpace(text[last:]) != "":
	case first > 0:
		text = strings.TrimSuffix(text[:last], "\r")
	default:
		text = text[:last+1]
	}
	return text[first:]
}

// elementText returns the value of an element without children.
func elementText(e Elem, types schema.Types) json.RawMessage {
	text := e.Inner
	if plain := CData(text); e.Prefix == "" && plain != text {
		return Typed(types, plain)
	} else if e.Prefix == "" {
		text = Lines(text)
	} else if types != schema.String {
		text = strings.TrimSpace(text)
	}
	switch {
	case text == "" && types&^schema.Null == schema.Array:
		return json.RawMessage("[]")
	case text == "" && types&^schema.Null == schema.Object:
		return json.RawMessage("{}")
	case e.Key == mixedText:
		return json.RawMessage(chars.QuoteJSON(e.Inner))
	}
	if e.Prefix == "" && strings.IndexByte(text, '<') < 0 {
		text = UnescapeXML(text)
	}
	return Typed(types, text)
}

// allItems reports whether elements are the items of a list: each is called item, or is numbered.
func allItems(list []Elem) bool {
	for i, e := range list {
		if e.Key != "item" && !isNumbered(e.Key+">", i) {
			return false
		}
	}
	return true
}

// isNumbered reports whether the tag name at the beginning of s is the number i or i+1: the numbers begin with 0 or 1.
func isNumbered(s string, i int) bool {
	return strings.HasPrefix(s, strconv.Itoa(i)+">") || strings.HasPrefix(s, strconv.Itoa(i+1)+">")
}

// mixedText is the key for text between elements.
const mixedText = "$text"

// Elements splits s into elements. ok is false if s contains anything else. If tags have a prefix, they are
// unambiguous, so text between them is allowed and added as another element.
func Elements(s, prefix string) (list []Elem, ok bool) {
	var text strings.Builder
	defer func() {
		if strings.TrimSpace(text.String()) != "" && len(list) > 0 {
			list = append(list, Elem{mixedText, text.String(), prefix})
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
		if !found || len(rest) < 3 || rest[0] != '<' || !chars.IsNameStart(rest[1]) && !isNumbered(rest[1:], len(list)) {
			return list, false
		}
		i := 1
		for i < len(rest) && chars.IsNameByte(rest[i]) {
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
		list = append(list, Elem{key, inner, prefix})
		s = after
	}
}

// cutElement splits s at the end of the element key. The element may contain others of the same name.
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

var xmlEntities = strings.NewReplacer("&quot;", `"`, "&apos;", "'", "&lt;", "<", "&gt;", ">", "&amp;", "&")

// UnescapeXML replaces the predefined XML entities and the numeric ones in s.
func UnescapeXML(s string) string {
	if strings.IndexByte(s, '&') < 0 {
		return s
	}
	if !strings.Contains(s, "&#") {
		return xmlEntities.Replace(s)
	}
	var out strings.Builder
	for s != "" {
		i := strings.Index(s, "&#")
		if i < 0 {
			i = len(s)
		}
		out.WriteString(xmlEntities.Replace(s[:i]))
		c, n := numericEntity(s[i:])
		out.WriteString(c)
		s = s[i+n:]
	}
	return out.String()
}

// numericEntity returns the character of the entity like &#10; or &#x0a; at the beginning of s, and the length of the
// entity. If it is none, the first byte stays.
func numericEntity(s string) (c string, n int) {
	end := strings.IndexByte(s[:min(len(s), len("&#x10ffff;"))], ';')
	if end > 2 {
		digits, base := s[2:end], 10
		if digits[0]|0x20 == 'x' {
			digits, base = digits[1:], 16
		}
		if v, err := strconv.ParseUint(digits, base, 21); err == nil && v > 0 && utf8.ValidRune(rune(v)) {
			return string(rune(v)), end + 1
		}
	}
	n = min(len(s), 1)
	return s[:n], n
}

// Entities replaces XML entities in text that arrives in pieces. Text that also contains a tag is not XML but a
// document quoted unchanged, so its entities stay. Only the end of the text decides this, so the text from the first
// entity on is held.
type Entities struct {
	Add    func([]byte)
	Off    bool   // leave the text unchanged
	held   []byte // the text from the first entity on
	tagged bool   // the text contains a tag
}

// Take adds the next bytes.
func (e *Entities) Take(p []byte) {
	e.tagged = e.tagged || bytes.IndexByte(p, '<') >= 0
	if e.Off || e.tagged {
		e.release()
		e.Add(p)
		return
	}
	if len(e.held) == 0 {
		i := bytes.IndexByte(p, '&')
		if i < 0 {
			e.Add(p)
			return
		}
		e.Add(p[:i])
		p = p[i:]
	}
	if e.held = append(e.held, p...); !mayBeEntity(e.held) {
		e.release()
	}
}

// release passes on the held text unchanged, up to the next ampersand that may begin an entity.
func (e *Entities) release() {
	for len(e.held) > 0 {
		n := len(e.held)
		if i := bytes.IndexByte(e.held[1:], '&'); i >= 0 {
			n = i + 1
		}
		e.Add(e.held[:n])
		if e.held = e.held[n:]; !e.tagged && len(e.held) > 0 && mayBeEntity(e.held) {
			return
		}
	}
}

// Close ends the text. It reports whether entities were replaced.
func (e *Entities) Close() bool {
	if len(e.held) == 0 {
		return false
	}
	plain := UnescapeXML(string(e.held))
	changed := plain != string(e.held)
	e.Add([]byte(plain))
	e.held = nil
	return changed
}

// mayBeEntity reports whether p, which begins with an ampersand, begins with an entity or a part of one.
func mayBeEntity(p []byte) bool {
	for _, name := range [...]string{"&quot;", "&apos;", "&lt;", "&gt;", "&amp;"} {
		if chars.HasOverlap(p, name) {
			return true
		}
	}
	return false
}

package values

import (
	"strings"

	"github.com/toolpost/toolpost/dialect/internal/chars"
	"github.com/toolpost/toolpost/dialect/internal/loose"
)

// Tag is a start tag.
type Tag struct {
	Value  string // the value in <word=value>
	Attrs  []Attr
	Self   bool // <word/>
	Length int  // in bytes
}

// Attr is an attribute of a tag.
type Attr struct{ Key, Value string }

// Attr returns the value of the first of the attributes keys that the tag has.
func (t Tag) Attr(keys ...string) string {
	for _, k := range keys {
		for _, a := range t.Attrs {
			if a.Key == k {
				return a.Value
			}
		}
	}
	return ""
}

// Name returns the name that a tag gives to its call or parameter.
func (t Tag) Name() string {
	if t.Value != "" {
		return t.Value
	}
	return t.Attr("name", "tool", "key", "function", "id")
}

// Key returns the name that a tag gives to its parameter, without Markdown backslashes.
func (t Tag) Key() string { return loose.Unescape(t.Name()) }

// ParseTag parses the text of a tag after its word: =value or attributes, with or without quotes. headEnds are the ends of
// message headers, which models write into tags by mistake.
func ParseTag(s string, headEnds []string) (t Tag) {
	if strings.IndexByte(s, artefact) >= 0 {
		s = artefacts.Replace(s)
	}
	for _, end := range headEnds {
		s = strings.ReplaceAll(s, end, "")
	}
	s = strings.TrimSpace(s)
	if rest, ok := strings.CutSuffix(s, "/"); ok {
		t.Self, s = true, strings.TrimSpace(rest)
	}
	if rest, ok := strings.CutPrefix(s, "="); ok {
		rest = strings.TrimSpace(rest)
		t.Value = unquoteName(rest)
		if len(rest) < 2 || !chars.IsQuote(rest[0]) {
			return t
		}
		_, s, _ = strings.Cut(rest[1:], rest[:1])
		if s = strings.TrimSpace(s); strings.IndexByte(s, '=') < 0 {
			return t
		}
	}
	for s != "" {
		key, rest, ok := strings.Cut(s, "=")
		if !ok {
			t.Attrs = append(t.Attrs, Attr{Key: s}) // a word without a value
			break
		}
		key = strings.TrimSpace(key)
		rest = strings.TrimSpace(rest)
		var value string
		if rest != "" && chars.IsQuote(rest[0]) {
			value, rest, _ = strings.Cut(rest[1:], rest[:1])
		} else {
			value, rest, _ = strings.Cut(rest, " ")
			value = strings.Trim(value, `"'`)
		}
		t.Attrs = append(t.Attrs, Attr{key, UnescapeXML(value)})
		s = strings.TrimSpace(rest)
	}
	return t
}

// unquoteName removes quotes around a name, and a repeated word before it.
func unquoteName(s string) string {
	s = strings.TrimSpace(s)
	for _, word := range []string{"function=", "parameter=", "name="} {
		s = strings.TrimPrefix(s, word)
	}
	if len(s) > 1 && chars.IsQuote(s[0]) {
		if inner, rest, ok := strings.Cut(s[1:], s[:1]); ok && strings.HasPrefix(rest, " ") {
			return inner // other attributes follow
		}
		return strings.Trim(s, s[:1])
	}
	return s
}

// artefact is the first byte of the characters that tokenizers leave for spaces and newlines.
const artefact = 0xC4

// artefacts replaces these characters.
var artefacts = strings.NewReplacer("Ġ", " ", "Ċ", "\n")

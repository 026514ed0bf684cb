// Package html builds HTML in which every text and attribute is escaped.
//
// It replaces html/template, which keeps all methods of all types in a program and makes it 6 MB larger.
package html

import (
	"fmt"
	"html"
	"strings"
	"unicode"
)

// HTML is text that may be sent to a browser as it is. The functions of this package make it; no other package converts
// strings to it.
type HTML string

// Attrs are names and values in turn. A name without a value, "hidden", is followed by the empty string.
type Attrs []string

// Text returns s as text. Control characters and characters that change the direction of writing become visible.
func Text(s string) HTML { return HTML(html.EscapeString(Visible(s))) }

// Textf formats its arguments as text.
func Textf(format string, args ...any) HTML { return Text(fmt.Sprintf(format, args...)) }

// Visible replaces characters that a browser would not show, or that would change the text around them.
func Visible(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return r
		case r < ' ':
			return '␀' + r
		case r == 0x7f:
			return '␡'
		case unicode.In(r, unicode.Cc, unicode.Cf, unicode.Bidi_Control, unicode.Zl, unicode.Zp) && r != '\u200d':
			return '\uFFFD'
		}
		return r
	}, s)
}

// void are the elements without an end tag.
var void = map[string]bool{"br": true, "hr": true, "img": true, "input": true, "link": true, "meta": true, "source": true, "wbr": true}

// Tag returns an element.
func Tag(name string, attrs Attrs, inner ...HTML) HTML {
	var b strings.Builder
	b.WriteByte('<')
	b.WriteString(name)
	for i := 0; i+1 < len(attrs); i += 2 {
		b.WriteByte(' ')
		b.WriteString(attrs[i])
		b.WriteString(`="`)
		b.WriteString(html.EscapeString(Visible(attrs[i+1])))
		b.WriteByte('"')
	}
	b.WriteByte('>')
	for _, h := range inner {
		b.WriteString(string(h))
	}
	if !void[name] {
		b.WriteString("</" + name + ">")
	}
	return HTML(b.String())
}

// El returns an element with a class, which may be empty.
func El(name, class string, inner ...HTML) HTML {
	if class == "" {
		return Tag(name, nil, inner...)
	}
	return Tag(name, Attrs{"class", class}, inner...)
}

// Join puts elements together.
func Join(parts ...HTML) HTML {
	var b strings.Builder
	for _, p := range parts {
		b.WriteString(string(p))
	}
	return HTML(b.String())
}

// Each returns f of every value, together.
func Each[T any](values []T, f func(T) HTML) HTML {
	parts := make([]HTML, len(values))
	for i, v := range values {
		parts[i] = f(v)
	}
	return Join(parts...)
}

// If returns h if the condition holds, and otherwise nothing.
func If(condition bool, h ...HTML) HTML {
	if !condition {
		return ""
	}
	return Join(h...)
}

// Page returns a document with a head and a body.
func Page(head, body HTML) string {
	return "<!doctype html>\n" + string(Tag("html", Attrs{"lang", "en"}, Tag("head", nil, head), Tag("body", nil, body))) + "\n"
}

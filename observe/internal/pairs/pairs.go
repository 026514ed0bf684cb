// Package pairs makes the attributes of logs and of spans from names and values.
package pairs

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// MaxName bounds the bytes of a name.
const MaxName = 256

// Name returns a name or an id as it may stand in a log or a span: models and upstreams make up those of
// tools, calls and models, so it is cut, on one line, and has no characters that only control how text is shown.
func Name(s string) string {
	cut := s[:min(len(s), MaxName)]
	for len(cut) > 0 && len(cut) < len(s) && !utf8.RuneStart(s[len(cut)]) { // no half of a character
		cut = cut[:len(cut)-1]
	}
	return strings.Map(func(r rune) rune {
		if r == utf8.RuneError || unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp) {
			return -1
		}
		return r
	}, cut)
}

// Text appends to list what attr makes of names and values, which alternate in pairs,
// except for values that are empty. The values are names: see [Name].
func Text[A any](list []A, attr func(name, value string) A, pairs ...string) []A {
	return Content(list, func(name, value string) A { return attr(name, Name(value)) }, pairs...)
}

// Content is Text for values that may be long: what people, models and tools wrote.
func Content[A any](list []A, attr func(name, value string) A, pairs ...string) []A {
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			list = append(list, attr(pairs[i], pairs[i+1]))
		}
	}
	return list
}

// Number is Text for values that are ints, except for those that are zero. It panics if
// a name is no string or a value no int.
func Number[A any](list []A, attr func(name string, value int) A, pairs ...any) []A {
	for i := 0; i+1 < len(pairs); i += 2 {
		if n := pairs[i+1].(int); n != 0 {
			list = append(list, attr(pairs[i].(string), n))
		}
	}
	return list
}

// Package pairs makes the attributes of logs and of spans from names and values.
package pairs

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/toolpost/toolpost/internal/clip"
)

// MaxName bounds the bytes of a name.
const MaxName = 256

// Name returns a name or an id in a form that is safe for logs and spans: at most MaxName bytes, one line, no control
// characters. Models and upstreams choose the names of tools, calls and models.
func Name(s string) string {
	return strings.Map(func(r rune) rune {
		if r == utf8.RuneError || unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp) {
			return -1
		}
		return r
	}, s[:clip.Rune(s, MaxName)])
}

// Text appends an attribute for each pair of a name and a value. Empty values are skipped. The values are
// names: see [Name].
func Text[A any](list []A, attr func(name, value string) A, pairs ...string) []A {
	return Content(list, func(name, value string) A { return attr(name, Name(value)) }, pairs...)
}

// Content is Text for long values: text of people, models and tools.
func Content[A any](list []A, attr func(name, value string) A, pairs ...string) []A {
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			list = append(list, attr(pairs[i], pairs[i+1]))
		}
	}
	return list
}

// Number is Text for ints. Zeros are skipped. It panics if a name is not a string or a value is not an int.
func Number[A any](list []A, attr func(name string, value int) A, pairs ...any) []A {
	for i := 0; i+1 < len(pairs); i += 2 {
		if n := pairs[i+1].(int); n != 0 {
			list = append(list, attr(pairs[i].(string), n))
		}
	}
	return list
}

package js

import (
	"bytes"
)

var unicodeEscape = []byte(`\u`)

// Halves counts the unpaired surrogates in the strings of a JSON text, like "\ud83d". They are not characters; decoders
// replace them with U+FFFD.
func Halves(v []byte) int {
	n := 0
	for {
		i := bytes.Index(v, unicodeEscape)
		if i < 0 {
			return n
		}
		before := i
		for before > 0 && v[before-1] == '\\' {
			before--
		}
		if (i-before)%2 == 1 { // the backslash is escaped itself
			v = v[i+1:]
			continue
		}
		if escapeLength(v[i:]) == 0 {
			return n
		}
		_, size := unescape(v[i:])
		if size < 0 {
			n, size = n+1, -size
		}
		v = v[i+size:]
	}
}

package whole

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/toolpost/toolpost/dialect/internal/offered"
	"github.com/toolpost/toolpost/dialect/internal/values"
)

// declares reports whether the tool of the call has a parameter, in any spelling. If any name is allowed, it may have all
// but those with names for parts of a call.
func (r *reading) declares(written string) bool {
	if r.names.Any {
		return offered.LikeName(written) && values.Keys[written] == values.OtherKey && !containers[written] && !parameterTags[written]
	}
	_, ok := r.parameterName(written)
	return ok
}

// parameterName returns the parameter that a name means: the one of this name, or the only one that has the same letters in
// other capitals and with other signs between words, such as TimeoutS for timeout_s.
func (r *reading) parameterName(written string) (name string, ok bool) {
	if r.shape == nil || written == "" {
		return written, r.names.Any
	}
	if r.shape.Declares(written) {
		return written, true
	}
	for _, key := range r.shape.Properties() {
		if !sameLetters(key, written) {
			continue
		}
		if name != "" {
			return "", false
		}
		name = key
	}
	return name, name != ""
}

// sameLetters reports whether two names differ only in capitals, underscores and dashes.
func sameLetters(a, b string) bool {
	for {
		a, b = strings.TrimLeft(a, "_-"), strings.TrimLeft(b, "_-")
		if a == "" || b == "" {
			return a == b
		}
		x, n := utf8.DecodeRuneInString(a)
		y, m := utf8.DecodeRuneInString(b)
		if unicode.ToLower(x) != unicode.ToLower(y) {
			return false
		}
		a, b = a[n:], b[m:]
	}
}

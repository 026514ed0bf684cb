package loss

import "github.com/toolpost/toolpost/llm"

// Surrogates is the detail of the warning about U+FFFD in place of half a surrogate pair.
const Surrogates = `half of a surrogate pair, like \ud83d alone, is not a character; it is replaced by U+FFFD`

// SaysReplaced reports whether a warning is about U+FFFD in place of half a surrogate pair. A server that forwards the
// original bytes has no such loss.
func SaysReplaced(ev llm.Event) bool {
	w, ok := ev.(llm.Warning)
	return ok && w.Detail == Surrogates
}

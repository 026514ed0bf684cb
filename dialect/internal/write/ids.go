package write

import (
	"hash/fnv"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/toolpost/toolpost/dialect/spec"
)

// writtenID returns the id to write for a call: its own where that has the right
// form, else one made from it (the same for a call and its result) or from its
// place among the calls.
func writtenID(f spec.IDForm, id, name string, place int) string {
	switch f {
	case spec.NameIndex:
		head, index, ok := strings.Cut(strings.TrimPrefix(id, "functions."), ":")
		if _, err := strconv.ParseUint(index, 10, 32); ok && head == name && err == nil {
			return "functions." + head + ":" + index
		}
		return "functions." + name + ":" + strconv.Itoa(place)
	case spec.Alnum9:
		return fit(id, place, 9, "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
	case spec.Alnum10:
		return fit(id, place, 10, "0123456789abcdefghijklmnopqrstuvwxyz")
	case spec.Counter:
		if _, err := strconv.ParseUint(id, 10, 31); err == nil {
			return id
		}
		return strconv.Itoa(place)
	case spec.OneBased:
		return strconv.Itoa(place + 1)
	}
	return ""
}

// fit returns id if it has length n and letters of the alphabet only, else n
// such letters that depend on id, or on place if there is no id.
func fit(id string, place, n int, alphabet string) string {
	if len(id) == n && strings.Trim(id, alphabet) == "" {
		return id
	}
	sum := uint64(place + 1)
	if id != "" {
		h := fnv.New64a()
		h.Write([]byte(id))
		sum = h.Sum64()
	}
	out := make([]byte, n)
	for i := range out {
		out[n-1-i] = alphabet[sum%uint64(len(alphabet))]
		sum /= uint64(len(alphabet))
	}
	return string(out)
}

// markersOf returns what a string must not contain unescaped: the tags, tokens
// and fences among the fixed words of a dialect.
func markersOf(w spec.Writing) []string {
	var out []string
	for _, text := range []string{w.Think.Open, w.Think.Close, w.Text.Open, w.Text.Close, w.Next, w.Open, w.Call, w.Param, w.Node, w.Close, w.End} {
		for len(text) > 0 {
			n := marker(text)
			if n > 0 {
				out = append(out, text[:n])
			}
			_, size := utf8.DecodeRuneInString(text)
			text = text[max(n, size):]
		}
	}
	return out
}

// marker returns the length of the marker at the start of text, or 0.
func marker(text string) int {
	for _, m := range []struct{ open, close string }{{"<", ">"}, {"[T", "]"}, {"[/", "]"}, {"[A", "]"}, {"[C", "]"}, {"✿", "✿"}, {"```", ""}, {">>>", ""}} {
		if !strings.HasPrefix(text, m.open) {
			continue
		}
		end := strings.Index(text[len(m.open):], m.close)
		if name := strings.Index(text, "$"); name >= 0 && (end < 0 || name < end) {
			return name // <function=$name>
		}
		if end >= 0 {
			return len(m.open) + end + len(m.close)
		}
	}
	return 0
}

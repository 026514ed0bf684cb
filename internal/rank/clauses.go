package rank

import "strings"

// Clauses splits a request into the things it asks for: at the ends of
// sentences and at words that join them, but not inside quotes.
func Clauses(text string) []string {
	var out []string
	start := 0
	add := func(end int) {
		if c := strings.Trim(text[start:end], " \t\r\n,;."); c != "" {
			out = append(out, c)
		}
	}
	for i := 0; i < len(text); i++ {
		if n := joint(text[i:]); n > 0 && !openQuote(text[start:i]) {
			add(i)
			start = i + n
			i = start - 1
		}
	}
	add(len(text))
	return out
}

// joints separate the items of a request.
var joints = []string{". ", "? ", "! ", ".\n", "?\n", "!\n", "\n", "; ", " and then ", ", then ", " then ", ", and ", " and also ", " and ", ", also ", " as well as "}

// joint returns the length of the joint that text starts with.
func joint(text string) int {
	for _, j := range joints {
		if len(text) >= len(j) && strings.EqualFold(text[:len(j)], j) {
			return len(j)
		}
	}
	return 0
}

func openQuote(s string) bool {
	return strings.Count(s, `"`)%2 == 1 || strings.Count(s, "“") > strings.Count(s, "”")
}

package shorten

import (
	"strings"

	"github.com/toolpost/toolpost/internal/js"
)

// Views are text without quotes. What could be taken for something else has some: a
// text that looks like a number, a key that looks like the end of a line.

// bare returns a text without quotes, unless it would be taken for something else where
// it stands alone or in a cell of a table.
func bare(s string) string {
	if blank(s) || s != strings.TrimSpace(s) || strings.ContainsAny(s, "\n\r\t|") || strings.IndexByte(`{["(`, s[0]) >= 0 || literal(s) {
		return quote(s)
	}
	return s
}

// among returns a text without quotes, unless it would be taken for something else
// among others, with their keys and with commas between.
func among(s string) string {
	q := bare(s)
	if q == s && (strings.ContainsAny(s, "{}[]") || strings.HasSuffix(s, ",") || strings.HasSuffix(s, ":") ||
		strings.Contains(s, ", ") || strings.Contains(s, ": ") || strings.Contains(s, "; ")) {
		return quote(s)
	}
	return q
}

// named returns a text that names something that is not shown, in quotes if it would be
// taken for several such.
func named(s string) string {
	if q := bare(s); q != s || !strings.Contains(s, ";") && !strings.Contains(s, " (") {
		return q
	}
	return quote(s)
}

// label returns a key, in quotes if it would be taken for more than a key.
func label(k string) string {
	if blank(k) || k != strings.TrimSpace(k) || k[0] == '(' || strings.ContainsAny(k, "\n\r\t|:,;=\"{}[]\u2028\u2029\u0085") {
		return quote(k)
	}
	return k
}

func labels(keys []string) []string {
	out := make([]string, len(keys))
	for i, k := range keys {
		out[i] = label(k)
	}
	return out
}

// literal reports whether a text reads like a value other than text.
func literal(s string) bool {
	if s == "true" || s == "false" || s == "null" {
		return true
	}
	n, _ := js.NumberLength(s)
	return n == len(s)
}

func blank(s string) bool { return strings.TrimSpace(s) == "" }

// quote writes a text as JSON does.
func quote(s string) string { return string(js.AppendQuoted(nil, s)) }

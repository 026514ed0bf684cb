package loose

import (
	"encoding/json"
	"strconv"
	"strings"
)

// Literal returns a Python word as JSON: a constant, a number, else a
// string.
func Literal(word string) string {
	switch word {
	case "True", "true":
		return "true"
	case "False", "false":
		return "false"
	case "None", "null":
		return "null"
	}
	if json.Valid([]byte(word)) {
		return word
	}
	s := strings.ReplaceAll(strings.TrimPrefix(word, "+"), "_", "")
	digits := strings.TrimPrefix(s, "-")
	if digits != "" && strings.Trim(digits, "0123456789") == "" { // 007
		digits = strings.TrimLeft(digits, "0")
		if digits == "" {
			return "0"
		}
		return s[:len(s)-len(strings.TrimPrefix(s, "-"))] + digits
	}
	if f, err := strconv.ParseFloat(s, 64); err == nil && strings.ContainsAny(s, ".eE") && !strings.ContainsAny(s, "xXpPnNiI") {
		return strconv.FormatFloat(f, 'g', -1, 64)
	}
	if n, err := strconv.ParseInt(s, 0, 64); err == nil {
		return strconv.FormatInt(n, 10)
	}
	return quote(word)
}

// quote writes a string as JSON.
func quote(s string) string {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.Encode(s) //nolint:errcheck // a string can be written to a builder
	return strings.TrimSuffix(b.String(), "\n")
}

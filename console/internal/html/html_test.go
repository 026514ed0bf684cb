package html

import (
	"strings"
	"testing"
)

// TestTextAndAttributesAreEscaped holds for every text that a model, a tool or a client can write.
func TestTextAndAttributesAreEscaped(t *testing.T) {
	for _, s := range []string{`<script>alert(1)</script>`, `" onmouseover="alert(1)`, `'><img src=x onerror=alert(1)>`, `</textarea><script>`, "&lt;b&gt;", "javascript:alert(1)"} {
		got := string(Tag("a", Attrs{"title", s}, Text(s)))
		inner := strings.TrimSuffix(strings.TrimPrefix(got, `<a title="`), "</a>")
		if strings.Contains(inner, "<") || strings.Count(inner, `"`) != 1 {
			t.Errorf("%q becomes %s", s, got)
		}
	}
}

func TestInvisibleCharactersBecomeVisible(t *testing.T) {
	for in, want := range map[string]string{
		"a\x1b[31mb":             "a␛[31mb",
		"a\x00b":                 "a␀b",
		"user\u202Etxt.exe":      "user\uFFFDtxt.exe",
		"a\u2066b\u2069":         "a\uFFFDb\uFFFD",
		"zero\u200bwidth\ufeff":  "zero\uFFFDwidth\uFFFD",
		"line\nand\ttab":         "line\nand\ttab",
		"family 👨\u200d👩\u200d👧": "family 👨\u200d👩\u200d👧",
	} {
		if got := Visible(in); got != want {
			t.Errorf("Visible(%q) is %q, want %q", in, got, want)
		}
	}
}

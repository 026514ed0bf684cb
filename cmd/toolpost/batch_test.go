package main

import (
	"strings"
	"testing"
	"unicode"

	"github.com/toolpost/toolpost/cmd/toolpost/internal/programtest"
)

// An answer is one line for every reader. Some languages end lines at other characters than newlines, and a model may
// write any of them.
func TestJSONLinesEscapeLineSeparators(t *testing.T) {
	row := `{"id":1,"text":"a\u2028b\u0085c\u2029d: [f(x=\"\u2028\u0085\u2029\u000b\")]"}` + "\n"
	r := programtest.Run(t, row, "parse", "--batch")
	line, more, _ := strings.Cut(r.Out, "\n")
	if r.Code != 0 || more != "" || !strings.Contains(line, `"text":"a\u2028b\u0085c\u2029d: "`) || !strings.Contains(line, `{"x":"\u2028\u0085\u2029\u000b"}`) {
		t.Errorf("%+v", r)
	}
	if i := strings.IndexFunc(line, func(r rune) bool { return unicode.IsControl(r) || r == '\u2028' || r == '\u2029' }); i >= 0 {
		t.Errorf("a line ends at %d of %q", i, line)
	}
}

package yamlcheck_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/internal/linear"
	"github.com/toolpost/toolpost/internal/yamlcheck"
)

func TestCheck(t *testing.T) {
	var bomb, merges strings.Builder
	bomb.WriteString("a: &a [x,x,x,x,x,x,x,x,x]\n")
	merges.WriteString("a: &a {x: 1}\n")
	for c := 'b'; c <= 'h'; c++ {
		fmt.Fprintf(&bomb, "%c: &%c [%s]\n", c, c, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*%c,", c-1), 9), ","))
		fmt.Fprintf(&merges, "%c: &%c {<<: *%c, l: [%s]}\n", c, c, c-1, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*%c,", c-1), 9), ","))
	}
	for name, c := range map[string]struct {
		text string
		bad  string
	}{
		"an ordinary file":       {"tools:\n  - name: f\n    description: \"a * b\"\n", ""},
		"ordinary anchors":       {"a: &a {x: 1}\nb: {<<: *a}\nc: [*a, *a]\n", ""},
		"aliases within aliases": {bomb.String(), "aliases write it out"},
		"merged maps":            {merges.String(), "aliases write it out"},
		"many of a long one":     {"a: &a [" + strings.Repeat("x,", 2000) + "x]\nb: [" + strings.Repeat("*a,", 2000) + "*a]\n", "aliases write it out"},
		"brackets":               {"a: " + strings.Repeat("[", 200_000), "line 1: more than 500 levels"},
		"braces":                 {"b: 1\na: " + strings.Repeat("{a: ", 100_000), "line 2: more than 500 levels"},
		"dashes":                 {strings.Repeat("- ", 200_000) + "a", "more than 500 levels"},
		"too long":               {strings.Repeat("# x\n", 2<<20), "the limit is"},
		"no YAML":                {"a: [*b\n", ""},
		"no such anchor":         {"a: *b\n", ""},
		"a marked document":      {"# tools\n---\na: 1\n...\n", ""},
		"a marked end":           {"a: 1\n---\n", ""},
		"dashes in text":         {"a: |\n  x\n  ---\n  y\nb: '---'\n", ""},
		"a table in a comment":   {"# a\n#---\na: 1\n", ""},
		"two documents":          {"a: 1\n---\nb: 2\n", "line 3: a second document begins here"},
		"two marked documents":   {"---\na: 1\n---\nb: 2\n", "line 4: a second document begins here"},
		"an ended document":      {"a: 1\n...\nb: 2\n", "second document"},
		"on the line of a mark":  {"a: 1\n--- {b: 2}\n", "line 2: a second document begins here"},
		"with other line ends":   {"a: 1\r\n---\r\nb: 2\r\n", "second document"},
		"a second list":          {"- a\n---\n- b\n", "second document"},
	} {
		var err error
		linear.Soon(t, name, func() { err = yamlcheck.Check([]byte(c.text)) })
		if (err != nil) != (c.bad != "") || err != nil && !strings.Contains(err.Error(), c.bad) {
			t.Errorf("%s: %v, want %q", name, err, c.bad)
		}
	}
}

package lark

import (
	"errors"
	"regexp"
	"strings"
	"testing"
)

// patch is a grammar of the kind that coding agents send with their tool for edits.
const patch = `
start: begin hunk+ finish
begin: "*** Begin Patch" LF
finish: "*** End Patch" LF?

hunk: add | remove | update   // what may be done
add: "*** Add File: " filename LF added+
remove: "*** Delete File: " filename LF
update: "*** Update File: " filename LF move? change?
filename: /(.+)/
added: "+" /(.*)/ LF -> line
move: "*** Move to: " filename LF
change: (context | changed)+ eof?
context: ("@@" | "@@ " /(.+)/) LF
changed: ("+" | "-" | " ") /(.*)/ LF
eof: "*** End of File" LF
%import common.LF
`

func TestMatch(t *testing.T) {
	const sum = `
?start: sum
?sum: product
    | sum "+" product  -> add
    | sum "-" product  -> sub
?product: atom ("*" atom)*
?atom: NUMBER | "(" sum ")" | call
call: CNAME "(" [sum ("," sum)*] ")"
%import common (NUMBER, CNAME)
%import common.WS_INLINE -> SPACE
%ignore SPACE
`
	for _, c := range []struct {
		name, grammar, text string
		wrong               string // "" if it fits
	}{
		{"a patch", patch, "*** Begin Patch\n*** Update File: a.py\n@@\n def f():\n-    return 1\n+    return 2\n*** End Patch\n", ""},
		{"without its last line end", patch, "*** Begin Patch\n*** Add File: a\n+x\n*** End Patch", ""},
		{"two files", patch, "*** Begin Patch\n*** Delete File: a\n*** Add File: b\n+\n+*** End Patch\n*** End Patch\n", ""},
		{"a context with words", patch, "*** Begin Patch\n*** Update File: a\n*** Move to: b\n@@ class A\n x\n*** End of File\n*** End Patch\n", ""},
		{"no change", patch, "*** Begin Patch\n*** End Patch\n", `"E" in line 2, column 5`},
		{"a line without its sign", patch, "*** Begin Patch\n*** Add File: a\nx\n*** End Patch\n", `"x" in line 3, column 1`},
		{"cut off", patch, "*** Begin Patch\n*** Add File: a\n+x\n", "ends in line 4, column 1"},
		{"nothing", patch, "", "ends in line 1, column 1"},
		{"a diff in a fence", patch, "```\n*** Begin Patch\n", "\"`\" in line 1, column 1"},
		{"a sum", sum, "1 + 2*(3 - max(4, 5)) - f()", ""},
		{"with spaces around", sum, "  1  +  2  ", ""},
		{"not a sum", sum, "1 + + 2", `"+" in line 1, column 5`},
		{"not closed", sum, "f(1, (2)", "ends in line 1, column 9"},
		{"a range", `start: "a".."c"~2..3`, "abc", ""},
		{"too many", `start: "a".."c"~2..3`, "abca", `"a" in line 1, column 4`},
		{"any case", `start: "select"i " " /[a-z]+/i`, "SELECT Abc", ""},
		{"other scripts", `start: "é" /\p{Han}+/`, "é漢字", ""},
		{"groups over lines", "start: (\n  \"a\"\n  | \"b\"\n)+\n", "abba", ""},
		{"left and right recursion", "start: l r\nl: | l \"x\"\nr: | \"y\" r", "xxyy", ""},
		{"a slash", `start: /a\/b/`, "a/b", ""},
		{"everything empty", "start: a* [a]\na: \"x\"?", "", ""},
		{"a terminal of terminals", "start: WORDS\nWORDS: LETTER+ (\" \" LETTER+)*\n%import common.LETTER", "ab cd", ""},
	} {
		g, err := Compile(c.grammar)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		err = g.Match(c.text)
		if c.wrong == "" && err != nil || c.wrong != "" && (err == nil || !strings.Contains(err.Error(), c.wrong)) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

func TestGrammarsThatCannotBeUsed(t *testing.T) {
	for definition, want := range map[string]string{
		"":                                   "no rule called start",
		"a: \"x\"":                           "no rule called start",
		"start: b":                           "b is not defined",
		"start: \"x":                         `'"' cannot be read`,
		"start: /(/":                         "cannot be read",
		"start: /a(?=b)/":                    "cannot be read",
		"start: /\\bx/":                      "cannot be checked",
		"start: \"x\"\nstart: \"y\"":         "defined twice",
		"start: (\"x\"":                      `no ")"`,
		"start: x{\"y\"}":                    "does not belong there",
		"start: \"x\"~\"y\"":                 "a number is missing",
		"start: \"x\"~9999999":               "repeated",
		"start: X\n%declare X":               "%declare is not understood",
		"start: X\n%import python.X":         "nothing to be imported from python",
		"start: X\n%import common.X":         "no X that is known",
		"start: \"ab\"..\"c\"":               "one character at each end",
		"start \"x\"":                        `no ":"`,
		"start: " + strings.Repeat("(", 999): "nested too deeply",
		"start: \"a\"~1000~1000":             "does not belong there",
		"start: (\"a\"~1000)~1000":           "",
		"start: ((\"a\"~0..999)~999)~999":    "",
		strings.Repeat("x", maxDefinition+1): "more than",
		"start: €":                           "cannot be read",
	} {
		if _, err := Compile(definition); want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%.60q: %v", definition, err)
		}
	}
}

// A text that cannot be checked in reasonable time does not count as wrong.
func TestTooMuch(t *testing.T) {
	g, err := Compile("start: start start | \"x\"?")
	if err != nil {
		t.Fatal(err)
	}
	if err := g.Match(strings.Repeat("x", 3000)); !errors.Is(err, ErrTooMuch) {
		t.Errorf("%v", err)
	}
}

// FuzzRegexp compares a grammar made of an expression with Go's own reader of expressions.
func FuzzRegexp(f *testing.F) {
	for _, re := range []string{"a+b?", "(a|b)*c", `[^x]{2,3}`, `(?i)straße`, `.*\n`, `\d+(\.\d+)?`, `(a*)*b`} {
		f.Add(re, "aab\nc123.5")
		f.Add(re, "")
	}
	f.Fuzz(func(t *testing.T, expression, text string) {
		if len(expression) > 60 || len(text) > 60 {
			return
		}
		g, err := Regexp(expression)
		if err != nil {
			return
		}
		re, err := regexp.Compile(`\A(?:` + expression + `)\z`)
		if err != nil {
			return
		}
		got := g.Match(text)
		if errors.Is(got, ErrTooMuch) {
			return
		}
		if want := re.MatchString(text); want != (got == nil) {
			t.Errorf("%q on %q: %v, and Go says %v", expression, text, got, want)
		}
	})
}

func FuzzCompile(f *testing.F) {
	f.Add(patch, "*** Begin Patch\n")
	f.Add("start: (a | B)~1..2\na: \"x\"i\nB: /y/", "xy")
	f.Fuzz(func(t *testing.T, definition, text string) {
		if len(definition) > 400 || len(text) > 100 {
			return
		}
		if g, err := Compile(definition); err == nil {
			_ = g.Match(text)
		}
	})
}

func BenchmarkMatch(b *testing.B) {
	g, err := Compile(patch)
	if err != nil {
		b.Fatal(err)
	}
	text := "*** Begin Patch\n*** Add File: a.py\n" + strings.Repeat("+    return a + b  # a line of code\n", 300) + "*** End Patch\n"
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		if err := g.Match(text); err != nil {
			b.Fatal(err)
		}
	}
}

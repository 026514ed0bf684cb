package term

import (
	"math/rand/v2"
	"strings"
	"testing"
	"unicode"

	"github.com/charmbracelet/x/ansi"
	"github.com/google/go-cmp/cmp"

	"github.com/toolpost/toolpost/cmd/toolpost/internal/cli"
)

func drawn(p cli.Palette, text string, width int) []string {
	m := &Markdown{P: p}
	m.Write(text)
	return m.Draw(width)
}

func TestMarkdown(t *testing.T) {
	for _, c := range []struct{ name, text, plain, coloured string }{
		{"text", "Just text.", "Just text.", "Just text."},
		{"ends of lines stay", "one\ntwo\n\nthree", "one\ntwo\n\nthree", "one\ntwo\n\nthree"},
		{"heading", "# A *b*\ntext", "# A *b*\n\ntext", "<1;4>A</> <1;4;3>b</>\n\ntext"},
		{"emphasis", "**b c** *d* ~~e~~ `f g`", "**b c** *d* ~~e~~ `f g`", "<1>b</> <1>c</> <3>d</> <9>e</> <36>f</> <36>g</>"},
		{"list", "- a\n  - b\n- c", "• a\n  • b\n• c", "<36>• </>a\n  <36>• </>b\n<36>• </>c"},
		{"numbers", "3. a\n4. b", "3. a\n4. b", "<36>3. </>a\n<36>4. </>b"},
		{"loose list", "1. a\n\n2. b\n\n   more", "1. a\n\n2. b\n\n   more", "<36>1. </>a\n\n<36>2. </>b\n\n   more"},
		{"tasks", "- [x] a\n- [ ] b", "• [x] a\n• [ ] b", "<36>• </>[x] a\n<36>• </>[ ] b"},
		{"quote", "> a\n> b", "│ a\n│ b", "<2>│ </>a\n<2>│ </>b"},
		{"rule", "a\n\n---\n\nb", "a\n\n" + strings.Repeat("─", 24) + "\n\nb", "a\n\n<2>" + strings.Repeat("─", 24) + "</>\n\nb"},
		{"link", "[a](http://x/y)", "a (http://x/y)", "<4>a</> <2>(http://x/y)</>"},
		{"table", "|a|bb|\n|-|-:|\n|ccc|d|", "a   │ bb\n────┼───\nccc │  d", "<1>a</>  <2> │ </><1>bb</>\n<2>────┼───</>\nccc<2> │ </> d"},
		{"table that is too wide", "|aaaaaaaaaaaaaa|bbbbbbbbbbbb|\n|-|-|\n|c|d|", "|aaaaaaaaaaaaaa|bbbbbbbb\nbbbb|\n|-|-|\n|c|d|", "|aaaaaaaaaaaaaa|bbbbbbbb\nbbbb|\n|-|-|\n|c|d|"},
		{"code", "Look:\n```go\nvar x = \"a\" // b\n```\nend", "Look:\n\n  go\n  var x = \"a\" // b\n\nend", "Look:\n\n  <2>go</>\n  <35>var</> x = <32>\"a\"</> <2>// b</>\n\nend"},
		{"code that goes on", "```\na\n\n# b", "  a\n\n  # b", "  a\n\n  # b"},
		{"code over lines", "```python\n\"\"\"a\n1 if\n\"\"\" if 12", "  python\n  \"\"\"a\n  1 if\n  \"\"\" if 12", "  <2>python</>\n  <32>\"\"\"</><32>a</>\n  <32>1 if</>\n  <32>\"\"\"</> <35>if</> <33>12</>"},
		{"difference", "```diff\n-a\n+b\n c", "  diff\n  -a\n  +b\n   c", "  <2>diff</>\n  <31>-a</>\n  <32>+b</>\n   c"},
		{"HTML", "<b>x</b>\n\n<div>\ny\n</div>", "<b>x</b>\n\n<div>\ny\n</div>", "<b>x</b>\n\n<div>\ny\n</div>"},
		{"definitions are text", "[a]: http://b", "[a]: http://b", "[a]: http://b"},
		{"no controls", "a\x1b[31mb &#27;[0m", "a␛[31mb &#27;[0m", "a␛[31mb &#27;[0m"},
		{"wrapped", "one two three four five six", "one two three four five\nsix", "one two three four five\nsix"},
		{"long word", strings.Repeat("x", 30), strings.Repeat("x", 24) + "\nxxxxxx", strings.Repeat("x", 24) + "\nxxxxxx"},
	} {
		t.Run(c.name, func(t *testing.T) {
			plain := strings.Join(drawn(cli.Palette{}, c.text, 24), "\n")
			if d := cmp.Diff(trimRows(c.plain), trimRows(plain)); d != "" {
				t.Errorf("plain:\n%s", d)
			}
			on := strings.Join(drawn(cli.Palette{On: true}, c.text, 24), "\n")
			on = strings.NewReplacer("\x1b[0m", "</>", "\x1b[", "<").Replace(on)
			for _, code := range []string{"1;4;3", "1;4", "1", "2", "3", "4", "9", "31", "32", "33", "35", "36"} {
				on = strings.ReplaceAll(on, "<"+code+"m", "<"+code+">")
			}
			if d := cmp.Diff(trimRows(c.coloured), trimRows(on)); d != "" {
				t.Errorf("coloured:\n%s", d)
			}
		})
	}
}

func trimRows(text string) []string {
	rows := strings.Split(text, "\n")
	for i := range rows {
		rows[i] = strings.TrimRight(rows[i], " ")
	}
	return rows
}

// mdPieces are the parts of random answers.
var mdPieces = []string{
	"word ", "*a* ", "**b", "** ", "`c ", "` ", "\n", "\n", "\n\n", "- item\n", "  more\n", "1. one\n", "# head\n", "```go\n", "```\n", "~~~\n", "> q\n", "|a|b|\n|-|-|\n|c|d|\n",
	"漢字漢字漢字", "🙂 ", "[l](u) ", "<b>", "</b>\n", "<!-- x\n", "---\n", "    code\n", "\ttab\n", "\\* ", "&amp; ", "![i](v) ", "<http://z> ", "[d]: e\n", "- [ ] t\n",
}

func randomMarkdown(r *rand.Rand, n int) string {
	var b strings.Builder
	for range n {
		b.WriteString(mdPieces[r.IntN(len(mdPieces))])
	}
	return b.String()
}

// An answer that is drawn while it grows ends up like one drawn at once. No row is wider than the screen, and no letter
// is lost.
func TestMarkdownGrows(t *testing.T) {
	for seed := range uint64(600) {
		r := rand.New(rand.NewPCG(seed, 2))
		text, width, p := randomMarkdown(r, 60), 12+r.IntN(60), cli.Palette{On: r.IntN(2) == 0}
		grown := &Markdown{P: p}
		for rest := text; rest != ""; {
			n := min(1+r.IntN(12), len(rest))
			grown.Write(rest[:n])
			rest = rest[n:]
			if r.IntN(4) == 0 {
				grown.Draw(width + r.IntN(2))
			}
		}
		rows := grown.Draw(width)
		if d := cmp.Diff(drawn(p, text, width), rows); d != "" {
			t.Fatalf("%q at %d:\n%s", text, width, d)
		}
		for _, row := range rows {
			if ansi.StringWidth(row) > width {
				t.Fatalf("%q: %d cells at %d: %q", text, ansi.StringWidth(row), width, row)
			}
		}
		if want, got := letters(text), letters(ansi.Strip(strings.Join(rows, ""))); !holds(got, want) {
			t.Fatalf("letters are lost of %q:\n%s", text, strings.Join(rows, "\n"))
		}
	}
}

// letters returns the letters of a text.
func letters(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) {
			return r
		}
		return -1
	}, text)
}

// holds reports whether got has every letter of want at least as often.
func holds(got, want string) bool {
	count := make(map[rune]int)
	for _, r := range got {
		count[r]++
	}
	for _, r := range want {
		count[r]--
		if count[r] < 0 {
			return false
		}
	}
	return true
}

// Rows taken piece by piece for a scrolling terminal equal the drawn rows.
func TestMarkdownIsTaken(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 3))
		text := randomMarkdown(r, 60)
		m := &Markdown{}
		var rows []string
		for rest := text; rest != ""; {
			n := min(1+r.IntN(12), len(rest))
			m.Write(rest[:n])
			rest = rest[n:]
			rows = append(rows, m.Take(40, false)...)
		}
		rows = append(rows, m.Take(40, true)...)
		if d := cmp.Diff(trimRows(strings.Join(drawn(cli.Palette{}, text, 40), "\n")), trimRows(strings.Join(rows, "\n"))); d != "" {
			t.Fatalf("%q:\n%s", text, d)
		}
	}
}

// A line that is too long for Markdown, and long code, are still shown.
func TestMarkdownWithoutEnd(t *testing.T) {
	long := strings.Repeat("word ", maxBlock)
	rows := drawn(cli.Palette{On: true}, "# a\n\n"+long+"\n\n```go\nvar a\n"+long+"\nvar b\n"+strings.Repeat("var c\n", maxBlock)+"```\n*end*", 80)
	all := strings.Join(rows, "\n")
	if n := strings.Count(all, "word"); n != 2*maxBlock {
		t.Errorf("%d words of %d", n, 2*maxBlock)
	}
	if n := strings.Count(all, "\x1b[35mvar\x1b[0m"); n != 2+maxBlock {
		t.Errorf("%d lines of code of %d", n, 2+maxBlock)
	}
	if !strings.HasSuffix(all, "\x1b[3mend\x1b[0m") || !strings.Contains(all, "c\n  \x1b[35mvar") {
		t.Errorf("%q", all[len(all)-200:])
	}
}

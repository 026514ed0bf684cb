package term

import (
	"fmt"
	"strings"
	"unicode"

	"github.com/charmbracelet/x/ansi"
	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	east "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"

	"github.com/toolpost/toolpost/cmd/toolpost/internal/cli"
)

// mdParser parses CommonMark with tables, strikethrough and task lists. It does not parse link definitions, because
// their lines would not be shown.
var mdParser = goldmark.New(
	goldmark.WithParser(parser.NewParser(parser.WithBlockParsers(parser.DefaultBlockParsers()...), parser.WithInlineParsers(parser.DefaultInlineParsers()...))),
	goldmark.WithExtensions(extension.Table, extension.Strikethrough, extension.TaskList),
).Parser()

// renderMarkdown returns the rows of a block of Markdown. It keeps the model's line breaks. Without colours it also
// keeps the marks inside a line.
func renderMarkdown(p cli.Palette, src string, width int) []string {
	r := renderer{p, []byte(src)}
	width = max(4, width)
	rows := r.children(mdParser.Parse(text.NewReader(r.src)), width, true)
	shown := 0
	for _, row := range rows {
		shown += letterCount(ansi.Strip(row))
	}
	if shown < letterCount(src) { // for example, a row has more cells than its table
		return rawRows(strings.Split(src, "\n"), width)
	}
	return rows
}

// letterCount counts letters and digits.
func letterCount(text string) int {
	n := 0
	for _, r := range text {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			n++
		}
	}
	return n
}

type renderer struct {
	p   cli.Palette
	src []byte
}

// children draws the blocks inside a block. With apart, an empty row separates them.
func (r renderer) children(n ast.Node, width int, apart bool) []string {
	var out []string
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		if len(out) > 0 && apart {
			out = append(out, "")
		}
		out = append(out, r.block(c, width)...)
	}
	return out
}

func (r renderer) block(n ast.Node, width int) []string {
	switch n := n.(type) {
	case *ast.Heading:
		return r.heading(n, width)
	case *ast.List:
		return r.list(n, width)
	case *ast.Blockquote:
		return prefixed(r.p.Dim("│ "), r.p.Dim("│ "), r.children(n, max(4, width-2), true))
	case *ast.FencedCodeBlock:
		lang := string(n.Language(r.src))
		rows := codeRows(r.p, lang, r.lines(n), width)
		if lang != "" {
			rows = append([]string{"  " + r.p.Dim(lang)}, rows...)
		}
		return rows
	case *ast.CodeBlock:
		return codeRows(r.p, "", r.lines(n), width)
	case *ast.ThematicBreak:
		return []string{r.p.Dim(strings.Repeat("─", min(width, 40)))}
	case *east.Table:
		return r.table(n, width)
	case *ast.Paragraph, *ast.TextBlock:
		return fill(r.inline(n, "", nil), r.p, width)
	case *ast.HTMLBlock:
		raw := r.lines(n)
		if n.HasClosure() {
			raw = append(raw, strings.TrimRight(string(n.ClosureLine.Value(r.src)), "\n"))
		}
		return rawRows(raw, width)
	}
	return rawRows(r.lines(n), width)
}

// lines returns the source lines of a block.
func (r renderer) lines(n ast.Node) []string {
	var out []string
	for i := range n.Lines().Len() {
		at := n.Lines().At(i)
		out = append(out, strings.TrimRight(string(at.Value(r.src)), "\n"))
	}
	return out
}

func rawRows(lines []string, width int) []string {
	var out []string
	for _, line := range lines {
		rows := fill([]span{{text: line}}, cli.Palette{}, width)
		if len(rows) == 0 {
			rows = []string{""}
		}
		out = append(out, rows...)
	}
	return out
}

func (r renderer) heading(n *ast.Heading, width int) []string {
	var spans []span
	style := "1"
	if n.Level == 1 {
		style = "1;4"
	}
	if !r.p.On {
		spans = append(spans, span{text: strings.Repeat("#", n.Level) + " "})
	}
	return fill(r.inline(n, style, spans), r.p, width)
}

func (r renderer) list(n *ast.List, width int) []string {
	var out []string
	number := n.Start
	for item := n.FirstChild(); item != nil; item = item.NextSibling() {
		mark := "• "
		if n.IsOrdered() {
			mark = fmt.Sprintf("%d%c ", number, n.Marker)
			number++
		}
		if len(out) > 0 && !n.IsTight {
			out = append(out, "")
		}
		indent := strings.Repeat(" ", ansi.StringWidth(mark))
		rows := r.children(item, max(4, width-len(indent)), !n.IsTight)
		if len(rows) == 0 {
			rows = []string{""}
		}
		out = append(out, prefixed(r.p.Cyan(mark), indent, rows)...)
	}
	return out
}

// prefixed adds a prefix to the first row and another to the other rows.
func prefixed(first, other string, rows []string) []string {
	for i := range rows {
		rows[i] = first + rows[i]
		first = other
	}
	return rows
}

// table draws a table in aligned columns. A table that is too wide has no rows; then its source is shown.
func (r renderer) table(n *east.Table, width int) []string {
	var cells [][]string
	var widths []int
	for row := n.FirstChild(); row != nil; row = row.NextSibling() {
		var line []string
		for c := row.FirstChild(); c != nil; c = c.NextSibling() {
			style := ""
			if len(cells) == 0 {
				style = "1"
			}
			drawn := strings.Join(fill(r.inline(c, style, nil), r.p, 1<<20), " ")
			if len(line) == len(widths) {
				widths = append(widths, 0)
			}
			widths[len(line)] = max(widths[len(line)], ansi.StringWidth(drawn))
			line = append(line, drawn)
		}
		cells = append(cells, line)
	}
	total := -3
	for _, w := range widths {
		total += w + 3
	}
	if total > width {
		return nil
	}
	var out []string
	for i, line := range cells {
		var b strings.Builder
		for j, cell := range line {
			if j > 0 {
				b.WriteString(r.p.Dim(" │ "))
			}
			gap := strings.Repeat(" ", widths[j]-ansi.StringWidth(cell))
			if j < len(n.Alignments) && n.Alignments[j] == east.AlignRight {
				b.WriteString(gap + cell)
			} else {
				b.WriteString(cell + gap)
			}
		}
		out = append(out, strings.TrimRight(b.String(), " "))
		if i == 0 {
			out = append(out, r.p.Dim(rule(widths)))
		}
	}
	return out
}

func rule(widths []int) string {
	var parts []string
	for _, w := range widths {
		parts = append(parts, strings.Repeat("─", w))
	}
	return strings.Join(parts, "─┼─")
}

// span is text in one style. A text "\n" ends a row.
type span struct{ text, style string }

// marked adds the spans of inner. Without colours it puts a mark before and after them.
func (r renderer) marked(mark string, spans []span, inner func([]span) []span) []span {
	if r.p.On {
		return inner(spans)
	}
	spans = inner(append(spans, span{text: mark}))
	return append(spans, span{text: mark})
}

// inline adds the content of a block.
func (r renderer) inline(n ast.Node, style string, spans []span) []span {
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		spans = r.piece(c, style, spans)
	}
	return spans
}

func (r renderer) piece(n ast.Node, style string, spans []span) []span {
	inside := func(style string) func([]span) []span {
		return func(s []span) []span { return r.inline(n, style, s) }
	}
	switch n := n.(type) {
	case *ast.Text:
		written := n.Segment.Value(r.src)
		if r.p.On {
			written = util.UnescapePunctuations(written)
		}
		spans = append(spans, span{string(written), style})
		if n.SoftLineBreak() || n.HardLineBreak() {
			spans = append(spans, span{"\n", ""})
		}
		return spans
	case *ast.String:
		return append(spans, span{string(n.Value), style})
	case *ast.Emphasis:
		mark, code := "*", "3"
		if n.Level == 2 {
			mark, code = "**", "1"
		}
		return r.marked(mark, spans, inside(joinStyles(style, code)))
	case *east.Strikethrough:
		return r.marked("~~", spans, inside(joinStyles(style, "9")))
	case *ast.CodeSpan:
		return r.marked("`", spans, inside(joinStyles(style, "36")))
	case *ast.Link:
		return r.address(r.inline(n, joinStyles(style, "4"), spans), string(n.Destination))
	case *ast.Image:
		spans = r.inline(n, style, append(spans, span{"![", style}))
		return r.address(append(spans, span{"]", style}), string(n.Destination))
	case *ast.AutoLink:
		return append(spans, span{string(n.Label(r.src)), joinStyles(style, "4")})
	case *ast.RawHTML:
		for i := range n.Segments.Len() {
			at := n.Segments.At(i)
			spans = append(spans, span{string(at.Value(r.src)), style})
		}
		return spans
	case *east.TaskCheckBox:
		if n.IsChecked {
			return append(spans, span{"[x] ", style})
		}
		return append(spans, span{"[ ] ", style})
	}
	return r.inline(n, style, spans)
}

// address adds the target of a link, because the text of a link may be misleading.
func (r renderer) address(spans []span, to string) []span {
	return append(spans, span{" (" + cli.Printable(to) + ")", "2"})
}

func joinStyles(a, b string) string {
	if a == "" {
		return b
	}
	return a + ";" + b
}

// fill puts spans into rows of at most width cells. Each word sets its own style, which makes every row independent of
// the others.
func fill(spans []span, p cli.Palette, width int) []string {
	f := filler{p: p, width: width}
	for _, s := range spans {
		if s.text == "\n" {
			f.endWord()
			f.endRow()
			continue
		}
		for i, word := range strings.Split(strings.ReplaceAll(s.text, "\n", " "), " ") {
			if i > 0 {
				f.endWord()
				f.gap++
			}
			f.add(word, s.style)
		}
	}
	f.endWord()
	f.endRow()
	return f.rows
}

type filler struct {
	p     cli.Palette
	width int
	rows  []string
	row   strings.Builder
	used  int    // cells of row
	gap   int    // spaces before the next word
	word  []span // the word being built
	cells int    // cells of word
}

func (f *filler) add(text, style string) {
	if text == "" {
		return
	}
	f.word = append(f.word, span{text, style})
	f.cells += ansi.StringWidth(text)
}

// endWord puts the word into the row, or into the next one.
func (f *filler) endWord() {
	if len(f.word) == 0 {
		return
	}
	if f.used > 0 && f.used+f.gap+f.cells > f.width {
		f.endRow()
		f.gap = 0
	}
	if f.used > 0 || len(f.rows) == 0 || f.gap > 0 {
		gap := min(f.gap, max(0, f.width-f.used-1))
		f.row.WriteString(strings.Repeat(" ", gap))
		f.used += gap
	}
	for _, s := range f.word {
		for text := s.text; text != ""; {
			head := text
			if f.used+ansi.StringWidth(text) > f.width {
				head = ansi.Truncate(text, f.width-f.used, "")
				if head == "" && f.used > 0 {
					f.endRow()
					continue
				}
				if head == "" { // wider than a row
					head = text
				}
			}
			f.row.WriteString(f.p.Paint(s.style, head))
			f.used += ansi.StringWidth(head)
			if text = text[len(head):]; text != "" {
				f.endRow()
			}
		}
	}
	f.word, f.cells, f.gap = nil, 0, 0
}

func (f *filler) endRow() {
	if f.used > 0 || f.row.Len() > 0 {
		f.rows = append(f.rows, f.row.String())
	}
	f.row.Reset()
	f.used, f.gap = 0, 0
}

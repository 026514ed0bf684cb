package text

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/toolpost/toolpost/cmd/toolpost/internal/cli"
	"github.com/toolpost/toolpost/dialect"
	"github.com/toolpost/toolpost/internal/clip"
	"github.com/toolpost/toolpost/llm"
)

// kindWidth is the width of the column with the kind of a span.
const kindWidth = 8

// print writes the explanation for people: a headline, the text with a gutter that shows the kind of each span, then
// calls, doubts and the result of the nearest dialect.
func (e *explanation) print(w io.Writer, text string) error {
	c := cli.Colours(w)
	var b strings.Builder
	if c.On {
		fmt.Fprintf(&b, "%s\n\n", c.Paint("7;1", " "+e.headline()+" "))
	} else {
		fmt.Fprintf(&b, "%s\n\n", e.headline())
	}
	gutter := len(fmt.Sprint(e.Bytes))
	for _, s := range grouped(e.Spans) {
		e.printSpan(&b, c, s, gutter)
	}
	b.WriteByte('\n')
	for _, part := range e.parts {
		if call, ok := part.(llm.Call); ok {
			entry(&b, c.Green("call    "), c.Bold(cli.Printable(call.Name))+" "+cli.Printable(string(call.Args)))
			entry(&b, "        ", c.Dim(evidence(call.Provenance)))
			printOrigin(&b, c, call.Provenance, text)
		}
	}
	for _, bad := range e.Invalid {
		entry(&b, c.Red("invalid "), c.Bold(cli.Printable(bad.Name))+" ("+string(bad.Reason)+"): "+cli.Printable(bad.Problem))
		if len(bad.Nearest) > 0 {
			entry(&b, "        ", "did it mean "+cli.Printable(strings.Join(bad.Nearest, ", "))+"?")
		}
		printOrigin(&b, c, bad.Provenance, text)
	}
	for _, warn := range e.Warnings {
		entry(&b, c.Yellow("warning "), cli.Printable(warn.Detail))
	}
	if e.HintFrom != "" {
		entry(&b, c.Dim("hint    "), strings.TrimPrefix(e.Hint+", "+e.HintFrom, ", "))
	}
	entry(&b, c.Dim("others  "), e.others())
	_, err := io.WriteString(w, b.String())
	return err
}

func (e *explanation) headline() string {
	line := fmt.Sprintf("%d bytes", e.Bytes)
	if e.Format != "" {
		line += " of text in a response of format " + e.Format
	}
	switch n := len(e.Calls); n {
	case 0:
		line += ", no call"
	case 1:
		line += ", 1 call"
	default:
		line += fmt.Sprintf(", %d calls", n)
	}
	if e.Dialect != "" {
		line += " in " + e.Dialect
	}
	if n := len(e.Invalid); n > 0 {
		line += fmt.Sprintf(", %d invalid", n)
	}
	if n := len(e.Repairs); n > 0 {
		line += fmt.Sprintf(", %d repaired", n)
	}
	if e.Truncated {
		line += ", cut off"
	}
	return line
}

// paints holds the colour of each kind of span.
var paints = map[string]func(cli.Palette, string) string{
	"text":     func(_ cli.Palette, s string) string { return s },
	"thinking": func(c cli.Palette, s string) string { return c.Paint("3;35", s) },
	"marker":   func(c cli.Palette, s string) string { return c.Dim(s) },
	"name":     func(c cli.Palette, s string) string { return c.Paint("1;32", s) },
	"args":     func(c cli.Palette, s string) string { return c.Cyan(s) },
}

// grouped joins adjacent spans of one kind, for people. It drops rules that add nothing to the text of their span.
func grouped(spans []spanJSON) []spanJSON {
	var out []spanJSON
	for _, s := range spans {
		if s.Kind == "text" || strings.ContainsAny(s.Rule, `<>{}[]|"✿:`) || slices.Contains(plainRules, s.Rule) {
			s.Rule = ""
		}
		n := len(out) - 1
		if n < 0 || out[n].Kind != s.Kind || out[n].Rule != "" && s.Rule != "" && out[n].Rule != s.Rule {
			out = append(out, s)
			continue
		}
		out[n].End, out[n].Text, out[n].Rule = s.End, out[n].Text+s.Text, cmp.Or(out[n].Rule, s.Rule)
	}
	return out
}

// plainRules are rules that are obvious from the text. Rules that are markers are obvious too.
var plainRules = []string{"space", "key", "json", "name", "separator", "tag", "value", "end of value"}

// printSpan writes a span line by line, after a gutter.
func (e *explanation) printSpan(b *strings.Builder, c cli.Palette, s spanJSON, gutter int) {
	paint, ok := paints[s.Kind]
	if !ok {
		paint = paints["text"]
	}
	at, kind, rule := s.Start, s.Kind, s.Rule
	for line := range strings.Lines(s.Text) {
		shown := strings.TrimSuffix(line, "\n")
		if shown != line {
			shown += "⏎"
		}
		fmt.Fprintf(b, "%s %s %s %s", c.Dim(fmt.Sprintf("%*d", gutter, at)), paint(c, fmt.Sprintf("%-*s", kindWidth, kind)),
			c.Dim("│"), e.underline(c, paint, shown, at))
		if rule != "" {
			b.WriteString("  " + c.Dim("← "+rule))
		}
		b.WriteByte('\n')
		at += len(line)
		kind, rule = "", ""
	}
}

// underline paints a line and marks the repaired bytes. The line starts at byte at of the answer.
func (e *explanation) underline(c cli.Palette, paint func(cli.Palette, string) string, line string, at int) string {
	show := func(s string) string { return strings.ReplaceAll(cli.Printable(s), "\t", "⇥") }
	if !c.On {
		return show(line)
	}
	var b strings.Builder
	for _, r := range e.Repairs { // in text order, like calls
		from, to := r.Start-at, min(r.End-at, len(line))
		if from < 0 || from >= to {
			continue
		}
		b.WriteString(paint(c, show(line[:from])) + c.Paint("4;33", show(line[from:to])))
		line, at = line[to:], at+to
	}
	return b.String() + paint(c, show(line))
}

// printOrigin prints the dialect and the source of a call, and its repairs.
func printOrigin(b *strings.Builder, c cli.Palette, p llm.Provenance, text string) {
	if p.Dialect != "" {
		entry(b, "        ", c.Dim(p.Dialect+", "+string(p.Source())))
	}
	for _, r := range p.Repairs {
		line := fmt.Sprintf("repaired %s (%v) at byte %d", r.Rule, r.Class, r.Start)
		if r.End > r.Start && r.End <= len(text) {
			line = fmt.Sprintf("repaired %s (%v) at bytes %d to %d: %s", r.Rule, r.Class, r.Start, r.End, brief(text[r.Start:r.End]))
		}
		entry(b, "        ", c.Yellow(line))
	}
}

// evidence returns a line with the result for a call, and what speaks for and against it.
func evidence(p llm.Provenance) string {
	pro, con := "the vendor delivered it as a call", []string(nil)
	switch p.Source() {
	case llm.MarkedSource:
		pro = "a marker announces it"
	case llm.BareSource:
		pro, con = "its name, arguments and place fit", append(con, "no marker announces it")
	}
	for _, r := range p.Repairs {
		if why := dialect.WhyDoubtful(r); why != "" {
			con = append(con, why)
		}
	}
	line := resultOf(p) + ": for it: " + pro
	if len(con) > 0 {
		line += "; against it: " + strings.Join(con, ", ")
	}
	return line
}

// brief quotes the start of a text.
func brief(s string) string { return fmt.Sprintf("%q", clip.Runes(s, 49)) }

// otherReading is the result of parsing the text with another dialect.
type otherReading struct {
	Dialect string     `json:"dialect"`
	Same    bool       `json:"same"` // the result equals ours
	Calls   []callJSON `json:"calls"`
	Text    string     `json:"text"`
	Invalid int        `json:"invalid"`
	// Written holds the calls of our result as a model of that dialect would write them. It is empty if there are none
	// or the dialect cannot write them.
	Written string `json:"written,omitempty"`

	closeness float64
}

// other parses the text with another hint. It returns nil on failure.
func other(p dialect.Parser, c capture, name string, a parseAnswer, spans []dialect.Span) *otherReading {
	p.Dialect = name
	b, theirs, err := traced(p, c)
	if err != nil {
		return nil
	}
	o := &otherReading{Dialect: name, Same: sameReading(a, b), Calls: b.Calls, Text: b.Text, Invalid: len(b.Invalid)}
	var calls []llm.Part
	for _, call := range a.Calls {
		calls = append(calls, llm.Call{Name: call.Name, Args: call.Arguments})
	}
	if len(calls) > 0 {
		o.Written, _ = dialect.Builtin().Render(name, calls...) // on failure Written stays empty
	}
	if !o.Same {
		o.closeness = float64(overlap(spans, theirs))
		return o
	}
	var markup strings.Builder
	text := c.text()
	for _, s := range spans {
		if s.Kind != dialect.TextSpan && s.Kind != dialect.ThinkingSpan {
			markup.WriteString(text[s.Start:s.End])
		}
	}
	o.closeness = likeness(markup.String(), o.Written)
	return o
}

// likeness compares two texts by their common triples of bytes, from 0 for none to 1 for all.
func likeness(a, b string) float64 {
	const most = 4 << 10
	a, b = a[:min(len(a), most)], b[:min(len(b), most)]
	if len(a) < 3 || len(b) < 3 {
		return 0
	}
	count := make(map[string]int)
	for i := range len(a) - 2 {
		count[a[i:i+3]]++
	}
	same := 0
	for i := range len(b) - 2 {
		if count[b[i:i+3]] > 0 {
			count[b[i:i+3]]--
			same++
		}
	}
	return 2 * float64(same) / float64(len(a)+len(b)-4)
}

// sameReading reports whether two results are equal for the user.
func sameReading(a, b parseAnswer) bool {
	return a.Text == b.Text && a.Thinking == b.Thinking && len(a.Invalid) == len(b.Invalid) &&
		slices.EqualFunc(a.Calls, b.Calls, func(x, y callJSON) bool { return x.Name == y.Name && string(x.Arguments) == string(y.Arguments) })
}

// overlap counts the bytes that have the same kind in both results.
func overlap(a, b []dialect.Span) int {
	same := 0
	for i, j := 0, 0; i < len(a) && j < len(b); {
		if a[i].Kind == b[j].Kind {
			same += max(0, min(a[i].End, b[j].End)-max(a[i].Start, b[j].Start))
		}
		if a[i].End < b[j].End {
			i++
		} else {
			j++
		}
	}
	return same
}

// others describes the result of the nearest other dialect.
func (e *explanation) others() string {
	n := e.Nearest
	if n == nil {
		return ""
	}
	if n.Same {
		line := "no hint changes this reading; all other dialects agree"
		if n.Written != "" {
			line += ", the nearest is " + n.Dialect + ", which writes\n" + cutLines(cli.Printable(n.Written), 8)
		}
		return line
	}
	said := "no call"
	var calls []string
	for _, c := range n.Calls {
		calls = append(calls, c.Name+" "+string(c.Arguments))
	}
	if len(calls) > 0 {
		said = strings.Join(calls, "; ")
	}
	if n.Invalid > 0 {
		said += fmt.Sprintf(" and %d invalid", n.Invalid)
	}
	return fmt.Sprintf("as %s it would have been: %s, text %s\ndialects that read it otherwise: %d; the others agree with the reading above", n.Dialect, cli.Printable(said), brief(n.Text), e.Differ)
}

// cutLines returns at most n lines of a text.
func cutLines(s string, n int) string {
	lines := strings.Split(s, "\n")
	if len(lines) > n {
		lines = append(lines[:n], "…")
	}
	return strings.Join(lines, "\n")
}

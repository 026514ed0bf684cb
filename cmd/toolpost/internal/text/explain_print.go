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
		if why := dialect.WhyDoubtful(r.Rule); why != "" {
			con = append(con, why)
		} else if r.Class == llm.Guess {
			con = append(con, "it can be read in more than one way ("+r.Rule+")")
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

package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/toolpost/toolpost/dialect"
	"github.com/toolpost/toolpost/llm"
)

// maxExplained bounds the text that explain reads with every dialect.
const maxExplained = 1 << 20

func newExplain() *cobra.Command {
	var r reading
	var asJSON, list bool
	cmd := &cobra.Command{
		Use:   "explain [FILE]",
		Short: "Show how a model's text was read, byte by byte",
		Long: `Explain reads a captured answer as parse does and shows what became of every byte:
thinking, text, markup, the name of a call or its arguments; which rule repaired
what; and what the nearest other dialect would have made of the same text.`,
		Example: `  toolpost explain answer.txt
  toolpost explain --model qwen3:8b --tools tools.json < answer.txt
  toolpost explain --dialects`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if list {
				return listDialects(cmd.OutOrStdout(), asJSON)
			}
			p, hint, err := r.parser(cmd)
			if err != nil {
				return err
			}
			text, err := readInput(cmd, args)
			if err != nil {
				return err
			}
			if len(text) > maxExplained {
				return fmt.Errorf("%d bytes are too much to explain; parse reads up to %d", len(text), maxLine)
			}
			c := openCapture(text)
			e, err := explain(p, c)
			if err != nil {
				return err
			}
			e.Hint, e.HintFrom = p.Dialect, hint
			if asJSON {
				return printJSON(cmd.OutOrStdout(), e)
			}
			return e.print(cmd.OutOrStdout(), c.text())
		},
	}
	r.flags(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	cmd.Flags().BoolVar(&list, "dialects", false, "list the dialects instead")
	return cmd
}

// explanation is everything there is to say about how a text was read.
type explanation struct {
	Bytes    int    `json:"bytes"`
	Format   string `json:"format,omitempty"` // of the vendor's response the text came in
	Hint     string `json:"hint,omitempty"`
	HintFrom string `json:"hint_from,omitempty"`
	parseAnswer
	Spans []spanJSON `json:"spans"`
	// Nearest is the dialect that, taken as a hint, would change the reading
	// least; nil if no hint changes anything.
	Nearest *otherReading `json:"nearest,omitempty"`
	Agree   int           `json:"agree"` // dialects whose hint changes nothing
}

type spanJSON struct {
	Start   int    `json:"start"`
	End     int    `json:"end"`
	Kind    string `json:"kind"`
	Dialect string `json:"dialect,omitempty"`
	Rule    string `json:"rule,omitempty"`
	Text    string `json:"text"`
}

// otherReading is what another dialect says.
type otherReading struct {
	Dialect string     `json:"dialect"`
	Calls   []callJSON `json:"calls"`
	Text    string     `json:"text"`
	Invalid int        `json:"invalid"`
	same    int        // bytes that both read alike
}

// explain reads text and notes what became of it.
func explain(p dialect.Parser, c capture) (*explanation, error) {
	text := c.text()
	a, spans, err := traced(p, c)
	if err != nil {
		return nil, err
	}
	e := &explanation{Bytes: len(text), Format: c.format, parseAnswer: a}
	for _, s := range spans {
		e.Spans = append(e.Spans, spanJSON{s.Start, s.End, s.Kind.String(), s.Dialect, s.Rule, text[s.Start:s.End]})
	}
	for _, d := range dialect.All() {
		if d.Name == a.Dialect || d.Name == p.Dialect {
			continue
		}
		other := p
		other.Dialect = d.Name
		b, theirs, err := traced(other, c)
		if err != nil {
			continue // a reading that fails says nothing
		}
		if sameReading(a, b) {
			e.Agree++
			continue
		}
		o := &otherReading{Dialect: d.Name, Calls: b.Calls, Text: b.Text, Invalid: len(b.Invalid), same: overlap(spans, theirs)}
		if e.Nearest == nil || o.same > e.Nearest.same {
			e.Nearest = o
		}
	}
	return e, nil
}

// traced reads text and returns its spans, neighbours of one kind joined.
func traced(p dialect.Parser, c capture) (parseAnswer, []dialect.Span, error) {
	var spans []dialect.Span
	p.Trace = func(s dialect.Span) {
		if n := len(spans); n > 0 && spans[n-1].End == s.Start && spans[n-1].Kind == s.Kind && spans[n-1].Dialect == s.Dialect && spans[n-1].Rule == s.Rule {
			spans[n-1].End = s.End
			return
		}
		spans = append(spans, s)
	}
	a, err := read(p, c, 0)
	if err == nil && len(spans) > 0 && (spans[0].Start != 0 || spans[len(spans)-1].End != len(c.text())) {
		err = errors.New("the trace does not cover the text")
	}
	return a, spans, err
}

// sameReading reports whether two readings tell the user the same.
func sameReading(a, b parseAnswer) bool {
	return a.Text == b.Text && a.Thinking == b.Thinking && len(a.Invalid) == len(b.Invalid) &&
		slices.EqualFunc(a.Calls, b.Calls, func(x, y callJSON) bool { return x.Name == y.Name && string(x.Arguments) == string(y.Arguments) })
}

// overlap counts the bytes that two readings take for the same kind.
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

// kindWidth is the width of the column that says what a piece became.
const kindWidth = 8

// print writes the explanation for people: a headline, the text with a gutter
// that says what each piece became, then calls, doubts and the other reading.
func (e *explanation) print(w io.Writer, text string) error {
	c := colours(w)
	var b strings.Builder
	if c.on {
		fmt.Fprintf(&b, "%s\n\n", c.paint("7;1", " "+e.headline()+" "))
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
			entry(&b, c.green("call    "), c.bold(printable(call.Name))+" "+printable(string(call.Args)))
			printOrigin(&b, c, call.Provenance, text)
		}
	}
	for _, bad := range e.Invalid {
		entry(&b, c.red("invalid "), c.bold(printable(bad.Name))+" ("+string(bad.Reason)+"): "+printable(bad.Problem))
		if len(bad.Nearest) > 0 {
			entry(&b, "        ", "did it mean "+printable(strings.Join(bad.Nearest, ", "))+"?")
		}
		printOrigin(&b, c, bad.Provenance, text)
	}
	for _, warn := range e.Warnings {
		entry(&b, c.yellow("warning "), printable(warn.Detail))
	}
	if e.HintFrom != "" {
		entry(&b, c.dim("hint    "), strings.TrimPrefix(e.Hint+", "+e.HintFrom, ", "))
	}
	entry(&b, c.dim("others  "), e.others())
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

// paints gives every kind of span its colour.
var paints = map[string]func(palette, string) string{
	"text":     func(_ palette, s string) string { return s },
	"thinking": func(c palette, s string) string { return c.paint("3;35", s) },
	"marker":   func(c palette, s string) string { return c.dim(s) },
	"name":     func(c palette, s string) string { return c.paint("1;32", s) },
	"args":     func(c palette, s string) string { return c.cyan(s) },
}

// grouped joins neighbours of one kind, for people; the rules of a group are
// those that say more than its text does.
func grouped(spans []spanJSON) []spanJSON {
	var out []spanJSON
	for _, s := range spans {
		if s.Kind == "text" || s.Rule == s.Text || slices.Contains(plainRules, s.Rule) {
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

// plainRules are rules anyone can see in the text.
var plainRules = []string{"space", "key", "json", "name", "separator", "{", "}"}

// printSpan writes a stretch of the text, line by line, behind a gutter.
func (e *explanation) printSpan(b *strings.Builder, c palette, s spanJSON, gutter int) {
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
		fmt.Fprintf(b, "%s %s %s %s", c.dim(fmt.Sprintf("%*d", gutter, at)), paint(c, fmt.Sprintf("%-*s", kindWidth, kind)),
			c.dim("│"), e.underline(c, paint, shown, at))
		if rule != "" {
			b.WriteString("  " + c.dim("← "+rule))
		}
		b.WriteByte('\n')
		at += len(line)
		kind, rule = "", ""
	}
}

// underline paints a line and marks the bytes that were repaired. It starts at
// byte at of the answer.
func (e *explanation) underline(c palette, paint func(palette, string) string, line string, at int) string {
	show := func(s string) string { return strings.ReplaceAll(printable(s), "\t", "⇥") }
	if !c.on {
		return show(line)
	}
	var b strings.Builder
	for _, r := range e.Repairs { // in the order of the text, as calls are
		from, to := r.Start-at, min(r.End-at, len(line))
		if from < 0 || from >= to {
			continue
		}
		b.WriteString(paint(c, show(line[:from])) + c.paint("4;33", show(line[from:to])))
		line, at = line[to:], at+to
	}
	return b.String() + paint(c, show(line))
}

// printOrigin says how a call came to be and shows what was repaired.
func printOrigin(b *strings.Builder, c palette, p llm.Provenance, text string) {
	if p.Dialect != "" {
		entry(b, "        ", c.dim(p.Dialect))
	}
	for _, r := range p.Repairs {
		line := fmt.Sprintf("repaired %s (%v) at byte %d", r.Rule, r.Class, r.Start)
		if r.End > r.Start && r.End <= len(text) {
			line = fmt.Sprintf("repaired %s (%v) at bytes %d to %d: %s", r.Rule, r.Class, r.Start, r.End, brief(text[r.Start:r.End]))
		}
		entry(b, "        ", c.yellow(line))
	}
}

// brief quotes the start of a text.
func brief(s string) string {
	const most = 48
	if utf8.RuneCountInString(s) > most {
		s = string([]rune(s)[:most]) + "…"
	}
	return fmt.Sprintf("%q", s)
}

func (e *explanation) others() string {
	if e.Nearest == nil {
		return fmt.Sprintf("no hint changes this reading: the %d other dialects agree", e.Agree)
	}
	n := e.Nearest
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
	return fmt.Sprintf("as %s it would have been: %s (text %s); %d other dialects agree with the reading above",
		n.Dialect, printable(said), brief(n.Text), e.Agree)
}

// listDialects prints the table of dialects.
func listDialects(w io.Writer, asJSON bool) error {
	all := dialect.All()
	slices.SortFunc(all, func(a, b dialect.Dialect) int { return cmp.Compare(a.Name, b.Name) })
	if asJSON {
		type row struct {
			Name   string `json:"name"`
			Title  string `json:"title"`
			Models string `json:"models"`
			Form   string `json:"form"`
		}
		rows := make([]row, len(all))
		for i, d := range all {
			rows[i] = row{d.Name, d.Title, d.Models, d.Form.String()}
		}
		return printJSON(w, rows)
	}
	c := colours(w)
	var b strings.Builder
	for _, d := range all {
		fmt.Fprintf(&b, "%s %s\n%20s %s\n", c.bold(fmt.Sprintf("%-20s", d.Name)), d.Title, "", c.dim(d.Models))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

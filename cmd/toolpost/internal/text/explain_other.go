package text

import (
	"fmt"
	"slices"
	"strings"

	"github.com/toolpost/toolpost/cmd/toolpost/internal/cli"
	"github.com/toolpost/toolpost/dialect"
	"github.com/toolpost/toolpost/llm"
)

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
		o.Written, _ = dialect.Render(name, calls...) // on failure Written stays empty
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

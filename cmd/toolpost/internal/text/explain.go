package text

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/toolpost/toolpost/cmd/toolpost/internal/cli"
	"github.com/toolpost/toolpost/dialect"
	"github.com/toolpost/toolpost/dialect/spec"
)

// maxExplained limits the text that explain reads with every dialect.
const maxExplained = 1 << 20

func NewExplain() *cobra.Command {
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
			text, err := cli.ReadInput(cmd, args)
			if err != nil {
				return err
			}
			if len(text) > maxExplained {
				return fmt.Errorf("%d bytes are too much to explain; parse reads up to %d", len(text), cli.MaxLine)
			}
			c := openCapture(text)
			e, err := explain(p, c)
			if err != nil {
				return err
			}
			e.Hint, e.HintFrom = p.Dialect, hint
			hold(&e.parseAnswer, p.Tools)
			if asJSON {
				err = cli.PrintJSON(cmd.OutOrStdout(), e)
			} else {
				err = e.print(cmd.OutOrStdout(), c.text())
			}
			if err == nil && len(e.Invalid) > 0 {
				return cli.ErrReported
			}
			return err
		},
	}
	r.flags(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	cmd.Flags().BoolVar(&list, "dialects", false, "list the dialects instead")
	return cmd
}

// explanation is the complete report of how a text was parsed.
type explanation struct {
	Bytes    int    `json:"bytes"`
	Format   string `json:"format,omitempty"` // the vendor's response format, if the text came in one
	Hint     string `json:"hint,omitempty"`
	HintFrom string `json:"hint_from,omitempty"`
	parseAnswer
	Spans []spanJSON `json:"spans"`
	// Nearest is the other dialect closest to the text. A dialect whose hint would change the result is preferred.
	Nearest *otherReading `json:"nearest,omitempty"`
	Agree   int           `json:"agree"`  // other dialects whose hint changes nothing
	Differ  int           `json:"differ"` // other dialects whose hint changes the result
}

type spanJSON struct {
	Start   int    `json:"start"`
	End     int    `json:"end"`
	Kind    string `json:"kind"`
	Dialect string `json:"dialect,omitempty"`
	Rule    string `json:"rule,omitempty"`
	Text    string `json:"text"`
}

// explain parses text and records the meaning of every byte.
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
	for _, d := range dialect.Builtin().All() {
		if d.Name == a.Dialect || d.Name == p.Dialect {
			continue
		}
		o := other(p, c, d.Name, a, spans)
		if o == nil {
			continue
		}
		if o.Same {
			e.Agree++
		} else {
			e.Differ++
		}
		if n := e.Nearest; n == nil || n.Same && !o.Same || n.Same == o.Same && o.closeness > n.closeness {
			e.Nearest = o
		}
	}
	return e, nil
}

// traced parses text and returns its spans. Adjacent spans of the same kind are joined.
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

// listDialects prints the table of dialects.
func listDialects(w io.Writer, asJSON bool) error {
	all := dialect.Builtin().All()
	slices.SortFunc(all, func(a, b spec.Dialect) int { return cmp.Compare(a.Name, b.Name) })
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
		return cli.PrintJSON(w, rows)
	}
	c := cli.Colours(w)
	var b strings.Builder
	for _, d := range all {
		fmt.Fprintf(&b, "%s %s\n%20s %s\n", c.Bold(fmt.Sprintf("%-20s", d.Name)), d.Title, "", c.Dim(d.Models))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

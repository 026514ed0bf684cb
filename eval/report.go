package eval

import (
	"cmp"
	"encoding/xml"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// Markdown writes a summary as a table per model and a list of the cases that failed.
func (s *Summary) Markdown(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n\n%s\n\n", s.Plan.Suite, s.headline())
	b.WriteString("| model | right | right tool | right arguments | first attempt | valid calls | needless calls | errors | tokens | cost |\n|---|---|---|---|---|---|---|---|---|---|\n")
	for _, m := range s.Models {
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s | %s | %d | %d | %s |\n", cell(m.Model), m.Right, m.RightTools, m.RightArguments,
			m.FirstAttempt, m.ValidCalls, m.NeedlessCalls, m.Errors, m.Usage.Input+m.Usage.Output, m.cost())
	}
	failed := s.failed()
	if len(failed) > 0 {
		b.WriteString("\n## Failed cases\n\n")
	}
	for _, row := range failed {
		fmt.Fprintf(&b, "- `%s` %s: %s: %s\n", row.Case, cell(row.Model), row.CaseScore.Failure, cell(row.CaseScore.detail()))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// cell escapes text for a table in Markdown.
func cell(s string) string {
	return strings.NewReplacer("|", "\\|", "\n", " ", "<", "&lt;", "&", "&amp;").Replace(s)
}

func (s *Summary) headline() string {
	text := plural(s.Plan.Cases, "case") + ", " + plural(len(s.Plan.Models), "model")
	if s.Plan.Repeat > 1 {
		text += fmt.Sprintf(", %d answers each", s.Plan.Repeat)
	}
	if !s.Complete {
		text += "; answers are missing"
	}
	return text
}

// plural returns a number with its noun.
func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// String is a share with its interval, like "83.3 % (66–93)", and "-" of nothing.
func (i Interval) String() string {
	if i.Of == 0 {
		return "-"
	}
	return fmt.Sprintf("%.1f %% (%.0f–%.0f)", 100*i.Share, 100*i.Low, 100*i.High)
}

func (m *ModelSummary) cost() string {
	if m.Cost == 0 {
		return "-"
	}
	return m.Cost.String()
}

// failed returns the rows that did not pass, one for each case and model.
func (s *Summary) failed() []ScoredTrial {
	var out []ScoredTrial
	for _, row := range s.Rows {
		if row.CaseScore.Pass {
			continue
		}
		if n := len(out); n > 0 && out[n-1].Case == row.Case && out[n-1].Model == row.Model {
			continue
		}
		out = append(out, row)
	}
	return out
}

// detail returns the text of the problem that decided.
func (v *CaseScore) detail() string {
	for _, p := range v.Problems {
		if p.Failure == v.Failure {
			return p.Detail
		}
	}
	return ""
}

// The elements of a JUnit report.
type (
	junitSuites struct {
		XMLName xml.Name     `xml:"testsuites"`
		Suites  []junitSuite `xml:"testsuite"`
	}
	junitSuite struct {
		Name     string      `xml:"name,attr"`
		Tests    int         `xml:"tests,attr"`
		Failures int         `xml:"failures,attr"`
		Errors   int         `xml:"errors,attr"`
		Cases    []junitCase `xml:"testcase"`
	}
	junitCase struct {
		Name    string        `xml:"name,attr"`
		Class   string        `xml:"classname,attr"`
		Failure *junitProblem `xml:"failure,omitempty"`
		Error   *junitProblem `xml:"error,omitempty"`
	}
	junitProblem struct {
		Type    string `xml:"type,attr"`
		Message string `xml:"message,attr"`
		Text    string `xml:",chardata"`
	}
)

// JUnit writes a summary in the XML that continuous integration reads: a test suite per model.
func (s *Summary) JUnit(w io.Writer) error {
	var out junitSuites
	for _, m := range s.Models {
		suite := junitSuite{Name: s.Plan.Suite + " " + m.Model}
		for _, row := range s.Rows {
			if row.Model != m.Model {
				continue
			}
			c := junitCase{Name: row.Case, Class: m.Model}
			if s.Plan.Repeat > 1 {
				c.Name = fmt.Sprintf("%s #%d", row.Case, row.Repeat)
			}
			suite.Tests++
			if v := row.CaseScore; !v.Pass {
				var text strings.Builder
				for _, p := range v.Problems {
					fmt.Fprintf(&text, "%s: %s\n", p.Failure, p.Detail)
				}
				p := &junitProblem{Type: string(v.Failure), Message: v.detail(), Text: text.String()}
				if v.Failure == Failed {
					suite.Errors++
					c.Error = p
				} else {
					suite.Failures++
					c.Failure = p
				}
			}
			suite.Cases = append(suite.Cases, c)
		}
		out.Suites = append(out.Suites, suite)
	}
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	enc := xml.NewEncoder(w)
	enc.Indent("", "  ")
	if err := enc.Encode(out); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}

// mostFrequent lists kinds with their counts, the most frequent first.
func mostFrequent[K comparable](counts map[K]int) string {
	kinds := slices.SortedFunc(maps.Keys(counts), func(a, b K) int {
		return cmp.Or(counts[b]-counts[a], strings.Compare(fmt.Sprint(a), fmt.Sprint(b)))
	})
	out := make([]string, len(kinds))
	for i, k := range kinds {
		out[i] = fmt.Sprintf("%s %d", strings.ReplaceAll(fmt.Sprint(k), "_", " "), counts[k])
	}
	return strings.Join(out, ", ")
}

// some returns a number with its noun, and "" for none.
func some(n int, noun string) string {
	if n == 0 {
		return ""
	}
	return plural(n, noun)
}

// Text writes a summary for a terminal.
func (s *Summary) Text(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s\n", s.Plan.Suite, s.headline())
	for i := range s.Models {
		m := &s.Models[i]
		fmt.Fprintf(&b, "\n%s\n", m.Model)
		row := func(name, text string) {
			if text != "-" && text != "" {
				fmt.Fprintf(&b, "  %-16s %s\n", name, text)
			}
		}
		row("right", fmt.Sprintf("%s of %d", m.Right, m.Right.Of))
		row("right tools", m.RightTools.String())
		row("right arguments", m.RightArguments.String())
		row("first attempt", m.FirstAttempt.String())
		row("valid calls", m.ValidCalls.String())
		row("needless calls", m.NeedlessCalls.String())
		if m.PassAtLeastOnce != nil {
			row("stable", fmt.Sprintf("%.1f %% pass at least once, %.1f %% always, of %d", 100**m.PassAtLeastOnce, 100**m.PassAlways, s.Plan.Repeat))
		}
		row("failures", mostFrequent(m.Failures))
		row("repairs", mostFrequent(m.Repairs))
		row("asked again", some(m.Retries, "time"))
		row("unreadable", some(m.InvalidCalls, "call"))
		row("tokens", fmt.Sprintf("%d in, %d out", m.Usage.Input, m.Usage.Output))
		if aside := m.Aside; aside.Input+aside.Output > 0 {
			row("judge and user", fmt.Sprintf("%d in, %d out", aside.Input, aside.Output))
		}
		row("cost", m.cost())
		row("time", fmt.Sprintf("median %d ms, 95 %% within %d ms", m.Latency[0], m.Latency[1]))
		if m.FirstCall[1] > 0 {
			row("first call", fmt.Sprintf("median %d ms, 95 %% within %d ms", m.FirstCall[0], m.FirstCall[1]))
		}
		for _, tag := range slices.Sorted(maps.Keys(m.Tags)) {
			row("  "+tag, m.Tags[tag].String())
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

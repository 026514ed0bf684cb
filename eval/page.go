package eval

import (
	_ "embed"
	"fmt"
	"html"
	"io"
	"strconv"
	"strings"
)

//go:embed page.css
var pageStyle string

// pageCase is a row of the table of cases, with a cell per model.
type pageCase struct {
	id    string
	cells []pageCell
}

// pageCell is the result of one model for a case: its repeats together.
type pageCell struct {
	missing, pass bool
	text          string
	problems      []Problem
}

// pageWriter builds a page. The linker keeps all methods of all types if html/template is in the program, which is then
// 6 MB larger.
type pageWriter struct{ strings.Builder }

// add writes HTML whose verbs are filled with escaped values.
func (p *pageWriter) add(format string, values ...any) {
	for i, v := range values {
		if _, number := v.(float64); !number {
			values[i] = html.EscapeString(fmt.Sprint(v))
		}
	}
	fmt.Fprintf(p, format, values...)
}

// HTML writes a summary as one page that needs nothing else: no script, no font and no file.
func (s *Summary) HTML(w io.Writer) error {
	p := new(pageWriter)
	p.add(`<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>%s</title>
`, s.Plan.Suite)
	p.WriteString("<style>\n" + pageStyle + "</style>\n")
	p.add("<h1>%s</h1>\n<p>%s. Shares are given with their 95 %% intervals.</p>\n", s.Plan.Suite, s.headline())
	s.addBars(p)
	s.addModels(p)
	s.addCases(p)
	p.WriteString("</html>\n")
	_, err := io.WriteString(w, p.String())
	return err
}

// addBars draws the share of right answers of each model with its interval.
func (s *Summary) addBars(p *pageWriter) {
	const left, width, rowHeight = 330, 400, 24
	p.add(`<h2>Right answers</h2>
<svg role="img" aria-label="Right answers of each model with their intervals" width="100%%" viewBox="0 0 800 %s">
`, strconv.Itoa(rowHeight*max(1, len(s.Models))))
	for i, m := range s.Models {
		low, high := left+width*m.Right.Low, left+width*m.Right.High
		p.add(`<g transform="translate(0 %s)"><text x="0" y="15">%s</text>
<rect x="330" y="3" width="400" height="14" fill="currentColor" opacity=".08"/>
<rect x="330" y="3" width="%.1f" height="14" fill="var(--bar)"/>
<path d="M%.1f 10H%.1fM%.1f 5v10M%.1f 5v10" stroke="currentColor" stroke-width="1.5" fill="none"/>
<text x="740" y="15">%.1f %%</text></g>
`, strconv.Itoa(i*rowHeight), m.Model, width*m.Right.Share, low, high, low, high, 100*m.Right.Share)
	}
	p.WriteString("</svg>\n")
}

// addModels writes the table of figures.
func (s *Summary) addModels(p *pageWriter) {
	columns := []string{"model", "right", "right tools", "right arguments", "first attempt", "valid calls", "needless calls", "errors", "tokens", "median ms", "cost"}
	p.WriteString(`<div class="wide"><table>` + "\n<tr>")
	for _, c := range columns {
		p.add(`<th scope="col">%s`, c)
	}
	p.WriteString("</tr>\n")
	for _, m := range s.Models {
		p.add(`<tr><th scope="row">%s`, m.Model)
		for _, v := range []any{m.Right, m.RightTools, m.RightArguments, m.FirstAttempt, m.ValidCalls, m.NeedlessCalls, m.Errors,
			m.Usage.Input + m.Usage.Output, m.Latency[0], m.cost()} {
			p.add(`<td class="n">%s`, v)
		}
		p.WriteString("</tr>\n")
	}
	p.WriteString("</table></div>\n")
}

// addCases writes the table of cases, with the problems of answers that are not right.
func (s *Summary) addCases(p *pageWriter) {
	p.WriteString("<h2>Cases</h2>\n<div class=\"wide\"><table>\n<tr><th scope=\"col\">case")
	for _, id := range s.Plan.Models {
		p.add(`<th scope="col">%s`, id)
	}
	p.WriteString("</tr>\n")
	for _, row := range s.pageCases() {
		p.add(`<tr><th scope="row"><code>%s</code>`, row.id)
		for _, c := range row.cells {
			switch {
			case c.missing:
				p.WriteString("<td>–")
				continue
			case c.pass:
				p.add(`<td><span class="pass">✓ %s</span>`, c.text)
			default:
				p.add(`<td><span class="fail">✗ %s</span>`, c.text)
			}
			for _, problem := range c.problems {
				p.add("<br><small>%s: %s</small>", problem.Failure, problem.Detail)
			}
		}
		p.WriteString("</tr>\n")
	}
	p.WriteString("</table></div>\n")
}

// pageCases returns a row of cells per case: the repeats of each model together.
func (s *Summary) pageCases() []pageCase {
	var out []pageCase
	place := make(map[string]int, len(s.Plan.Models))
	for i, id := range s.Plan.Models {
		place[id] = i
	}
	hits := make([]count, len(s.Plan.Models))
	for i, row := range s.Rows {
		if i == 0 || s.Rows[i-1].Case != row.Case {
			out = append(out, pageCase{id: row.Case, cells: make([]pageCell, len(s.Plan.Models))})
			clear(hits)
			for j := range hits {
				out[len(out)-1].cells[j].missing = true
			}
		}
		j := place[row.Model]
		c := &out[len(out)-1].cells[j]
		hits[j].add(row.CaseScore.Pass)
		c.missing, c.pass = false, hits[j].hits == hits[j].of
		if s.Plan.Repeat > 1 {
			c.text = fmt.Sprintf("%d of %d", hits[j].hits, hits[j].of)
		}
		if !row.CaseScore.Pass {
			c.problems = row.CaseScore.Problems
		}
	}
	return out
}

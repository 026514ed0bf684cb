package eval

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
)

//go:embed page.html.tmpl
var pageText string

var page = template.Must(template.New("page").Parse(pageText))

// pageData is what the page shows.
type pageData struct {
	*Summary
	Headline string
	Height   int
	Bars     []pageBar
	Models   []pageModel
	Cases    []pageCase
}

type pageBar struct {
	Model     string
	Y         int
	Width     float64
	Low, High float64
	Percent   string
}

type pageModel struct {
	ModelSummary
	Tokens int
	Price  string
}

type pageCase struct {
	Case  string
	Cells []pageCell
}

type pageCell struct {
	Missing, Pass bool
	Text          string
	Problems      []Problem
}

// HTML writes a summary as one page that needs nothing else: no script, no font and no file.
func (s *Summary) HTML(w io.Writer) error {
	const left, width, rowHeight = 330, 400, 24
	d := pageData{Summary: s, Headline: s.headline(), Height: rowHeight * max(1, len(s.Models))}
	for i, m := range s.Models {
		d.Models = append(d.Models, pageModel{m, m.Usage.Input + m.Usage.Output, m.cost()})
		d.Bars = append(d.Bars, pageBar{
			Model: m.Model, Y: i * rowHeight, Width: width * m.Right.Share, Low: left + width*m.Right.Low, High: left + width*m.Right.High,
			Percent: fmt.Sprintf("%.1f %%", 100*m.Right.Share),
		})
	}
	d.Cases = s.pageCases()
	return page.Execute(w, d)
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
			out = append(out, pageCase{Case: row.Case, Cells: make([]pageCell, len(s.Plan.Models))})
			clear(hits)
			for j := range hits {
				out[len(out)-1].Cells[j].Missing = true
			}
		}
		j := place[row.Model]
		c := &out[len(out)-1].Cells[j]
		hits[j].add(row.CaseScore.Pass)
		c.Missing, c.Pass = false, hits[j].hits == hits[j].of
		if s.Plan.Repeat > 1 {
			c.Text = fmt.Sprintf("%d of %d", hits[j].hits, hits[j].of)
		}
		if !row.CaseScore.Pass {
			c.Problems = row.CaseScore.Problems
		}
	}
	return out
}

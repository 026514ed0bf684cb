package text

import "github.com/toolpost/toolpost/dialect"

// suspect is text that looks like a call and stayed text.
type suspect struct {
	Start int    `json:"start"`
	End   int    `json:"end"`
	Name  string `json:"name"`
}

// collectSuspects has a parser add what it suspects to a list.
func collectSuspects(p *dialect.Parser, list *[]suspect) {
	p.Suspected = func(s dialect.Span) { *list = append(*list, suspect{s.Start, s.End, s.Tool}) }
}

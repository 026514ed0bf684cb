package text

import (
	"strings"

	"github.com/toolpost/toolpost/dialect"
	"github.com/toolpost/toolpost/llm"
)

// suspect is text that looks like a call and stayed text.
type suspect struct {
	Start int    `json:"start"`
	End   int    `json:"end"`
	Name  string `json:"name"`
}

// aroundSuspect is how far from a reported place the call may begin, for example after its marker.
const aroundSuspect = 96

// suspects returns what looks like a call at the given places of text. Its bounds and name are those of the call that
// the text would be if it were meant. A text that no reader understands has the bounds of its line.
func suspects(p dialect.Parser, text string, places []int) []suspect {
	list := []suspect{}
	if len(places) == 0 {
		return list
	}
	mentioned := mentions(p, text) // in the order of the text, like the places
	end := 0
	for _, at := range places {
		if at < end {
			continue
		}
		for len(mentioned) > 0 && mentioned[0].End <= at {
			mentioned = mentioned[1:]
		}
		found := lineAt(p.Tools, text, at)
		if len(mentioned) > 0 && mentioned[0].Start <= at+aroundSuspect {
			found = suspect{min(mentioned[0].Start, at), mentioned[0].End, mentioned[0].Name}
		}
		end = found.End
		list = append(list, found)
	}
	return list
}

// mentions returns the calls of a text that only talks about them.
func mentions(p dialect.Parser, text string) (list []suspect) {
	p.Mentions, p.Markup, p.Suspected, p.Trace = true, true, nil, nil
	var at dialect.Markup
	for ev := range p.Parse(dialect.Whole(text)) {
		switch ev := ev.(type) {
		case dialect.Markup:
			at = ev
		case llm.Call:
			list = append(list, suspect{at.Start, at.Start + len(at.Text), ev.Name})
		}
	}
	return list
}

// lineAt returns the rest of the line at an offset, with the first offered name in it.
func lineAt(tools []llm.ToolDef, text string, at int) suspect {
	line, _, _ := strings.Cut(text[min(at, len(text)):], "\n")
	found := suspect{Start: at, End: at + len(line)}
	first := len(line)
	for _, t := range tools {
		if i := strings.Index(line, t.Name); i >= 0 && i < first {
			first, found.Name = i, t.Name
		}
	}
	return found
}

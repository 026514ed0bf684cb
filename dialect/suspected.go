package dialect

import (
	"iter"
	"strings"

	"github.com/toolpost/toolpost/dialect/internal/engine"
	"github.com/toolpost/toolpost/llm"
)

// suspects collects where text looks like a call and stayed text, and finds its bounds at the end of the answer.
type suspects struct {
	parser Parser
	chunks []string // of the text; they are not copied
	places []int
}

// suspects returns the collector of one answer, which o tells the places.
func (p *Parser) suspects(o *engine.Options) *suspects {
	s := &suspects{parser: *p}
	o.Suspected = func(at int) { s.places = append(s.places, at) }
	return s
}

// parseAndSuspect reads an answer and reports suspected text after its last event.
func (p *Parser) parseAndSuspect(chunks iter.Seq2[string, error]) iter.Seq2[llm.Event, error] {
	return func(yield func(llm.Event, error) bool) {
		stopped := false
		f := p.Open(func(ev llm.Event, err error) bool {
			stopped = !yield(ev, err)
			return !stopped
		})
		defer f.Stop()
		for chunk, err := range chunks {
			if err != nil {
				f.End(err)
				return
			}
			if !f.Add(chunk) || stopped {
				return
			}
		}
		f.End(nil)
	}
}

// aroundSuspect is how far from a reported place the call may begin, for example after its marker.
const aroundSuspect = 96

// report calls Suspected with the bounds and the name that a text would have as a call.
func (s *suspects) report() {
	if len(s.places) == 0 {
		return
	}
	text := strings.Join(s.chunks, "")
	calls := s.calls(text, false)
	mentioned := apart(s.calls(text, true), calls) // in the order of the text, like the places
	end := 0
	for _, at := range s.places {
		if at < end {
			continue
		}
		for len(mentioned) > 0 && mentioned[0].End <= at {
			mentioned = mentioned[1:]
		}
		found := s.line(text, at)
		if len(mentioned) > 0 && mentioned[0].Start <= at+aroundSuspect {
			found = Span{Start: min(mentioned[0].Start, at), End: mentioned[0].End, Tool: mentioned[0].Tool}
		}
		for len(calls) > 0 && calls[0].Start <= found.Start {
			calls = calls[1:]
		}
		if len(calls) > 0 {
			found.End = min(found.End, calls[0].Start)
		}
		end = found.End
		s.parser.Suspected(found)
	}
}

// apart returns the spans that overlap none of others. Both lists are in the order of the text.
func apart(spans, others []Span) (list []Span) {
	for _, m := range spans {
		for len(others) > 0 && others[0].End <= m.Start {
			others = others[1:]
		}
		if len(others) == 0 || others[0].Start >= m.End {
			list = append(list, m)
		}
	}
	return list
}

// calls returns the calls of a text, and with mentions also those that it only talks about.
func (s *suspects) calls(text string, mentions bool) (list []Span) {
	p := s.parser
	p.Mentions, p.Markup, p.Suspected, p.Trace = p.Mentions || mentions, true, nil, nil
	var at Markup
	for ev := range p.Parse(Whole(text)) {
		switch ev := ev.(type) {
		case Markup:
			at = ev
		case llm.Call:
			list = append(list, Span{Start: at.Start, End: at.Start + len(at.Text), Tool: ev.Name})
		}
	}
	return list
}

// line returns the rest of the line at an offset, with the first offered name in it.
func (s *suspects) line(text string, at int) Span {
	line, _, _ := strings.Cut(text[min(at, len(text)):], "\n")
	found := Span{Start: at, End: at + len(line)}
	first := len(line)
	for _, t := range s.parser.Tools {
		if i := strings.Index(line, t.Name); i >= 0 && i < first {
			first, found.Tool = i, t.Name
		}
	}
	return found
}

package emulate

import (
	"fmt"
	"strings"

	"github.com/toolpost/toolpost/dialect"
	"github.com/toolpost/toolpost/llm"
)

// review checks the text of an answer that was not promoted. It warns of calls without
// markers, which the parser does not look for if no text may become a call, and of an
// answer that is only a call, which refine may ask for again.
func (r *reading) review() {
	text := r.written.String()
	if len(text) > maxReviewed || len(r.Tools) == 0 || strings.TrimSpace(text) == "" {
		return
	}
	all := dialect.Parser{Tools: r.Tools, Dialects: r.Dialects, Dialect: r.Dialect, Markup: true}
	if r.Promotion == llm.PromoteOff {
		r.suspect(&all, text)
	}
	if r.native+r.inText > 0 || r.finish.Reason == llm.Length || r.Request != nil && (r.Request.Output != nil || r.Request.Choice.Forbids()) {
		return // the call need not be asked for
	}
	if end := strings.TrimSpace(text); strings.HasSuffix(end, "```") || strings.HasSuffix(end, "}") || strings.HasSuffix(end, "]") {
		all = dialect.Parser{} // it may be a call of a tool that was not offered
	}
	name := onlyCall(&all, text)
	if name != "" {
		r.emit(llm.Warning{Code: llm.CallAsText, Feature: name, Detail: fmt.Sprintf("the answer is nothing but a call of %s written as text, which was not read as one: %s", name, r.why(name))})
	}
}

// why returns the reason for which a call of the tool name was not read as a call.
func (r *reading) why(name string) string {
	for _, t := range r.Tools {
		if t.Name == name {
			return fmt.Sprintf("text calls %s (%s)", r.Promotion, r.Why)
		}
	}
	return "there is no such tool"
}

// suspect warns of the calls without a marker in a text.
func (r *reading) suspect(p *dialect.Parser, text string) {
	at := 0
	for ev := range p.Parse(dialect.Whole(text)) {
		switch ev := ev.(type) {
		case dialect.Markup:
			at = ev.Start
		case llm.Warning:
			if d, ok := listOr(r.Dialects).Lookup(ev.Feature); ok && d.Bare && !r.emit(ev) { // the others were reported
				return
			}
		case llm.Call:
			if ev.Provenance.Source() == llm.BareSource && !r.emit(llm.Warning{Code: llm.SuspectedCall, Feature: ev.Provenance.Dialect,
				Detail: fmt.Sprintf("text at byte %d looks like a call of %s in %s, but it has no marker", at, ev.Name, ev.Provenance.Dialect)}) {
				return
			}
		}
	}
}

// onlyCall returns the name of the tool if a text is one or more calls and
// nothing else.
func onlyCall(p *dialect.Parser, text string) string {
	name := ""
	for ev, err := range p.Parse(dialect.Whole(text)) {
		switch ev := ev.(type) {
		case llm.Call:
			name = ev.Name
		case llm.InvalidCall:
			return ""
		case llm.TextDelta:
			if strings.TrimSpace(ev.Text) != "" {
				return ""
			}
		}
		if err != nil {
			return ""
		}
	}
	return name
}

package llm

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
)

// Response is a whole answer.
type Response struct {
	// Start is the event that began the answer, if the model sent one.
	Start Start
	// Message holds the parts in the order the model wrote them.
	Message Message
	// Invalid are the calls that cannot be run.
	Invalid  []InvalidCall
	Warnings []Warning
	Finish   Finish
	// Alternatives are the answers after the first.
	Alternatives []*Response
	// Unknown are the events of the vendor's stream that the codec does not know.
	Unknown []UnknownEvent
}

// Generate asks m and waits for the whole answer. If the stream fails, it
// returns the partial answer together with the error.
func Generate(ctx context.Context, m Model, req *Request) (*Response, error) {
	if ctx == nil {
		panic("llm: the context of Generate is nil; pass context.Background()")
	}
	var b Builder
	for ev, err := range m.Stream(ctx, req) {
		if err != nil {
			return b.Response(), err
		}
		b.Add(ev)
	}
	if !b.finished {
		if err := ctx.Err(); err != nil {
			return b.Response(), err
		}
		return b.Response(), &Error{Op: "llm.Generate", Kind: Incomplete, Err: errors.New("the stream ended without a finish event")}
	}
	return b.Response(), nil
}

// Builder puts events together again. The zero value is ready to use. Events
// of types it does not know are passed over.
type Builder struct {
	response Response
	text     strings.Builder // of the part that is open
	open     Part            // Text or Thinking without its text, or nil
	finished bool
	others   []*Builder // of the answers after the first
}

// maxAlternatives limits the answers that a Builder keeps.
const maxAlternatives = 128

// Add takes the next event.
func (b *Builder) Add(ev Event) {
	switch ev := ev.(type) {
	case Start:
		b.response.Start = ev
	case Retract:
		*b = Builder{response: Response{Warnings: b.response.Warnings}}
	case TextDelta:
		b.addText(ev)
	case ThinkingDelta:
		b.addThinking(ev)
	case PartEnd:
		b.close()
	case Media:
		b.append(ev)
	case Call:
		b.append(ev)
	case HostedCall:
		ev.Hosted = true
		b.append(ev.Call)
	case HostedResult:
		ev.Hosted = true
		b.append(ev.Result)
	case InvalidCall:
		b.response.Invalid = append(b.response.Invalid, ev)
	case Warning:
		b.response.Warnings = append(b.response.Warnings, ev)
	case UnknownEvent:
		b.response.Unknown = append(b.response.Unknown, ev)
	case Alternative:
		b.addOther(ev)
	case Finish:
		b.response.Finish = ev
		b.finished = true
	}
}

func (b *Builder) addOther(ev Alternative) {
	if ev.Index < 1 || ev.Index > maxAlternatives || ev.Event == nil {
		return
	}
	for len(b.others) < ev.Index {
		b.others = append(b.others, new(Builder))
	}
	b.others[ev.Index-1].Add(ev.Event)
}

// join adds the tokens that follow.
func (l *LogProbs) join(next *LogProbs) *LogProbs {
	if l == nil || next == nil {
		return cmp.Or(next, l)
	}
	return &LogProbs{l.Form, append(l.Tokens[:len(l.Tokens):len(l.Tokens)], next.Tokens...)}
}

func (b *Builder) addText(ev TextDelta) {
	t, ok := b.open.(Text)
	about := ev.About()
	if !ok || t.Refusal != about.Refusal {
		b.close()
		t = Text{Refusal: about.Refusal}
	}
	b.text.WriteString(ev.Text)
	t.Citations = append(t.Citations, about.Citations...)
	t.State = about.State
	t.LogProbs = t.LogProbs.join(about.LogProbs)
	t.Extra = t.Extra.merge(about.Extra)
	b.open = t
	if !about.State.IsZero() {
		b.close()
	}
}

func (b *Builder) addThinking(ev ThinkingDelta) {
	t, ok := b.open.(Thinking)
	about := ev.About()
	if !ok || t.Redacted != about.Redacted {
		b.close()
		t = Thinking{Redacted: about.Redacted}
	}
	b.text.WriteString(ev.Text)
	t.State = about.State
	t.Extra = t.Extra.merge(about.Extra)
	b.open = t
	if !about.State.IsZero() {
		b.close()
	}
}

func (b *Builder) append(p Part) {
	b.close()
	b.response.Message.Parts = append(b.response.Message.Parts, p)
}

// close ends the open part, if it has anything in it.
func (b *Builder) close() {
	if p := b.current(); p != nil {
		b.response.Message.Parts = append(b.response.Message.Parts, p)
	}
	b.open = nil
	b.text.Reset()
}

// current returns the open part with its text, or nil if it is empty.
func (b *Builder) current() Part {
	switch p := b.open.(type) {
	case Text:
		p.Text = b.text.String()
		if p.Text != "" || len(p.Citations) > 0 || !p.State.IsZero() {
			return p
		}
	case Thinking:
		p.Text = b.text.String()
		if p.Text != "" || !p.State.IsZero() {
			return p
		}
	}
	return nil
}

// Response returns the answer so far.
func (b *Builder) Response() *Response {
	r := b.response
	r.Message.Role = RoleAssistant
	r.Message.Parts = slices.Clone(r.Message.Parts)
	if p := b.current(); p != nil {
		r.Message.Parts = append(r.Message.Parts, p)
	}
	for _, o := range b.others {
		r.Alternatives = append(r.Alternatives, o.Response())
	}
	return &r
}

// Events returns r as the shortest stream that builds it again.
func (r *Response) Events() []Event {
	var evs []Event
	if !r.Start.IsZero() {
		evs = append(evs, r.Start)
	}
	for i, p := range r.Message.Parts {
		if i > 0 && needsBreak(r.Message.Parts[i-1], p) {
			evs = append(evs, PartEnd{})
		}
		evs = append(evs, named(p)...)
		evs = append(evs, partEvents(p)...)
	}
	for _, c := range r.Invalid {
		evs = append(evs, c)
	}
	for _, w := range r.Warnings {
		evs = append(evs, w)
	}
	for _, u := range r.Unknown {
		evs = append(evs, u)
	}
	for i, o := range r.Alternatives {
		for _, ev := range o.Events() {
			evs = append(evs, Alternative{i + 1, ev})
		}
	}
	return append(evs, r.Finish)
}

// needsBreak reports whether a Builder would take p as the continuation of
// prev.
func needsBreak(prev, p Part) bool {
	switch p := p.(type) {
	case Text:
		t, ok := prev.(Text)
		return ok && t.State.IsZero() && t.Refusal == p.Refusal
	case Thinking:
		t, ok := prev.(Thinking)
		return ok && t.State.IsZero() && t.Redacted == p.Redacted
	}
	return false
}

// named returns the id that a vendor gave a part that comes in pieces, if its
// state has one. It ignores texts, because several of them may share a state.
func named(p Part) []Event {
	var s State
	switch p := p.(type) {
	case Thinking:
		if p.Text != "" {
			s = p.State
		}
	case Call:
		if !p.Hosted {
			s = p.State
		}
	}
	var about struct {
		ID string `json:"id"`
	}
	if s.IsZero() || json.Unmarshal(s.Data, &about) != nil || about.ID == "" {
		return nil
	}
	return []Event{PartEnd{Next: about.ID, Vendor: s.Vendor}}
}

func partEvents(p Part) []Event {
	switch p := p.(type) {
	case Text:
		return []Event{newTextDelta(p)}
	case Thinking:
		return []Event{newThinkingDelta(p)}
	case Media:
		return []Event{p}
	case Result:
		return []Event{HostedResult{p}}
	case Call:
		if p.Hosted {
			return []Event{HostedCall{p}}
		}
		return []Event{CallStart{ID: p.ID, Name: p.Name, Kind: p.Kind, Extra: p.Extra}, CallDelta{ID: p.ID, Args: string(p.Args)}, p}
	}
	return nil
}

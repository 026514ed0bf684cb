package provider

import (
	"iter"
	"strings"

	"github.com/toolpost/toolpost/dialect"
	"github.com/toolpost/toolpost/llm"
)

// maxThought bounds the thinking that is kept to be searched for calls.
const maxThought = 1 << 20

// textCalls finds the calls that stand in the text of an answer. Everything
// else passes through in its order.
type textCalls struct {
	parser dialect.Parser
	// made numbers the calls found: text calls have no ids of their own.
	made llm.CallIDs
	// found is the warning about calls that should not have been in the text;
	// empty if that is where they belong.
	found string
}

// read is a reader.
func (t textCalls) read(raw iter.Seq2[llm.Event, error]) iter.Seq2[llm.Event, error] {
	return func(yield func(llm.Event, error) bool) {
		r := &textReading{textCalls: t, yield: yield, ids: map[string]string{}}
		r.run(raw)
	}
}

// textReading is one answer being read.
type textReading struct {
	textCalls
	yield   func(llm.Event, error) bool
	stopped bool

	finish  *llm.Finish
	ids     map[string]string // by the parser's
	inText  int               // calls found in text
	native  int               // calls the vendor delivered
	said    bool              // text that is not blank came
	open    bool              // the last part is text
	about   *llm.Text         // what the vendor said about it
	thought strings.Builder   // thinking with nothing after it
}

func (r *textReading) emit(ev llm.Event) bool {
	if !r.stopped && !r.yield(ev, nil) {
		r.stopped = true
	}
	return !r.stopped
}

func (r *textReading) run(raw iter.Seq2[llm.Event, error]) {
	p := r.parser
	p.Finish = func() llm.Reason {
		if r.finish == nil {
			return llm.Stop
		}
		return r.finish.Reason
	}
	for ev, err := range p.Parse(r.texts(raw)) {
		if r.stopped {
			return
		}
		if err != nil {
			r.yield(nil, err)
			return
		}
		if !r.parsed(ev) {
			return
		}
	}
	if r.stopped || r.finish == nil || !r.sign() {
		return
	}
	r.promote()
	r.end()
}

// texts yields the text of the answer to the parser and passes everything else
// on at once.
func (r *textReading) texts(raw iter.Seq2[llm.Event, error]) iter.Seq2[string, error] {
	return func(push func(string, error) bool) {
		for ev, err := range raw {
			if err != nil {
				push("", err)
				return
			}
			if !r.raw(ev, push) {
				return
			}
		}
	}
}

// raw takes an event of the vendor.
func (r *textReading) raw(ev llm.Event, push func(string, error) bool) bool {
	switch ev := ev.(type) {
	case llm.Start, llm.KeepAlive:
		return r.emit(ev)
	case llm.TextDelta:
		if about := ev.About(); about.Refusal || len(about.Citations) > 0 || ev.Text == "" && !r.open {
			break
		}
		r.said = r.said || strings.TrimSpace(ev.Text) != ""
		return r.text(ev, push)
	case llm.ThinkingDelta:
		if r.thought.Len() < maxThought {
			r.thought.WriteString(ev.Text)
		}
	case llm.Call, llm.InvalidCall, llm.HostedCall:
		r.native++
	case llm.Finish:
		r.finish = &ev
		return true
	}
	return r.sign() && r.emit(ev)
}

// text hands text to the parser. What the vendor says about the part as a
// whole waits until the part is over.
func (r *textReading) text(ev llm.TextDelta, push func(string, error) bool) bool {
	if ev.Text != "" {
		if !r.sign() {
			return false
		}
		r.open = true
		if !push(ev.Text, nil) {
			return false
		}
	}
	if about := ev.About(); !about.State.IsZero() || len(about.Extra) > 0 {
		r.about = &llm.Text{State: about.State, Extra: about.Extra}
	}
	return true
}

// sign passes on what the vendor said about the last part, unless a call was
// found in it: then it is no longer the part that was signed.
func (r *textReading) sign() bool {
	about := r.about
	r.about, r.open = nil, false
	if about == nil || r.inText > 0 {
		return true
	}
	return r.emit(llm.TextDelta{Part: about})
}

// parsed passes on what the parser found.
func (r *textReading) parsed(ev llm.Event) bool {
	switch e := ev.(type) {
	case llm.CallStart:
		e.ID = r.id(e.ID)
		ev = e
	case llm.CallDelta:
		e.ID = r.id(e.ID)
		ev = e
	case llm.Call:
		e.ID = r.id(e.ID)
		r.inText++
		ev = e
	case llm.InvalidCall:
		e.ID = r.id(e.ID)
		r.inText++
		ev = e
	}
	return r.emit(ev)
}

// id gives a call of the text an id that the conversation does not have.
func (r *textReading) id(parsed string) string {
	id, ok := r.ids[parsed]
	if !ok {
		id = r.made.Take("")
		r.ids[parsed] = id
	}
	return id
}

// promote reads thinking that never ended: the model forgot to stop thinking,
// and the call in it is real.
func (r *textReading) promote() {
	if r.said || r.native+r.inText > 0 || r.thought.Len() == 0 || r.finish.Reason == llm.Length {
		return
	}
	p := r.parser
	p.ThinkingOpen, p.Finish = false, nil
	for ev, err := range p.Parse(dialect.Whole(r.thought.String())) {
		switch ev.(type) {
		case llm.CallStart, llm.CallDelta, llm.Call:
			if err != nil || !r.parsed(ev) {
				return
			}
		}
	}
	if r.inText > 0 {
		r.emit(llm.Warning{Code: llm.Corrected, Feature: "thinking", Detail: "the model went on thinking instead of answering; the calls at its end count"})
	}
}

// end sends the end of the answer, with a reason that fits.
func (r *textReading) end() {
	f := *r.finish
	if r.inText > 0 && r.found != "" {
		r.emit(llm.Warning{Code: llm.Corrected, Feature: "tool_calls", Detail: r.found})
	}
	if r.inText > 0 && f.Reason == llm.Stop {
		f.Reason = llm.ToolCalls
	}
	if r.inText+r.native == 0 && f.Reason == llm.ToolCalls {
		f.Reason = llm.Stop
	}
	if !r.stopped {
		r.emit(f)
	}
}

// findLeaks reads the calls that a vendor with tools left in the text.
func (m *Model) findLeaks(offered []llm.ToolDef, j *job) reader {
	if len(offered) == 0 {
		return func(raw iter.Seq2[llm.Event, error]) iter.Seq2[llm.Event, error] { return raw }
	}
	tools := functions(offered)
	if j.req.Choice.Mode == llm.MustNotCall {
		tools = []llm.ToolDef{}
	}
	return textCalls{
		parser: dialect.Parser{Tools: tools, Dialect: m.info.Dialect},
		made:   llm.CallIDs{Prefix: "call_text_", After: j.codec.Calls},
		found:  "the vendor left calls in the text; they were read from there",
	}.read
}

// functions are the tools that a model can call itself.
func functions(tools []llm.ToolDef) []llm.ToolDef {
	out := []llm.ToolDef{}
	for _, t := range tools {
		if t.Kind != llm.HostedTool {
			out = append(out, t)
		}
	}
	return out
}

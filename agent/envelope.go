package agent

import (
	"bytes"
	"context"
	"encoding/json"
	"iter"
	"strings"

	"github.com/toolpost/toolpost/llm"
)

// readingEnvelopes reads the envelopes that m writes as text. Text that may turn
// out to be an envelope is held back until that is known, so that none is ever
// shown as text.
func (l *loop) readingEnvelopes(m llm.Model) llm.Model {
	return llm.ModelFunc(func(ctx context.Context, req *llm.Request) iter.Seq2[llm.Event, error] {
		return func(yield func(llm.Event, error) bool) {
			r := &envelopeReader{offers: l.offers, yield: yield}
			for ev, err := range m.Stream(ctx, req) {
				if !r.take(ev, err) {
					return
				}
			}
			r.flush()
		}
	})
}

// envelopeReader is one answer being read.
type envelopeReader struct {
	offers  func(string) bool
	yield   func(llm.Event, error) bool
	held    strings.Builder
	decided bool // no text is held back any more
	stopped bool
	calls   int // found
}

func (r *envelopeReader) emit(ev llm.Event, err error) bool {
	if !r.stopped && !r.yield(ev, err) {
		r.stopped = true
	}
	return !r.stopped
}

func (r *envelopeReader) take(ev llm.Event, err error) bool {
	switch ev := ev.(type) {
	case llm.TextDelta:
		return r.text(ev)
	case llm.CallStart, llm.Call, llm.InvalidCall:
		r.release()
	case llm.Finish:
		if r.flush(); r.calls > 0 && (ev.Reason == llm.Stop || ev.Reason == llm.OtherReason) {
			ev.Reason = llm.ToolCalls
		}
		return r.emit(ev, nil)
	}
	if err != nil {
		r.flush()
	}
	return r.emit(ev, err)
}

// text passes text on, or holds it back if it may be the beginning of an
// envelope.
func (r *envelopeReader) text(ev llm.TextDelta) bool {
	if r.decided || ev.Part != nil {
		r.release()
		return r.emit(ev, nil)
	}
	r.held.WriteString(ev.Text)
	start := strings.TrimLeft(r.held.String(), " \t\r\n")
	if start != "" && start[0] != '{' && !strings.HasPrefix("```", start[:min(len(start), 3)]) {
		r.release()
	}
	return !r.stopped
}

// release passes on the text that was held back: it is text.
func (r *envelopeReader) release() {
	r.decided = true
	if r.held.Len() > 0 {
		r.emit(llm.TextDelta{Text: r.held.String()}, nil)
		r.held.Reset()
	}
}

// flush decides about held text at the end of the answer.
func (r *envelopeReader) flush() {
	text := r.held.String()
	if text == "" {
		return
	}
	env, ok := readEnvelope(text, r.offers)
	if !ok {
		r.release()
		return
	}
	r.held.Reset()
	r.decided = true
	if env.text != "" {
		r.emit(llm.TextDelta{Text: env.text}, nil)
	}
	for _, c := range env.calls {
		r.emit(llm.CallStart{ID: c.ID, Name: c.Name}, nil)
		r.emit(llm.CallDelta{ID: c.ID, Args: string(c.Args)}, nil)
		r.emit(c, nil)
	}
	r.calls = len(env.calls)
}

// envelope is an answer that a model wrote as one JSON object.
type envelope struct {
	calls []llm.Call
	text  string
}

// readEnvelope reads the answer of a model that was asked to write its calls,
// or its text, as one JSON object:
//
//	{"type":"tool-calls","calls":[{"toolName":"…","input":{…}}, …]}
//	{"type":"text","text":"…"}
//	{"tool":"…","parameters":{…}}
//	{"tool_calls":[{"tool":"…","input":{…}}, …]}
//
// The whole text has to be that object, in a code fence or not. The older
// forms, below, are plain enough to be somebody's data, so they count only with
// the name of a tool that is offered.
func readEnvelope(text string, offered func(string) bool) (envelope, bool) {
	raw := []byte(unfence(strings.TrimSpace(text)))
	var form struct {
		Type      string
		Text      string
		Calls     []map[string]json.RawMessage
		ToolCalls []map[string]json.RawMessage `json:"tool_calls"`
	}
	if json.Unmarshal(raw, &form) != nil {
		return envelope{}, false
	}
	var env envelope
	switch {
	case form.Type == "tool-calls":
		for _, c := range form.Calls {
			if call, ok := envelopeCall(c, nil); ok {
				env.calls = append(env.calls, call)
			}
		}
		return env, len(env.calls) > 0 && len(env.calls) == len(form.Calls)
	case form.Type == "text":
		env.text = form.Text
		return env, strings.TrimSpace(form.Text) != ""
	case form.ToolCalls != nil:
		for _, c := range form.ToolCalls {
			if call, ok := envelopeCall(c, offered); ok {
				env.calls = append(env.calls, call)
			}
		}
		return env, len(env.calls) > 0
	}
	var single map[string]json.RawMessage
	if json.Unmarshal(raw, &single) != nil {
		return envelope{}, false
	}
	call, ok := envelopeCall(single, offered)
	return envelope{calls: []llm.Call{call}}, ok
}

// envelopeCall reads one call. The first key present wins, in this order.
func envelopeCall(c map[string]json.RawMessage, offered func(string) bool) (llm.Call, bool) {
	var name string
	for _, key := range []string{"tool", "toolName"} {
		if raw, ok := c[key]; ok {
			if json.Unmarshal(raw, &name) != nil {
				return llm.Call{}, false
			}
			break
		}
	}
	if name == "" || offered != nil && !offered(name) {
		return llm.Call{}, false
	}
	for _, key := range []string{"input", "parameters", "arguments"} {
		if raw, ok := c[key]; ok {
			return llm.Call{Name: name, Args: arguments(raw), Provenance: llm.Provenance{Dialect: "envelope"}}, true
		}
	}
	return llm.Call{}, false
}

// arguments returns the input of a call as one JSON value: nothing is an empty
// object, and JSON inside a string is that JSON.
func arguments(raw json.RawMessage) json.RawMessage {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		raw = json.RawMessage(strings.TrimSpace(s))
	}
	if len(raw) == 0 || string(raw) == "null" {
		return json.RawMessage("{}")
	}
	var b bytes.Buffer
	if json.Compact(&b, raw) != nil {
		quoted, _ := json.Marshal(s)
		return quoted
	}
	return b.Bytes()
}

// unfence takes one code fence away from around a text.
func unfence(s string) string {
	body, ok := strings.CutPrefix(s, "```")
	if !ok {
		return s
	}
	body, ok = strings.CutSuffix(body, "```")
	if !ok {
		return s
	}
	first, rest, ok := strings.Cut(body, "\n")
	if !ok || strings.ContainsAny(first, "{}") {
		return strings.TrimSpace(body)
	}
	return strings.TrimSpace(rest)
}

// asCall returns a call that cannot be run as a call that can be shown: its
// arguments are JSON, only the tool does not exist or was not allowed.
func asCall(c llm.InvalidCall) (llm.Call, bool) {
	var args map[string]json.RawMessage
	if c.Name == "" || c.Provenance.Dialect != "" || c.Reason == llm.CutOff || json.Unmarshal([]byte(c.Raw), &args) != nil {
		return llm.Call{}, false
	}
	return llm.Call{ID: c.ID, Name: c.Name, Args: json.RawMessage(c.Raw), Provenance: c.Provenance}, true
}

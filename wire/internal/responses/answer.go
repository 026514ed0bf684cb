package responses

import (
	"bytes"
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/toolpost/toolpost/internal/js"
	"github.com/toolpost/toolpost/internal/wire/loss"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/wire/internal/codec"
)

func (Format) DecodeResponse(_ *codec.Decoder, body []byte, a *codec.Answer) {
	a.PlainStop = true
	s := &responsesStream{Answer: a}
	if e := js.Get(body, "error"); js.Kind(e) == '{' || js.Kind(e) == '"' {
		a.Fail(body)
		return
	}
	s.response(body)
	if js.Get(body, "output") == nil && js.Get(body, "status") == nil {
		s.Finished = false // some other document
	}
	for el := range js.Elements(js.Get(body, "output")) {
		s.item(el)
	}
}

// responsesStream reads the events of a stream.
type responsesStream struct {
	*codec.Answer
	streamed bool                 // pieces of the current item were sent
	probed   bool                 // and log probabilities with them
	cited    bool                 // and citations
	items    int                  // items that are complete
	ahead    []codec.UnknownField // unknown members of items that are not complete yet
	ev       event                // the current one; kept here to save an allocation
	track    track                // for a relay
	places   codec.Positions[responsesPlace]
}

// event are the members of all events that matter.
type event struct {
	typ, delta, item, response, part, annotation, index, content, summary, text, probs []byte

	more bool // there are unknown members
}

// members are members of events that are not read: they name the event's place in the answer, or repeat other events.
var members = []string{
	"type", "delta", "output_index", "item", "response", "part", "annotation", "content_index", "summary_index", "arguments", "input", "logprobs",
	"sequence_number", "item_id", "annotation_index", "text", "refusal", "name", "obfuscation", "status",
}

// read finds the members of an event.
func (ev *event) read(v []byte) {
	*ev = event{}
	for key, val := range js.Members(v) {
		switch string(key) {
		case "type":
			ev.typ = val
		case "delta":
			ev.delta = val
		case "output_index":
			ev.index = val
		case "item":
			ev.item = val
		case "response":
			ev.response = val
		case "part":
			ev.part = val
		case "annotation":
			ev.annotation = val
		case "content_index":
			ev.content = val
		case "summary_index":
			ev.summary = val
		case "arguments", "input":
			ev.text = val
		case "logprobs":
			ev.probs = val
		case "sequence_number", "item_id", "obfuscation", "annotation_index", "text", "refusal", "name", "status":
		default:
			ev.more = true
		}
	}
}

func (s *responsesStream) event(v []byte) (more bool) {
	ev := &s.ev
	ev.read(v)
	if len(ev.typ) < 2 {
		return true
	}
	if ev.more {
		s.beside(ev, v)
	}
	if s.Position != nil {
		s.follow(ev, v)
	}
	typ := ev.typ[1 : len(ev.typ)-1]
	handle, ok := events[string(typ)]
	if ev.part != nil && (ok || repeats[string(typ)]) {
		s.expectRepeated(ev, "/part", ev.part, "type", "text", "annotations", "logprobs", "refusal")
	}
	if !ok {
		s.otherEvent(s.Str(ev.typ), v)
		return true
	}
	return handle(s, ev, v)
}

// beside keeps the unknown members of an event. An unknown event is forwarded whole.
func (s *responsesStream) beside(ev *event, v []byte) {
	if typ := js.Text(ev.typ); know(typ) {
		s.UnknownFields("", loss.NestedMark+typ, v, members...)
	}
}

// know reports whether an event of a type is read, or need not be.
func know(typ string) bool {
	return events[typ] != nil || repeats[typ] || responsesStep(typ)
}

// expectRepeated notes the unknown members of an object of an event that the complete item or answer should repeat.
func (s *responsesStream) expectRepeated(ev *event, under string, v []byte, known ...string) {
	for key, val := range js.Members(v) {
		if js.Kind(val) == 'n' || slices.ContainsFunc(known, func(k string) bool { return k == string(key) }) || len(s.ahead) == codec.MaxUnknownFields {
			continue
		}
		s.ahead = append(s.ahead, codec.UnknownField{At: loss.NestedMark + js.Text(ev.typ) + under, Name: string(key)})
	}
}

// foreseen keeps the noted members that the complete item or answer lacks.
func (s *responsesStream) foreseen(whole []byte) {
	for _, m := range s.ahead {
		if !bytes.Contains(whole, js.AppendQuoted(nil, m.Name)) {
			s.UnknownField(m.At, []byte(m.Name), []byte("true"))
		}
	}
	s.ahead = nil
}

// otherEvent reads an event that says nothing new about the answer.
func (s *responsesStream) otherEvent(typ string, v []byte) {
	switch {
	case repeats[typ]:
	case responsesStep(typ): // of a tool that the vendor runs
		s.KeepAlive()
	default:
		s.Unknown(typ, v)
	}
}

// responsesStep reports whether an event is a step of a hosted call.
func responsesStep(typ string) bool {
	_, step, _ := strings.Cut(strings.TrimPrefix(typ, "response."), ".")
	return progress[step]
}

// progress are the steps of a hosted call. Its item has the final status.
var progress = map[string]bool{
	"in_progress": true, "searching": true, "interpreting": true, "generating": true, "completed": true,
}

// events has one function per event that says something new. The
// others report progress, or repeat what earlier events said.
var events = map[string]func(s *responsesStream, ev *event, v []byte) (more bool){
	"response.created":                       (*responsesStream).begun,
	"response.in_progress":                   (*responsesStream).begun,
	"response.queued":                        (*responsesStream).begun,
	"response.output_item.added":             (*responsesStream).itemAdded,
	"response.output_item.done":              (*responsesStream).itemDone,
	"response.content_part.added":            (*responsesStream).partAdded,
	"response.output_text.delta":             (*responsesStream).textDelta,
	"response.refusal.delta":                 (*responsesStream).refusalDelta,
	"response.reasoning_summary_part.added":  (*responsesStream).summaryAdded,
	"response.reasoning_summary_text.delta":  (*responsesStream).thinkingDelta,
	"response.reasoning_text.delta":          (*responsesStream).thinkingDelta,
	"response.output_text.annotation.added":  (*responsesStream).annotation,
	"response.function_call_arguments.delta": (*responsesStream).argsDelta,
	"response.function_call_arguments.done":  (*responsesStream).argsDone,
	"response.custom_tool_call_input.delta":  (*responsesStream).inputDelta,
	"keepalive":                              (*responsesStream).alive,
	"response.completed":                     (*responsesStream).ended,
	"response.incomplete":                    (*responsesStream).ended,
	"response.failed":                        (*responsesStream).failed,
	"error":                                  (*responsesStream).failed,
}

// repeats are the events that only repeat what others said. An encoder
// writes its own.
var repeats = map[string]bool{
	"response.content_part.done": true, "response.output_text.done": true, "response.refusal.done": true,
	"response.reasoning_summary_part.done": true, "response.reasoning_summary_text.done": true,
	"response.reasoning_text.done": true, "response.reasoning_part.added": true, "response.reasoning_part.done": true,
	"response.custom_tool_call_input.done": true,
}

func (s *responsesStream) begun(ev *event, _ []byte) bool {
	s.Same(&s.Finish.ID, js.Get(ev.response, "id"))
	s.Same(&s.Finish.Model, js.Get(ev.response, "model"))
	s.Seconds(js.Get(ev.response, "created_at"))
	if !s.Answer.Begun {
		s.expectRepeated(ev, "/response", ev.response, envelope...)
	}
	s.Begin()
	return true
}

// envelope are the members of an answer that every event about it as a whole repeats.
var envelope = []string{
	"id", "object", "created_at", "completed_at", "status", "model", "output", "error", "incomplete_details", "usage", "instructions", "tools", "tool_choice", "parallel_tool_calls",
	"metadata", "temperature", "top_p", "top_logprobs", "max_output_tokens", "max_tool_calls", "previous_response_id", "reasoning", "text", "truncation", "store",
	"background", "service_tier", "user", "safety_identifier", "prompt_cache_key", "prompt_cache_retention", "conversation", "prompt", "billing", "frequency_penalty", "presence_penalty", "moderation",
}

func (s *responsesStream) itemAdded(ev *event, _ []byte) bool {
	s.expectRepeated(ev, "/item", ev.item, itemMembers...)
	s.streamed, s.probed, s.cited = false, false, false
	s.NewPart = true
	s.NextID = js.Text(js.Get(ev.item, "id"))
	kind := s.Str(js.Get(ev.item, "type"))
	if kind == "function_call" || kind == "custom_tool_call" {
		c := decodeCall(&s.Decoder, ev.item)
		s.Settle()
		s.NameNext()
		s.NewCall(s.Integer(ev.index), c.ID, c.Name, c.Kind)
	}
	return true
}

// itemMembers are the members of items that have begun.
var itemMembers = []string{
	"id", "type", "status", "role", "content", "summary", "encrypted_content", "call_id", "name", "arguments", "input", codec.NamespaceField, "phase",
	"action", "actions", "queries", "results", "code", "container_id", "outputs", "result", "server_label", "output", "error", "approval_request_id", "execution", "created_by",
}

func (s *responsesStream) partAdded(ev *event, _ []byte) bool {
	s.NewPart = s.NewPart || s.Integer(ev.content) > 0
	return true
}

func (s *responsesStream) textDelta(ev *event, _ []byte) bool {
	s.streamed = true
	if s.Probs = s.LogProbs(ev.probs); s.Probs != nil {
		s.probed = true
	}
	s.Text(s.Quoted(ev.delta))
	return true
}

func (s *responsesStream) refusalDelta(ev *event, _ []byte) bool {
	s.streamed = true
	s.Refusal(s.Quoted(ev.delta))
	return true
}

// summaryAdded keeps the paragraphs of a summary apart.
func (s *responsesStream) summaryAdded(ev *event, _ []byte) bool {
	if s.streamed && s.Integer(ev.summary) > 0 {
		s.Thinking("\n\n")
	}
	return true
}

func (s *responsesStream) thinkingDelta(ev *event, _ []byte) bool {
	s.streamed = true
	s.Thinking(s.Quoted(ev.delta))
	return true
}

func (s *responsesStream) annotation(ev *event, _ []byte) bool {
	s.cited = true
	s.Cite(decodeAnnotation(&s.Decoder, ev.annotation))
	return true
}

func (s *responsesStream) argsDelta(ev *event, _ []byte) bool {
	s.AddQuoted(s.Find(s.Integer(ev.index), "", ""), ev.delta)
	return true
}

// argsDone takes the arguments of servers that send no pieces.
func (s *responsesStream) argsDone(ev *event, _ []byte) bool {
	if p := s.Find(s.Integer(ev.index), "", ""); p != nil && p.Args.Len() == 0 {
		s.AddQuoted(p, ev.text)
	}
	return true
}

func (s *responsesStream) inputDelta(ev *event, _ []byte) bool {
	s.AddInput(s.Find(s.Integer(ev.index), "", ""), ev.delta)
	return true
}

// itemDone takes what only the complete item says: its state, and its content
// where no pieces came before.
func (s *responsesStream) itemDone(ev *event, _ []byte) bool {
	s.items++
	if s.ahead != nil {
		s.foreseen(ev.item)
	}
	if !s.streamed {
		s.NextID = "" // the item itself has it
	}
	kind := s.Str(js.Get(ev.item, "type"))
	switch {
	case kind == "function_call" || kind == "custom_tool_call":
		s.callDone(ev)
	case kind == "reasoning" && s.streamed:
		s.NewPart = false
		s.ThinkingState(s.State(ev.item), false)
	case kind == "message" && s.streamed:
		parts := decodeSaid(&s.Decoder, ev.item)
		s.earlier(parts)
		if t, ok := last(parts).(llm.Text); ok {
			if s.probed {
				t.LogProbs = nil // they came with the pieces
			}
			s.TextExtra(t)
			if !s.cited && len(t.Citations) > 0 { // the server sends no events about them
				s.NewPart = false
				s.Cite(t.Citations...)
			}
			if !t.State.IsZero() {
				s.NewPart = false
				s.TextState(t.State)
			}
		}
	default:
		s.item(ev.item)
	}
	s.streamed = false
	return true
}

// earlier keeps the extra fields of the parts of a message before its last, whose pieces have all been sent.
func (s *responsesStream) earlier(parts []llm.Part) {
	for i, p := range parts {
		t, ok := p.(llm.Text)
		if !ok || i == len(parts)-1 {
			continue
		}
		at := "/response.output_item.done/item/content/" + strconv.Itoa(i)
		for key, val := range t.Extra[s.Host.Format] {
			s.UnknownField(at, []byte(key), val)
		}
		if !s.cited && len(t.Citations) > 0 {
			s.UnknownField(at, []byte("annotations"), []byte("true"))
		}
	}
}

func last(parts []llm.Part) llm.Part {
	if len(parts) == 0 {
		return nil
	}
	return parts[len(parts)-1]
}

func (s *responsesStream) callDone(ev *event) {
	c := decodeCall(&s.Decoder, ev.item)
	p := s.Find(s.Integer(ev.index), "", "")
	if p == nil || p.Done {
		s.wholeCall(c, ev.item)
		return
	}
	p.State = c.State
	if p.Args.Len() == 0 && len(c.Args) > 0 && c.Kind == llm.FunctionTool {
		s.AddArgs(p, c.Args)
	}
	if p.Args.Len() == 0 && c.Kind == llm.FreeTool {
		s.AddArgs(p, c.Args)
	}
	ended(p, ev.item)
}

// ended notes whether the vendor says that the item of a call is whole.
func ended(p *codec.PendingCall, item []byte) {
	status := js.Get(item, "status")
	p.Closed = status == nil || js.Is(status, "completed")
	p.Truncated = js.Is(status, cut)
}

// item sends an item in one piece.
func (s *responsesStream) item(v []byte) {
	if !s.Object(v) {
		return
	}
	s.NewPart = true
	for i, p := range decodeOutput(&s.Decoder, v) {
		s.NewPart = s.NewPart || i > 0
		switch p := p.(type) {
		case llm.Text:
			s.said(p)
		case llm.Thinking:
			s.Thinking(p.Text)
			s.NewPart = s.NewPart && p.Text == ""
			s.ThinkingState(p.State, p.Redacted)
		case llm.Call:
			if p.Hosted {
				s.HostedCall(p)
			} else {
				s.wholeCall(p, v)
			}
		case llm.Result:
			s.HostedResult(p)
		}
	}
}

// said sends a text with its citations and its state.
func (s *responsesStream) said(t llm.Text) {
	if t.Text == "" {
		if !t.State.IsZero() {
			s.Part(t.State.Data)
		}
		return
	}
	s.Probs = t.LogProbs
	if t.Refusal {
		s.Refusal(t.Text)
	} else {
		s.Text(t.Text)
	}
	s.AboutText(t)
	if len(t.Citations) > 0 {
		s.Cite(t.Citations...)
	}
	if !t.State.IsZero() {
		s.TextState(t.State)
	}
}

func (s *responsesStream) wholeCall(c llm.Call, item []byte) {
	s.Call(c)
	if n := len(s.Calls); n > 0 && !s.Calls[n-1].Done {
		ended(s.Calls[n-1], item)
	}
}

// defaults are fields that every answer repeats and that say nothing
// with these values.
var defaults = map[string]string{"parallel_tool_calls": "true", "tool_choice": `"auto"`, "tools": "[]", "metadata": "{}"}

// response reads the envelope of an answer.
func (s *responsesStream) response(v []byte) {
	var status, reason string
	for key, val := range js.Members(v) {
		switch string(key) {
		case "id":
			s.Finish.ID = s.Str(val)
		case "model":
			s.Finish.Model = s.Str(val)
		case "status":
			status = s.Str(val)
		case "incomplete_details":
			reason = s.Str(js.Get(val, "reason"))
			s.UnknownFields("", "/incomplete_details", val, "reason")
		case "usage":
			decodeUsage(&s.Decoder, val, &s.Finish)
		case "created_at":
			if !s.Seconds(val) {
				s.Extra(&s.Finish.Extra, key, val)
			}
		case "object", "output", "error":
		default:
			if defaults[string(key)] != string(val) {
				s.Extra(&s.Finish.Extra, key, val)
			}
		}
	}
	switch status {
	case cut:
		s.SetFinish(cmp.Or(reason, status), reasons)
	case "completed", "":
		s.SetFinish("completed", reasons)
	}
}

func (s *responsesStream) ended(ev *event, _ []byte) bool {
	s.foreseen(ev.response)
	s.response(ev.response)
	if s.items == 0 && len(s.Calls) == 0 {
		for el := range js.Elements(js.Get(ev.response, "output")) {
			s.item(el)
		}
	}
	return false
}

func (s *responsesStream) alive(*event, []byte) bool {
	s.KeepAlive()
	return true
}

func (s *responsesStream) failed(_ *event, v []byte) bool {
	s.Fail(v)
	return false
}

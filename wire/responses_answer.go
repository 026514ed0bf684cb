package wire

import (
	"bytes"
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/toolpost/toolpost/internal/js"
	"github.com/toolpost/toolpost/llm"
)

func (responses) decodeResponse(_ *decoder, body []byte, a *answer) {
	a.plainStop = true
	s := &responsesStream{answer: a}
	if e := js.Get(body, "error"); js.Kind(e) == '{' || js.Kind(e) == '"' {
		a.fail(body)
		return
	}
	s.response(body)
	if js.Get(body, "output") == nil && js.Get(body, "status") == nil {
		s.finished = false // some other document
	}
	for el := range js.Elements(js.Get(body, "output")) {
		s.item(el)
	}
}

// responsesStream reads the events of a stream.
type responsesStream struct {
	*answer
	streamed bool           // pieces of the current item were sent
	probed   bool           // and log probabilities with them
	cited    bool           // and citations
	items    int            // items that are complete
	ahead    []stray        // members that nobody reads of what is not complete yet
	ev       responsesEvent // the current one; kept here to save an allocation
	track    responsesTrack // for a relay
	places   places[responsesPlace]
}

// responsesEvent are the members of all events that matter.
type responsesEvent struct {
	typ, delta, item, response, part, annotation, index, content, summary, text, probs []byte

	more bool // there are others that nobody knows
}

// responsesMembers are those that events have beside the ones that are read: they say where in the answer an event belongs,
// or repeat what others said.
var responsesMembers = []string{
	"type", "delta", "output_index", "item", "response", "part", "annotation", "content_index", "summary_index", "arguments", "input", "logprobs",
	"sequence_number", "item_id", "annotation_index", "text", "refusal", "name", "obfuscation", "status",
}

// read finds the members of an event.
func (ev *responsesEvent) read(v []byte) {
	*ev = responsesEvent{}
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
	if s.place != nil {
		s.follow(ev, v)
	}
	typ := ev.typ[1 : len(ev.typ)-1]
	handle, ok := responsesEvents[string(typ)]
	if ev.part != nil && (ok || responsesRepeats[string(typ)]) {
		s.foresee(ev, "/part", ev.part, "type", "text", "annotations", "logprobs", "refusal")
	}
	if !ok {
		s.otherEvent(s.str(ev.typ), v)
		return true
	}
	return handle(s, ev, v)
}

// beside keeps the members of an event that nobody reads. An event that nobody knows goes on whole.
func (s *responsesStream) beside(ev *responsesEvent, v []byte) {
	if typ := js.Text(ev.typ); responsesKnow(typ) {
		s.strays("", nestedMark+typ, v, responsesMembers...)
	}
}

// responsesKnow reports whether an event of a type is read, or need not be.
func responsesKnow(typ string) bool {
	return responsesEvents[typ] != nil || responsesRepeats[typ] || responsesStep(typ)
}

// foresee notes the members of an object of an event that nobody reads, and that the complete item or answer should have, too.
func (s *responsesStream) foresee(ev *responsesEvent, under string, v []byte, known ...string) {
	for key, val := range js.Members(v) {
		if js.Kind(val) == 'n' || slices.ContainsFunc(known, func(k string) bool { return k == string(key) }) || len(s.ahead) == maxStrays {
			continue
		}
		s.ahead = append(s.ahead, stray{nestedMark + js.Text(ev.typ) + under, string(key)})
	}
}

// foreseen keeps what was noted if the complete item or answer does not have it.
func (s *responsesStream) foreseen(whole []byte) {
	for _, m := range s.ahead {
		if !bytes.Contains(whole, js.AppendQuoted(nil, m.name)) {
			s.stray(m.at, []byte(m.name), []byte("true"))
		}
	}
	s.ahead = nil
}

// otherEvent reads an event that says nothing new about the answer.
func (s *responsesStream) otherEvent(typ string, v []byte) {
	switch {
	case responsesRepeats[typ]:
	case responsesStep(typ): // of a tool that the vendor runs
		s.keepAlive()
	default:
		s.unknown(typ, v)
	}
}

// responsesStep reports whether an event is a step of a hosted call.
func responsesStep(typ string) bool {
	_, step, _ := strings.Cut(strings.TrimPrefix(typ, "response."), ".")
	return responsesProgress[step]
}

// responsesProgress are the steps of a hosted call, whose item says how it ended.
var responsesProgress = map[string]bool{
	"in_progress": true, "searching": true, "interpreting": true, "generating": true, "completed": true,
}

// responsesEvents has one function per event that says something new. The
// others report progress, or repeat what earlier events said.
var responsesEvents = map[string]func(s *responsesStream, ev *responsesEvent, v []byte) (more bool){
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

// responsesRepeats are the events that only repeat what others said. An encoder
// writes its own.
var responsesRepeats = map[string]bool{
	"response.content_part.done": true, "response.output_text.done": true, "response.refusal.done": true,
	"response.reasoning_summary_part.done": true, "response.reasoning_summary_text.done": true,
	"response.reasoning_text.done": true, "response.reasoning_part.added": true, "response.reasoning_part.done": true,
	"response.custom_tool_call_input.done": true,
}

func (s *responsesStream) begun(ev *responsesEvent, _ []byte) bool {
	s.same(&s.finish.ID, js.Get(ev.response, "id"))
	s.same(&s.finish.Model, js.Get(ev.response, "model"))
	s.seconds(js.Get(ev.response, "created_at"))
	if !s.answer.begun {
		s.foresee(ev, "/response", ev.response, responsesEnvelope...)
	}
	s.begin()
	return true
}

// responsesEnvelope are the members of an answer that every event about it as a whole repeats.
var responsesEnvelope = []string{
	"id", "object", "created_at", "completed_at", "status", "model", "output", "error", "incomplete_details", "usage", "instructions", "tools", "tool_choice", "parallel_tool_calls",
	"metadata", "temperature", "top_p", "top_logprobs", "max_output_tokens", "max_tool_calls", "previous_response_id", "reasoning", "text", "truncation", "store",
	"background", "service_tier", "user", "safety_identifier", "prompt_cache_key", "prompt_cache_retention", "conversation", "prompt", "billing", "frequency_penalty", "presence_penalty", "moderation",
}

func (s *responsesStream) itemAdded(ev *responsesEvent, _ []byte) bool {
	s.foresee(ev, "/item", ev.item, responsesItemMembers...)
	s.streamed, s.probed, s.cited = false, false, false
	s.apart = true
	s.nextID = js.Text(js.Get(ev.item, "id"))
	kind := s.str(js.Get(ev.item, "type"))
	if kind == "function_call" || kind == "custom_tool_call" {
		c := responses{}.decodeCall(&s.decoder, ev.item)
		s.settle()
		s.named()
		s.newCall(s.integer(ev.index), c.ID, c.Name, c.Kind)
	}
	return true
}

// responsesItemMembers are the members of items that have begun.
var responsesItemMembers = []string{
	"id", "type", "status", "role", "content", "summary", "encrypted_content", "call_id", "name", "arguments", "input", namespaceField, "phase",
	"action", "actions", "queries", "results", "code", "container_id", "outputs", "result", "server_label", "output", "error", "approval_request_id", "execution", "created_by",
}

func (s *responsesStream) partAdded(ev *responsesEvent, _ []byte) bool {
	s.apart = s.apart || s.integer(ev.content) > 0
	return true
}

func (s *responsesStream) textDelta(ev *responsesEvent, _ []byte) bool {
	s.streamed = true
	if s.probs = s.probsOf(ev.probs); s.probs != nil {
		s.probed = true
	}
	s.text(s.quoted(ev.delta))
	return true
}

func (s *responsesStream) refusalDelta(ev *responsesEvent, _ []byte) bool {
	s.streamed = true
	s.refusal(s.quoted(ev.delta))
	return true
}

// summaryAdded keeps the paragraphs of a summary apart.
func (s *responsesStream) summaryAdded(ev *responsesEvent, _ []byte) bool {
	if s.streamed && s.integer(ev.summary) > 0 {
		s.thinking("\n\n")
	}
	return true
}

func (s *responsesStream) thinkingDelta(ev *responsesEvent, _ []byte) bool {
	s.streamed = true
	s.thinking(s.quoted(ev.delta))
	return true
}

func (s *responsesStream) annotation(ev *responsesEvent, _ []byte) bool {
	s.cited = true
	s.cite(decodeAnnotation(&s.decoder, ev.annotation))
	return true
}

func (s *responsesStream) argsDelta(ev *responsesEvent, _ []byte) bool {
	s.addQuoted(s.find(s.integer(ev.index), "", ""), ev.delta)
	return true
}

// argsDone takes the arguments of servers that send no pieces.
func (s *responsesStream) argsDone(ev *responsesEvent, _ []byte) bool {
	if p := s.find(s.integer(ev.index), "", ""); p != nil && p.args.Len() == 0 {
		s.addQuoted(p, ev.text)
	}
	return true
}

func (s *responsesStream) inputDelta(ev *responsesEvent, _ []byte) bool {
	s.addInput(s.find(s.integer(ev.index), "", ""), ev.delta)
	return true
}

// itemDone takes what only the complete item says: its state, and its content
// where no pieces came before.
func (s *responsesStream) itemDone(ev *responsesEvent, _ []byte) bool {
	s.items++
	if s.ahead != nil {
		s.foreseen(ev.item)
	}
	if !s.streamed {
		s.nextID = "" // the item itself has it
	}
	kind := s.str(js.Get(ev.item, "type"))
	switch {
	case kind == "function_call" || kind == "custom_tool_call":
		s.callDone(ev)
	case kind == "reasoning" && s.streamed:
		s.apart = false
		s.thinkingState(s.state(ev.item), false)
	case kind == "message" && s.streamed:
		parts := responses{}.decodeSaid(&s.decoder, ev.item)
		s.earlier(parts)
		if t, ok := last(parts).(llm.Text); ok {
			if s.probed {
				t.LogProbs = nil // they came with the pieces
			}
			s.textExtra(t)
			if !s.cited && len(t.Citations) > 0 { // the server sends no events about them
				s.apart = false
				s.cite(t.Citations...)
			}
			if !t.State.IsZero() {
				s.apart = false
				s.textState(t.State)
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
		for key, val := range t.Extra[s.c.Format] {
			s.stray(at, []byte(key), val)
		}
		if !s.cited && len(t.Citations) > 0 {
			s.stray(at, []byte("annotations"), []byte("true"))
		}
	}
}

func last(parts []llm.Part) llm.Part {
	if len(parts) == 0 {
		return nil
	}
	return parts[len(parts)-1]
}

func (s *responsesStream) callDone(ev *responsesEvent) {
	c := responses{}.decodeCall(&s.decoder, ev.item)
	p := s.find(s.integer(ev.index), "", "")
	if p == nil || p.done {
		s.wholeCall(c, ev.item)
		return
	}
	p.state = c.State
	if p.args.Len() == 0 && len(c.Args) > 0 && c.Kind == llm.FunctionTool {
		s.addArgs(p, c.Args)
	}
	if p.args.Len() == 0 && c.Kind == llm.FreeTool {
		s.addArgs(p, c.Args)
	}
	p.ended(ev.item)
}

// ended notes whether the vendor says that the item of a call is whole.
func (p *pending) ended(item []byte) {
	status := js.Get(item, "status")
	p.closed = status == nil || js.Is(status, "completed")
	p.half = js.Is(status, responsesCut)
}

// item sends an item in one piece.
func (s *responsesStream) item(v []byte) {
	if !s.object(v) {
		return
	}
	s.apart = true
	for i, p := range (responses{}).decodeOutput(&s.decoder, v) {
		s.apart = s.apart || i > 0
		switch p := p.(type) {
		case llm.Text:
			s.said(p)
		case llm.Thinking:
			s.thinking(p.Text)
			s.apart = s.apart && p.Text == ""
			s.thinkingState(p.State, p.Redacted)
		case llm.Call:
			if p.Hosted {
				s.hostedCall(p)
			} else {
				s.wholeCall(p, v)
			}
		case llm.Result:
			s.hostedResult(p)
		}
	}
}

// said sends a text with its citations and its state.
func (s *responsesStream) said(t llm.Text) {
	if t.Text == "" {
		if !t.State.IsZero() {
			s.part(t.State.Data)
		}
		return
	}
	s.probs = t.LogProbs
	if t.Refusal {
		s.refusal(t.Text)
	} else {
		s.text(t.Text)
	}
	s.aboutText(t)
	if len(t.Citations) > 0 {
		s.cite(t.Citations...)
	}
	if !t.State.IsZero() {
		s.textState(t.State)
	}
}

func (s *responsesStream) wholeCall(c llm.Call, item []byte) {
	s.call(c)
	if n := len(s.calls); n > 0 && !s.calls[n-1].done {
		s.calls[n-1].ended(item)
	}
}

// responsesDefaults are fields that every answer repeats and that say nothing
// with these values.
var responsesDefaults = map[string]string{"parallel_tool_calls": "true", "tool_choice": `"auto"`, "tools": "[]", "metadata": "{}"}

// response reads the envelope of an answer.
func (s *responsesStream) response(v []byte) {
	var status, reason string
	for key, val := range js.Members(v) {
		switch string(key) {
		case "id":
			s.finish.ID = s.str(val)
		case "model":
			s.finish.Model = s.str(val)
		case "status":
			status = s.str(val)
		case "incomplete_details":
			reason = s.str(js.Get(val, "reason"))
			s.strays("", "/incomplete_details", val, "reason")
		case "usage":
			responses{}.decodeUsage(&s.decoder, val, &s.finish)
		case "created_at":
			if !s.seconds(val) {
				s.extra(&s.finish.Extra, key, val)
			}
		case "object", "output", "error":
		default:
			if responsesDefaults[string(key)] != string(val) {
				s.extra(&s.finish.Extra, key, val)
			}
		}
	}
	switch status {
	case responsesCut:
		s.stop(cmp.Or(reason, status), responsesReasons)
	case "completed", "":
		s.stop("completed", responsesReasons)
	}
}

func (s *responsesStream) ended(ev *responsesEvent, _ []byte) bool {
	s.foreseen(ev.response)
	s.response(ev.response)
	if s.items == 0 && len(s.calls) == 0 {
		for el := range js.Elements(js.Get(ev.response, "output")) {
			s.item(el)
		}
	}
	return false
}

func (s *responsesStream) alive(*responsesEvent, []byte) bool {
	s.keepAlive()
	return true
}

func (s *responsesStream) failed(_ *responsesEvent, v []byte) bool {
	s.fail(v)
	return false
}

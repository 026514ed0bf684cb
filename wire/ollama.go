package wire

import (
	"bytes"
	"cmp"
	"encoding/json"
	"io"
	"maps"
	"time"

	"github.com/toolpost/toolpost/internal/js"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/wire/internal/sse"
)

// ollama is the format of Ollama's own chat. Streams are lines of JSON, text
// is one string, and calls come whole.
type ollama struct{}

// ollamaProperties are what the format can do.
var ollamaProperties = Properties{
	Name: Ollama, Path: "chat", StreamType: "application/x-ndjson",
	Features: []Feature{
		OutputSchema, OutputAnyJSON, MaxTokens, Temperature, TopP, TopK, FrequencyPenalty, PresencePenalty, Seed, StopSequences,
		ReasoningOff, ReasoningEffort,
	},
	Models:      ModelList{Path: "tags", List: "models", ID: "name"},
	OutputField: "format",
	Thinking:    ThinkingRules{Efforts: []string{"low", "medium", "high"}, EffortsKnown: true},
	EmptyLoads:  true, OptionalCallIDs: true,
	ErrorForms: []ErrorForm{{Kind: llm.TooLong, Words: "the input length exceeds the context length"}},
}

func (ollama) properties() *Properties { return &ollamaProperties }

func (ollama) detects(doc []byte) bool {
	return js.Kind(js.Get(doc, "message")) == '{' && js.Get(doc, "done") != nil
}

var ollamaReasons = map[string]llm.Reason{
	"stop": llm.Stop, "length": llm.Length, "load": llm.OtherReason, "unload": llm.OtherReason, "content_filter": llm.ContentFilter,
}

var ollamaFinish = map[llm.Reason]string{
	llm.Stop: "stop", llm.ToolCalls: "stop", llm.Length: "length", llm.ContentFilter: "content_filter", llm.OtherReason: "load",
}

func (ollama) encodeError(e *encoder, err *llm.Error, _ int) {
	e.Object()
	e.StringField("error", errorMessage(err, &ollamaProperties))
	e.End()
}

func (ollama) decodeError(all *registry, body []byte) (code, message string) {
	return chat{}.decodeError(all, body)
}

func (o ollama) decodeStream(a *answer, src io.Reader) error {
	a.plainStop = true
	s := &ollamaStream{answer: a}
	if a.relaying {
		a.place = s
	}
	a.gap = "\n"
	lines := sse.NewLines(src)
	for first := true; !a.stopped; first = false {
		line, err := lines.Next()
		if err != nil {
			return a.ended(err)
		}
		a.next(lines.Offset())
		line = js.Trim(line)
		if len(line) == 0 {
			a.keepAlive()
			continue
		}
		if !a.valid(line) {
			if first && line[0] == '{' && lines.Cut() == nil {
				return s.document(line, lines)
			}
			return a.broken(line, lines.Cut())
		}
		more := a.take(line, maxEventValues) && s.chunk(line)
		if a.err != nil {
			return a.decodeFailure()
		}
		if !more {
			return nil
		}
	}
	return nil
}

// document reads an answer that is one document over several lines.
func (s *ollamaStream) document(first []byte, lines *sse.Lines) error {
	body := append([]byte{}, first...)
	for {
		line, err := lines.Next()
		if err != nil {
			break
		}
		body = append(append(body, '\n'), line...)
		if len(body) > sse.MaxEvent {
			return s.c.fail("DecodeStream", llm.Malformed, sse.ErrTooLong)
		}
	}
	return s.whole(body)
}

func (ollama) decodeResponse(_ *decoder, body []byte, a *answer) {
	a.plainStop = true
	s := &ollamaStream{answer: a}
	s.chunk(body)
}

// ollamaStream reads lines, which are answers with the next piece.
type ollamaStream struct {
	*answer
	ends wholeCalls
}

func (s *ollamaStream) mark(at moment) { s.ends.set(at, s.answer) }

func (s *ollamaStream) resume(at moment, e *encoder, head streamHead) streamEncoder {
	return &ollamaWriter{e: e, head: head, relayed: s.ends.sent(at, s.answer)}
}

func (s *ollamaStream) chunk(v []byte) (more bool) {
	done, reason := false, ""
	var created, message []byte
	for key, val := range js.Members(v) {
		switch string(key) {
		case "message":
			message = val
		case "model":
			s.same(&s.finish.Model, val)
		case "done":
			done = s.boolean(val)
		case "done_reason":
			reason = s.str(val)
		case "prompt_eval_count":
			s.finish.Usage.Input = s.tokens(val)
		case "eval_count":
			s.finish.Usage.Output = s.tokens(val)
		case "created_at":
			created = val
			s.moment(val)
		case "error":
			s.fail(v)
		default:
			s.keepField(string(key), val)
		}
	}
	if s.err != nil {
		return false
	}
	s.begin()
	s.message(message)
	if done {
		if created != nil { // every line has it; the last is the answer's
			s.extraNamed(&s.finish.Extra, "created_at", created)
		}
		s.stop(cmp.Or(reason, "stop"), ollamaReasons)
	}
	return !done
}

func (s *ollamaStream) message(v []byte) {
	var content, thinking, calls, images []byte
	for key, val := range js.Members(v) {
		switch string(key) {
		case "role":
		case "content":
			content = val
		case "thinking":
			thinking = val
		case "tool_calls":
			calls = val
		case "images":
			images = val
		default:
			s.keepField(messagePrefix+string(key), val)
		}
	}
	s.thinking(s.quoted(thinking))
	s.text(s.quoted(content))
	for el := range js.Elements(images) {
		s.media(ollama{}.decodeImage(&s.decoder, el))
	}
	for el := range js.Elements(calls) {
		s.call(ollama{}.decodeCall(&s.decoder, el))
	}
}

func (o ollama) encodeResponse(e *encoder, r *llm.Response) {
	top, message := o.splitFinish(e.ownExtra(r.Finish.Extra))
	start := e.Object()
	o.encodeHead(e, r.Finish.Model, createdAt(r.Start), top)
	o.encodeSaid(e, o.withInvalid(e, r), message)
	o.encodeEnd(e, r.Finish)
	e.endWith(start, top)
}

// splitFinish sorts the extra fields of an answer by where they belong: it has no choices.
func (ollama) splitFinish(own map[string]json.RawMessage) (top, message map[string]json.RawMessage) {
	top, choice, message := splitFinish(own)
	maps.Copy(top, choice)
	return top, message
}

// encodeSaid writes what an answer, or a line of one, says; more are fields that nobody knows.
func (o ollama) encodeSaid(e *encoder, parts []llm.Part, more map[string]json.RawMessage) {
	if e.c.Quirks.Prompt {
		o.encodeText(e, parts)
		return
	}
	e.Key("message")
	msg := e.Object()
	e.StringField("role", "assistant")
	o.encodeAssistant(e, parts, "", true)
	e.endWith(msg, more)
}

// withInvalid adds the calls that cannot be run as text.
func (ollama) withInvalid(e *encoder, r *llm.Response) []llm.Part {
	parts := r.Message.Parts
	for _, c := range r.Invalid {
		e.invalidAsText(c)
		parts = append(parts[:len(parts):len(parts)], llm.Text{Text: c.Raw})
	}
	return parts
}

func (ollama) encodeHead(e *encoder, model string, created int64, top map[string]json.RawMessage) {
	e.StringField("model", model)
	if top["created_at"] == nil {
		e.StringField("created_at", time.Unix(created, 0).UTC().Format(time.RFC3339))
	}
}

func (ollama) encodeEnd(e *encoder, f llm.Finish) {
	e.BoolField("done", true)
	e.StringField("done_reason", ollamaWords.finishWord(f))
	e.IntField("prompt_eval_count", told(f.Usage).Input)
	e.IntField("eval_count", told(f.Usage).Output)
	e.unsupported(f.ID != "", "id")
	u := f.Usage
	e.unsupported(u.CacheRead+u.CacheWrite+u.Reasoning+len(u.Hosted) > 0, "usage details")
}

// ollamaWriter writes a stream of lines.
type ollamaWriter struct {
	ollama
	e        *encoder
	head     streamHead
	opening  []byte // what the head says in each line, once it was written
	relayed  relayedCalls
	thoughts thoughts
}

func (ollama) newStream(e *encoder, head streamHead) streamEncoder {
	return &ollamaWriter{e: e, head: head}
}

func (w *ollamaWriter) event(ev llm.Event) {
	switch ev := w.thoughts.joined(ev).(type) {
	case llm.Finish:
		w.finish(ev)
	case llm.UnknownEvent:
		w.unknown(ev)
	default:
		if p := w.e.partOf(ev); p != nil && !w.relayed.have(ev) {
			w.parts(p)
		}
	}
}

// unknown writes a line with a field that nobody knows.
func (w *ollamaWriter) unknown(ev llm.UnknownEvent) {
	top, message := w.splitFinish(map[string]json.RawMessage{ev.Type: ev.Raw})
	start := w.e.Object()
	w.encodeHead(w.e, w.head.Model, w.head.Created, top)
	w.encodeSaid(w.e, nil, message)
	w.e.BoolField("done", false)
	w.e.endWith(start, top)
	w.e.Buf = append(w.e.Buf, '\n')
}

// parts writes a line with the next parts.
func (w *ollamaWriter) parts(parts ...llm.Part) {
	start := w.e.Object()
	if w.opening == nil {
		w.encodeHead(w.e, w.head.Model, w.head.Created, nil)
		w.opening = bytes.Clone(w.e.Buf[start+1:])
	} else {
		w.e.Buf = append(w.e.Buf, w.opening...)
	}
	w.encodeSaid(w.e, parts, nil)
	w.e.BoolField("done", false)
	w.e.End()
	w.e.Buf = append(w.e.Buf, '\n')
}

func (w *ollamaWriter) finish(f llm.Finish) {
	top, message := w.splitFinish(w.e.ownExtra(f.Extra))
	start := w.e.Object()
	w.encodeHead(w.e, w.head.Model, w.head.Created, top)
	w.encodeSaid(w.e, nil, message)
	w.encodeEnd(w.e, f)
	w.e.endWith(start, top)
	w.e.Buf = append(w.e.Buf, '\n')
}

func (w *ollamaWriter) fail(err *llm.Error) {
	w.encodeError(w.e, err, errorStatus(err, &ollamaProperties))
	w.e.Buf = append(w.e.Buf, '\n')
}

// ollamaWords is the vocabulary of the format for finish reasons and error codes.
var ollamaWords = words{
	reasons: ollamaReasons, finish: ollamaFinish,
}

func (ollama) words() *words { return &ollamaWords }

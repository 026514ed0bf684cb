// Package ollama is the format of Ollama chat.
package ollama

import (
	"bytes"
	"cmp"
	"encoding/json"
	"io"
	"maps"
	"time"

	"github.com/toolpost/toolpost/internal/js"
	"github.com/toolpost/toolpost/internal/wire/loss"
	"github.com/toolpost/toolpost/internal/wire/names"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/wire/format"
	"github.com/toolpost/toolpost/wire/internal/chat"
	"github.com/toolpost/toolpost/wire/internal/codec"
	"github.com/toolpost/toolpost/wire/internal/sse"
)

// Format is the format of Ollama's own chat. Streams are lines of JSON, text
// is one string, and calls come whole.
type Format struct{}

// properties are what the format can do.
var properties = format.Properties{
	Name: names.Ollama, Path: "chat", StreamType: "application/x-ndjson",
	Features: []format.Feature{
		format.OutputSchema, format.OutputAnyJSON, format.MaxTokens, format.Temperature, format.TopP, format.TopK, format.FrequencyPenalty, format.PresencePenalty, format.Seed, format.StopSequences,
		format.ReasoningOff, format.ReasoningEffort,
	},
	Models:      format.ModelList{Path: "tags", List: "models", ID: "name"},
	OutputField: "format",
	Thinking:    format.ThinkingRules{Efforts: []string{"low", "medium", "high"}, EffortsKnown: true},
	EmptyLoads:  true, OptionalCallIDs: true,
	ErrorForms: []format.ErrorForm{{Kind: llm.TooLong, Words: "the input length exceeds the context length"}},
}

func (Format) Properties() *format.Properties { return &properties }

func (Format) Detects(doc []byte) bool {
	return js.Kind(js.Get(doc, "message")) == '{' && js.Get(doc, "done") != nil
}

var reasons = map[string]llm.Reason{
	"stop": llm.Stop, "length": llm.Length, "load": llm.OtherReason, "unload": llm.OtherReason, "content_filter": llm.ContentFilter,
}

var finish = map[llm.Reason]string{
	llm.Stop: "stop", llm.ToolCalls: "stop", llm.Length: "length", llm.ContentFilter: "content_filter", llm.OtherReason: "load",
}

func (Format) EncodeError(e *codec.Encoder, err *llm.Error, _ int) {
	e.Object()
	e.StringField("error", codec.ErrorMessage(err, &properties))
	e.End()
}

func (Format) DecodeError(all *codec.Registry, body []byte) (code, message string) {
	return chat.Format{}.DecodeError(all, body)
}

func (Format) DecodeStream(a *codec.Answer, src io.Reader) error {
	a.PlainStop = true
	s := &ollamaStream{Answer: a}
	if a.Relaying {
		a.Position = s
	}
	a.Gap = "\n"
	lines := sse.NewLines(src)
	for first := true; !a.Stopped; first = false {
		line, err := lines.Next()
		if err != nil {
			return a.Ended(err)
		}
		a.Next(lines.Offset())
		line = js.Trim(line)
		if len(line) == 0 {
			a.KeepAlive()
			continue
		}
		if !a.Valid(line) {
			if first && line[0] == '{' && lines.Cut() == nil {
				return s.document(line, lines)
			}
			return a.Broken(line, lines.Cut())
		}
		more := a.Take(line, codec.MaxEventValues) && s.chunk(line)
		if a.Err != nil {
			return a.DecodeFailure()
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
			return s.Host.Fail("DecodeStream", llm.Malformed, sse.ErrTooLong)
		}
	}
	return s.DecodeDocument(body)
}

func (Format) DecodeResponse(_ *codec.Decoder, body []byte, a *codec.Answer) {
	a.PlainStop = true
	s := &ollamaStream{Answer: a}
	s.chunk(body)
}

// ollamaStream reads lines. Each is an answer with the next piece.
type ollamaStream struct {
	*codec.Answer
	ends codec.WholeCalls
}

func (s *ollamaStream) Mark(at codec.Moment) { s.ends.Set(at, s.Answer) }

func (s *ollamaStream) Resume(at codec.Moment, e *codec.Encoder, head codec.StreamHead) codec.StreamEncoder {
	return &writer{e: e, head: head, relayed: s.ends.Sent(at, s.Answer)}
}

func (s *ollamaStream) chunk(v []byte) (more bool) {
	done, reason := false, ""
	var created, message []byte
	for key, val := range js.Members(v) {
		switch string(key) {
		case "message":
			message = val
		case "model":
			s.Same(&s.Finish.Model, val)
		case "done":
			done = s.Boolean(val)
		case "done_reason":
			reason = s.Str(val)
		case "prompt_eval_count":
			s.Finish.Usage.Input = s.Tokens(val)
		case "eval_count":
			s.Finish.Usage.Output = s.Tokens(val)
		case "created_at":
			created = val
			s.Moment(val)
		case "error":
			s.Fail(v)
		default:
			s.KeepField(string(key), val)
		}
	}
	if s.Err != nil {
		return false
	}
	s.Begin()
	s.message(message)
	if done {
		if created != nil { // every line has it; the last is the answer's
			s.ExtraField(&s.Finish.Extra, "created_at", created)
		}
		s.SetFinish(cmp.Or(reason, "stop"), reasons)
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
			s.KeepField(loss.MessagePrefix+string(key), val)
		}
	}
	s.Thinking(s.Quoted(thinking))
	s.Text(s.Quoted(content))
	for el := range js.Elements(images) {
		s.Media(decodeImage(&s.Decoder, el))
	}
	for el := range js.Elements(calls) {
		s.Call(decodeCall(&s.Decoder, el))
	}
}

func (Format) EncodeResponse(e *codec.Encoder, r *llm.Response) {
	top, message := splitFinish(e.OwnExtra(r.Finish.Extra))
	start := e.Object()
	encodeHead(e, r.Finish.Model, codec.CreatedAt(r.Start), top)
	encodeSaid(e, withInvalid(e, r), message)
	encodeEnd(e, r.Finish)
	e.EndFields(start, top)
}

// splitFinish sorts the extra fields of an answer by their place. The format does not have choices.
func splitFinish(own map[string]json.RawMessage) (top, message map[string]json.RawMessage) {
	top, choice, message := chat.SplitFinish(own)
	maps.Copy(top, choice)
	return top, message
}

// encodeSaid writes the parts of an answer or of one line. more are unknown fields.
func encodeSaid(e *codec.Encoder, parts []llm.Part, more map[string]json.RawMessage) {
	if e.Host.Quirks.Prompt {
		encodeText(e, parts)
		return
	}
	msg := e.ObjectField("message")
	e.StringField("role", "assistant")
	encodeAssistant(e, parts, "", true)
	e.EndFields(msg, more)
}

// withInvalid adds the calls that cannot be run as text.
func withInvalid(e *codec.Encoder, r *llm.Response) []llm.Part {
	parts := r.Message.Parts
	for _, c := range r.Invalid {
		e.InvalidAsText(c)
		parts = append(parts[:len(parts):len(parts)], llm.Text{Text: c.Raw})
	}
	return parts
}

func encodeHead(e *codec.Encoder, model string, created int64, top map[string]json.RawMessage) {
	e.StringField("model", model)
	if top["created_at"] == nil {
		e.StringField("created_at", time.Unix(created, 0).UTC().Format(time.RFC3339))
	}
}

func encodeEnd(e *codec.Encoder, f llm.Finish) {
	e.BoolField("done", true)
	e.StringField("done_reason", words.FinishWord(f))
	e.IntField("prompt_eval_count", codec.ClampUsage(f.Usage).Input)
	e.IntField("eval_count", codec.ClampUsage(f.Usage).Output)
	e.Unsupported(f.ID != "", "id")
	u := f.Usage
	e.Unsupported(u.CacheRead+u.CacheWrite+u.Reasoning+len(u.Hosted) > 0, "usage details")
}

// writer writes a stream of lines.
type writer struct {
	e       *codec.Encoder
	head    codec.StreamHead
	opening []byte // what the head says in each line, once it was written
	relayed codec.RelayedCalls
	joiner  codec.ThinkingJoiner
}

func (Format) NewStream(e *codec.Encoder, head codec.StreamHead) codec.StreamEncoder {
	return &writer{e: e, head: head}
}

func (w *writer) Event(ev llm.Event) {
	switch ev := w.joiner.Joined(ev).(type) {
	case llm.Finish:
		w.finish(ev)
	case llm.UnknownEvent:
		w.unknown(ev)
	default:
		if p := w.e.PartOf(ev); p != nil && !w.relayed.Have(ev) {
			w.parts(p)
		}
	}
}

// unknown writes a line with an unknown field.
func (w *writer) unknown(ev llm.UnknownEvent) {
	top, message := splitFinish(map[string]json.RawMessage{ev.Type: ev.Raw})
	start := w.e.Object()
	encodeHead(w.e, w.head.Model, w.head.Created, top)
	encodeSaid(w.e, nil, message)
	w.e.BoolField("done", false)
	w.e.EndFields(start, top)
	w.e.Buf = append(w.e.Buf, '\n')
}

// parts writes a line with the next parts.
func (w *writer) parts(parts ...llm.Part) {
	start := w.e.Object()
	if w.opening == nil {
		encodeHead(w.e, w.head.Model, w.head.Created, nil)
		w.opening = bytes.Clone(w.e.Buf[start+1:])
	} else {
		w.e.Buf = append(w.e.Buf, w.opening...)
	}
	encodeSaid(w.e, parts, nil)
	w.e.BoolField("done", false)
	w.e.End()
	w.e.Buf = append(w.e.Buf, '\n')
}

func (w *writer) finish(f llm.Finish) {
	top, message := splitFinish(w.e.OwnExtra(f.Extra))
	start := w.e.Object()
	encodeHead(w.e, w.head.Model, w.head.Created, top)
	encodeSaid(w.e, nil, message)
	encodeEnd(w.e, f)
	w.e.EndFields(start, top)
	w.e.Buf = append(w.e.Buf, '\n')
}

func (w *writer) Fail(err *llm.Error) {
	Format{}.EncodeError(w.e, err, codec.ErrorStatus(err, &properties))
	w.e.Buf = append(w.e.Buf, '\n')
}

// words is the vocabulary of the format for finish reasons and error codes.
var words = codec.Words{
	Reasons: reasons, Finish: finish,
}

func (Format) Words() *codec.Words { return &words }

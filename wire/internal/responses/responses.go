// Package responses is the format of OpenAI Responses.
package responses

import (
	"bytes"
	"encoding/json"
	"io"

	"github.com/toolpost/toolpost/internal/js"
	"github.com/toolpost/toolpost/internal/wire/mediatype"
	"github.com/toolpost/toolpost/internal/wire/names"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/wire/format"
	"github.com/toolpost/toolpost/wire/internal/chat"
	"github.com/toolpost/toolpost/wire/internal/codec"
)

// Format is the format of OpenAI Responses. An answer is a list of items. An item that only the vendor needs goes back
// unchanged.
type Format struct{}

// properties are what the format can do.
var properties = format.Properties{
	EndUser: []string{"safety_identifier", "user"},
	Name:    names.Responses, Path: "responses", StreamType: "text/event-stream",
	KeepAlive: codec.SSEKeepAlive, LogProbs: "openai", Files: "openai",
	Features: []format.Feature{
		format.StrictTools, format.FreeTextTools, format.ToolGrammars, format.HostedSearch, format.ChoiceRequired, format.ChoiceNamed, format.ChoiceNone, format.ChoiceAllowed, format.OneCall,
		format.OutputSchema, format.OutputAnyJSON, format.OutputBesideTools, format.MaxTokens, format.Temperature, format.TopP, format.ReasoningOff, format.ReasoningEffort, format.ReasoningSummary,
	},
	Models:     format.ModelList{Path: "models", List: "data", ID: "id"},
	HostFields: true, OutputField: "response_format",
	StreamedArgs: true, TextArgs: true,
	Count:     format.TokenCount{Path: "responses/input_tokens", Member: "input_tokens"},
	AnswerIDs: true, IDPrefix: "resp_", Previous: "previous_response_id", Items: true,
	Thinking: thinking(),
	Bounds: map[string]format.RequestBounds{"": {MakerOnly: true, MinTokens: 16, SaysJSON: true, SystemApart: true, Media: format.MediaTypes{
		llm.Image: mediatype.WebImages, llm.Audio: {}, llm.Video: {},
	}}},
	Errors: chat.OpenaiErrors, MoreErrors: chat.OpenaiCodes,
}

// thinking are the rules of the chat format, and how to have reasoning
// that goes back without the vendor keeping the answer.
func thinking() format.ThinkingRules {
	rules := chat.OpenaiThinking
	rules.Summaries = []string{"auto", "concise", "detailed"}
	rules.Keep = map[string]json.RawMessage{"include": []byte(`["reasoning.encrypted_content"]`), "store": []byte("false")}
	rules.KeptBy = []string{"previous_response_id", "conversation"}
	return rules
}

func (Format) Properties() *format.Properties { return &properties }

func (Format) Detects(doc []byte) bool {
	typ := js.Get(doc, "type")
	return bytes.HasPrefix(typ, []byte(`"response.`)) || js.Is(js.Get(doc, "object"), "response")
}

// reasons are the words for the end: the status of the answer, or
// the reason why it is incomplete.
var reasons = map[string]llm.Reason{
	"completed":         llm.Stop,
	"max_output_tokens": llm.Length,
	"max_messages":      llm.Length,
	"content_filter":    llm.ContentFilter,
	"steered":           llm.OtherReason,
}

// cut is the status of an answer that is not complete, and its word for the end if the vendor gives no reason.
const cut = "incomplete"

var finish = map[llm.Reason]string{
	llm.Stop: "completed", llm.ToolCalls: "completed", llm.Length: "max_output_tokens", llm.ContentFilter: "content_filter", llm.OtherReason: "steered",
}

func (Format) DecodeStream(a *codec.Answer, src io.Reader) error {
	a.PlainStop = true
	s := &responsesStream{Answer: a}
	if a.Relaying {
		a.Position = s
	}
	return a.Events(src, s.event)
}

func (Format) EncodeError(e *codec.Encoder, err *llm.Error, _ int) { chat.OpenaiError(e, err) }

func (Format) DecodeError(all *codec.Registry, body []byte) (code, message string) {
	if js.Get(body, "error") == nil && js.Get(body, "response") != nil { // the event response.failed
		body = js.Get(body, "response")
	}
	return chat.Format{}.DecodeError(all, body)
}

func decodeUsage(d *codec.Decoder, v []byte, f *llm.Finish) {
	var rest codec.Fields
	for key, val := range js.Members(v) {
		switch string(key) {
		case "input_tokens":
			f.Usage.Input = d.Tokens(val)
		case "output_tokens":
			f.Usage.Output = d.Tokens(val)
		case "total_tokens":
		case "input_tokens_details":
			if more := d.Counts(val, map[string]*int{"cached_tokens": &f.Usage.CacheRead, "cache_write_tokens": &f.Usage.CacheWrite}); more != nil {
				rest.Add(key, more)
			}
		case "output_tokens_details":
			if more := d.Counts(val, map[string]*int{"reasoning_tokens": &f.Usage.Reasoning}); more != nil {
				rest.Add(key, more)
			}
		default:
			rest.Add(key, val)
		}
	}
	d.KeepUsage(f, "usage", rest.Object())
}

func encodeUsage(e *codec.Encoder, f llm.Finish) {
	u := codec.ClampUsage(f.Usage)
	more := f.Extra[e.Host.Format]["usage"]
	e.Key("usage")
	if !e.HasUsage(f, "usage") {
		e.Null() // as the vendor says it of an answer that is not counted yet
		return
	}
	start := e.Object()
	e.IntField("input_tokens", u.Input)
	details := e.ObjectField("input_tokens_details")
	e.IntField("cached_tokens", u.CacheRead)
	e.OptInt("cache_write_tokens", u.CacheWrite)
	e.EndRest(details, js.Get(more, "input_tokens_details"))
	e.IntField("output_tokens", u.Output)
	details = e.ObjectField("output_tokens_details")
	e.IntField("reasoning_tokens", u.Reasoning)
	e.EndRest(details, js.Get(more, "output_tokens_details"))
	e.IntField("total_tokens", u.Input+u.Output)
	e.EndRest(start, more)
}

// words is the vocabulary of the format for finish reasons and error codes.
var words = codec.Words{
	Reasons: reasons, Finish: finish,
	Interrupted: interrupted,
}

func (Format) Words() *codec.Words { return &words }

// interrupted are the finish reasons of answers that are not complete although no limit was reached.
var interrupted = []string{
	cut,
}

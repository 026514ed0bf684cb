package wire

import (
	"bytes"
	"encoding/json"
	"io"

	"github.com/toolpost/toolpost/internal/js"
	"github.com/toolpost/toolpost/llm"
)

// responses is the format of OpenAI Responses. An answer is a list of items;
// an item that only the vendor needs goes back as it came.
type responses struct{}

// responsesProperties are what the format can do.
var responsesProperties = Properties{
	Name: Responses, Path: "responses", StreamType: "text/event-stream",
	KeepAlive: sseKeepAlive, LogProbs: "openai", Files: "openai",
	Features: []Feature{
		StrictTools, FreeTextTools, ToolGrammars, HostedSearch, ChoiceRequired, ChoiceNamed, ChoiceNone, ChoiceAllowed, OneCall,
		OutputSchema, OutputAnyJSON, OutputBesideTools, MaxTokens, Temperature, TopP, ReasoningOff, ReasoningEffort, ReasoningSummary,
	},
	Models:     ModelList{Path: "models", List: "data", ID: "id"},
	HostFields: true, OutputField: "response_format",
	StreamedArgs: true, TextArgs: true,
	Count:     TokenCount{"responses/input_tokens", "input_tokens"},
	AnswerIDs: true, IDPrefix: "resp_", Previous: "previous_response_id", Items: true,
	Thinking: responsesThinking(),
	Bounds: map[string]RequestBounds{"": {MakerOnly: true, MinTokens: 16, SaysJSON: true, SystemApart: true, Media: MediaTypes{
		llm.Image: webImages, llm.Audio: {}, llm.Video: {},
	}}},
	Errors: openaiErrors, MoreErrors: openaiCodes,
}

// responsesThinking are the rules of the chat format, and how to have reasoning
// that goes back without the vendor keeping the answer.
func responsesThinking() ThinkingRules {
	rules := openaiThinking
	rules.Summaries = []string{"auto", "concise", "detailed"}
	rules.Keep = map[string]json.RawMessage{"include": []byte(`["reasoning.encrypted_content"]`), "store": []byte("false")}
	rules.KeptBy = []string{"previous_response_id", "conversation"}
	return rules
}

func (responses) properties() *Properties { return &responsesProperties }

func (responses) detects(doc []byte) bool {
	typ := js.Get(doc, "type")
	return bytes.HasPrefix(typ, []byte(`"response.`)) || js.Is(js.Get(doc, "object"), "response")
}

// responsesReasons are the words for the end: the status of the answer, or
// the reason why it is incomplete.
var responsesReasons = map[string]llm.Reason{
	"completed":         llm.Stop,
	"max_output_tokens": llm.Length,
	"max_messages":      llm.Length,
	"content_filter":    llm.ContentFilter,
	"steered":           llm.OtherReason,
}

// responsesCut is the status of an answer that is not complete, and its word for the end if the vendor gives no reason.
const responsesCut = "incomplete"

var responsesFinish = map[llm.Reason]string{
	llm.Stop: "completed", llm.ToolCalls: "completed", llm.Length: "max_output_tokens", llm.ContentFilter: "content_filter", llm.OtherReason: "steered",
}

func (responses) decodeStream(a *answer, src io.Reader) error {
	a.plainStop = true
	s := &responsesStream{answer: a}
	if a.relaying {
		a.place = s
	}
	return a.events(src, s.event)
}

func (responses) encodeError(e *encoder, err *llm.Error, _ int) { openaiError(e, err) }

func (responses) decodeError(all *registry, body []byte) (code, message string) {
	if js.Get(body, "error") == nil && js.Get(body, "response") != nil { // the event response.failed
		body = js.Get(body, "response")
	}
	return chat{}.decodeError(all, body)
}

func (responses) decodeUsage(d *decoder, v []byte, f *llm.Finish) {
	var rest fields
	for key, val := range js.Members(v) {
		switch string(key) {
		case "input_tokens":
			f.Usage.Input = d.tokens(val)
		case "output_tokens":
			f.Usage.Output = d.tokens(val)
		case "total_tokens":
		case "input_tokens_details":
			if more := d.counts(val, map[string]*int{"cached_tokens": &f.Usage.CacheRead, "cache_write_tokens": &f.Usage.CacheWrite}); more != nil {
				rest.add(key, more)
			}
		case "output_tokens_details":
			if more := d.counts(val, map[string]*int{"reasoning_tokens": &f.Usage.Reasoning}); more != nil {
				rest.add(key, more)
			}
		default:
			rest.add(key, val)
		}
	}
	d.keepUsage(f, "usage", rest.object())
}

func (responses) encodeUsage(e *encoder, f llm.Finish) {
	u := told(f.Usage)
	more := f.Extra[e.c.Format]["usage"]
	e.Key("usage")
	if !e.counted(f, "usage") {
		e.Null() // as the vendor says it of an answer that is not counted yet
		return
	}
	start := e.Object()
	e.IntField("input_tokens", u.Input)
	e.Key("input_tokens_details")
	details := e.Object()
	e.IntField("cached_tokens", u.CacheRead)
	e.optInt("cache_write_tokens", u.CacheWrite)
	e.rest(details, js.Get(more, "input_tokens_details"))
	e.IntField("output_tokens", u.Output)
	e.Key("output_tokens_details")
	details = e.Object()
	e.IntField("reasoning_tokens", u.Reasoning)
	e.rest(details, js.Get(more, "output_tokens_details"))
	e.IntField("total_tokens", u.Input+u.Output)
	e.rest(start, more)
}

// responsesWords is the vocabulary of the format for finish reasons and error codes.
var responsesWords = words{
	reasons: responsesReasons, finish: responsesFinish,
	interrupted: responsesInterrupted,
}

func (responses) words() *words { return &responsesWords }

// responsesInterrupted are the finish reasons of answers that are not complete although no limit was reached.
var responsesInterrupted = []string{
	responsesCut,
}

package wire

import (
	"strings"

	"github.com/toolpost/toolpost/internal/js"
	"github.com/toolpost/toolpost/llm"
)

// The makers of models whose own fields the converse format carries; see
// [Quirks.ModelFields].
const (
	AnthropicFields = "anthropic" // thinking, top_k
	AmazonFields    = "amazon"    // reasoningConfig, inferenceConfig.topK
	OpenAIFields    = "openai"    // reasoning_effort
)

// converseFields are what the models of a maker take in
// additionalModelRequestFields. The zero value is a maker of whom nothing is
// known: an effort is then a field of the format itself.
type converseFields struct {
	features []Feature
	thinking ThinkingRules
	// effort says that the maker has a field of its own for the effort.
	effort bool
	encode func(e *encoder, req *llm.Request)
	// decode reports whether it understood a field.
	decode func(d *decoder, key string, v []byte, req *llm.Request) bool
}

var converseMakers = map[string]converseFields{
	AnthropicFields: {
		features: []Feature{TopK, ReasoningOff, ReasoningBudget, ReasoningSummary}, thinking: messagesProperties.Thinking,
		encode: encodeAnthropicFields, decode: decodeAnthropicFields,
	},
	AmazonFields: {
		features: []Feature{TopK, ReasoningOff}, effort: true,
		encode: encodeAmazonFields, decode: decodeAmazonFields,
	},
	OpenAIFields: {
		effort: true,
		encode: encodeOpenAIFields, decode: decodeOpenAIFields,
	},
}

func encodeAnthropicFields(e *encoder, req *llm.Request) {
	messages{}.encodeThinkingConfig(e, req.Reasoning)
	if req.TopK != nil {
		e.IntField("top_k", *req.TopK)
	}
}

func decodeAnthropicFields(d *decoder, key string, v []byte, req *llm.Request) bool {
	typ := js.Text(js.Get(v, "type"))
	switch {
	case key == "top_k" && js.Kind(v) == '0':
		n := d.integer(v)
		req.TopK = &n
	case key == "thinking" && strings.Contains(" enabled adaptive disabled ", " "+typ+" "):
		messages{}.decodeThinkingConfig(d, v, req)
	default:
		return false
	}
	return true
}

// defaultEffort is asked for where a model shall think and nobody says how much:
// the maker demands a word.
const defaultEffort = "medium"

func encodeAmazonFields(e *encoder, req *llm.Request) {
	if r := req.Reasoning; r != nil {
		e.Key("reasoningConfig")
		e.Object()
		if r.Off {
			e.StringField("type", "disabled")
		} else {
			e.StringField("type", "enabled")
			e.StringField("maxReasoningEffort", or(r.Effort, defaultEffort))
			e.unsupported(r.Budget > 0, "reasoning.budget")
			e.unsupported(r.Summary != "", "reasoning.summary")
		}
		e.End()
	}
	if req.TopK != nil {
		e.Key("inferenceConfig")
		e.Object()
		e.IntField("topK", *req.TopK)
		e.End()
	}
}

func decodeAmazonFields(d *decoder, key string, v []byte, req *llm.Request) bool {
	switch topK := js.Get(v, "topK"); {
	case key == "reasoningConfig" && js.Is(js.Get(v, "type"), "disabled"):
		req.Reasoning = &llm.Reasoning{Off: true}
	case key == "reasoningConfig" && js.Is(js.Get(v, "type"), "enabled"):
		req.Reasoning = &llm.Reasoning{Effort: d.str(js.Get(v, "maxReasoningEffort"))}
	case key == "inferenceConfig" && js.Kind(topK) == '0' && onlyKey(v, "topK"):
		n := d.integer(topK)
		req.TopK = &n
	default:
		return false
	}
	return true
}

func encodeOpenAIFields(e *encoder, req *llm.Request) {
	if r := req.Reasoning; r != nil {
		e.optString("reasoning_effort", r.Effort)
		e.unsupported(r.Off, "reasoning.off")
		e.unsupported(r.Budget > 0, "reasoning.budget")
		e.unsupported(r.Summary != "", "reasoning.summary")
		e.unsupported(*r == llm.Reasoning{}, "reasoning")
	}
	e.unsupported(req.TopK != nil, "top_k")
}

func decodeOpenAIFields(d *decoder, key string, v []byte, req *llm.Request) bool {
	if key != "reasoning_effort" || !says(v) {
		return false
	}
	req.Reasoning = &llm.Reasoning{Effort: d.str(v)}
	return true
}

// encodeModelFields writes what the format leaves to each model.
func (converse) encodeModelFields(e *encoder, req *llm.Request) {
	mark, start := e.member("additionalModelRequestFields")
	if maker, ok := converseMakers[e.c.Quirks.ModelFields]; ok {
		maker.encode(e, req)
	} else {
		e.unsupported(req.TopK != nil, "top_k")
		if r := req.Reasoning; r != nil {
			e.unsupported(r.Off, "reasoning.off")
			e.unsupported(r.Budget > 0, "reasoning.budget")
			e.unsupported(r.Summary != "", "reasoning.summary")
			e.unsupported(*r == llm.Reasoning{}, "reasoning")
		}
	}
	e.endMember(mark, start, req.Extra[e.c.Format]["additionalModelRequestFields"])
}

func (converse) decodeModelFields(d *decoder, v []byte, req *llm.Request) {
	if !d.object(v) {
		return
	}
	maker := converseMakers[d.c.Quirks.ModelFields]
	var rest fields
	for key, val := range d.members(v) {
		if maker.decode == nil || !maker.decode(d, string(key), val, req) {
			rest.add(key, val)
		}
	}
	d.keep(req, "additionalModelRequestFields", rest)
}

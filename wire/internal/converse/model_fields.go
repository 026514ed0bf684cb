package converse

import (
	"cmp"
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/toolpost/toolpost/internal/js"
	"github.com/toolpost/toolpost/internal/wire/loss"
	"github.com/toolpost/toolpost/internal/wire/names"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/wire/format"
	"github.com/toolpost/toolpost/wire/internal/codec"
	"github.com/toolpost/toolpost/wire/internal/messages"
)

// converseFields are what the models of a maker take in
// additionalModelRequestFields. The zero value is a maker of whom nothing is
// known: an effort is then a field of the format itself.
type converseFields struct {
	features   []format.Feature
	cacheMarks format.CacheMarks
	thinking   format.ThinkingRules
	// effort means that the maker has a field for the effort.
	effort bool
	encode func(e *codec.Encoder, req *llm.Request)
	// decode reports whether it understood a field.
	decode func(d *codec.Decoder, key string, v []byte, req *llm.Request) bool
}

var makers = map[string]converseFields{
	names.AnthropicFields: {
		features: []format.Feature{format.TopK, format.ReasoningOff, format.ReasoningTokens, format.ReasoningSummary}, cacheMarks: format.MarksAnywhere, thinking: messages.Properties.Thinking,
		encode: encodeAnthropicFields, decode: decodeAnthropicFields,
	},
	names.AmazonFields: {
		features: []format.Feature{format.TopK, format.ReasoningOff}, cacheMarks: format.MarksInMessages, effort: true,
		encode: encodeAmazonFields, decode: decodeAmazonFields,
	},
	names.OpenAIFields: {
		effort: true,
		encode: encodeOpenAIFields, decode: decodeOpenAIFields,
	},
}

func encodeAnthropicFields(e *codec.Encoder, req *llm.Request) {
	messages.EncodeThinkingConfig(e, req.Reasoning)
	if req.TopK != nil {
		e.IntField("top_k", *req.TopK)
	}
}

func decodeAnthropicFields(d *codec.Decoder, key string, v []byte, req *llm.Request) bool {
	typ := js.Text(js.Get(v, "type"))
	switch {
	case key == "top_k":
		return readTopK(d, v, req)
	case (key == "thinking" || key == "reasoning_config") && strings.Contains(" enabled adaptive disabled ", " "+typ+" "):
		messages.DecodeThinkingConfig(d, v, req)
	default:
		return false
	}
	return true
}

// readTopK reports whether a value is a number of tokens to choose from.
func readTopK(d *codec.Decoder, v []byte, req *llm.Request) bool {
	n, ok := js.Int(v)
	if !ok || int64(int(n)) != n {
		return false
	}
	k := int(n)
	req.TopK = &k
	return true
}

// defaultEffort is used for thinking without an effort, because the maker requires one.
const defaultEffort = "medium"

func encodeAmazonFields(e *codec.Encoder, req *llm.Request) {
	if r := req.Reasoning; r != nil {
		e.ObjectField("reasoningConfig")
		if r.Off {
			e.StringField("type", "disabled")
		} else {
			e.StringField("type", "enabled")
			e.StringField("maxReasoningEffort", cmp.Or(r.Effort, defaultEffort))
			e.Unsupported(r.Tokens > 0, "reasoning.budget")
			e.Unsupported(r.Summary != "", "reasoning.summary")
		}
		e.End()
	}
	if req.TopK != nil {
		e.ObjectField("inferenceConfig")
		e.IntField("topK", *req.TopK)
		e.End()
	}
}

func decodeAmazonFields(d *codec.Decoder, key string, v []byte, req *llm.Request) bool {
	switch topK := js.Get(v, "topK"); {
	case key == "reasoningConfig" && js.Is(js.Get(v, "type"), "disabled"):
		req.Reasoning = &llm.Reasoning{Off: true}
	case key == "reasoningConfig" && js.Is(js.Get(v, "type"), "enabled"):
		req.Reasoning = &llm.Reasoning{Effort: d.Str(js.Get(v, "maxReasoningEffort"))}
	case key == "inferenceConfig" && codec.OnlyKey(v, "topK"):
		return readTopK(d, topK, req)
	default:
		return false
	}
	return true
}

func encodeOpenAIFields(e *codec.Encoder, req *llm.Request) {
	if r := req.Reasoning; r != nil {
		e.OptString("reasoning_effort", r.Effort)
		e.Unsupported(r.Off, "reasoning.off")
		e.Unsupported(r.Tokens > 0, "reasoning.budget")
		e.Unsupported(r.Summary != "", "reasoning.summary")
		e.Unsupported(*r == llm.Reasoning{}, "reasoning")
	}
	e.Unsupported(req.TopK != nil, "top_k")
}

func decodeOpenAIFields(d *codec.Decoder, key string, v []byte, req *llm.Request) bool {
	if key != "reasoning_effort" || !codec.HasValue(v) {
		return false
	}
	req.Reasoning = &llm.Reasoning{Effort: d.Str(v)}
	return true
}

// encodeModelFields writes what the format leaves to each model.
func encodeModelFields(e *codec.Encoder, req *llm.Request) {
	mark, start := member(e, "additionalModelRequestFields")
	if maker, ok := makers[e.Host.Quirks.ModelFields]; ok {
		maker.encode(e, req)
	} else {
		encodeRestated(e, req)
	}
	endMember(e, mark, start, req.Extra[e.Host.Format]["additionalModelRequestFields"])
}

func decodeModelFields(d *codec.Decoder, v []byte, req *llm.Request) {
	if !d.Object(v) {
		return
	}
	maker, known := makers[d.Host.Quirks.ModelFields]
	var again, rest codec.Fields
	for key, val := range d.Members(v) {
		switch {
		case known && maker.decode(d, string(key), val, req):
		case !known && decodeAnyMaker(d, string(key), val, req):
			again.Add(key, val)
		default:
			rest.Add(key, val)
		}
	}
	keep(d, req, restatedFields, again)
	keep(d, req, "additionalModelRequestFields", rest)
}

// restatedFields are fields of a maker, for a request whose model does not identify the maker. The request has their
// meaning too, for models elsewhere. A model of the converse format with an unknown maker gets the unchanged fields.
const restatedFields = loss.Restated + "additionalModelRequestFields"

// decodeAnyMaker reads a field of any maker; no field has two makers. A field with an unexpected value, or that repeats
// another field, stays unchanged.
func decodeAnyMaker(d *codec.Decoder, key string, v []byte, req *llm.Request) bool {
	if codec.HasOthers(v, "type", "budget_tokens", "display", "maxReasoningEffort", "topK") && js.Kind(v) == '{' {
		return false
	}
	for _, name := range slices.Sorted(maps.Keys(makers)) {
		alone, one := &codec.Decoder{Host: d.Host, IsRequest: d.IsRequest, Surrogates: d.Surrogates}, new(llm.Request)
		if makers[name].decode(alone, key, v, one) {
			return alone.Err == nil && addFields(req, one)
		}
	}
	return false
}

// addFields adds what a field of a maker says to a request, and reports whether that had not been said before. An effort may stand elsewhere.
func addFields(req, one *llm.Request) bool {
	had, says := req.Reasoning, one.Reasoning
	if req.TopK != nil && one.TopK != nil || had != nil && says != nil && (says.Effort != "" || *had != llm.Reasoning{Effort: had.Effort}) {
		return false
	}
	if one.TopK != nil {
		req.TopK = one.TopK
	}
	if says != nil {
		if had != nil {
			says.Effort = had.Effort
		}
		req.Reasoning = says
	}
	return true
}

// encodeRestated writes such fields if they still agree with the request. It notes other options that a model of an
// unknown maker does not get.
func encodeRestated(e *codec.Encoder, req *llm.Request) {
	topK, reasoning := false, false
	for key, one := range restatedOnes(req) {
		if !one.stillIn(req) {
			continue
		}
		e.AnyKey(key)
		e.Raw(one.raw)
		topK, reasoning = topK || one.TopK != nil, reasoning || one.Reasoning != nil
	}
	e.Unsupported(req.TopK != nil && !topK, "top_k")
	if r := req.Reasoning; r != nil && !reasoning {
		e.Unsupported(r.Off, "reasoning.off")
		e.Unsupported(r.Tokens > 0, "reasoning.budget")
		e.Unsupported(r.Summary != "", "reasoning.summary")
		e.Unsupported(*r == llm.Reasoning{}, "reasoning")
	}
}

// restatedOne is a field of a maker and what it says.
type restatedOne struct {
	llm.Request
	raw []byte
}

func restatedOnes(req *llm.Request) iter.Seq2[string, restatedOne] {
	return func(yield func(string, restatedOne) bool) {
		d := &codec.Decoder{Host: codec.Host{Format: names.Converse}}
		for key, v := range js.Members(req.Extra[names.Converse][restatedFields]) {
			one := restatedOne{raw: v}
			if decodeAnyMaker(d, string(key), v, &one.Request) && !yield(string(key), one) {
				return
			}
		}
	}
}

// stillIn reports whether the request agrees with the field. An effort may be in another field.
func (o *restatedOne) stillIn(req *llm.Request) bool {
	if o.TopK != nil && (req.TopK == nil || *o.TopK != *req.TopK) || o.Reasoning != nil && req.Reasoning == nil {
		return false
	}
	if o.Reasoning == nil {
		return true
	}
	if o.Reasoning.Effort != "" { // which is all that such a field says
		return req.Reasoning.Effort == o.Reasoning.Effort
	}
	r := *req.Reasoning
	r.Effort = ""
	return r == *o.Reasoning
}

// ownEffort reports whether the effort is told in a field of the maker.
func ownEffort(e *codec.Encoder, req *llm.Request) bool {
	maker, known := makers[e.Host.Quirks.ModelFields]
	if known {
		return maker.effort
	}
	for _, one := range restatedOnes(req) {
		if one.Reasoning != nil && one.Reasoning.Effort != "" && one.stillIn(req) {
			return true
		}
	}
	return false
}

// AtHost adds the features of the maker whose models the host serves.
func (Format) AtHost(p format.Properties, q format.Quirks) format.Properties {
	if maker, ok := makers[q.ModelFields]; ok {
		p.Features, p.Thinking, p.CacheMarks = append(slices.Clip(p.Features), maker.features...), maker.thinking, maker.cacheMarks
	}
	return p
}

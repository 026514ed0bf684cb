package provider

import (
	"encoding/json"
	"slices"

	"github.com/toolpost/toolpost/llm"
	wireformat "github.com/toolpost/toolpost/wire/format"
)

// requestOption is something a request can ask for.
type requestOption struct {
	Name string
	// Field is the field of llm.Request it belongs to.
	Field string
	// Note describes the handling where it is not obvious.
	Note string

	// otherwise is what becomes of it in formats that cannot express it: those
	// without the feature of that name. Mapped means that all formats can.
	otherwise Handling
	clear     func(*llm.Request)
}

// asked reports whether a request asks for the option. A schema of the answer
// is one, whether it says much or little.
func (o requestOption) asked(req *llm.Request) bool {
	f := wireformat.Feature(o.Name)
	return f.AskedBy(req) || f == wireformat.OutputSchema && wireformat.OutputAnyJSON.AskedBy(req)
}

// On returns what becomes of the option in a format. Vendors that differ say
// so in their own rows.
func (o requestOption) On(format wireformat.Properties) Handling {
	if o.otherwise == Mapped || format.Has(wireformat.Feature(o.Name)) {
		return Mapped
	}
	return o.otherwise
}

// handling is what becomes of an option at a vendor.
func (v *Vendor) handling(o requestOption, format wireformat.Properties) Handling {
	own, changed := v.Options[o.Name]
	switch {
	case v.Fields[o.Name] != "":
		return Mapped
	case changed:
		return own
	case o.Name == "tools.strict" && !v.Strict:
		return Ignored
	case o.Name == "output.beside_tools" && !v.Both,
		o.Name == "tool_choice.none" && v.NoNone,
		o.Name == "tool_choice.allowed" && v.NoAllowed,
		o.Name == "one_call" && v.Quirks.NoParallel,
		(o.Name == "tools.free_text" || o.Name == "tools.grammar") && !v.freeTools(&format):
		return Degraded
	}
	return o.On(format)
}

// freeTools reports whether a vendor has tools that take free text. Who only
// copies a format does not.
func (v *Vendor) freeTools(format *wireformat.Properties) bool {
	return slices.Contains(format.Features, wireformat.FreeTextTools) && (v.Strict || !format.Imitated)
}

// options is the table: name, field, note, and what becomes of the option where
// the format cannot express it.
var options = []requestOption{
	{"model", "Model", "the id that was opened decides", Mapped, nil},
	{"system", "System", "", Mapped, nil},
	{"messages", "Messages", "healed first", Mapped, nil},
	{"tools", "Tools", "emulated where the model has none", Mapped, nil},
	{"tools.strict", "Tools", "on wherever vendor and schema allow", Ignored, nil},
	{"tools.examples", "Tools", "else part of the description", Degraded, nil},
	{"tools.free_text", "Tools", "else a function with one argument", Degraded, nil},
	{"tools.grammar", "Tools", "else part of the description", Degraded, nil},
	{"tools.web_search", "Tools", "run by the vendor", Refused, nil},
	{"tool_choice.required", "Choice", "else asked for and checked", Degraded, nil},
	{"tool_choice.named", "Choice", "else asked for and checked", Degraded, nil},
	{"tool_choice.none", "Choice", "else the tools are withheld", Degraded, nil},
	{"tool_choice.allowed", "Choice", "else the other tools are withheld", Degraded, nil},
	{"one_call", "OneCall", "else only the first call counts", Degraded, nil},
	{"output", "Output", "else the arguments of emit_output", Degraded, nil},
	{"output.beside_tools", "Output", "else the arguments of emit_output", Degraded, nil},
	{"max_tokens", "MaxTokens", "", Ignored, func(r *llm.Request) { r.MaxTokens = 0 }},
	{"temperature", "Temperature", "", Ignored, func(r *llm.Request) { r.Temperature = nil }},
	{"top_p", "TopP", "", Ignored, func(r *llm.Request) { r.TopP = nil }},
	{"top_k", "TopK", "", Ignored, func(r *llm.Request) { r.TopK = nil }},
	{"frequency_penalty", "FrequencyPenalty", "", Ignored, func(r *llm.Request) { r.FrequencyPenalty = nil }},
	{"presence_penalty", "PresencePenalty", "", Ignored, func(r *llm.Request) { r.PresencePenalty = nil }},
	{"seed", "Seed", "", Ignored, func(r *llm.Request) { r.Seed = nil }},
	{"stop", "Stop", "", Ignored, func(r *llm.Request) { r.Stop = nil }},
	{"n", "N", "", Ignored, func(r *llm.Request) { r.N = 0 }},
	{"reasoning.off", "Reasoning", "", Ignored, func(r *llm.Request) { r.Reasoning = nil }},
	{"reasoning.effort", "Reasoning", "", Ignored, func(r *llm.Request) { setReasoning(r, func(x *llm.Reasoning) { x.Effort = "" }) }},
	{"reasoning.budget", "Reasoning", "else the nearest effort, for models known to take one", Degraded, func(r *llm.Request) { setReasoning(r, func(x *llm.Reasoning) { x.Tokens = 0 }) }},
	{"reasoning.summary", "Reasoning", "", Ignored, func(r *llm.Request) { setReasoning(r, func(x *llm.Reasoning) { x.Summary = "" }) }},
	{"budget", "RetryBudget", "counted by whoever asks again", Mapped, nil},
	{"text_calls", "Promotion", "else the model's entry or the vendor's row decides", Mapped, nil},
	{"allow_echoes", "AllowEchoes", "calls found in text are compared with results and documents unless it is set", Mapped, nil},
	{"hold_doubtful", "HoldDoubtful", "calls that the text may only talk about do not run", Mapped, nil},
	{"echoes", "Echoes", "calls found in text are compared with it; it is never sent", Mapped, nil},
	{"limits", "Limits", "kept by us", Mapped, nil},
	{"extra", "Extra", "the fields of the format in use", Mapped, nil},
}

// setReasoning changes a copy of the reasoning, which the request shares.
func setReasoning(req *llm.Request, change func(*llm.Reasoning)) {
	r := *req.Reasoning
	change(&r)
	req.Reasoning = &r
}

// vendorOptions applies the vendor's row: options under another name, and options
// that the vendor does not have.
func (p planner) vendorOptions() {
	for _, o := range options {
		if !o.asked(p.req) {
			continue
		}
		if field := p.vendor.Fields[o.Name]; field != "" {
			p.rename(p.wire, o, field)
			continue
		}
		switch p.vendor.Options[o.Name] {
		case Ignored:
			p.warn(llm.Ignored, o.Name, "%s does not have it", p.vendor.Name)
			if o.clear != nil {
				o.clear(p.req)
			}
		case Refused:
			p.refuse(llm.Unsupported, p.vendor.Name, "%s does not have %s", p.vendor.Name, o.Name)
			return
		}
	}
}

// rename sends an option under the field that the vendor has for it in a format.
func (j *job) rename(format string, o requestOption, field string) {
	var value any
	switch o.Name {
	case "top_k":
		value = *j.req.TopK
	case "seed":
		value = *j.req.Seed
	}
	raw, _ := json.Marshal(value) // a number
	setExtra(j.req, format, field, raw)
	o.clear(j.req)
}

// setExtra adds a field of a format to a request, unless the caller set it.
func setExtra(req *llm.Request, format, field string, value json.RawMessage) {
	if _, set := req.Extra[format][field]; set {
		return
	}
	if req.Extra == nil {
		req.Extra = llm.Extra{}
	}
	if req.Extra[format] == nil {
		req.Extra[format] = map[string]json.RawMessage{}
	}
	req.Extra[format][field] = value
}

package admit

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/toolpost/toolpost/gateway/internal/exchange"
	"github.com/toolpost/toolpost/gateway/internal/upstream"
	"github.com/toolpost/toolpost/internal/access"
	"github.com/toolpost/toolpost/internal/js"
	"github.com/toolpost/toolpost/llm"
)

// Demand is everything that the body and the headers of a request ask for besides a model and its tools.
type Demand struct {
	fields  []sentField // fields that may have effects beyond the model and the tools
	Output  outputLimit // limit of the answer length
	Limited bool        // the key has limits, so the size of the answer matters
	unknown int         // fields that were not sent, because they are unknown and the key is limited
}

// effect is an effect of a request field that is not visible in the model name and the list of tools.
type effect uint8

const (
	namesModels   effect = iota + 1 // names models that may answer instead of the requested one
	runsTool                        // runs a tool of the vendor
	runsPlugins                     // runs a list of the vendor's tools
	aside                           // no effect itself
	holdsMembers                    // contains fields that a server reads like top-level fields
	holdsOptions                    // contains options like the next two, or options that raise the price
	allowsOutput                    // allows a number of output tokens
	allowsAnswers                   // allows a number of answers
	asksBetas                       // asks for beta features, like Anthropic-Beta
	hidesMembers                    // contains fields that cannot be read here
	changesAll                      // may select another model or any tool
	raisesPrice                     // raises the price beyond the catalogue
	inAccount                       // refers to an object in the vendor account of the gateway
	notServed                       // the answer would be delivered elsewhere, uncounted
)

// vendorField is a request field that some vendor or gateway understands.
type vendorField struct {
	name    string // compared by [js.FoldField]: some servers ignore case, and some accept two spellings
	meaning effect
	tool    string   // the tool that it runs
	at      string   // the inner field that decides; "" if the value itself does
	plain   []string // values without an effect
	kind    byte     // kind of the values that have an effect, as in js.Kind; 0 means all kinds
	// inner are the meanings of inner fields of an object. The object itself then has no effect.
	inner []vendorField
}

// vendorFields are the fields with which a client can reach another model, a tool or a higher price. They are checked
// in every format: a check of a field that the server does not know is harmless, and an unchecked field could bypass a
// limit.
var vendorFields = fieldsByName([]vendorField{
	// OpenRouter
	{name: "models", meaning: namesModels},
	{name: "plugins", meaning: runsPlugins},
	{name: "preset", meaning: changesAll},
	{name: "provider", meaning: raisesPrice},
	{name: "route", meaning: raisesPrice},
	// LiteLLM
	{name: "fallbacks", meaning: namesModels},
	{name: "context_window_fallbacks", meaning: namesModels},
	{name: "content_policy_fallbacks", meaning: namesModels},
	{name: "fallback_models", meaning: namesModels},
	{name: "model_list", meaning: changesAll},
	{name: "user_config", meaning: changesAll},
	{name: "router_settings_override", meaning: changesAll},
	{name: "custom_llm_provider", meaning: changesAll},
	{name: "api_base", meaning: changesAll},
	{name: "base_url", meaning: changesAll},
	{name: "extra_body", meaning: holdsMembers},
	{name: "extra_headers", meaning: changesAll},
	{name: "num_retries", meaning: raisesPrice},
	{name: "fallback", meaning: namesModels},
	{name: "litellm_params", meaning: changesAll},
	{name: "router_settings", meaning: changesAll},
	{name: "tags", meaning: changesAll},
	{name: "api_key", meaning: changesAll},
	{name: "headers", meaning: changesAll},
	{name: "prompt_id", meaning: changesAll},
	{name: "vector_store_ids", meaning: inAccount},
	{name: "metadata", meaning: aside, inner: routing},
	{name: "litellm_metadata", meaning: aside, inner: routing},
	// Portkey, Azure, Mistral
	{name: "agent_id", meaning: changesAll},
	{name: "config", meaning: changesAll},
	{name: "deployment_id", meaning: changesAll},
	{name: "engine", meaning: changesAll},
	{name: "data_sources", meaning: runsTool, tool: llm.WebSearch},
	// SGLang, llama.cpp, vLLM, TGI: another adapter answers
	{name: "lora_request", meaning: changesAll},
	{name: "adapter_id", meaning: changesAll},
	{name: "lora_path", meaning: changesAll},
	{name: "lora", meaning: changesAll},
	// OpenAI, xAI: the answer is fetched later
	{name: "background", meaning: notServed},
	{name: "deferred", meaning: notServed},
	// OpenAI: a stored prompt has a separate model and tools, and audio costs more than text
	{name: "prompt", meaning: aside, inner: []vendorField{{name: "id", meaning: changesAll}}},
	{name: "conversation", meaning: inAccount},
	{name: "modalities", meaning: raisesPrice, plain: []string{"text"}},
	{name: "audio", meaning: raisesPrice, kind: '{'},
	// Gemini
	{name: "response_modalities", meaning: raisesPrice, plain: []string{"text", "TEXT"}},
	{name: "speech_config", meaning: raisesPrice},
	{name: "image_config", meaning: raisesPrice},
	{name: "cached_content", meaning: inAccount},
	// Vercel's gateway
	{name: "provider_options", meaning: changesAll},
	// Search that the vendor runs: OpenAI, xAI, Qwen, Groq, Cohere
	{name: "web_search_options", meaning: runsTool, tool: llm.WebSearch},
	{name: "search_parameters", meaning: runsTool, tool: llm.WebSearch, at: "mode", plain: []string{"off"}},
	{name: "enable_search", meaning: runsTool, tool: llm.WebSearch},
	{name: "web_search", meaning: runsTool, tool: llm.WebSearch},
	{name: "enable_web_search", meaning: runsTool, tool: llm.WebSearch},
	{name: "search_settings", meaning: runsTool, tool: llm.WebSearch},
	{name: "compound_custom", meaning: runsTool, tool: llm.WebSearch},
	{name: "connectors", meaning: runsTool, tool: llm.WebSearch},
	// Anthropic
	{name: "mcp_servers", meaning: runsTool, tool: "mcp"},
	{name: "container", meaning: inAccount, inner: []vendorField{{name: "id", meaning: inAccount}, {name: "skills", meaning: changesAll}}},
	{name: "speed", meaning: raisesPrice, plain: []string{"standard"}},
	{name: "inference_geo", meaning: raisesPrice, plain: []string{"global"}},
	// OpenAI, Anthropic, Groq, Gemini, Bedrock
	{name: "service_tier", meaning: raisesPrice, at: "type", plain: []string{"auto", "default", "standard", "standard_only", "flex", "on_demand", "reserved"}},
	{name: "performance_config", meaning: raisesPrice, at: "latency", plain: []string{"standard"}},
	{name: "additional_model_request_fields", meaning: holdsMembers},
	// Beta features, for which other clients use a header: Bedrock, and Anthropic's own client
	{name: "anthropic_beta", meaning: asksBetas},
	{name: "betas", meaning: asksBetas},
	// The length and number of answers: OpenAI, Anthropic, Gemini, Bedrock and the models on it, Ollama, llama.cpp,
	// vLLM, TGI
	{name: "generation_config", meaning: holdsOptions},
	{name: "inference_config", meaning: holdsOptions},
	{name: "options", meaning: holdsOptions},
	{name: "parameters", meaning: holdsOptions},
	{name: "sampling_params", meaning: holdsOptions},
	{name: "text_generation_config", meaning: holdsOptions},
	{name: "max_tokens", meaning: allowsOutput},
	{name: "max_completion_tokens", meaning: allowsOutput},
	{name: "max_output_tokens", meaning: allowsOutput},
	{name: "max_new_tokens", meaning: allowsOutput},
	{name: "max_tokens_to_sample", meaning: allowsOutput},
	{name: "max_gen_len", meaning: allowsOutput},
	{name: "max_token_count", meaning: allowsOutput},
	{name: "n_predict", meaning: allowsOutput},
	{name: "num_predict", meaning: allowsOutput},
	{name: "min_tokens", meaning: allowsOutput},
	{name: "min_new_tokens", meaning: allowsOutput},
	{name: "thinking_budget", meaning: allowsOutput},
	{name: "n", meaning: allowsAnswers},
	{name: "best_of", meaning: allowsAnswers},
	{name: "candidate_count", meaning: allowsAnswers},
	{name: "num_return_sequences", meaning: allowsAnswers},
	{name: "num_generations", meaning: allowsAnswers},
	{name: "beam_width", meaning: allowsAnswers},
})

// routing are metadata fields by which LiteLLM and similar gateways choose a model. Other metadata fields have no
// effect.
var routing = []vendorField{{name: "tags", meaning: changesAll, kind: '['}, {name: "fallbacks", meaning: changesAll, kind: '['}}

// topLevelFields are known fields of the request itself. Inside other fields the same names may mean anything.
var topLevelFields = []string{"model", "tools", "functions"}

// betas are the relevant features of the header Anthropic-Beta, by prefix.
var betas = []vendorField{
	{name: "fast-mode", meaning: raisesPrice},
	{name: "context-1m", meaning: raisesPrice},
	{name: "mcp-client", meaning: runsTool, tool: "mcp"},
	{name: "skills", meaning: changesAll},
}

// readBetas records the beta features in the client's headers.
func (d *Demand) readBetas(h http.Header) {
	for _, value := range h.Values("Anthropic-Beta") {
		d.noteBetas("Anthropic-Beta", value)
	}
}

// noteBetas records the beta features in a comma-separated list.
func (d *Demand) noteBetas(place, list string) {
	for word := range strings.SplitSeq(list, ",") {
		word = strings.ToLower(strings.TrimSpace(word))
		if i := slices.IndexFunc(betas, func(b vendorField) bool { return strings.HasPrefix(word, b.name) }); i >= 0 {
			said := betas[i]
			said.name = place + ": " + said.name
			d.fields = append(d.fields, sentField{vendorField: &said})
		}
	}
}

// readBetaField records the beta features in a body field. Some hosts read them from the body.
func (d *Demand) readBetaField(m *vendorField, value []byte) error {
	switch js.Kind(value) {
	case '"':
		d.noteBetas(m.name, js.Text(value))
		return nil
	case '[':
		for item := range js.Elements(value) {
			if js.Kind(item) != '"' {
				return exchange.Invalid("%s must be a list of strings", m.name)
			}
			d.noteBetas(m.name, js.Text(item))
		}
		return nil
	}
	return exchange.Invalid("%s must be a list of strings", m.name)
}

func fieldsByName(list []vendorField) map[string]*vendorField {
	out := make(map[string]*vendorField, len(list))
	for i := range list {
		out[string(new(room).folded([]byte(list[i].name)))] = &list[i]
	}
	return out
}

// fieldOf returns the known field of a name, nil if it is unknown.
func fieldOf(key []byte) *vendorField {
	return vendorFields[string(new(room).folded(key))]
}

// sentField is a known field of a request, with its value.
type sentField struct {
	*vendorField
	value []byte
}

// errModels is the error of a request that may name more than one model. Servers differ in which one they use.
var errModels = errors.New("the request names the model more than once, or in another spelling")

// Read records the fields of a body that may have effects beyond the model and the tools. It rejects unusual spellings
// of names.
func (d *Demand) Read(body []byte, names Spellings) error {
	d.Output.size = len(body)
	n, exact := 0, 0
	for key, value := range js.Members(js.Trim(body)) {
		if err := names.Check(key); err != nil {
			return err
		}
		if IsModel(key) {
			n++
			if string(key) == "model" {
				exact++
			}
		} else if err := d.ReadField(key, value); err != nil {
			return err
		}
	}
	if n > 1 || n > exact {
		return exchange.Invalid("%w", errModels)
	}
	return nil
}

func IsModel(key []byte) bool {
	return js.SameField(key, "model")
}

// mostNested limits the depth of nested fields.
const mostNested = 8

// ReadField records one field.
func (d *Demand) ReadField(key, value []byte) error {
	if d.Limited {
		d.Output.look(key, value, 0)
	}
	return d.readNested(key, value, 0)
}

// readNested records a field at a nesting depth.
func (d *Demand) readNested(key, value []byte, depth int) error {
	m := fieldOf(key)
	switch {
	case m == nil || js.Kind(value) == 'n':
		return nil
	case m.meaning == allowsOutput || m.meaning == allowsAnswers:
		return d.Output.add(m, key, value)
	case m.meaning == holdsOptions:
		return d.readOptions(value)
	case m.meaning == asksBetas:
		return d.readBetaField(m, value)
	case m.inner != nil && js.Kind(value) == '{':
		d.readInner(m, value)
		return nil
	case m.meaning == aside || m.idle(value):
		return nil
	case m.meaning == notServed:
		return exchange.Invalid("%s is not served here: its answer would have to be fetched later; ask for a stream", m.name)
	case m.meaning != holdsMembers:
		d.fields = append(d.fields, sentField{m, value})
		return nil
	case js.Kind(value) != '{':
		d.fields = append(d.fields, sentField{&vendorField{name: m.name, meaning: hidesMembers}, value})
		return nil
	case depth == mostNested:
		return exchange.Invalid("%s is nested more than %d levels deep", m.name, mostNested)
	}
	for inner, value := range js.Members(value) {
		if known := fieldOf(inner); known != nil && known.meaning == holdsMembers || IsTopLevelOnly(inner) {
			d.fields = append(d.fields, sentField{&vendorField{name: m.name, meaning: changesAll}, value})
		}
		if err := d.readNested(inner, value, depth+1); err != nil {
			return err
		}
	}
	return nil
}

// IsTopLevelOnly reports whether a field is one of topLevelFields.
func IsTopLevelOnly(key []byte) bool {
	return slices.Contains(topLevelFields, string(new(room).folded(key)))
}

// readOptions records how much output the options of a request allow, and which options raise the price.
func (d *Demand) readOptions(options []byte) error {
	for key, value := range js.Members(options) {
		m := fieldOf(key)
		if m == nil || m.meaning != allowsOutput && m.meaning != allowsAnswers && m.meaning != raisesPrice {
			continue
		}
		if err := d.readNested(key, value, mostNested); err != nil {
			return err
		}
	}
	return nil
}

// readInner records the inner fields of a field.
func (d *Demand) readInner(m *vendorField, value []byte) {
	for key, value := range js.Members(value) {
		for i := range m.inner {
			known := m.inner[i]
			if js.SameField(key, known.name) && !known.idle(value) {
				known.name = m.name + "." + known.name
				d.fields = append(d.fields, sentField{&known, value})
			}
		}
	}
}

// idle reports whether a value has no effect.
func (m *vendorField) idle(v []byte) bool {
	switch string(v) {
	case "null", "false", `""`, "0", "[]":
		return true
	}
	if m.kind != 0 && js.Kind(v) != m.kind {
		return true
	}
	if m.at != "" && js.Kind(v) == '{' {
		v = js.Get(v, m.at)
	}
	for each := range js.Elements(v) {
		if !slices.Contains(m.plain, js.Text(each)) {
			return false
		}
	}
	return js.Kind(v) == '[' || js.Kind(v) == '"' && slices.Contains(m.plain, js.Text(v))
}

// vendorTools returns the vendor's tools that fields of the request run.
func (d *Demand) vendorTools() (names []string) {
	for _, m := range d.fields {
		switch m.meaning {
		case runsTool:
			names = append(names, m.tool)
		case runsPlugins:
			for p := range js.Elements(m.value) {
				names = append(names, pluginTool(js.Text(js.Get(p, "id"))))
			}
			if js.Kind(m.value) != '[' {
				names = append(names, m.name)
			}
		}
	}
	return names
}

// pluginTool returns the tool name of an OpenRouter plugin.
func pluginTool(id string) string {
	if id == "web" {
		return llm.WebSearch
	}
	return "plugin:" + id
}

// CheckFields refuses fields with which the client could exceed the rights of its key.
func (c *Client) CheckFields(d *Demand, table upstream.Table) error {
	if c.Rights == nil {
		return nil
	}
	if d.readBetas(c.HTTP.Header); len(d.fields) == 0 {
		return nil
	}
	k, money := &c.Rights.Key, c.Rights.BoundsMoney()
	leads := len(k.Models)+len(k.Routes) > 0
	for _, m := range d.fields {
		var err error
		switch {
		case m.meaning == namesModels && (leads || money):
			err = c.checkModelNames(m, money, table)
		case m.meaning == changesAll && (leads || money || len(k.Tools) > 0):
			err = c.Rights.MayNotSay(m.name, "a server may take another model, or run tools")
		case m.meaning == hidesMembers && (leads || len(k.Tools) > 0 || c.Rights.BoundsSize()):
			err = c.Rights.MayNotSay(m.name, "which is not an object, so it is unknown what a server reads from it")
		case m.meaning == raisesPrice && money:
			err = c.Rights.MayNotSay(m.name, "a request may cost more than is known, and money is bounded")
		}
		if err != nil {
			return c.Refuse(err)
		}
	}
	return nil
}

// checkModelNames refuses a field that names models which the key may not use.
func (c *Client) checkModelNames(m sentField, money bool, table upstream.Table) error {
	if money {
		return c.Rights.MayNotSay(m.name, "models of other prices may answer, and money is bounded")
	}
	names, ok := modelNames(m.value, nil, 0)
	if !ok {
		return c.Rights.MayNotSay(m.name, "models may answer that cannot be told from it")
	}
	for _, name := range names {
		if err := c.Rights.MayUse(access.NoModel, name); err != nil {
			return err
		}
		if r := table.Find(name, c.Codec.Format); len(c.Rights.Key.Routes) > 0 && (r == nil || !c.Rights.Key.AllowsRoute(r.Name)) {
			return c.Rights.MayNotSay(m.name, fmt.Sprintf("%.100q may answer, to which none of its routes leads", name))
		}
	}
	return nil
}

// modelNames returns the models that a value names. The value may be a string, an object with a model, an object of
// lists as in LiteLLM, or a list of these. It reports false for other values.
func modelNames(v []byte, names []string, depth int) ([]string, bool) {
	ok := true
	switch kind := js.Kind(v); {
	case kind == '"':
		return append(names, js.Text(v)), true
	case kind == '[' && depth < 3:
		for e := range js.Elements(v) {
			if names, ok = modelNames(e, names, depth+1); !ok {
				return nil, false
			}
		}
		return names, true
	case kind == '{' && depth < 3:
		before := len(names)
		for key, value := range js.Members(v) {
			if !IsModel(key) && js.Kind(value) != '[' {
				continue // another option for that model
			}
			if names, ok = modelNames(value, names, depth+1); !ok {
				return nil, false
			}
		}
		return names, len(names) > before
	}
	return nil, false
}

// MayHideTools reports whether the request may offer tools outside its list of tools.
func (d *Demand) MayHideTools() bool {
	return slices.ContainsFunc(d.fields, func(m sentField) bool { return m.meaning == changesAll || m.meaning == hidesMembers })
}

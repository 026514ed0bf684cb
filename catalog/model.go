package catalog

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/toolpost/toolpost/llm"
)

// Model is the catalogue's knowledge of one model. Zero values are unknown.
type Model struct {
	ID   ID
	Kind string // "chat", or another use: embedding, rerank, image, audio, video, moderation

	NativeTools        Answer // the host takes tool definitions and returns calls
	ParallelTools      Answer // several calls in one turn
	ToolStreaming      Answer // arguments arrive in pieces
	ToolChoiceRequired Answer // a call can be forced
	ToolSearch         Answer // the vendor finds tools whose definitions are deferred
	JSONMode           Answer // the answer can be forced to be JSON
	JSONSchema         Answer // the answer can be forced to fit a schema
	Reasoning          Answer // it can think before it answers
	StrictSchema       Answer // its tool schemas must close every object (additionalProperties: false)
	ResultInUser       Answer // tool results travel in a user message
	StopSequences      Answer // texts at which it stops can be given
	HostedBeside       Answer // tools that the vendor runs may be mixed with functions
	SystemTurns        Answer // instructions are allowed among the messages, not only before them
	ThinkingOpen       Answer // when it thinks, its text starts inside the thinking: the opening tag is in the prompt

	ContextWindow int // tokens, 0 if unknown
	MaxOutput     int // tokens, 0 if unknown
	MinThinking   int // minimum tokens of thinking, which means that thinking cannot be switched off, unless Efforts has "none"; 0 if it can or that is unknown
	MaxThinking   int // maximum for the tokens of thinking, 0 if unknown

	Wire string // the codec: chat, responses, messages, gemini, ollama
	// ThinkingWire is the codec in which its thinking can be handed back, where
	// that is another one and the vendor serves the model itself.
	ThinkingWire string
	Dialect      string // how it writes calls in text
	Promotion    string // which text may become a call: off, marked, all; empty leaves it to the route
	Thinking     string // how it writes thinking in text; "api" if only the host separates it
	Efforts      string // its words for the amount of thinking, with spaces between; "none" switches it off; empty if unknown
	Sampling     string // which of temperature, top_p and penalties it accepts: any, one of the first two, none, or any unless it thinks; empty is any
	Turns        string // what its chat template demands of the turns: any; user, one of the user; alternate, sides in turn and the user first; answered, likewise with an answer after results; single, one call in each; empty if unknown
	Emulation    string // how to ask for calls in a prompt: json, xml, markdown, another style of package emulate or a dialect
	Constrain    string // the request field with which the host forces output to fit a schema: format, json_schema, structured_outputs, response_format

	ToolName   Limit  // the form of a tool's name
	CallID     Limit  // the form of a call's id
	CallIDForm string // how it counts its own calls, such as "functions.{name}:{index}"

	Price Price // at the host that serves the id

	why [fieldCount]uint16 // the rule that set each field
	cat *Catalog
}

// Known reports whether the catalogue knows the model. If it does not, the
// answers are safe defaults: no native tools, JSON emulation, a small context.
func (m Model) Known() bool { return m.why[fieldNativeTools] > defaultRule }

// Warnings returns the warnings for a user of the model.
func (m Model) Warnings() []llm.Warning { return m.warnings(false) }

// WarningsAsked returns the warnings for a user that sets how the model is asked for calls.
func (m Model) WarningsAsked() []llm.Warning { return m.warnings(true) }

// warnings returns the warnings of a model; asked means that the user has set how it is asked for calls.
func (m Model) warnings(asked bool) []llm.Warning {
	if !m.Known() {
		return m.unknown(asked)
	}
	if m.Kind != "chat" {
		return []llm.Warning{{Code: llm.Compatibility, Feature: m.ID.Raw, Detail: "this is not a chat model but one for " + m.Kind}}
	}
	return nil
}

// assumptions are the warnings about an unknown model, for fields that no rule sets.
var assumptions = []struct {
	field string
	asks  bool // it decides how calls are requested from the model
	words func(*Model) string
}{
	{"native_tools", true, func(*Model) string { return "no native tools" }},
	{"emulation_style", true, func(*Model) string { return "calls as JSON" }},
	{"context_window", false, func(m *Model) string { return "a context of " + strconv.Itoa(m.ContextWindow) + " tokens" }},
}

// unknown warns about the assumptions for an unknown model, if there are any.
func (m Model) unknown(asked bool) []llm.Warning {
	var words []string
	for _, a := range assumptions {
		if i, _ := findField(a.field); m.why[i] <= defaultRule && !(a.asks && asked) {
			words = append(words, a.words(&m))
		}
	}
	if len(words) == 0 {
		return nil
	}
	list := words[len(words)-1]
	if before := words[:len(words)-1]; len(before) > 0 {
		list = strings.Join(before, ", ") + " and " + list
	}
	return []llm.Warning{{Code: llm.UnknownModel, Feature: m.ID.Raw, Detail: "unknown model (" + m.reason() + "): assuming " + list + "; models.yaml can say better"}}
}

func (m Model) reason() string {
	if m.ID.Reason != "" {
		return m.ID.Reason
	}
	return "no rule covers it"
}

// Why is where one value of a Model comes from.
type Why struct {
	Field string `json:"field"` // as in models.yaml
	Value string `json:"value"` // "unknown" without a value
	Rule  string `json:"rule"`  // its name; empty if no rule applies
	From  string `json:"from"`  // file and line, or the imported database
}

// Explain reports the rule that gave each value, in the order of the documentation.
func (m Model) Explain() []Why {
	all := make([]Why, len(fields))
	for i := range fields {
		all[i] = m.explain(i)
	}
	return all
}

// RuleOf returns the name of the rule that gave one value: see [Model.Explain]. It is "" for an
// unknown field.
func (m Model) RuleOf(field string) string {
	for i := range fields {
		if fields[i].key == field && m.cat != nil && m.why[i] != 0 {
			return m.cat.rules[m.why[i]].name
		}
	}
	return ""
}

func (m *Model) explain(i int) Why {
	w := Why{Field: fields[i].key, Value: fields[i].format(m)}
	if m.cat != nil && m.why[i] != 0 {
		r := m.cat.rules[m.why[i]]
		w.Rule, w.From = r.name, r.from
	}
	return w
}

// MarshalJSON writes the model as `toolpost models show --json` shows it:
// the parts of the id, and all capabilities in one object.
func (m Model) MarshalJSON() ([]byte, error) {
	capability := make(map[string]any, len(fields)+1)
	conditions := map[string]string{}
	for _, f := range fields {
		capability[f.key] = f.value(&m)
		if f.answer != nil {
			if a := *f.answer(&m); a.Support == Yes && a.Unless != 0 {
				conditions[f.key] = "unless " + a.Unless.String()
			}
		}
	}
	if len(conditions) > 0 {
		capability["conditions"] = conditions
	}
	id := m.ID
	return json.Marshal(struct {
		ID         string         `json:"id"`
		Family     string         `json:"family"`
		Root       string         `json:"root"`
		Version    Version        `json:"version"`
		Revision   Version        `json:"revision,omitzero"`
		Variant    *string        `json:"variant"`
		Size       *int64         `json:"size"`
		Active     *int64         `json:"active,omitempty"`
		Provider   *string        `json:"provider"`
		Org        *string        `json:"org"`
		Base       *string        `json:"base,omitempty"`
		Custom     bool           `json:"custom"`
		Reason     string         `json:"reason,omitempty"`
		Capability map[string]any `json:"capability"`
		Warnings   []llm.Warning  `json:"warnings,omitempty"`
	}{id.Raw, id.Family, id.Root(), id.Version, id.Revision, some(id.Variant), some(id.Size), some(id.Active),
		some(id.Provider), some(id.Org), some(id.Base), id.Custom, id.Reason, capability, m.Warnings()})
}

// some returns nil for the zero value, which JSON writes as null.
func some[T comparable](v T) *T {
	var zero T
	if v == zero {
		return nil
	}
	return &v
}

package format

import (
	"maps"
	"slices"

	"github.com/toolpost/toolpost/llm"
)

// Feature is something that a request can ask for and that a format may be
// unable to express.
type Feature string

// The features, by what they are about.
const (
	StrictTools   Feature = "tools.strict"
	ToolExamples  Feature = "tools.examples"
	FreeTextTools Feature = "tools.free_text"
	ToolGrammars  Feature = "tools.grammar"
	HostedSearch  Feature = "tools.web_search"

	ChoiceRequired Feature = "tool_choice.required"
	ChoiceNamed    Feature = "tool_choice.named"
	ChoiceNone     Feature = "tool_choice.none"
	ChoiceAllowed  Feature = "tool_choice.allowed"
	OneCall        Feature = "one_call"

	OutputSchema      Feature = "output"
	OutputAnyJSON     Feature = "output.any_json"
	OutputBesideTools Feature = "output.beside_tools"

	MaxTokens        Feature = "max_tokens"
	Temperature      Feature = "temperature"
	TopP             Feature = "top_p"
	TopK             Feature = "top_k"
	FrequencyPenalty Feature = "frequency_penalty"
	PresencePenalty  Feature = "presence_penalty"
	Seed             Feature = "seed"
	StopSequences    Feature = "stop"
	SeveralAnswers   Feature = "n"

	ReasoningOff     Feature = "reasoning.off"
	ReasoningEffort  Feature = "reasoning.effort"
	ReasoningTokens  Feature = "reasoning.budget"
	ReasoningSummary Feature = "reasoning.summary"
)

// asking maps each feature to a function that reports whether a request needs it.
var asking = map[Feature]func(*llm.Request) bool{
	StrictTools:   anyTool(func(t llm.ToolDef) bool { return t.Strict != nil && *t.Strict }),
	ToolExamples:  anyTool(func(t llm.ToolDef) bool { return len(t.Examples) > 0 }),
	FreeTextTools: anyTool(func(t llm.ToolDef) bool { return t.Kind == llm.FreeTool }),
	ToolGrammars:  anyTool(func(t llm.ToolDef) bool { return t.Grammar != nil }),
	HostedSearch:  anyTool(func(t llm.ToolDef) bool { return t.Kind == llm.HostedTool }),

	ChoiceRequired: func(r *llm.Request) bool { return r.Choice.Mode == llm.MustCall && r.Choice.Name == "" },
	ChoiceNamed:    func(r *llm.Request) bool { return r.Choice.Mode == llm.MustCall && r.Choice.Name != "" },
	ChoiceNone:     func(r *llm.Request) bool { return r.Choice.Mode == llm.MustNotCall },
	ChoiceAllowed:  func(r *llm.Request) bool { return len(r.Choice.Allowed) > 0 },
	OneCall:        func(r *llm.Request) bool { return r.OneCall },

	OutputSchema:      func(r *llm.Request) bool { return r.Output != nil && len(r.Output.Schema) > 0 },
	OutputAnyJSON:     func(r *llm.Request) bool { return r.Output != nil && len(r.Output.Schema) == 0 },
	OutputBesideTools: func(r *llm.Request) bool { return r.Output != nil && len(r.Tools) > 0 },

	MaxTokens:        func(r *llm.Request) bool { return r.MaxTokens != 0 },
	Temperature:      func(r *llm.Request) bool { return r.Temperature != nil },
	TopP:             func(r *llm.Request) bool { return r.TopP != nil },
	TopK:             func(r *llm.Request) bool { return r.TopK != nil },
	FrequencyPenalty: func(r *llm.Request) bool { return r.FrequencyPenalty != nil },
	PresencePenalty:  func(r *llm.Request) bool { return r.PresencePenalty != nil },
	Seed:             func(r *llm.Request) bool { return r.Seed != nil },
	StopSequences:    func(r *llm.Request) bool { return len(r.Stop) > 0 },
	SeveralAnswers:   func(r *llm.Request) bool { return r.N > 1 },

	ReasoningOff:     reasoning(func(r llm.Reasoning) bool { return r.Off }),
	ReasoningEffort:  reasoning(func(r llm.Reasoning) bool { return r.Effort != "" }),
	ReasoningTokens:  reasoning(func(r llm.Reasoning) bool { return r.Tokens != 0 }),
	ReasoningSummary: reasoning(func(r llm.Reasoning) bool { return r.Summary != "" }),
}

// anyTool reports whether a tool of a request has a property.
func anyTool(f func(llm.ToolDef) bool) func(*llm.Request) bool {
	return func(r *llm.Request) bool { return slices.ContainsFunc(r.Tools, f) }
}

func reasoning(f func(llm.Reasoning) bool) func(*llm.Request) bool {
	return func(r *llm.Request) bool { return r.Reasoning != nil && f(*r.Reasoning) }
}

// AskedBy reports whether a request asks for the feature.
func (f Feature) AskedBy(req *llm.Request) bool {
	asks := asking[f]
	return asks != nil && asks(req)
}

// Has reports whether the format can express a feature.
func (p Properties) Has(f Feature) bool { return slices.Contains(p.Features, f) }

// Missing returns a warning for each feature that a request asks for and the
// format cannot express. Whether a host can do two things at once is not the
// format's business.
func (p Properties) Missing(req *llm.Request) []llm.Warning {
	var lost []llm.Warning
	for _, f := range slices.Sorted(maps.Keys(asking)) {
		if f != OutputBesideTools && !p.Has(f) && f.AskedBy(req) {
			lost = append(lost, llm.Warning{Code: llm.Ignored, Feature: string(f), Detail: "the " + p.Name + " format has no field for it"})
		}
	}
	return lost
}

// Package emulate gives tool calling to models that were never taught it.
//
// [Emulation.Around] wraps any llm.Model: it teaches the tools in the prompt, writes the
// calls and results of the history as text, has the model's host hold the answer to a
// schema where it can, and reads the calls from the text as it streams. [Teach] returns
// only the prompt, for programs that send it themselves. [ReadCalls] reads the calls of a
// model that was taught elsewhere.
//
// Package provider does all this for models whose vendor does not support tools.
package emulate

import (
	"encoding/json"

	"github.com/toolpost/toolpost/dialect"
	engine "github.com/toolpost/toolpost/internal/emulate"
	"github.com/toolpost/toolpost/internal/emulate/smallmodel"
	"github.com/toolpost/toolpost/llm"
)

// Emulation configures how a model without tool calling is made to call tools. The
// zero value teaches the tools in a prompt, in JSON, to an unknown model; see
// [Emulation.Around].
type Emulation struct {
	// Style is the notation to teach: one of [Styles], "markdown", which is
	// another word for json, or a dialect of Dialects. Empty takes what suits
	// the family.
	Style string
	// Dialects are the dialects that are read and may be taught; nil reads
	// dialect.Builtin and teaches those of Styles.
	Dialects *dialect.List
	// Family is the model's family in the words of the catalogue, like
	// "qwen"; empty or unknown changes nothing.
	Family string
	// Size is the number of the model's parameters, Context its context in
	// tokens; 0 means unknown.
	Size    int64
	Context int
	// OneCall says that the model cannot write several calls in an answer.
	OneCall bool
	// Host holds answers to a schema; the zero value holds them to nothing.
	Host Host
	// Apart is set if the host keeps text apart from the control tokens of its models,
	// as the vendors' own APIs do. Elsewhere the control tokens in outside text are
	// neutralised.
	Apart bool
	// Gate selects the models that do not decide themselves which tool is called. The
	// zero value selects models of up to a billion parameters.
	Gate Gate
	// Promotion is which text may become a call, and Why the reason for it; the
	// default is that of the request, else all.
	Promotion llm.Promotion
	Why       string
}

// Around returns a model that answers like inner and calls tools, which inner
// need not know of. The history is put in order first, and the answer is held to what
// the request demands. The events are those of inner, as they stream, with the calls in
// place of the text they were written in; warnings about the emulation come first. It
// asks inner once per request and is safe for concurrent use if inner is.
func (e Emulation) Around(inner llm.Model) llm.Model {
	return engine.Emulation{
		Style: e.Style, Dialects: e.Dialects, Family: e.Family, Size: e.Size, Context: e.Context, OneCall: e.OneCall,
		Host: engine.Host(e.Host), Apart: e.Apart, Decider: smallmodel.Wording{}, Gate: engine.Gate(e.Gate),
		Promotion: e.Promotion, Why: e.Why,
	}.Around(inner)
}

// Gate selects the models for which the words of the conversation decide whether a tool
// is called, and which one. It only concerns models that are held to a schema: under a
// grammar, a small model writes the shortest answer instead of the right one. Each
// decision is a Warning event with its figures. A demanded call is always made.
type Gate string

// The gates. The empty Gate decides for models that are known to be small.
const (
	// GateOn decides for every model that is held to a schema.
	GateOn Gate = Gate(engine.GateOn)
	// GateOff leaves the decision to the model.
	GateOff Gate = Gate(engine.GateOff)
)

// Host is how the host of a model holds its answers to a form. The zero value
// is a host that cannot.
type Host struct {
	// Schema adds a JSON Schema to a request, which the host then enforces.
	Schema func(*llm.Request, json.RawMessage)
	// Grammar does the same with a grammar in the notation of llama.cpp. It is
	// preferred where it is set: a grammar can express more than a schema.
	Grammar func(*llm.Request, string)
	// AnyObject does the same for an answer that may be any JSON object. Nil
	// uses Schema.
	AnyObject func(*llm.Request)
}

// OutputHost is a host that holds answers to the schema in Request.Output.
var OutputHost = Host(engine.OutputHost)

// PromptOptions are what [Teach] writes a prompt for.
type PromptOptions struct {
	// Style is the notation to teach: one of [Styles] or a dialect of Dialects. Empty
	// selects the notation for Family.
	Style string
	// Dialects are further dialects for Style; nil adds nothing.
	Dialects *dialect.List
	Tools    []llm.ToolDef
	// Choice decides which tools are taught and how urgently. If it forbids calls,
	// none is taught, and the prompt forbids them.
	Choice llm.ToolChoice
	// Context is the model's context in tokens; 0 means unknown. A context of up to
	// 8,192 tokens, or an unknown one, gets a compact prompt.
	Context int
	// Parallel offers several calls in one answer.
	Parallel bool
	// Family is the model's family in the words of the catalogue, like
	// "qwen"; empty or unknown changes nothing.
	Family string
	// Constrained is set if the host holds the answer to ToolPrompt.Envelope. Style
	// then does not matter.
	Constrained bool
}

// ToolPrompt is what makes a model without tools call them.
type ToolPrompt struct {
	// System teaches the tools. It follows the caller's own system text.
	System string
	// Reminder repeats the essentials, for the last turns of a long chat.
	Reminder string
	// Stop are sequences at which the model has to be stopped, because with
	// them it would begin to invent a result. They are not part of a call.
	Stop []string
	// Dialect is the hint for dialect.Parser.Dialect, Results the dialect for
	// dialect.WrapResults.
	Dialect, Results string
	// Envelope is the schema the host has to hold the answer to; nil unless
	// PromptOptions.Constrained.
	Envelope json.RawMessage
	// Template is the template that was used: standard, compact or parallel.
	Template string
	// InUser means that the family's chat templates refuse a system turn:
	// System belongs at the start of the first user message.
	InUser bool
}

// Teach returns the prompt that teaches a model to call tools by writing text, and
// related settings. The same options always give the same bytes, and the tools come
// before everything that changes from turn to turn.
//
// A style without a prompt, for instance "markdown", is an error of kind Unsupported,
// as is a tool that the provider would have to run. A choice that cannot be met is of
// kind Invalid. A free-text tool is taught with one parameter "input". Without tools
// the ToolPrompt is empty.
func Teach(o PromptOptions) (ToolPrompt, error) {
	p, err := engine.Teach(engine.PromptOptions{
		Style: o.Style, Dialects: o.Dialects, Tools: o.Tools, Choice: o.Choice, Context: o.Context, Parallel: o.Parallel,
		Family: o.Family, Constrained: o.Constrained,
	})
	return ToolPrompt(p), err
}

// Styles returns the names of the notations that can be taught, in order.
func Styles() []string { return engine.Styles() }

// ReadCalls returns m with the calls in its text read, unless its answers report with
// [llm.TextRead] that this was done. The model is not known, so text becomes calls
// only if the answer is only one JSON object of calls, unless the request asks for
// another promotion.
func ReadCalls(m llm.Model) llm.Model { return engine.ReadCalls(m, nil) }

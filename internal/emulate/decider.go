package emulate

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/toolpost/toolpost/internal/js"
	"github.com/toolpost/toolpost/llm"
)

// A Decider decides for models that are too small to decide themselves: which
// tools are called, and which values their arguments may have. Package
// smallmodel has one.
type Decider interface {
	// Conversation reads the messages of a request.
	Conversation([]llm.Message) Conversation
}

// Conversation is a conversation as a Decider understands it.
type Conversation interface {
	// Request returns the last request of the user, together with the request
	// before it if it only makes sense with that one.
	Request() string
	// Answered reports whether the results of tool calls follow the request.
	Answered() bool
	// Choose returns the tools to call now, in order, and the reason with its
	// figures. No tools means to answer in text. At most one is returned if one
	// is set.
	Choose(tools []llm.ToolDef, choice llm.ToolChoice, one bool) (chosen []llm.ToolDef, reason string)
	// Refers reports whether the request names a file, an address, a program, a
	// text to look for or one of the tools.
	Refers(tools []llm.ToolDef) bool
	// Evidence returns what the conversation says about the arguments of a tool.
	Evidence(tool llm.ToolDef) Evidence
}

// Evidence narrows the schema of a tool's arguments to what a conversation says
// about them. Each property is passed with its name and its JSON Schema.
type Evidence interface {
	// Offers reports whether there is a reason to fill in a property that is
	// not required.
	Offers(property string, schema json.RawMessage) bool
	// Given returns the one value that the conversation gives for a property, or nil.
	Given(property string, schema json.RawMessage) json.RawMessage
	// Values returns the values that the conversation mentions.
	Values(values []json.RawMessage) []json.RawMessage
	// Text returns a schema for a string, or nil to leave it free. See [CopySchema].
	Text(property string, schema json.RawMessage) json.RawMessage
	// Numbers returns the numbers for a property that takes the type "number" or
	// "integer". An item of a list is passed with the name of the list. Only
	// numbers that allowed accepts are returned.
	Numbers(property, typ string, schema json.RawMessage, item bool, allowed func(number string) bool) []json.RawMessage
	// Items returns how many items a list of words or numbers may have.
	Items(numbers bool) int
}

// CopyWord is a word of a text that may be copied. A copied run of words begins
// with a word that has Begins set and ends with a word that has Ends set, or
// with the last word of the text.
type CopyWord struct {
	Text   string `json:"text"`
	Begins bool   `json:"begins,omitempty"`
	Ends   bool   `json:"ends,omitempty"`
}

// The keywords of a schema that CopySchema returns.
const (
	copyKeyword  = "x-copied"
	stateKeyword = "x-state"
)

// CopySchema returns the schema of a string that is a run of the given words. If
// state is set, a comma and the two letters of a state may follow. A host that
// takes no grammar gets a schema that only limits the length.
func CopySchema(words []CopyWord, state bool) json.RawMessage {
	copied := object{{"type", js.Marshal("string")}, {copyKeyword, js.Marshal(words)}}
	if state {
		copied = append(copied, field{stateKeyword, json.RawMessage("true")})
	}
	return copied.raw()
}

// Gate selects the models for which a [Decider] decides whether a tool is
// called, and which one. It only concerns models that are taught tools and held
// to a schema: under a grammar, a small model writes the shortest answer instead
// of the right one. Each decision is a Warning event with its figures. A demanded
// call is always made.
type Gate string

// The gates.
const (
	// GateSmall decides for models that are known to be small. It is the
	// meaning of an empty Gate.
	GateSmall Gate = "small"
	// GateOn decides for every model that is held to a schema.
	GateOn Gate = "on"
	// GateOff leaves the decision to the model.
	GateOff Gate = "off"
)

// smallSize is the number of parameters up to which a model counts as small.
const smallSize = 1_000_000_000

// isSmall reports whether the model is known to be small.
func (e Emulation) isSmall() bool { return e.Size > 0 && e.Size <= smallSize }

// decides reports whether the Decider, and not the model, chooses the tools.
func (e Emulation) decides() bool {
	return e.Decider != nil && (e.Gate == GateOn || e.Gate != GateOff && e.isSmall())
}

// FromMemory is the feature of the warning that a small model answers without tools a
// request that names something only a tool can look at.
const FromMemory = "from memory"

// maxNamed limits how many names a warning lists.
const maxNamed = 20

// decisionWarning reports a decision, and the tools that the model is not shown.
func decisionWarning(tools, chosen []llm.ToolDef, reason string) llm.Warning {
	var hidden []string
	for _, d := range tools {
		if !slices.ContainsFunc(chosen, func(c llm.ToolDef) bool { return c.Name == d.Name }) {
			hidden = append(hidden, d.Name)
		}
	}
	if len(hidden) > 0 {
		reason += "; not shown to the model: " + strings.Join(hidden[:min(len(hidden), maxNamed)], ", ")
		if more := len(hidden) - maxNamed; more > 0 {
			reason += fmt.Sprintf(" and %d more", more)
		}
	}
	return llm.Warning{Code: llm.Emulated, Feature: "gate", Detail: reason + "; gate: off leaves the choice to the model"}
}

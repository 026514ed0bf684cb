package llm

import "encoding/json"

// ToolKind is how a tool takes its input and which side runs it.
type ToolKind uint8

// The kinds of tools.
const (
	FunctionTool ToolKind = iota // arguments are a JSON object that matches Schema
	FreeTool                     // the argument is text; it must match Grammar if there is one
	HostedTool                   // the provider runs it; Name selects which
)

var toolKindNames = [...]string{"function", "free", "hosted"}

// String returns the kind in lower case.
func (k ToolKind) String() string {
	if int(k) < len(toolKindNames) {
		return toolKindNames[k]
	}
	return "unknown"
}

// ToolDef is the definition of a tool for a model.
type ToolDef struct {
	Kind        ToolKind
	Name        string
	Description string
	// Schema is the JSON Schema of the arguments; empty means no arguments.
	Schema json.RawMessage
	// Strict asks the vendor to hold the model to Schema; nil leaves it to
	// the provider, which does so wherever vendor and schema allow.
	Strict *bool
	// Grammar restricts the text of a FreeTool; nil allows any.
	Grammar *Grammar
	// Examples are arguments of good calls.
	Examples []json.RawMessage
	// Hosted configures a HostedTool.
	Hosted *HostedConfig
	// Origin is [OriginDescription] if the definition did not come with the program, but
	// from a server, a file or a client. Empty means that the program wrote it.
	Origin TextOrigin `json:",omitempty"`
	Extra  Extra
}

// Grammar is a formal language for the input of a free-text tool.
type Grammar struct {
	Syntax     string // "lark" or "regex"
	Definition string
}

// WebSearch is the Name of the hosted tool that searches the web. Other hosted
// tools have the names their vendors give them.
const WebSearch = "web_search"

// ToolSearch is the Name of the hosted tool with which a model finds tools whose
// definitions are deferred; see [ToolDef.Deferred].
const ToolSearch = "tool_search"

// Deferred returns the definition marked as deferred: vendors with a [ToolSearch] hide it from the model until the
// search finds it. Formats without one ignore the mark.
func (d ToolDef) Deferred() ToolDef {
	extra := make(Extra, len(d.Extra)+2)
	for format, fields := range d.Extra {
		extra[format] = fields
	}
	for _, format := range []string{"messages", "responses"} {
		fields := map[string]json.RawMessage{"defer_loading": json.RawMessage("true")}
		for k, v := range extra[format] {
			fields[k] = v
		}
		extra[format] = fields
	}
	d.Extra = extra
	return d
}

// HostedConfig configures a tool that the provider runs. Every vendor with an
// equivalent understands the typed fields. A request with a field that cannot
// reach the vendor is refused; the field is never dropped.
type HostedConfig struct {
	// Type is the vendor's own name and version, like "web_search_20250305";
	// empty lets the provider choose.
	Type           string
	MaxUses        int
	AllowedDomains []string
	BlockedDomains []string
	Location       *Location
	ContextSize    string // how much of the found text the model sees: "low", "medium", "high"
	// Options are the vendor's own fields, sent untouched.
	Options map[string]json.RawMessage
}

// Location is the approximate location of the user.
type Location struct {
	City, Region, Country, Timezone string
}

// ChoiceMode is whether a model has to call a tool.
type ChoiceMode uint8

// The modes of a ToolChoice.
const (
	MayCall ChoiceMode = iota
	MustCall
	MustNotCall
)

var choiceNames = [...]string{"auto", "required", "none"}

// String returns the mode in the word most vendors use.
func (m ChoiceMode) String() string {
	if int(m) < len(choiceNames) {
		return choiceNames[m]
	}
	return "unknown"
}

// ToolChoice is whether a model has to call a tool, and which. The zero value
// leaves it to the model.
type ToolChoice struct {
	Mode ChoiceMode
	// Name, with MustCall, is the one tool to call; empty means any.
	Name string
	// Allowed restricts the choice to some of the offered tools. Nil means
	// all of them; empty but not nil means none.
	Allowed []string
}

// Forbids reports whether the choice leaves no tool to call.
func (c ToolChoice) Forbids() bool {
	return c.Mode == MustNotCall || c.Allowed != nil && len(c.Allowed) == 0
}

// Permits reports whether the choice leaves the model free to call name.
func (c ToolChoice) Permits(name string) bool {
	if c.Mode == MustNotCall || c.Name != "" && c.Name != name {
		return false
	}
	if c.Allowed == nil {
		return true
	}
	for _, a := range c.Allowed {
		if a == name {
			return true
		}
	}
	return false
}

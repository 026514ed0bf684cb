package agentcli

import (
	"encoding/json"
	"slices"

	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/mcpbridge/internal/bridge"
)

// format describes a kind of program: how it gets its task, and how its output is read. A new kind
// is a new row of formats.
type format struct {
	name string
	// invoke returns the arguments and variables of a question, and the files for its separate folder,
	// by name.
	invoke func(q *invocation) (*invited, error)
	// decoder reads one answer.
	decoder func(b *bridge.Bridge) decoder
	// bounds says that the program can be held to a number of turns.
	bounds bool
	// introduces reports that the program lists its tools before anything else.
	introduces bool
	// passes are the arguments that a configuration may give. All others could give
	// the program more than the bridge.
	passes []string
	// variables are set for the program.
	variables []string
	// settings is the name of the program's own configuration file, empty if it has
	// none that it can be given.
	settings string
}

// formats are all kinds of programs.
var formats = []*format{
	{name: "claude", invoke: invokeClaude, decoder: newClaudeDecoder, bounds: true, introduces: true,
		passes: []string{"--effort", "--betas", "--fallback-model", "--max-budget-usd", "--exclude-dynamic-system-prompt-sections"}},
	{name: "codex", invoke: invokeCodex, decoder: newCodexDecoder, settings: "config.toml", variables: []string{"CODEX_HOME"},
		passes: []string{}},
}

func formatNamed(name string) (*format, bool) {
	i := slices.IndexFunc(formats, func(f *format) bool { return f.name == name })
	if i < 0 {
		return nil, false
	}
	return formats[i], true
}

// invocation is what a program is to do.
type invocation struct {
	model    string
	system   string
	bridge   *bridge.Bridge
	address  *bridge.Address // nil without tools
	turns    int             // 0 means as many as it likes
	settings []byte
	folder   string // where its files will be
}

// invited is how a program is started to do that.
type invited struct {
	args  []string
	env   map[string]string
	files map[string][]byte
}

// decoder reads the output of a program, a line at a time. The events have the program's names for
// tools. Calls of any runner are [llm.Call]. In addition to the events of package llm there are
// inventory, outsider and ending.
type decoder interface {
	line(line []byte) ([]llm.Event, error)
	// cut ends an answer without an end: it returns the complete events.
	cut() []llm.Event
}

// inventory is the tools and servers that the program reports.
type inventory struct {
	Tools   []string          // nil if it does not say
	Servers map[string]string // with their states; nil if it does not say
}

// EventType returns "inventory".
func (inventory) EventType() string { return "inventory" }

// outsider is something that the program does with other means than the bridge.
type outsider struct{ What string }

// EventType returns "outsider".
func (outsider) EventType() string { return "outsider" }

// ending is the end of an answer in the program's words.
type ending struct {
	Failed  bool
	Subtype string // the program's own word for how it ended
	Stop    string // why the model stopped, if the program says it
	Text    string // the answer, or what went wrong
	// Structured is the answer as JSON, if it was to have a schema.
	Structured json.RawMessage
	Usage      llm.Usage
}

// EventType returns "ending".
func (ending) EventType() string { return "ending" }

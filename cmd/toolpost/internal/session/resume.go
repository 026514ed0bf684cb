package session

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/toolpost/toolpost/agent"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/cli"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/runstore"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/settings"
	"github.com/toolpost/toolpost/invoke"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/tool"
)

// saved holds the settings that a resumed run needs, as recorded. It does not include approvals: whoever resumes a run
// is asked again. It does not include servers and keys either, which belong to the user.
type saved struct {
	Model       string   `json:"model"`
	Stronger    string   `json:"stronger,omitempty"`
	Root        string   `json:"root"`
	Allow       []string `json:"allow,omitempty"`
	Tools       []string `json:"tools,omitempty"`
	Sandbox     bool     `json:"sandbox,omitempty"`
	System      string   `json:"system,omitempty"`
	MaxTurns    int      `json:"max_turns"`
	MaxTokens   int      `json:"max_tokens,omitempty"`
	ToolTokens  int      `json:"tool_tokens,omitempty"`
	Lanes       []string `json:"lanes,omitempty"`
	Results     string   `json:"results,omitempty"`
	Budget      string   `json:"budget_usd,omitempty"`
	Timeout     string   `json:"timeout,omitempty"` // like 10m0s
	Temperature *float64 `json:"temperature,omitempty"`
}

// Save returns the settings of a run for its record. Paths of files and folders are absolute.
func (w *Session) Save() (json.RawMessage, error) {
	out := saved{
		Model: w.Found.ID, Stronger: w.Stronger, Root: cli.Absolute(w.Root), Allow: w.Allow, Sandbox: w.Sandbox, System: w.System, MaxTurns: w.MaxTurns,
		MaxTokens: w.MaxTokens, ToolTokens: w.ToolTokens, Lanes: w.Lanes, Results: w.Results, Temperature: w.Temperature, Budget: w.Budget,
	}
	if w.Timeout > 0 {
		out.Timeout = w.Timeout.String()
	}
	for _, file := range w.Tools {
		out.Tools = append(out.Tools, cli.Absolute(file))
	}
	return json.Marshal(out)
}

// Earlier is a run to continue. The zero value means none.
type Earlier struct {
	Run      string
	Record   *agent.Settings
	Messages []llm.Message
	Ended    bool
}

// Open reports whether there is an earlier run that has not ended.
func (e Earlier) Open() bool { return e.Run != "" && !e.Ended }

// Complete refuses to continue without the tools of the earlier run.
func (e Earlier) Complete(cmd *cobra.Command, set *tool.Set) error {
	if e.Record == nil {
		return nil
	}
	if err := complete(e.Record, set); err != nil {
		return cli.Usagef(cmd, "%w", err)
	}
	return nil
}

// TakeUp returns the run of --resume or --continue and applies its settings.
func TakeUp(s *settings.Settings, cmd *cobra.Command, run string, newest bool) (old Earlier, err error) {
	ctx := cmd.Context()
	switch {
	case newest && run != "":
		return Earlier{}, cli.Usagef(cmd, "--resume names a run and --continue takes the latest; give one of them")
	case newest:
		run = runstore.Latest
	case run == "":
		return Earlier{}, nil
	}
	if old.Run, err = runstore.NamedIn(ctx, s, run); err != nil {
		return Earlier{}, err
	}
	if old.Record, err = recallSettings(ctx, s, old.Run); err != nil {
		return Earlier{}, err
	}
	store, done, err := runstore.OpenAt(s.Journal, false)
	if err != nil {
		return Earlier{}, err
	}
	defer done()
	old.Messages, old.Ended, err = agent.Conversation(ctx, store, old.Run)
	return old, err
}

// recallSettings applies the recorded settings of a run, except for settings that flags override.
func recallSettings(ctx context.Context, s *settings.Settings, run string) (*agent.Settings, error) {
	store, done, err := runstore.OpenAt(s.Journal, false)
	if err != nil {
		return nil, err
	}
	defer done()
	record, err := agent.ReadSettings(ctx, store, run)
	if err != nil {
		return nil, err
	}
	before := saved{Model: record.Model, System: record.System, MaxTurns: record.MaxTurns, Temperature: record.Request.Temperature, MaxTokens: record.Request.MaxTokens}
	if record.Program != nil {
		if err := json.Unmarshal(record.Program, &before); err != nil {
			return nil, fmt.Errorf("the settings on record: %w", err)
		}
	}
	from := "the record of " + run
	take := func(key string, there bool, set func()) {
		if there && !strings.HasPrefix(s.Sources[key], "--") {
			set()
			s.Sources[key] = from
		}
	}
	take("model", before.Model != "", func() { s.Model = before.Model })
	take("stronger", before.Stronger != "", func() { s.Stronger = before.Stronger })
	take("root", before.Root != "", func() { s.Root = before.Root })
	take("allow", record.Program != nil, func() { s.Allow = before.Allow })
	take("tools", record.Program != nil, func() { s.Tools = before.Tools })
	take("sandbox", record.Program != nil, func() { s.Sandbox = before.Sandbox })
	take("system", before.System != "", func() { s.System = before.System })
	take("max_turns", before.MaxTurns > 0, func() { s.MaxTurns = before.MaxTurns })
	take("max_tokens", before.MaxTokens > 0, func() { s.MaxTokens = before.MaxTokens })
	take("lanes", len(before.Lanes) > 0, func() { s.Lanes = before.Lanes })
	take("tool_tokens", before.ToolTokens > 0, func() { s.ToolTokens = before.ToolTokens })
	take("results", before.Results != "", func() { s.Results = before.Results })
	take("budget_usd", before.Budget != "", func() { s.Budget = before.Budget })
	timeout, _ := time.ParseDuration(before.Timeout)
	take("timeout", timeout > 0, func() { s.Timeout = timeout })
	take("temperature", before.Temperature != nil, func() { s.Temperature = before.Temperature })
	return record, s.Check()
}

// complete returns an error that names the missing tools of the run. Without them, calls that worked before would fail
// as unknown tools.
func complete(record *agent.Settings, set *tool.Set) error {
	var missing, classes []string
	for _, name := range record.Tools {
		if _, ok := set.Lookup(name); ok || name == tool.FinderName || name == invoke.ReaderName { // these tools are created again
			continue
		}
		missing = append(missing, name)
		for class, names := range settings.Classes {
			if slices.Contains(names, name) && !slices.Contains(classes, class) {
				classes = append(classes, class)
			}
		}
	}
	switch {
	case len(missing) == 0:
		return nil
	case len(classes) > 0:
		slices.Sort(classes)
		return fmt.Errorf("the run had %s, which are not there now: add --allow %s", strings.Join(missing, ", "), strings.Join(classes, ","))
	}
	return fmt.Errorf("the run had %s, which are not there now: name their file with --tools", strings.Join(missing, ", "))
}

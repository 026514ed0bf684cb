package main

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/toolpost/toolpost/agent"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/cli"
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

// save returns the settings of a run for its record. Paths of files and folders are absolute.
func (w *wiring) save() (json.RawMessage, error) {
	out := saved{
		Model: w.found.ID, Stronger: w.Stronger, Root: absolute(w.Root), Allow: w.Allow, Sandbox: w.Sandbox, System: w.System, MaxTurns: w.MaxTurns,
		MaxTokens: w.MaxTokens, ToolTokens: w.ToolTokens, Lanes: w.Lanes, Results: w.Results, Temperature: w.Temperature, Budget: w.Budget,
	}
	if w.Timeout > 0 {
		out.Timeout = w.Timeout.String()
	}
	for _, file := range w.Tools {
		out.Tools = append(out.Tools, absolute(file))
	}
	return json.Marshal(out)
}

func absolute(file string) string {
	if abs, err := filepath.Abs(file); err == nil {
		return abs
	}
	return file
}

// addTalkFlags adds the flags that continue a run or attach files.
func addTalkFlags(cmd *cobra.Command, resume *string, goOn *bool, files *[]string) {
	cmd.Flags().StringVar(resume, "resume", "", "go on with this `RUN`, or with latest")
	cmd.Flags().BoolVarP(goOn, "continue", "c", false, "go on with the latest run")
	cmd.Flags().StringArrayVarP(files, "file", "f", nil, attachUsage)
}

// earlier is a run to continue. The zero value means none.
type earlier struct {
	run      string
	record   *agent.Settings
	messages []llm.Message
	ended    bool
}

// open reports whether there is an earlier run that has not ended.
func (e earlier) open() bool { return e.run != "" && !e.ended }

// complete refuses to continue without the tools of the earlier run.
func (e earlier) complete(cmd *cobra.Command, set *tool.Set) error {
	if e.record == nil {
		return nil
	}
	if err := complete(e.record, set); err != nil {
		return cli.Usagef(cmd, "%w", err)
	}
	return nil
}

// takeUp returns the run of --resume or --continue and applies its settings.
func (s *settings) takeUp(cmd *cobra.Command, run string, newest bool) (old earlier, err error) {
	ctx := cmd.Context()
	switch {
	case newest && run != "":
		return earlier{}, cli.Usagef(cmd, "--resume names a run and --continue takes the latest; give one of them")
	case newest:
		run = latest
	case run == "":
		return earlier{}, nil
	}
	if old.run, err = s.runNamed(ctx, run); err != nil {
		return earlier{}, err
	}
	if old.record, err = s.recall(ctx, old.run); err != nil {
		return earlier{}, err
	}
	store, done, err := openStoreAt(s.Journal, false)
	if err != nil {
		return earlier{}, err
	}
	defer done()
	old.messages, old.ended, err = agent.Conversation(ctx, store, old.run)
	return old, err
}

// recall applies the recorded settings of a run, except for settings that flags override.
func (s *settings) recall(ctx context.Context, run string) (*agent.Settings, error) {
	store, done, err := openStoreAt(s.Journal, false)
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
		if there && !strings.HasPrefix(s.from[key], "--") {
			set()
			s.from[key] = from
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
	return record, s.check()
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
		for class, names := range allowed {
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

package session

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/toolpost/toolpost/agent"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/cli"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/runstore"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/settings"
	"github.com/toolpost/toolpost/invoke"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/tool"
)

// Save returns the settings of a run for its record, by key. Paths of files and folders are absolute. It does not include
// approvals: whoever resumes a run is asked again. It does not include servers and keys either, which belong to the user.
func (w *Session) Save() (json.RawMessage, error) {
	own := *w.Settings
	own.Model, own.Root, own.Tools = w.Found.ID, cli.Absolute(w.Root), slices.Clone(w.Tools)
	for i, file := range own.Tools {
		own.Tools[i] = cli.Absolute(file)
	}
	return json.Marshal(own.Recorded())
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
	case s.Unrecorded && (newest || run != ""):
		return Earlier{}, cli.Usagef(cmd, "--no-journal leaves no record, so it cannot go on with a run")
	case newest:
		run = runstore.Latest
	case run == "":
		return Earlier{}, nil
	}
	if old.Run, err = runstore.NamedIn(ctx, s.Journal, run); err != nil {
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
	values := map[string]any{"model": record.Model, "system": record.System, "max_turns": record.MaxTurns, "max_tokens": record.Request.MaxTokens}
	if t := record.Request.Temperature; t != nil {
		values["temperature"] = *t
	}
	if record.Program != nil { // what is not on record was not set
		values = map[string]any{"allow": []string(nil), "tools": []string(nil), "sandbox": false}
		if err := json.Unmarshal(record.Program, &values); err != nil {
			return nil, fmt.Errorf("the settings on record: %w", err)
		}
	}
	return record, cmp.Or(s.TakeRecorded("the record of "+run, values), s.Check())
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

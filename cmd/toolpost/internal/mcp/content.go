package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/toolpost/toolpost/cmd/toolpost/internal/cli"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/receipts"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/runstore"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/settings"
	"github.com/toolpost/toolpost/mcpbridge/serve"
)

const (
	runsURI  = "toolpost://runs"
	maxRuns  = 100
	jsonMIME = "application/json"
)

// runName is the name of a run in a URI. It cannot leave the folder of runs.
var runName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,199}$`)

// runResources are the recorded runs as resources: the list, and each run with its receipts.
func runResources(cmd *cobra.Command, store runstore.Store) []serve.ServedResource {
	list := func(ctx context.Context, _ string) (string, error) {
		runs, err := runstore.NewestFirst(ctx, store)
		if err != nil {
			return "", err
		}
		listed := []runstore.Listed{}
		for _, r := range runs[:min(len(runs), maxRuns)] {
			listed = append(listed, runstore.List(cmd, store, r.Run))
		}
		return jsonText(listed)
	}
	read := func(ctx context.Context, uri string) (string, error) {
		run, _ := strings.CutPrefix(uri, runsURI+"/")
		if !runName.MatchString(run) {
			return "", fs.ErrNotExist
		}
		src := runstore.FromStore(store, run)
		for range src.Lines(ctx) {
			all, err := receipts.Read(ctx, src)
			if err != nil {
				return "", err
			}
			return jsonText(all)
		}
		return "", fs.ErrNotExist
	}
	return []serve.ServedResource{
		{URI: runsURI, Name: "runs", Description: fmt.Sprintf("The newest %d recorded runs.", maxRuns), MIME: jsonMIME, Read: list},
		{URI: runsURI + "/{run}", Name: "run", Description: "The record of a run with its receipts, verified.", MIME: jsonMIME, Read: read},
	}
}

func jsonText(v any) (string, error) {
	text, err := json.MarshalIndent(v, "", "  ")
	return string(text), err
}

// taskPrompts are the tasks of the configuration as prompts. The arguments of a task are named after its placeholders.
func taskPrompts(tasks map[string]settings.TaskConfig) []serve.ServedPrompt {
	var prompts []serve.ServedPrompt
	for _, name := range slices.Sorted(maps.Keys(tasks)) {
		text := tasks[name].Task
		p := serve.ServedPrompt{Name: name, Description: cli.FirstLine(text, 200)}
		count := settings.Placeholders(text)
		for i := range count {
			p.Arguments = append(p.Arguments, serve.ServedArgument{Name: strconv.Itoa(i + 1), Description: fmt.Sprintf("replaces {%d}", i+1), Required: true})
		}
		if count == 0 || strings.Contains(text, "{args}") {
			p.Arguments = append(p.Arguments, serve.ServedArgument{Name: "args", Description: "further words"})
		}
		p.Fill = func(values map[string]string) (string, error) {
			var args []string
			for i := range count {
				value, there := values[strconv.Itoa(i+1)]
				if !there {
					return "", fmt.Errorf("the prompt needs the argument %d", i+1)
				}
				args = append(args, value)
			}
			if more := values["args"]; more != "" {
				args = append(args, more)
			}
			return settings.FillTask(text, args)
		}
		prompts = append(prompts, p)
	}
	return prompts
}

package program

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/toolpost/toolpost/catalog"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/cli"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/evaluate"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/mcpservers"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/openmodel"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/runstore"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/session"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/settings"
	"github.com/toolpost/toolpost/llm"
)

// evaluationHost gives 'eval' the user's models, servers and records.
func evaluationHost() evaluate.Host {
	return evaluate.Host{
		Models:      evaluatedModels,
		Evaluations: settings.EvaluationsDir,
		Open: func(cmd *cobra.Command, name string, create bool) (evaluate.Store, func(), error) {
			if err := settings.NoPassword(cmd, "journal", name, settings.StoreEnv); err != nil {
				return nil, nil, err
			}
			return runstore.OpenAt(name, create)
		},
		Runs: func(cmd *cobra.Command) (evaluate.Store, func(), error) { return runstore.Open(cmd, false) },
		Newest: func(ctx context.Context, s evaluate.Store) ([]string, error) {
			store, ok := s.(runstore.Store)
			if !ok {
				return nil, fmt.Errorf("the store cannot be listed")
			}
			dated, err := runstore.NewestFirst(ctx, store)
			runs := make([]string, len(dated))
			for i, r := range dated {
				runs[i] = r.Run
			}
			return runs, err
		},
	}
}

// evaluatedModels opens models by the settings of a command.
func evaluatedModels(cmd *cobra.Command) (*evaluate.Models, error) {
	s, err := settings.Load(cmd)
	if err != nil {
		return nil, err
	}
	client, err := openmodel.Client(&s.ModelOptions)
	if err != nil {
		return nil, err
	}
	if f := cmd.Flag("models"); f != nil && f.Value.String() != "" {
		known, err := cli.UserCatalog(f.Value.String())
		if err != nil && !errors.Is(err, fs.ErrNotExist) { // 'eval tune' creates the file
			return nil, err
		}
		if known != nil {
			client.Catalog = known
		}
	}
	open := func(id string) (llm.Model, error) {
		m, _, err := openmodel.Open(cmd.Context(), &s.ModelOptions, openmodel.Choice{ID: id}, client.Open)
		return m, err
	}
	set := func(id string, values map[string]string) (llm.Model, error) {
		return openWith(cmd.Context(), &s.ModelOptions, client.Catalog, id, values)
	}
	tools := func(server string) ([]llm.ToolDef, error) { return mcpservers.ToolsOf(cmd.Context(), s, server) }
	return &evaluate.Models{Open: open, Cost: session.CostOf, Tools: tools, Default: s.Model, Set: set, Catalog: client.Catalog}, nil
}

// openWith opens a model with other values of its catalogue entry. A separate client keeps what it learns apart.
func openWith(ctx context.Context, o *settings.ModelOptions, known *catalog.Catalog, id string, values map[string]string) (llm.Model, error) {
	if strings.HasPrefix(id, "sim/") || strings.HasPrefix(id, "agent/") {
		return nil, fmt.Errorf("%s has no settings to choose from; tuning is for models that are asked over HTTP", id)
	}
	client, err := openmodel.Client(o)
	if err != nil {
		return nil, err
	}
	var entry strings.Builder
	for _, key := range slices.Sorted(maps.Keys(values)) {
		fmt.Fprintf(&entry, "    %s: %s\n", key, values[key])
	}
	if client.Catalog = known; entry.Len() > 0 {
		if client.Catalog, err = known.Load("tune", fmt.Appendf(nil, "models:\n  %q:\n%s", id, entry.String())); err != nil {
			return nil, err
		}
	}
	m, _, err := openmodel.Open(ctx, o, openmodel.Choice{ID: id}, client.Open)
	return m, err
}

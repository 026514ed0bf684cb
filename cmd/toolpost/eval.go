package main

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/toolpost/toolpost/cmd/toolpost/internal/cli"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/evaluate"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/mcpbridge"
)

// evaluationHost gives 'eval' the user's models, servers and records.
func evaluationHost() evaluate.Host {
	return evaluate.Host{
		Models:      evaluatedModels,
		Evaluations: func() string { return filepath.Join(stateDir(), "evaluations") },
		Open: func(cmd *cobra.Command, name string, create bool) (evaluate.Store, func(), error) {
			if isPostgres(name) && hasPassword(name) {
				return nil, nil, cli.Usagef(cmd, "%s", passwordShown)
			}
			return openStoreAt(name, create)
		},
		Runs: func(cmd *cobra.Command) (evaluate.Store, func(), error) { return openStore(cmd, false) },
		Newest: func(ctx context.Context, s evaluate.Store) ([]string, error) {
			store, ok := s.(runStore)
			if !ok {
				return nil, fmt.Errorf("the store cannot be listed")
			}
			dated, err := newestFirst(ctx, store)
			runs := make([]string, len(dated))
			for i, r := range dated {
				runs[i] = r.run
			}
			return runs, err
		},
	}
}

// evaluatedModels opens models by the settings of a command.
func evaluatedModels(cmd *cobra.Command) (*evaluate.Models, error) {
	s, err := loadSettings(cmd)
	if err != nil {
		return nil, err
	}
	client, err := s.client()
	if err != nil {
		return nil, err
	}
	if f := cmd.Flag("models"); f != nil && f.Value.String() != "" {
		if client.Catalog, err = cli.UserCatalog(f.Value.String()); err != nil {
			return nil, err
		}
	}
	open := func(id string) (llm.Model, error) {
		m, _, err := s.open(cmd.Context(), found{ID: id}, client.Open)
		return m, err
	}
	tools := func(server string) ([]llm.ToolDef, error) { return s.toolsOfServer(cmd.Context(), server) }
	return &evaluate.Models{Open: open, Cost: costOf, Tools: tools, Default: s.Model}, nil
}

// toolsOfServer returns the tools of a configured MCP server under the names that the server gives them.
func (s *settings) toolsOfServer(ctx context.Context, name string) ([]llm.ToolDef, error) {
	all, err := s.configuredServers()
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(all, func(c mcpbridge.ServerConfig) bool { return c.Name == name })
	if i < 0 {
		return nil, fmt.Errorf("no MCP server is named %s in the configuration", name)
	}
	servers, err := s.openServers(all[i:i+1], nil)
	if err != nil {
		return nil, err
	}
	defer servers.Close()
	if err := servers.Connect(ctx, name); err != nil {
		return nil, err
	}
	defs, used := servers.Definitions(name)
	var out []llm.ToolDef
	for _, d := range defs {
		if used(d.Name) {
			out = append(out, llm.ToolDef{Name: d.Name, Description: d.Description, Schema: d.Input})
		}
	}
	return out, nil
}

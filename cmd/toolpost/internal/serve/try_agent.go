package serve

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/url"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/toolpost/toolpost/cmd/toolpost/internal/cli"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/codingagents"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/settings"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/provider"
)

// tryTime limits the answer of one name.
const tryTime = 2 * time.Minute

// tryTool is the tool that a tried model is to call.
var tryTool = llm.ToolDef{Name: "ready", Description: "Says that you are ready. Call it when asked whether you are ready.", Schema: json.RawMessage(`{"type":"object","properties":{"ready":{"type":"boolean"}},"required":["ready"]}`)}

// tryAgent asks once for each name that an agent will use, in the format of the agent, and prints what works. The
// gateway for it is a private one with the same routes.
func tryAgent(cmd *cobra.Command, s *settings.Settings, a codingagents.Agent, v codingagents.Values) error {
	address, stop, err := servePrivately(cmd, s, slog.New(slog.DiscardHandler))
	if err != nil {
		return err
	}
	defer stop()
	const vendor = "gateway"
	c := &provider.Client{Route: provider.Native, Vendors: map[string]provider.Vendor{vendor: {Name: vendor, BaseURL: address + basePath(a.WireFormat()), Wires: []string{a.WireFormat()}}}}
	names, failed := a.Asked(v), 0
	rows := [][]string{{"name", "works", "tool call", "time", ""}}
	for _, name := range names {
		began := time.Now()
		called, err := tryName(cmd.Context(), c, vendor+"/"+name)
		row := []string{name, "yes", map[bool]string{true: "yes", false: "no"}[called], time.Since(began).Round(10 * time.Millisecond).String(), ""}
		if err != nil {
			failed++
			row[1], row[2], row[4] = "no", "", s.Redact(cli.OneLine(cli.Plain(err), 160))
		}
		rows = append(rows, row)
	}
	if err := cli.PrintTable(cmd.OutOrStdout(), "", rows); err != nil {
		return err
	}
	if failed > 0 {
		return fmt.Errorf("%d of %s that %s asks for do not work; give the gateway routes for them", failed, cli.Count(len(names), "name"), a.Title)
	}
	return nil
}

// basePath returns the path before those of a format, as the first vendor that speaks it has it.
func basePath(format string) string {
	for _, v := range provider.Vendors() {
		if base, err := url.Parse(v.BaseURL); err == nil && slices.Contains(v.Wires, format) {
			return base.Path
		}
	}
	return ""
}

// tryName asks a model once, and reports whether it called the tool.
func tryName(ctx context.Context, c *provider.Client, id string) (called bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, tryTime)
	defer cancel()
	m, err := c.Open(id)
	if err != nil {
		return false, err
	}
	answer, err := llm.Generate(ctx, m, &llm.Request{MaxTokens: 2000, Tools: []llm.ToolDef{tryTool}, Messages: []llm.Message{llm.User("Are you ready? Call the tool ready.")}})
	if err != nil {
		return false, cmp.Or(context.Cause(ctx), err)
	}
	return len(answer.Message.Calls()) > 0, nil
}

package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/toolpost/toolpost/agent"
	"github.com/toolpost/toolpost/catalog"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/cli"
	"github.com/toolpost/toolpost/internal/secret"
	"github.com/toolpost/toolpost/invoke"
	"github.com/toolpost/toolpost/journal"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/provider"
	"github.com/toolpost/toolpost/shorten"
	"github.com/toolpost/toolpost/tool"
)

// addSettingFlags adds a flag for each setting.
func addSettingFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringP("model", "m", "", "the `MODEL` to ask, like ollama/qwen3:8b; found by itself if not given")
	f.String("root", ".", rootUsage)
	f.StringSlice("allow", nil, allowUsage)
	f.Bool("sandbox", false, "keep the programs that tools run to the folder of --root (Linux)")
	f.StringSlice("tools", nil, "`FILE` that describes more tools, or gives built-in ones other words")
	f.StringSlice("lanes", nil, lanesUsage)
	f.String("system", "", "what the model is told before the task")
	f.Int("max-turns", defaultTurns, "how many turns with tools there may be")
	f.Int("max-tokens", 0, "how many tokens one answer of the model may have; its own default if not given")
	f.Int("tool-tokens", 0, "how many tokens the definitions of the tools may have; an eighth of the model's context, 4000 to 16000, if not given")
	f.String("results", "detailed", "how much of the tools' results the model is shown: detailed, concise or minimal; it can ask for the rest")
	f.String("budget-usd", "", "what the models of a run, or of a whole chat, may cost, in US `DOLLARS`; no bound if not given")
	f.Duration("timeout", 0, "how long a run, or a turn of chat, may take, like `10m`; no bound if not given")
	f.Float64("temperature", 0, "how freely the model chooses words, 0 to 2; its own default if not given")
	f.String("journal", "", journalUsage)
	f.StringArray("mcp", nil, mcpUsage)
	f.String("config", "", "`FILE` to read in place of your config.yaml")
}

// defaultSystem is the system prompt if the settings have none.
const defaultSystem = `You do tasks with tools. Look before you answer: what you say about files, commands or pages must come from a tool's result, not from memory. Do the whole task, then answer in a few plain sentences. If a tool fails, do what its message suggests, or say what stopped you.`

// wiring holds everything that a conversation needs, built from the settings.
type wiring struct {
	*settings
	client *provider.Client
	found  found
	model  llm.Model
	better llm.Model // asked when calls keep failing; nil if none is configured
	money  catalog.Money
	tools  *tool.Set
	hosted []agent.ProviderTool // tools that other parties could run too
	store  runStore
	keep   *journal.Secrets // secrets to redact in the record
	close  []func()
	// windows holds the context limits learned from models, for all runs of a chat.
	windows agent.Windows
	mcpServers
}

// secrets returns the keys of the environment and the credentials of declared tools, in any form. A server or a tool
// may repeat a secret, which must not reach the record, the model or the screen.
func (s *settings) secrets() *journal.Secrets {
	var names []string
	for _, v := range provider.Vendors() {
		names = append(names, v.KeyVars()...)
	}
	for _, p := range s.Providers {
		names = append(names, p.KeyEnv)
	}
	var all []string
	for _, name := range names {
		all = append(all, secret.Values(provider.KeySecrets(strings.TrimSpace(os.Getenv(name))))...)
	}
	out := new(journal.Secrets)
	for _, value := range append(all, s.hidden...) {
		if !slices.Contains(out.Values, value) {
			out.Values = append(out.Values, value)
		}
	}
	return out
}

// wire opens model, tools and store. The caller calls done.
func (s *settings) wire(ctx context.Context, cmd *cobra.Command) (w *wiring, err error) {
	w = &wiring{settings: s}
	w.money, _ = s.budget() // already checked
	defer func() {
		if err != nil {
			w.done()
		}
	}()
	if f := cmd.Flag("journal"); f != nil && f.Changed && isPostgres(s.Journal) && hasPassword(s.Journal) {
		return w, cli.Usagef(cmd, "%s", passwordShown)
	}
	if w.client, err = s.client(); err != nil {
		return w, err
	}
	var done func()
	if w.tools, done, err = s.toolSet(); err != nil {
		return w, err
	}
	w.close = append(w.close, done)
	if err = w.useServers(ctx, cmd); err != nil {
		return w, err
	}
	if w.store, done, err = openStoreAt(s.Journal, true); err != nil {
		return w, fmt.Errorf("the record of runs: %w", err)
	}
	w.close = append(w.close, done)
	if w.hosted, err = w.laneTools(); err != nil {
		return w, err
	}
	w.keep = s.secrets()
	w.client.Secrets = s.hidden
	switch store := w.store.(type) {
	case *journal.Dir:
		store.Secrets = w.keep
	case *journal.SQL:
		store.Secrets = w.keep
	}
	if s.Stronger != "" {
		if w.better, err = w.client.Open(s.Stronger); err != nil {
			return w, fmt.Errorf("stronger: %w", err)
		}
		if err := w.affordable(w.better, s.Stronger); err != nil {
			return w, err
		}
	}
	return w, w.use(ctx, s.choose(ctx))
}

// use opens another model.
func (w *wiring) use(ctx context.Context, f found) error {
	m, f, err := w.open(ctx, f, w.client.Open)
	if err != nil {
		return err
	}
	if own, ok := m.(*provider.Model); ok {
		if err := own.Ready(); err != nil { // fail before a run is started
			return err
		}
	}
	if err := w.affordable(m, f.ID); err != nil {
		return err
	}
	w.found, w.model = f, m
	return nil
}

func (w *wiring) done() {
	for _, f := range w.close {
		f()
	}
}

// approving decides about calls, and checking about failures.
type (
	approving func(context.Context, invoke.Question) (journal.Approval, error)
	checking  func(context.Context, agent.Checkpoint) (agent.Choice, error)
)

// agent returns the agent of a conversation. check may be nil; then there are no checkpoints.
func (w *wiring) agent(approve approving, check checking) *agent.Agent {
	system := w.System
	if system == "" {
		system = defaultSystem
	}
	ag := &agent.Agent{
		Model: withhold(w.model, w.keep.Values), ID: w.found.ID, System: system, Store: w.store, MaxTurns: w.MaxTurns, Offer: w.offer(), Compact: agent.Summarize,
		Tools: &invoke.Runner{Tools: w.tools, Policy: invoke.AskFirst(nil), Approve: approve, Output: w.results()},
	}
	ag.Request.Temperature, ag.Request.MaxTokens = w.Temperature, w.MaxTokens
	if w.better != nil {
		ag.Ladder = &agent.Ladder{Stronger: withhold(w.better, w.keep.Values), StrongerID: w.Stronger}
	}
	ag.Checkpoint = check
	if w.bridge != nil {
		ag.BeforeTurn = w.bridge.BeforeTurn(w.first)
	}
	ag.Hosted, ag.HostedSupport = w.hosted, w.hostedSupport(w.hosted)
	ag.Money, ag.Cost, ag.Windows = w.money, w.costs(), &w.windows
	return ag
}

// results configures how much of the tools' results the model sees. The settings are already checked.
func (w *wiring) results() invoke.ResultView {
	mode, _ := shorten.ParseMode(cmp.Or(w.Results, "detailed"))
	return invoke.ResultView{Mode: mode, Secrets: w.keep}
}

// The limits for the tool definitions in a model's context.
const (
	leastToolTokens = 4_000
	mostToolTokens  = 16_000
	mostTools       = 64
)

// offer returns the limit for the tools that the model sees. It finds the others with find_tools.
func (w *wiring) offer() tool.SelectionBudget {
	b := tool.SelectionBudget{Tools: mostTools, Cost: mostToolTokens}
	if m, ok := w.model.(*provider.Model); ok {
		b.CostOf = m.ToolCost() // in the form that the vendor receives
		if window := m.Info().ContextWindow; window > 0 {
			b.Cost = min(max(window/8, leastToolTokens), mostToolTokens)
		}
	}
	if w.ToolTokens > 0 {
		b.Cost = w.ToolTokens
	}
	return b
}

// announce returns the model and the reason for its choice, "" if the user named the model.
func (w *wiring) announce() string {
	switch {
	case w.found.ID == offlineID && w.Model == "":
		return offlineID + ": " + w.found.Why + "\nIt follows rules and is no language model; 'toolpost doctor' says how to get one."
	case w.Model == "" || w.found.ID != w.Model:
		return w.found.ID + ": " + w.found.Why
	}
	return ""
}

// Package session opens what a conversation needs from the settings: model, tools, servers and record.
package session

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"github.com/toolpost/toolpost/agent"
	"github.com/toolpost/toolpost/catalog"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/mcpservers"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/openmodel"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/runstore"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/settings"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/toolset"
	"github.com/toolpost/toolpost/eval"
	"github.com/toolpost/toolpost/internal/shorten"
	"github.com/toolpost/toolpost/internal/usercatalog"
	"github.com/toolpost/toolpost/invoke"
	"github.com/toolpost/toolpost/journal"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/provider"
	"github.com/toolpost/toolpost/tool"
)

// defaultSystem is the system prompt if the settings have none.
const defaultSystem = `You do tasks with tools. Look before you answer: what you say about files, commands or pages must come from a tool's result, not from memory. Do the whole task, then answer in a few plain sentences. If a tool fails, do what its message suggests, or say what stopped you.`

// Session holds everything that a conversation needs, built from the settings.
type Session struct {
	*settings.Settings
	client       *provider.Client
	Found        openmodel.Choice
	Opened       llm.Model
	better       llm.Model // asked when calls keep failing; nil if none is configured
	Budgeted     catalog.Money
	ToolSet      *tool.Set
	hosted       []agent.ProviderTool // tools that other parties could run too
	Store        runstore.Store
	KnownSecrets *journal.Secrets // secrets to redact in the record
	Closers      []func()
	// windows holds the context limits learned from models, for all runs of a chat.
	windows agent.Windows
	// ShowLog shows a log message of a server. Until it is set, they are printed to stderr.
	ShowLog atomic.Pointer[func(line string)]
	mcpservers.Active
}

// Open opens model, tools and store. The caller calls done.
func Open(ctx context.Context, s *settings.Settings, cmd *cobra.Command) (w *Session, err error) {
	w = &Session{Settings: s}
	w.Budgeted, _ = s.Money() // already checked
	defer func() {
		if err != nil {
			w.Close()
		}
	}()
	if err = settings.NoPassword(cmd, "journal", s.Journal, settings.StoreEnv); err != nil {
		return w, err
	}
	if w.client, err = openmodel.Client(&s.ModelOptions); err != nil {
		return w, err
	}
	var done func()
	if w.ToolSet, done, err = toolset.Open(&s.ToolOptions); err != nil {
		return w, err
	}
	w.ToolSet = w.ToolSet.ByMeaning()
	w.Closers = append(w.Closers, done)
	if err = w.UseServers(ctx, cmd, true); err != nil {
		return w, err
	}
	if err = w.openRecord(ctx); err != nil {
		return w, fmt.Errorf("the record of runs: %w", err)
	}
	if w.hosted, err = w.ProviderTools(); err != nil {
		return w, err
	}
	w.RedactSecrets()
	w.client.Secrets = slices.Concat(s.ToolSecrets, s.ProgramSecrets)
	if s.Stronger != "" {
		if w.better, err = w.client.Open(s.Stronger); err != nil {
			return w, fmt.Errorf("stronger: %w", err)
		}
		if err := w.affordable(w.better, s.Stronger); err != nil {
			return w, err
		}
	}
	return w, w.Use(ctx, openmodel.Choose(ctx, &s.ModelOptions, s.Sources["model"]))
}

// openRecord opens the store of the runs, and removes the runs that the settings keep no longer.
func (w *Session) openRecord(ctx context.Context) error {
	if w.Unrecorded {
		w.Store = new(runstore.Unrecorded)
		return nil
	}
	store, done, err := runstore.OpenAt(w.Journal, true)
	if err != nil {
		return err
	}
	w.Store = store
	w.Closers = append(w.Closers, done)
	if w.Retention > 0 {
		_, err = runstore.Prune{Before: time.Now().Add(-w.Retention)}.Runs(ctx, store)
	}
	return err
}

// Use opens another model.
func (w *Session) Use(ctx context.Context, f openmodel.Choice) error {
	m, f, err := openmodel.Open(ctx, &w.ModelOptions, f, w.client.Open)
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
	w.Found, w.Opened = f, m
	return nil
}

func (w *Session) Close() {
	for _, f := range w.Closers {
		f()
	}
}

// approving decides about calls, and checking about failures.
type (
	approving func(context.Context, invoke.Question) (journal.Approval, error)
	Checking  func(context.Context, agent.Checkpoint) (agent.Choice, error)
)

// Agent returns the agent of a conversation. check may be nil; then there are no checkpoints.
func (w *Session) Agent(approve approving, check Checking) *agent.Agent {
	system := w.System
	if system == "" {
		system = defaultSystem
	}
	ag := &agent.Agent{
		Model: Redact(w.Opened, w.KnownSecrets.Values), ID: w.Found.ID, System: system, Store: w.Store, MaxTurns: w.MaxTurns, Offer: w.offer(), Compact: agent.Summarize,
		Tools: &invoke.Runner{Tools: w.ToolSet, Policy: invoke.AskFirst(nil), Approve: approve, Output: w.results(), Cache: w.Cache},
	}
	ag.Request.Temperature, ag.Request.MaxTokens = w.Temperature, w.MaxTokens
	if w.better != nil {
		ag.Ladder = &agent.Ladder{Stronger: Redact(w.better, w.KnownSecrets.Values), StrongerID: w.Stronger}
	}
	ag.Checkpoint = check
	if w.Bridge != nil {
		ag.BeforeTurn = w.Bridge.BeforeTurn(w.Initial)
	}
	ag.Hosted, ag.HostedSupport = w.hosted, w.hostedSupport(w.hosted)
	ag.Money, ag.Cost, ag.Windows = w.Budgeted, w.costs(), &w.windows
	return ag
}

// results configures how much of the tools' results the model sees. The settings are already checked.
func (w *Session) results() invoke.ResultView {
	mode, _ := shorten.ParseMode(cmp.Or(w.Results, "detailed"))
	return invoke.ResultView{Mode: mode, Secrets: w.KnownSecrets, NoSpill: w.Unrecorded}
}

// The limits for the tool definitions in a model's context.
const (
	leastToolTokens = 4_000
	mostToolTokens  = 16_000
	mostTools       = 64
)

// offer returns the limit for the tools that the model sees. It finds the others with find_tools.
func (w *Session) offer() tool.Selection {
	b := tool.Selection{Tools: mostTools, Cost: mostToolTokens}
	if m, ok := w.Opened.(*provider.Model); ok {
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

// Prefer offers tools to an agent as recorded outcomes suggest for a task; see 'toolpost eval learn'.
func (w *Session) Prefer(a *agent.Agent, task string) error {
	file, err := usercatalog.Beside(eval.LessonsFile)
	if err != nil {
		return nil // without a folder of the user nothing was learned
	}
	lessons, err := eval.ReadLessons(file)
	if err != nil {
		return err
	}
	if l, known := lessons[w.Found.ID]; known {
		a.Offer = l.Offer(task, a.Offer)
	}
	return nil
}

// Announce returns lines about the model: the reason for its choice, unless the user named it, and what it is taken for
// if the catalogue does not have it.
func (w *Session) Announce() string {
	var lines []string
	switch {
	case w.Found.ID == openmodel.OfflineID && w.Model == "":
		lines = append(lines, openmodel.OfflineID+": "+w.Found.Why, "It follows rules and is not a language model; 'toolpost doctor' says how to get one.")
	case w.Model == "" || w.Found.ID != w.Model:
		lines = append(lines, w.Found.ID+": "+w.Found.Why)
	}
	for _, line := range []string{w.Custom(), w.misspelt()} {
		if line != "" {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "\n")
}

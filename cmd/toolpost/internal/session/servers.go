package session

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/toolpost/toolpost/agent"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/cli"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/mcpservers"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/runstore"
	"github.com/toolpost/toolpost/invoke"
	"github.com/toolpost/toolpost/journal"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/mcpbridge/client"
	"github.com/toolpost/toolpost/mcpbridge/config"
	"github.com/toolpost/toolpost/tool"
)

// RedactSecrets redacts all secrets known so far in the record.
func (w *Session) RedactSecrets() {
	w.KnownSecrets = w.Secrets()
	switch store := w.Store.(type) {
	case *journal.Dir:
		store.Secrets = w.KnownSecrets
	case *journal.SQL:
		store.Secrets = w.KnownSecrets
	case *runstore.Unrecorded:
		store.Secrets = w.KnownSecrets
	}
}

// RedactEvent redacts secrets in a tool's question during a call.
func (w *Session) RedactEvent(ev llm.Event) llm.Event {
	clean := func(q invoke.Question) invoke.Question {
		q.Message = w.KnownSecrets.Clean(q.Message).String()
		if text := w.KnownSecrets.Clean(string(q.Schema)).String(); text != string(q.Schema) {
			q.Schema = nil // a redacted schema may be invalid
		}
		return q
	}
	switch ev := ev.(type) {
	case invoke.Progress:
		ev.Message = w.KnownSecrets.Clean(ev.Message).String()
		return ev
	case invoke.Decided:
		ev.Prompt = w.KnownSecrets.Clean(ev.Prompt).String()
		return ev
	case invoke.Asked:
		ev.Question = clean(ev.Question)
		return ev
	case invoke.Waiting:
		ev.Question = clean(ev.Question)
		return ev
	case agent.Done:
		ev.Waiting = slices.Clone(ev.Waiting)
		for i, q := range ev.Waiting {
			ev.Waiting[i] = clean(q)
		}
		return ev
	}
	return ev
}

// UseServers opens the servers and adds their tools. It waits for servers of --mcp until they are ready or have failed if
// patient is true, and otherwise for a short time. The caller calls done.
func (w *Session) UseServers(ctx context.Context, cmd *cobra.Command, patient bool) error {
	chosen, err := mcpservers.Chosen(&w.ToolOptions, cmd)
	if err != nil || len(chosen) == 0 {
		return err
	}
	w.RedactNotice = mcpservers.Namer(w.MCP, chosen, w.Redact)
	options := mcpservers.Options(w.Settings, chosen, w.Notice)
	options.Sample, options.Changed = w.sample, w.Changed
	if patient && len(w.MCP) > 0 {
		options.Wait = untilReady(chosen)
		told := time.AfterFunc(sayAfter, func() {
			fmt.Fprintf(cmd.ErrOrStderr(), "toolpost: waiting for the servers of --mcp, for up to %s; a first start may install them\n", options.Wait)
		})
		defer told.Stop()
	}
	if verbose := cmd.Flags().Lookup("verbose"); verbose != nil && verbose.Value.String() == "true" {
		options.Log = func(server, level, text string) { w.serverLog(cmd, server, level, text) }
	}
	if w.Bridge, err = client.Open(options, chosen...); err != nil {
		return err
	}
	w.Closers = append(w.Closers, func() { w.Bridge.Close() })
	if w.Initial, err = w.Bridge.Tools(ctx); err != nil {
		return w.RedactError(err)
	}
	if err := w.missing(ctx); err != nil {
		return err
	}
	w.ToolSet, err = tool.Join(w.ToolSet, w.Initial)
	return err
}

// sayAfter is after how long a person is told that servers are waited for.
const sayAfter = 10 * time.Second

// untilReady is how long servers may take until they are ready or have failed.
func untilReady(chosen []config.ServerConfig) time.Duration {
	const end = 5 * time.Second // of a server that failed
	var longest time.Duration
	for _, c := range chosen {
		longest = max(longest, c.ConnectTimeout())
	}
	return longest + end
}

// missing returns an error if a server failed to start and --mcp names servers. Failures of configured servers are not
// errors.
func (w *Session) missing(ctx context.Context) error {
	if len(w.MCP) == 0 || ctx.Err() != nil {
		return ctx.Err()
	}
	for _, st := range w.Bridge.Status() {
		if st.Err != nil {
			return w.RedactError(fmt.Errorf("--mcp: server %s is not there: %w", st.Name, st.Err))
		}
	}
	return nil
}

// sample answers a sampling request of a server with the model of the run.
func (w *Session) sample(ctx context.Context, _ string, req *llm.Request) (*llm.Response, error) {
	if w.Budgeted > 0 {
		return nil, errors.New("what that costs is not counted, and the run has a budget")
	}
	return llm.Generate(ctx, Redact(w.Opened, w.KnownSecrets.Values), req)
}

// serverLog shows a log message of a server.
func (w *Session) serverLog(cmd *cobra.Command, server, level, text string) {
	line := cli.Printable(w.Redact(fmt.Sprintf("%s (%s): %s", server, level, text)))
	if show := w.ShowLog.Load(); show != nil {
		(*show)(line)
		return
	}
	fmt.Fprintln(cmd.ErrOrStderr(), "toolpost: "+line)
}

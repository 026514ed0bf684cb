package serve

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"github.com/toolpost/toolpost/agent"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/cli"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/mcpservers"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/runstore"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/session"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/settings"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/toolset"
	"github.com/toolpost/toolpost/gateway"
	"github.com/toolpost/toolpost/invoke"
	"github.com/toolpost/toolpost/journal"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/mcpbridge/client"
	"github.com/toolpost/toolpost/mcpbridge/config"
	"github.com/toolpost/toolpost/tool"
	"github.com/toolpost/toolpost/tool/builtin"
)

// defaultRounds is the default of rounds.
const defaultRounds = 10

// routeTools holds the tools of all routes. They are opened once, at the start. A reloaded configuration can only use
// these tools.
type routeTools struct {
	w       *session.Session
	own     *tool.Set // all built-in tools; nil if no route uses any
	servers *client.Servers
	names   []string         // of the servers
	unknown map[string]error // the servers that the configuration lacks
	runner  invoke.ResultView
	noting  sync.Mutex   // serializes lines
	log     *slog.Logger // of notices; nil prints them

	made map[string]*gateway.ServedTools // by the tool settings of a route
}

// OpenRouteTools opens the tools that the routes name and attaches them. The caller closes them. A check starts nothing
// and records nothing. The notices of servers go to the log, or without one to the person who started the gateway.
func OpenRouteTools(cmd *cobra.Command, s *settings.Settings, check bool, log *slog.Logger) (*routeTools, error) {
	opened := &routeTools{w: &session.Session{Settings: s}, made: make(map[string]*gateway.ServedTools), log: log}
	if err := opened.open(cmd, check); err != nil {
		opened.Close()
		return nil, err
	}
	return opened, nil
}

func (t *routeTools) open(cmd *cobra.Command, check bool) error {
	for _, r := range t.w.Gateway.Routes {
		if len(r.Served.Tools) > 0 && t.own == nil {
			if err := t.openOwn(cmd); err != nil {
				return err
			}
		}
		for _, name := range r.Served.MCP {
			if !slices.Contains(t.names, name) {
				t.names = append(t.names, name)
			}
		}
	}
	if err := t.openServers(cmd, check); err != nil {
		return err
	}
	if t.own != nil || t.servers != nil {
		if err := t.record(check); err != nil {
			return err
		}
	}
	return t.Attach(&t.w.Gateway)
}

// Close releases the resources of the tools.
func (t *routeTools) Close() { t.w.Close() }

// openOwn opens all built-in tools; each route selects its own. The gateway's own files are off limits for them.
func (t *routeTools) openOwn(cmd *cobra.Command) error {
	all := *t.w.Settings
	all.Allow = slices.Sorted(maps.Keys(settings.Classes))
	blocked, err := offLimits(all.Root, ownPlaces(&all, cmd))
	if err != nil {
		return fmt.Errorf("root: %w", err)
	}
	files, err := builtin.OpenFiles(all.Root, blocked...)
	if err != nil {
		return fmt.Errorf("root: %w", err)
	}
	t.w.Closers = append(t.w.Closers, func() { files.Close() })
	tools, err := toolset.List(&all.ToolOptions, files)
	if err != nil {
		return err
	}
	t.w.ToolSecrets = all.ToolSecrets
	t.own, err = tool.NewSet(tools...)
	return err
}

// openServers opens the MCP servers that routes name. Unless this is a check, it starts them.
func (t *routeTools) openServers(cmd *cobra.Command, check bool) error {
	if len(t.names) == 0 {
		return nil
	}
	all, err := mcpservers.Configured(&t.w.ToolOptions)
	if err != nil {
		return err
	}
	var chosen []config.ServerConfig
	t.unknown = make(map[string]error)
	for _, name := range t.names {
		c, err := mcpservers.Find(&t.w.ToolOptions, all, name)
		if err == nil && c.Name != name {
			err = fmt.Errorf("no server of the configuration is called so%s", cli.DidYouMean(name, slices.Sorted(maps.Keys(t.w.MCPServers))))
		}
		if err != nil {
			t.unknown[name] = fmt.Errorf("mcp %s: %w", name, err)
			continue
		}
		chosen = append(chosen, c)
	}
	if t.servers, err = mcpservers.Open(t.w.Settings, chosen, t.notice(cmd)); err != nil {
		return err
	}
	t.w.Closers = append(t.w.Closers, func() { t.servers.Close() })
	if check || len(t.unknown) > 0 {
		return nil
	}
	_, err = t.servers.Tools(cmd.Context()) // a server that cannot be reached is reported, and tried again later
	return err
}

// notice reports the notices of servers.
func (t *routeTools) notice(cmd *cobra.Command) func(config.Notice) {
	return func(n config.Notice) {
		t.noting.Lock()
		defer t.noting.Unlock()
		text := cli.Printable(t.w.Redact(n.String()))
		if t.log != nil {
			t.log.Warn(text, "server", n.Server)
			return
		}
		fmt.Fprintln(cmd.ErrOrStderr(), "toolpost: "+text)
	}
}

// record opens the record of runs. Secrets are redacted in the record and in results.
func (t *routeTools) record(check bool) error {
	if !check {
		store, done, err := runstore.OpenAt(t.w.Journal, true)
		if err != nil {
			return fmt.Errorf("the record of runs: %w", err)
		}
		t.w.Store = store
		t.w.Closers = append(t.w.Closers, done)
	}
	t.w.RedactSecrets()
	t.runner = invoke.ResultView{Secrets: t.w.KnownSecrets, NoSpill: true} // clients could not read a file
	return nil
}

// Attach gives the routes of a gateway their tools, or returns an error with everything that is missing.
func (t *routeTools) Attach(c *settings.GatewayConfig) error {
	var wrong []error
	c.ServedTools = make([]*gateway.ServedTools, len(c.Routes))
	for i, r := range c.Routes {
		problems := servedProblems(r.Served)
		own, more := t.check(r.Served)
		if problems = append(problems, more...); len(problems) == 0 && r.Served.Any() {
			c.ServedTools[i] = t.served(r.Served, own)
		}
		for _, p := range problems {
			p.Route, p.Model = i, r.Model
			wrong = append(wrong, p)
		}
	}
	return errors.Join(wrong...)
}

// servedProblems reports invalid tool settings that do not depend on the available tools.
func servedProblems(c settings.ServedConfig) (list []*gateway.RouteError) {
	wrong := func(setting, format string, args ...any) {
		list = append(list, &gateway.RouteError{Setting: setting, Err: fmt.Errorf(format, args...)})
	}
	for _, row := range []struct {
		setting string
		set     bool
	}{{"yes_to", len(c.YesTo) > 0}, {"rounds", c.Rounds != nil}, {"approval", c.Approval != ""}, {"approval_for", c.ApprovalFor != 0}} {
		if row.set && !c.Any() {
			wrong(row.setting, "it has no effect, because the route has neither tools nor mcp")
		}
	}
	if c.ApprovalFor != 0 && c.Approval != pendingApproval && c.Any() {
		wrong("approval_for", "it has no effect without approval: pending")
	}
	return list
}

// check returns the built-in tools of a route, and an error for each missing tool.
func (t *routeTools) check(c settings.ServedConfig) (own *tool.Set, list []*gateway.RouteError) {
	wrong := func(setting string, at int, format string, args ...any) {
		list = append(list, &gateway.RouteError{Setting: fmt.Sprintf("%s[%d]", setting, at), Err: fmt.Errorf(format, args...)})
	}
	var names []string
	for i, name := range c.Tools {
		switch {
		case t.own == nil:
			wrong("tools", i, "tools: no route had any when the gateway began; start it again")
		case !slices.Contains(t.own.Names(), name):
			wrong("tools", i, "tools: no tool is called %s%s; there are %s", name, cli.DidYouMean(name, t.own.Names()), strings.Join(t.own.Names(), ", "))
		default:
			names = append(names, name)
		}
	}
	own = new(tool.Set)
	if len(names) > 0 {
		own, _ = t.own.Only(names) // all names exist
	}
	for i, name := range c.MCP {
		if err := t.unknown[name]; err != nil {
			wrong("mcp", i, "%w", err)
		} else if !slices.Contains(t.names, name) {
			wrong("mcp", i, "mcp: %s was not there when the gateway began; start it again", name)
		}
	}
	for i, name := range c.YesTo {
		if !c.Any() {
			break // already reported
		}
		if _, ok := own.Lookup(name); !ok && !strings.Contains(name, "*") && !t.ofServer(c.MCP, name) {
			wrong("yes_to", i, "yes_to: it has no tool %s%s", name, cli.DidYouMean(name, own.Names()))
		}
	}
	return own, list
}

// served returns the tools of a route. Equal settings share one value, which keeps its state across reloads.
func (t *routeTools) served(c settings.ServedConfig, own *tool.Set) *gateway.ServedTools {
	rounds := defaultRounds
	if c.Rounds != nil {
		rounds = *c.Rounds
	}
	key := fmt.Sprintf("%q %q %q %d %q %v", c.Tools, c.MCP, c.YesTo, rounds, c.Approval, c.ApprovalFor)
	if made := t.made[key]; made != nil {
		return made
	}
	source := &toolSource{own: own, servers: t.servers, names: c.MCP}
	t.made[key] = &gateway.ServedTools{
		Tools: source.tools, Missing: source.missing, Rounds: rounds, Record: t.recorder(),
		Runner: &invoke.Runner{Policy: routePolicy(c.YesTo), Output: t.runner},
	}
	if c.Approval == pendingApproval && t.w.Store != nil {
		t.made[key].Runner.Policy = invoke.AskFirst(t.made[key].Runner.Policy)
		t.made[key].Approvals = &gateway.Approvals{Store: t.w.Store, For: c.ApprovalFor}
	}
	return t.made[key]
}

// pendingApproval is the approval setting for calls that wait for a person.
const pendingApproval = "pending"

// ofServer reports whether a name has the form of a tool of one of the servers.
func (t *routeTools) ofServer(servers []string, name string) bool {
	return slices.ContainsFunc(servers, func(s string) bool { return strings.HasPrefix(name, s+"__") })
}

// recorder returns a function that starts the record of a request.
func (t *routeTools) recorder() func(context.Context, gateway.ServedRun) (*journal.Recorder, error) {
	if t.w.Store == nil {
		return nil
	}
	return func(ctx context.Context, run gateway.ServedRun) (*journal.Recorder, error) {
		rec, err := journal.Open(ctx, t.w.Store, run.ID)
		if err != nil {
			return nil, err
		}
		start := journal.Start{Producer: "toolpost", Task: "calls of a request to the gateway", Team: run.Team, Route: run.Route}
		if _, err := rec.Write(ctx, journal.KindStart, start); err != nil {
			return nil, errors.Join(err, rec.Close(ctx))
		}
		return rec, nil
	}
}

// routePolicy returns the policy of a route. The named tools are allowed, all other tools only if they only read. No
// calls wait for approval.
func routePolicy(names []string) invoke.Policy {
	return func(ctx context.Context, t tool.Tool, c llm.Call) (invoke.Decision, error) {
		for _, name := range names {
			if prefix, all := strings.CutSuffix(name, "*"); t.Name == name || all && strings.HasPrefix(t.Name, prefix) {
				return invoke.AllowAll(ctx, t, c)
			}
		}
		return invoke.AllowReadOnly(ctx, t, c)
	}
}

// toolSource provides the tools of one route: built-in tools and the current tools of its servers.
type toolSource struct {
	own     *tool.Set
	servers *client.Servers
	names   []string

	mu    sync.Mutex
	last  *tool.Set
	print string // fingerprint of the servers' tools
}

// missing returns the servers of the route that are not available.
func (s *toolSource) missing() (names []string) {
	if s.servers == nil {
		return nil
	}
	for _, st := range s.servers.Status() {
		if st.Err != nil && slices.Contains(s.names, st.Name) {
			names = append(names, st.Name)
		}
	}
	return names
}

// tools returns the same set as long as nothing has changed.
func (s *toolSource) tools(ctx context.Context) (*tool.Set, error) {
	if len(s.names) == 0 {
		return s.own, nil
	}
	var turn agent.TurnStart
	if err := s.servers.BeforeTurn(new(tool.Set))(ctx, &turn); err != nil { // refreshes changed tool lists
		return nil, err
	}
	var names []string
	var print strings.Builder
	for t := range turn.Set.All() {
		if slices.Contains(s.names, t.Source) {
			names = append(names, t.Name)
			fmt.Fprintf(&print, "%s %s\n", t.Name, t.SourceHash)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.last != nil && s.print == print.String() {
		return s.last, nil
	}
	theirs, err := turn.Set.Only(append([]string{}, names...))
	if err != nil {
		return nil, err
	}
	set, err := tool.Join(s.own, theirs)
	if err == nil {
		s.last, s.print = set, print.String()
	}
	return set, err
}

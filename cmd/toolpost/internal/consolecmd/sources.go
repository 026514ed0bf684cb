package consolecmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/toolpost/toolpost/cmd/toolpost/internal/cli"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/evaluate"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/mcpservers"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/openmodel"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/runstore"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/settings"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/toolfile"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/toolset"
	"github.com/toolpost/toolpost/console"
	"github.com/toolpost/toolpost/eval"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/mcpbridge/client"
	"github.com/toolpost/toolpost/mcpbridge/config"
	"github.com/toolpost/toolpost/provider"
)

// sources are the stores and settings behind the pages.
type sources struct {
	settings *settings.Settings
	load     func() (*settings.Settings, error) // reads the settings again
	runs     string                             // the store of runs; empty means that of the settings
	evals    string                             // the store of evaluations; empty means the folder of the user
	tools    string                             // a file of definitions; empty means the built-in tools
}

// open gives a console everything that its pages show. The caller calls done.
func (o sources) open(cmd *cobra.Command, c *console.Console) (done func(), err error) {
	store, closeRuns, err := runstore.OpenAt(cmp.Or(o.runs, o.settings.Journal), true)
	if err != nil {
		return nil, err
	}
	evals, closeEvals, err := runstore.OpenAt(cmp.Or(o.evals, settings.EvaluationsDir()), true)
	if err != nil {
		closeRuns()
		return nil, fmt.Errorf("--evaluations: %w", err)
	}
	done = func() { closeEvals(); closeRuns() }
	defs, err := toolset.ReadDefinitions(cmd, o.tools)
	if err == nil {
		c.Models, err = cli.UserCatalog("")
	}
	if err != nil {
		done()
		return nil, err
	}
	c.Store = store
	c.Tools = func(context.Context) ([]llm.ToolDef, error) { return toolfile.PlainDefs(defs), nil }
	c.Evaluations = &console.Evaluations{Store: evals, Suite: o.suites()}
	servers := &checks{load: o.load, last: make(map[string]console.MCPServer)}
	c.Servers = &console.MCPServers{List: servers.list, Check: servers.check}
	c.Probe = o.probe
	return done, nil
}

// suites returns a reader of suites. Tools of an MCP server are read once.
func (o sources) suites() func(context.Context, string) (*eval.Suite, error) {
	var mu sync.Mutex
	known := make(map[string][]llm.ToolDef)
	return func(ctx context.Context, source string) (*eval.Suite, error) {
		mu.Lock()
		defer mu.Unlock()
		return evaluate.LoadSuite(source, func(server string) ([]llm.ToolDef, error) {
			if defs, ok := known[server]; ok {
				return defs, nil
			}
			defs, err := mcpservers.ToolsOf(ctx, o.settings, server)
			if err == nil {
				known[server] = defs
			}
			return defs, err
		})
	}
}

// probe asks a model what it can do, and keeps the findings like 'models probe'.
func (o sources) probe(ctx context.Context, id string) (*provider.Probe, error) {
	c, err := openmodel.Client(&o.settings.ModelOptions)
	if err != nil {
		return nil, err
	}
	opened, err := c.Open(id)
	if err != nil {
		return nil, err
	}
	m, ok := opened.(*provider.Model)
	if !ok {
		return nil, fmt.Errorf("%s is not served over HTTP; there is nothing to probe", id)
	}
	p, err := m.Probe(ctx)
	if err != nil {
		return nil, o.settings.RedactError(err)
	}
	_, err = openmodel.KeepProbe("", p)
	return p, err
}

// checks are the MCP servers of the settings, and the outcome of the last check of each.
type checks struct {
	load func() (*settings.Settings, error) // the servers may change while the console runs

	mu   sync.Mutex
	last map[string]console.MCPServer
}

// list returns the servers. It starts none.
func (k *checks) list(context.Context) ([]console.MCPServer, error) {
	set, err := k.load()
	if err != nil {
		return nil, err
	}
	all, err := mcpservers.Configured(&set.ToolOptions)
	if err != nil {
		return nil, err
	}
	opened, err := mcpservers.Open(set, all, nil)
	if err != nil {
		return nil, err
	}
	defer opened.Close()
	var out []console.MCPServer
	for i, st := range opened.Status() {
		k.mu.Lock()
		last, checked := k.last[st.Name]
		k.mu.Unlock()
		if checked {
			out = append(out, last)
		} else {
			out = append(out, described(set, opened, all[i], st))
		}
	}
	return out, nil
}

// described describes a server. Everything that comes from it is redacted.
func described(set *settings.Settings, opened *client.Servers, c config.ServerConfig, st client.Status) console.MCPServer {
	s := console.MCPServer{Name: st.Name, Kind: string(st.Transport), Where: set.Redact(mcpservers.WhereOf(c)), State: st.State.String(), Revision: st.Revision, Listed: st.State >= client.Listed}
	if st.Disabled {
		s.State = "disabled"
		return s
	}
	defs, used := opened.Definitions(st.Name)
	for _, d := range defs {
		s.Tools = append(s.Tools, console.MCPTool{ToolDef: llm.ToolDef{Name: set.Redact(d.Name), Description: set.Redact(d.Description), Schema: d.Input}, Used: used(d.Name)})
	}
	if st.Err != nil {
		s.Problem = set.Redact(st.Err.Error())
	}
	return s
}

// check starts a server, reads its tools and ends it.
func (k *checks) check(ctx context.Context, name string) error {
	set, err := k.load()
	if err != nil {
		return err
	}
	all, err := mcpservers.Configured(&set.ToolOptions)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(all, func(c config.ServerConfig) bool { return c.Name == name })
	if i < 0 || all[i].Disabled {
		return errors.New("no MCP server of this name may be started")
	}
	told := mcpservers.Active{RedactNotice: set.Redact}
	opened, err := mcpservers.Open(set, all[i:i+1], told.Notice)
	if err != nil {
		return err
	}
	defer opened.Close()
	began := time.Now()
	failed := opened.Connect(ctx, name)
	s := described(set, opened, all[i], opened.Status()[0])
	s.Checked, s.Took, s.Notices = time.Now(), time.Since(began), told.TakeNotices()
	if failed != nil && s.Problem == "" {
		s.Problem = set.Redact(failed.Error())
	}
	if failed != nil && s.State == "" {
		s.State = "broken"
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.last[name] = s
	return nil
}

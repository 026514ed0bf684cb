package mcp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"runtime"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"github.com/toolpost/toolpost/cmd/toolpost/internal/buildinfo"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/cli"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/listen"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/mcpservers"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/runstore"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/session"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/settings"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/toolset"
	"github.com/toolpost/toolpost/invoke"
	"github.com/toolpost/toolpost/journal"
	"github.com/toolpost/toolpost/mcpbridge/config"
	"github.com/toolpost/toolpost/mcpbridge/serve"
	"github.com/toolpost/toolpost/tool"
)

// mcpKeysVar holds the keys of clients.
const mcpKeysVar = "TOOLPOST_MCP_KEYS"

// mcpServe holds the flags of mcp serve.
type mcpServe struct {
	http    string
	through string
	keys    string
	hosts   []string
	origins []string
	yes     bool
	yesTo   []string
	runs    bool
	tasks   bool
	quiet   sync.Mutex // serializes lines on stderr
}

func newMCPServe() *cobra.Command {
	f := new(mcpServe)
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Offer tools to MCP clients, like editors and agents",
		Long: `Be an MCP server: on standard input and output, or with --http ADDRESS on streamable HTTP
under the path /mcp. Clients are offered the built-in tools that only read, those that --allow
and --tools add, and those of the servers that --mcp names. Each call is validated, decided on
by the policy, bounded and recorded, like a model's in 'toolpost run'; there is one record for
each connection. What needs a person's consent is asked by the client, if it can do that
(elicitation), and refused if it cannot; --yes and --yes-to give the consent beforehand.

With --through SERVER, a whole server is passed on instead: prompts, resources and everything
else go both ways as they are, tools keep their names, and results are not shortened. Calls of
its tools are validated, decided on and recorded all the same.

Over HTTP, clients of this machine are let in. Keys of clients stand in ` + mcpKeysVar + `,
separated by commas, or in the file of --keys, one in each line; a client sends its key as
'Authorization: Bearer KEY'. An address that others can reach needs keys. Requests for names
other than those of this machine and of --host, and those of web pages of other origins than
--origin, are refused.`,
		Example: `  toolpost mcp serve
  toolpost mcp serve --root ~/project --allow write --yes-to write_file
  toolpost mcp serve --http 127.0.0.1:8232
  toolpost mcp serve --http 0.0.0.0:8232 --keys keys.txt --host tools.example.org
  toolpost mcp serve --through files
  toolpost mcp serve --through https://mcp.example.org/mcp --yes`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd) },
	}
	fl := cmd.Flags()
	fl.StringVar(&f.http, "http", "", "serve HTTP on this `ADDRESS`, like 127.0.0.1:8232; port 0 picks a free one")
	fl.StringVar(&f.through, "through", "", "pass on this `SERVER`: a name in the configuration, a command or an address")
	fl.StringVar(&f.keys, "keys", "", "`FILE` with the keys of clients, one in each line; only you may read it")
	fl.StringSliceVar(&f.hosts, "host", nil, "`NAME` by which clients ask for this server, besides those of this machine; may be repeated")
	fl.StringSliceVar(&f.origins, "origin", nil, "`ORIGIN` of web pages that may use it, like https://app.example.org; may be repeated")
	fl.BoolVarP(&f.yes, "yes", "y", false, "allow any tool")
	fl.StringSliceVar(&f.yesTo, "yes-to", nil, "allow the `TOOL` of this name; may be repeated")
	fl.BoolVar(&f.runs, "resources", false, "let clients read all recorded runs, with their receipts, as resources")
	fl.BoolVar(&f.tasks, "prompts", false, "offer the tasks of the configuration as prompts")
	fl.String("root", ".", settings.UsageOf("root"))
	fl.StringSlice("allow", nil, settings.UsageOf("allow"))
	fl.Bool("sandbox", false, "keep the programs that tools run to the folder of --root (Linux)")
	fl.StringSlice("tools", nil, "`FILE` that describes more tools, or gives built-in ones other words")
	fl.StringArray("mcp", nil, "offer the tools of this MCP `SERVER`, too: a name in the configuration, a command or an address; may be repeated")
	fl.String("journal", "", settings.UsageOf("journal"))
	cli.AddConfigFlag(fl)
	return cmd
}

// mcpOffer is the served content: own tools, or another server.
type mcpOffer interface {
	Handler(serve.HTTPAccess) (http.Handler, error)
	ServePipe(context.Context, io.Reader, io.Writer) error
	Close() error
}

func (f *mcpServe) run(cmd *cobra.Command) error {
	access, err := f.access(cmd)
	if err != nil {
		return err
	}
	s, err := settings.Load(cmd)
	if err != nil {
		return err
	}
	s.ToolSecrets = append(s.ToolSecrets, access.Keys...)
	w := &session.Session{Settings: s}
	defer w.Close()
	o, err := f.offer(cmd, w)
	if err != nil {
		return err
	}
	defer o.Close()
	cli.MustEnd(cmd.Context())
	if f.http == "" {
		return cmp.Or(o.ServePipe(cmd.Context(), cli.StandardInput(cmd), cmd.OutOrStdout()), cmd.Context().Err())
	}
	h, err := o.Handler(access)
	if err != nil {
		return cli.Usagef(cmd, "%w", err)
	}
	listener, err := net.Listen("tcp", f.http)
	if err != nil {
		return err
	}
	mux := http.NewServeMux()
	mux.Handle("/mcp", h)
	fmt.Fprintf(cmd.OutOrStdout(), "listening on http://%s/mcp\n", listener.Addr())
	defer context.AfterFunc(cmd.Context(), func() { o.Close() })() // open streams end first
	return cmp.Or(listen.Serve(cmd.Context(), listener, mux), cmd.Context().Err())
}

// access returns the access rules of the HTTP server.
func (f *mcpServe) access(cmd *cobra.Command) (serve.HTTPAccess, error) {
	a := serve.HTTPAccess{Hosts: f.hosts, Origins: f.origins}
	if f.http == "" {
		if f.keys != "" || len(f.hosts)+len(f.origins) > 0 {
			return a, cli.Usagef(cmd, "--keys, --host and --origin are for --http")
		}
		return a, nil
	}
	text := os.Getenv(mcpKeysVar)
	if f.keys != "" {
		info, err := os.Stat(f.keys)
		if err != nil {
			return a, err
		}
		if runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0 {
			return a, fmt.Errorf("%s can be read by others; take that right from them: chmod 600 %s", f.keys, f.keys)
		}
		file, err := cli.ReadFile(f.keys, settings.MaxConfig)
		if err != nil {
			return a, err
		}
		text += "\n" + string(file)
	}
	a.Keys = strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == '\n' || r == '\r' || r == ' ' || r == '\t' })
	if err := a.Check(); err != nil {
		return a, cli.Usagef(cmd, "%w", err)
	}
	host, _, err := net.SplitHostPort(f.http)
	if err != nil {
		return a, cli.Usagef(cmd, "--http: %w", err)
	}
	if listen.Loopback(f.http) != nil {
		if len(a.Keys) == 0 {
			return a, cli.Usagef(cmd, "--http: others can reach %s, and there are no keys: set %s or --keys, or use 127.0.0.1", f.http, mcpKeysVar)
		}
		if ip := net.ParseIP(host); ip != nil && !ip.IsUnspecified() {
			a.Hosts = append(a.Hosts, host)
		}
	}
	return a, nil
}

// offer opens the tools or the server to serve.
func (f *mcpServe) offer(cmd *cobra.Command, w *session.Session) (mcpOffer, error) {
	options, err := f.options(cmd, w)
	if err != nil {
		return nil, err
	}
	if f.through != "" {
		return f.relay(cmd, w, options)
	}
	var done func()
	if w.ToolSet, done, err = toolset.Open(&w.ToolOptions); err != nil {
		return nil, err
	}
	w.Closers = append(w.Closers, done)
	own, news := w.ToolSet, make(chan struct{}, 1)
	if len(w.MCP) > 0 {
		w.Changed = func() {
			select {
			case news <- struct{}{}:
			default: // a signal is already pending
			}
		}
		if err := w.UseServers(cmd.Context(), cmd, false); err != nil {
			return nil, err
		}
		w.ShowNotices(cmd)
	}
	for _, name := range f.yesTo {
		if _, ok := w.ToolSet.Lookup(name); !ok {
			return nil, cli.Usagef(cmd, "--yes-to: no tool is called %s%s", name, cli.DidYouMean(name, w.ToolSet.Names()))
		}
	}
	options.Runner.Tools = w.ToolSet
	if f.runs {
		options.Resources = runResources(cmd, w.Store)
	}
	if f.tasks {
		options.Prompts = taskPrompts(w.Tasks)
	}
	w.RedactSecrets()
	options.Runner.Output.Secrets = w.KnownSecrets
	s, err := serve.NewService(options)
	if err != nil {
		return nil, err
	}
	if w.Bridge != nil {
		f.follow(cmd, w, s, own, news)
	}
	return s, nil
}

// follow updates the tools of a service when the tools of the servers change, until the command ends.
func (f *mcpServe) follow(cmd *cobra.Command, w *session.Session, s *serve.Service, own *tool.Set, news <-chan struct{}) {
	ctx, end := context.WithCancel(cmd.Context())
	var following sync.WaitGroup
	w.Closers = append(w.Closers, func() { end(); following.Wait() })
	following.Go(func() {
		for {
			select {
			case <-ctx.Done():
				return
			case <-news:
			}
			theirs, err := w.Bridge.Refresh(ctx)
			if err == nil {
				theirs, err = tool.Join(own, theirs)
			}
			if err == nil {
				err = s.Offer(theirs)
			}
			if err != nil && ctx.Err() == nil {
				f.say(cmd, w.Redact("the tools of the servers have changed, and cannot be offered: "+err.Error()))
			}
			for _, n := range w.TakeNotices() {
				f.say(cmd, n)
			}
		}
	})
}

// relay opens the server for --through.
func (f *mcpServe) relay(cmd *cobra.Command, w *session.Session, options serve.ServiceOptions) (mcpOffer, error) {
	for _, name := range []string{"tools", "mcp", "allow", "sandbox", "resources", "prompts"} {
		if cmd.Flags().Changed(name) {
			return nil, cli.Usagef(cmd, "--%s has no meaning with --through, which passes on one server", name)
		}
	}
	all, err := mcpservers.Configured(&w.ToolOptions)
	if err != nil {
		return nil, err
	}
	c, err := mcpservers.Find(&w.ToolOptions, all, f.through)
	if err != nil {
		return nil, cli.Usagef(cmd, "--through: %w", err)
	}
	servers, err := mcpservers.Open(w.Settings, []config.ServerConfig{c}, f.notice(cmd, w.Redact))
	if err != nil {
		return nil, err
	}
	w.Closers = append(w.Closers, func() { servers.Close() })
	w.RedactSecrets()
	options.Runner.Output.Secrets = w.KnownSecrets
	r, err := servers.Relay(c.Name, options)
	if err != nil {
		return nil, err
	}
	return r, nil
}

func (f *mcpServe) notice(cmd *cobra.Command, clean func(string) string) func(config.Notice) {
	return func(n config.Notice) { f.say(cmd, clean(n.String())) }
}

// say prints a message for the person who started the server. Standard output belongs to the client.
func (f *mcpServe) say(cmd *cobra.Command, text string) {
	f.quiet.Lock()
	defer f.quiet.Unlock()
	fmt.Fprintln(cmd.ErrOrStderr(), "toolpost: "+cli.Printable(text))
}

// options returns the options that own tools and a relayed server share: the policy and the record.
func (f *mcpServe) options(cmd *cobra.Command, w *session.Session) (serve.ServiceOptions, error) {
	var o serve.ServiceOptions
	err := settings.NoPassword(cmd, "journal", w.Journal, settings.StoreEnv)
	if err != nil {
		return o, err
	}
	var done func()
	if w.Store, done, err = runstore.OpenAt(w.Journal, true); err != nil {
		return o, fmt.Errorf("the record of runs: %w", err)
	}
	w.Closers = append(w.Closers, done)
	policy := invoke.AskFirst(invoke.AllowNamed(f.yesTo...))
	if f.yes {
		policy = invoke.AllowAll
	}
	o = serve.ServiceOptions{Version: buildinfo.Read().Version, Failed: func(err error) { f.say(cmd, err.Error()) }, Runner: &invoke.Runner{Policy: policy}}
	task := "calls of an MCP client"
	if f.through != "" {
		task = "calls of an MCP client to a relayed server"
	}
	o.Record = func(ctx context.Context) (*journal.Recorder, error) {
		rec, err := journal.Open(ctx, w.Store, journal.NewRun())
		if err != nil {
			return nil, err
		}
		if _, err := rec.Write(ctx, journal.KindStart, journal.Start{Producer: "toolpost", Task: task}); err != nil {
			return nil, errors.Join(err, rec.Close(ctx))
		}
		return rec, nil
	}
	return o, nil
}

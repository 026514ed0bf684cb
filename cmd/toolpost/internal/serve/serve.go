// Package serve is the command serve: a gateway from the configuration, its check, and its operation.
package serve

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/toolpost/toolpost/cmd/toolpost/internal/cli"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/codingagents"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/configcheck"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/keys"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/openmodel"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/serveimport"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/settings"
	"github.com/toolpost/toolpost/gateway"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/observe/otlp"
	"github.com/toolpost/toolpost/provider"
)

// GatewayRoutes returns the routes. If there are none, the offline model answers for every name.
func GatewayRoutes(c settings.GatewayConfig) []gateway.ModelRoute {
	if len(c.Routes) == 0 {
		to := []gateway.Upstream{{Model: openmodel.OfflineID}}
		return []gateway.ModelRoute{{Model: openmodel.OfflineID, Upstreams: to, LogBodies: c.Keys.Bodies}, {Model: "*", Upstreams: to, LogBodies: c.Keys.Bodies}}
	}
	var list []gateway.ModelRoute
	for i, r := range c.Routes {
		route := gateway.ModelRoute{Model: r.Model, From: r.From, Hidden: r.Hidden, Fallback: r.Fallback, ThinkingRoute: r.Thinks, LongRoute: r.Long, LongOver: r.LongOver, ImageRoute: r.Images, Check: gateway.Check(r.Check), MaxRequests: r.MaxRequests,
			Timing: timing(r.Timing), Strategy: strategyOf(r.Strategy), HedgeAfter: r.HedgeAfter,
			Override: gateway.Override{Thinking: r.Thinking, Choice: r.ToolChoice, TextCalls: llm.Promotion(r.TextCalls), Echoes: r.Echoes, Dialect: r.Dialect},
			Cache:    gateway.Cache{For: r.Cache, Tools: r.CacheTools}, CacheMarks: r.CacheMarks, Pass: r.Pass, PassTeam: r.PassTeam, LogBodies: keepsBodies(c, r)}
		for _, u := range r.To {
			up := gateway.Upstream{Model: u.Model, Health: u.Health, DriftEvery: u.DriftEvery, DriftBelow: u.DriftBelow, Timing: timing(u.Timing), Priority: u.Priority, MaxInFlight: u.MaxInFlight, Way: gateway.Way{Tools: provider.RouteKind(u.Tools), Style: u.Style, Gate: openmodel.GateOf(u.Gate)}}
			if u.Weight != nil {
				up.Weight, up.Off = *u.Weight, *u.Weight == 0
			}
			route.Upstreams = append(route.Upstreams, up)
		}
		if i < len(c.ServedTools) {
			route.Tools = c.ServedTools[i]
		}
		list = append(list, route)
	}
	return list
}

func timing(t settings.TimingConfig) gateway.Timing {
	return gateway.Timing{Timeout: t.Timeout, FirstByte: t.FirstByte, Idle: t.Idle, Cooldown: t.Cooldown, Retries: t.Retries}
}

// strategyOf returns the strategy with a name.
func strategyOf(name string) gateway.Strategy {
	if name == "weighted" {
		return gateway.Weighted
	}
	return gateway.Strategy(name)
}

// keepsBodies reports whether the request and response bodies of a route are stored.
func keepsBodies(c settings.GatewayConfig, r settings.RouteConfig) bool {
	if r.Bodies != nil {
		return *r.Bodies
	}
	return c.Keys.Bodies
}

// upstreamOpener returns a function that opens upstreams, with a client for each way to ask.
func upstreamOpener(o *settings.ModelOptions, c settings.GatewayConfig) (func(string, gateway.Way) (llm.Model, error), error) {
	clients := map[gateway.Way]*provider.Client{}
	ways := []gateway.Way{{}}
	for _, r := range GatewayRoutes(c) {
		for _, u := range r.Upstreams {
			ways = append(ways, r.WayOf(u))
		}
	}
	for _, way := range ways {
		if clients[way] != nil {
			continue
		}
		client, err := openmodel.Client(o)
		if err != nil {
			return nil, err
		}
		client.Route, client.Style, client.Gate = way.Tools, way.Style, cmp.Or(way.Gate, client.Gate)
		client.StrictByCheck = true // the vendors' libraries always ask for strict schemas
		clients[way] = client
	}
	return func(id string, way gateway.Way) (llm.Model, error) {
		m, err := cmp.Or(clients[way], clients[gateway.Way{}]).Open(id)
		return m, placedError(o.Providers, err)
	}, nil
}

// placedError adds the setting that holds a wrong address to the error.
func placedError(providers map[string]settings.ProviderConfig, err error) error {
	var address *provider.AddressError
	var known *llm.Error
	if !errors.As(err, &known) || !errors.As(err, &address) {
		return err
	}
	row, setting := providers[address.Vendor], "base_url"
	if row.BaseURL == "" {
		if setting = row.PartSaid(); setting == "" {
			return err
		}
	}
	out := *known
	out.Err = fmt.Errorf("%w; see %s of %s in providers", known.Err, setting, address.Vendor)
	return &out
}

// DefaultAddr is the default listen address of serve.
const DefaultAddr = "127.0.0.1:8230"

// options are the flags of serve. The store of keys is a flag of several commands; see [keys.StoreName].
type options struct {
	addr   string
	anyone bool // a gateway without keys may listen on a public address
	check  bool
	asJSON bool
	agentFlags
}

// run runs the command.
func (o *options) run(cmd *cobra.Command) error {
	switch {
	case o.agent == "" && (o.write || o.try):
		return cli.Usagef(cmd, "--write and --try are for --for AGENT")
	case o.agent == "":
		return serve(cmd, *o)
	case o.write && o.try:
		return cli.Usagef(cmd, "--write changes files and --try asks models: give one of them")
	case o.check:
		return cli.Usagef(cmd, "--for is about a coding agent: leave out --check")
	case o.asJSON:
		return cli.Usagef(cmd, "--for is about a coding agent: leave out --json")
	}
	return serveFor(cmd, o.agentFlags, o.addr)
}

func New() *cobra.Command {
	var o options
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Serve the vendors' APIs to any client, over any model",
		Long: `Answers clients of the OpenAI (Chat Completions and Responses), Anthropic, Gemini, Ollama and
Amazon Bedrock (Converse) APIs. The routes of the configuration say which model
answers for which name; without any, the offline model answers for every name.

  gateway:
    routes:
      - model: fast
        to: [{model: ollama/qwen3:8b}]
      - model: claude-*                    # every name that begins so
        to: [{model: anthropic/claude-*}]
        fallback: [fast]

Models that have no tools are taught those of the client, and calls are read from whatever
they write. What could not be done as asked stands in the header Toolpost-Warning.

Without keys it listens on loopback only; 'toolpost keys' makes them.`,
		Example: `  toolpost serve
  toolpost serve --addr 127.0.0.1:9000 --config gateway.yaml
  toolpost serve --check --config gateway.yaml
  toolpost serve --check --json --config gateway.yaml
  toolpost serve --for codex
  toolpost serve --for codex --write
  toolpost serve --for claude-code --try`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd) },
	}
	cmd.Flags().StringVar(&o.addr, "addr", "", "address to listen on, "+DefaultAddr+" if not given; port 0 picks a free one")
	cmd.Flags().String("keys", "", keys.StoreUsage+"; with it every request needs a key")
	cmd.Flags().BoolVar(&o.anyone, publicFlag, false, "listen where others can reach it without asking them for a key")
	cmd.Flags().BoolVar(&o.check, "check", false, "only say everything that is wrong with the configuration, with its line")
	cmd.Flags().BoolVar(&o.asJSON, "json", false, "with --check: print one JSON object")
	cmd.Flags().StringVar(&o.agent, "for", "", "only print how a coding `AGENT` is told to use this gateway: "+strings.Join(codingagents.Names(), ", "))
	cmd.Flags().BoolVar(&o.write, "write", false, "with --for: edit the configuration of the agent, after a copy of it was made")
	cmd.Flags().BoolVar(&o.try, "try", false, "with --for: ask once for each name that the agent will use, and show what works")
	cli.AddConfigFlag(cmd.Flags())
	cmd.AddCommand(serveimport.New(checkFile))
	cli.NoEmptyFlags(cmd)
	return cmd
}

// gatewaySetup builds the setup of a gateway from the settings.
func gatewaySetup(s *settings.Settings, log *slog.Logger) (gateway.Setup, error) {
	c := s.Gateway
	open, err := upstreamOpener(&s.ModelOptions, c)
	if err != nil {
		return gateway.Setup{}, err
	}
	reserve, err := reserveOf(c.Keys.Reserve)
	if err != nil {
		return gateway.Setup{}, err
	}
	other, err := openmodel.Client(&s.ModelOptions)
	if err != nil {
		return gateway.Setup{}, err
	}
	return gateway.Setup{
		Open: open, Inside: []string{"sim/", "sim/" + openmodel.ScriptPrefix, "agent/"}, Forward: other.Forwarder, Routes: GatewayRoutes(c), MaxBody: c.MaxBody, KeepAlive: c.KeepAlive, MaxRequests: c.Ops.MaxRequests,
		BodyTime: c.Ops.BodyTimeout, WriteTime: c.Ops.WriteTimeout, AnswerLife: c.Ops.AnswersFor, Log: log, Reserve: reserve,
		Agreement: agreement, Secrets: gatewaySecrets(s.Secrets()), MaxKeptBody: c.Keys.BodySize,
	}, nil
}

// reserveOf returns gateway.Setup.Reserve for a setting.
func reserveOf(text string) (int, error) {
	switch text {
	case "", "learned":
		return 0, nil
	case "max":
		return -1, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		return 0, configcheck.Errorf("gateway.reserve", "%q is not learned, max or a number of tokens", text)
	}
	return n, nil
}

// serve listens until the command is interrupted.
func serve(cmd *cobra.Command, o options) error {
	v := &serving{cmd: cmd, options: o}
	v.logTo("")
	defer func() { v.endLog() }()
	defer func() {
		if v.tools != nil {
			v.tools.Close()
		}
	}()
	if o.check {
		return v.serveCheck(o.asJSON)
	}
	if o.asJSON {
		return cli.Usagef(cmd, "--json is for --check")
	}
	err := v.run()
	if err != nil && v.json {
		v.log.Error("the gateway has ended", "error", cli.Plain(err))
		return errors.Join(cli.ErrReported, err)
	}
	return err
}

// run examines the configuration, opens everything that it names, and serves.
func (v *serving) run() error {
	cmd := v.cmd
	m, s, setup := v.examine()
	if s != nil && s.Gateway.Ops.LogFormat != "" {
		v.endLog()
		v.logTo(s.Gateway.Ops.LogFormat)
		setup.Log = v.log
	}
	wrong, said := m.Split(false, "")
	if err := v.refusal(wrong); err != nil {
		return err
	}
	v.say(slog.LevelWarn, "the gateway begins, though something may not be meant so", said)
	v.with, v.addr = s, cmp.Or(v.options.addr, s.Gateway.Addr, DefaultAddr)
	var err error
	if v.tools, err = OpenRouteTools(cmd, s, false, v.noticeLog()); err != nil {
		return err
	}
	setup.Routes = GatewayRoutes(s.Gateway) // now including their tools
	defer v.openSpans(&setup)()
	if v.guards, err = openGuards(cmd, &s.Gateway); err != nil {
		return err
	}
	defer v.guards.done()
	if v.guards.book != nil {
		defer alertsOf(v.guards.book, s.Gateway.Keys, v.log).close()
	}
	setup.Access, setup.State = v.guards.book, v.guards.state
	if v.live, err = gateway.NewLive(setup); err != nil {
		return err
	}
	defer v.live.Close()
	ctx, stop := context.WithCancel(cmd.Context())
	defer stop()
	attended, err := v.attend(ctx, s.Gateway.Keys, s.Gateway.Ops.WriteTimeout)
	if err != nil {
		return err
	}
	err = v.serve(ctx, v.addr, onlyHere(v.addr, v.guards.book != nil, v.live))
	stop()
	return errors.Join(err, attended())
}

// openSpans starts the export of spans if the environment names a collector. The caller calls done.
func (v *serving) openSpans(setup *gateway.Setup) (done func()) {
	o, err := otlp.FromEnv(os.Getenv)
	if o == nil || err != nil { // already reported
		return func() {}
	}
	o.Failed = func(err error) { v.log.Warn("traces are lost", "error", err.Error()) }
	v.spans = otlp.New(*o)
	setup.Observer = v.spans
	return v.spans.Close
}

package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/toolpost/toolpost/cmd/toolpost/internal/cli"
	"github.com/toolpost/toolpost/gateway"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/observe/otlp"
	"github.com/toolpost/toolpost/provider"
)

// gatewayConfig is the configuration of serve.
type gatewayConfig struct {
	Addr      string        `yaml:"addr" help:"the address for clients" default:"127.0.0.1:8230" restart:"yes"`
	KeepAlive time.Duration `yaml:"keep_alive" help:"the silence in a stream after which the client gets a sign of life; less than 0 means never" default:"15s" min:"1ms" negative:"never"`
	MaxBody   int64         `yaml:"max_body" help:"bytes of the body of a request" default:"67108864" min:"1024"`
	Routes    []routeConfig `yaml:"routes" help:"which model answers for which name; without routes, the offline model answers for every name"`
	Ops       opsConfig     `yaml:",inline"`
	Keys      keysConfig    `yaml:",inline"`

	served []*gateway.ServedTools // the tools of each route, once they are open
}

// routeConfig is a gateway.ModelRoute in the configuration.
type routeConfig struct {
	Model    string           `yaml:"model" help:"the name that clients ask for; a name that ends in * matches all names with that prefix, and the longest match counts"`
	From     []string         `yaml:"from" help:"the formats of the clients that the route is for: chat, responses, messages, gemini, ollama, converse" default:"all"`
	Hidden   bool             `yaml:"hidden" help:"leave the name out of lists of models; clients can still ask for it" default:"false"`
	To       []upstreamConfig `yaml:"to" help:"the upstreams: the least busy one for its weight answers, and the next one if it fails before the answer has begun"`
	Fallback []string         `yaml:"fallback" help:"names that are asked for when no upstream of the route can answer, also because the conversation is too long or a filter removed the answer"`
	Check    string           `yaml:"check" help:"the handling of calls that do not fit the schemas of their tools: reported in a header or a comment; off does not check; reask asks the model again"`

	Timing      timingConfig  `yaml:",inline"`
	Strategy    string        `yaml:"strategy" help:"the order of upstreams with the same priority" values:"weighted least_busy fastest cheapest" default:"weighted"`
	MaxRequests int           `yaml:"max_requests" help:"concurrent requests of the route; further ones are refused with status 429" unset:"no limit"`
	Thinking    string        `yaml:"thinking" help:"how much the model thinks, whatever the client requests: off, low, medium, high or a word of the vendor's"`
	ToolChoice  string        `yaml:"tool_choice" help:"whether the model may, must or must not call the client's tools, whatever the client requests: auto, required, none"`
	TextCalls   string        `yaml:"text_calls" help:"which text of an answer becomes a call: off, marked, all"`
	Echoes      bool          `yaml:"echoes" help:"also accept calls whose text is in a tool result or a document of the conversation" default:"false"`
	Dialect     string        `yaml:"dialect" help:"the notation in which the model is taught its tools and its calls are read, instead of the model's own; see [emulation](../emulation.md)"`
	Cache       time.Duration `yaml:"cache" help:"how long an answer is given again to the same request of the same owner" unset:"not at all"`
	CacheTools  bool          `yaml:"cache_tools" help:"also cache requests that offer tools, whose calls may change things" default:"false"`
	Pass        []string      `yaml:"pass" help:"other endpoints that are passed on: embeddings, completions, images, audio, moderations, rerank, files, batches" default:"none"`
	PassTeam    string        `yaml:"pass_team" help:"the team that owns the upstreams' account with the vendor: only its keys may use files and batches, and refer to what the vendor keeps" default:"no team"`
	Bodies      *bool         `yaml:"log_bodies" help:"whether requests and answers are kept next to the log of requests" default:"log_bodies of the gateway"`
	Served      servedConfig  `yaml:",inline"`
}

// upstreamConfig is a gateway.Upstream in the configuration.
type upstreamConfig struct {
	Model  string `yaml:"model" help:"the id of a [model](../providers.md); a * is replaced by what the * of the route matched"`
	Weight *int   `yaml:"weight" help:"its share of the requests, a whole number; 0 takes it out of the selection" default:"1"` // nil means 1
	Tools  string `yaml:"tools" help:"how it is asked for calls: native, constrained, prompted" default:"what the catalogue knows"`
	Style  string `yaml:"style" help:"the notation that is taught where calls are prompted; see [emulation](../emulation.md)"`

	Health      time.Duration `yaml:"health" help:"the interval of health checks, which cost nothing" unset:"never"`
	Timing      timingConfig  `yaml:",inline"`
	Priority    int           `yaml:"priority" help:"upstreams with the lowest number are asked first, the others when those fail" unset:"first"`
	MaxInFlight int           `yaml:"max_in_flight" help:"concurrent requests of the upstream; further ones go to the next upstream, or are refused with status 429" unset:"no limit" min:"1"`
}

// timingConfig is a gateway.Timing in the configuration. Upstreams without a value have that of the route.
type timingConfig struct {
	Timeout   time.Duration `yaml:"timeout" help:"how long the whole answer of an upstream may take" default:"6h" min:"1ms"`
	FirstByte time.Duration `yaml:"first_byte" help:"how long an upstream may be silent before its answer begins; keep-alives are not silence" default:"1m or more where another upstream can be asked, otherwise 5m" min:"1ms"`
	Idle      time.Duration `yaml:"idle" help:"how long no piece of a begun answer may arrive" default:"2m, or 30m with keep-alives" min:"1ms"`
	Cooldown  time.Duration `yaml:"cooldown" help:"how long an upstream that failed three times in a row is skipped; ten times as long if its key, address or certificate is wrong" default:"30s" min:"1ms"`
	Retries   *int          `yaml:"retries" help:"how often a failed request is sent again to the same upstream" default:"0 where another upstream can be asked, otherwise 2" min:"0" max:"10"`
}

func (t timingConfig) timing() gateway.Timing {
	return gateway.Timing{Timeout: t.Timeout, FirstByte: t.FirstByte, Idle: t.Idle, Cooldown: t.Cooldown, Retries: t.Retries}
}

// strategyOf returns the strategy with a name.
func strategyOf(name string) gateway.Strategy {
	if name == "weighted" {
		return gateway.Weighted
	}
	return gateway.Strategy(name)
}

// String lists the model names of the routes: at most maxNames, then the number of further ones.
func (c gatewayConfig) String() string {
	var names []string
	for i, r := range c.Routes {
		if i == maxNames {
			return fmt.Sprintf("%s and %d more", strings.Join(names, ", "), len(c.Routes)-i)
		}
		names = append(names, r.Model)
	}
	return strings.Join(names, ", ")
}

// maxNames limits the names in one line.
const maxNames = 50

// routes returns the routes. If there are none, the offline model answers for every name.
func (c gatewayConfig) routes() []gateway.ModelRoute {
	if len(c.Routes) == 0 {
		to := []gateway.Upstream{{Model: offlineID}}
		return []gateway.ModelRoute{{Model: offlineID, Upstreams: to, LogBodies: c.Keys.Bodies}, {Model: "*", Upstreams: to, LogBodies: c.Keys.Bodies}}
	}
	var list []gateway.ModelRoute
	for i, r := range c.Routes {
		route := gateway.ModelRoute{Model: r.Model, From: r.From, Hidden: r.Hidden, Fallback: r.Fallback, Check: gateway.Check(r.Check), MaxRequests: r.MaxRequests,
			Timing: r.Timing.timing(), Strategy: strategyOf(r.Strategy),
			Override: gateway.Override{Thinking: r.Thinking, Choice: r.ToolChoice, TextCalls: llm.Promotion(r.TextCalls), Echoes: r.Echoes, Dialect: r.Dialect},
			Cache:    gateway.Cache{For: r.Cache, Tools: r.CacheTools}, Pass: r.Pass, PassTeam: r.PassTeam, LogBodies: c.keepsBodies(r)}
		for _, u := range r.To {
			up := gateway.Upstream{Model: u.Model, Health: u.Health, Timing: u.Timing.timing(), Priority: u.Priority, MaxInFlight: u.MaxInFlight, Way: gateway.Way{Tools: provider.RouteKind(u.Tools), Style: u.Style}}
			if u.Weight != nil {
				up.Weight, up.Off = *u.Weight, *u.Weight == 0
			}
			route.Upstreams = append(route.Upstreams, up)
		}
		if i < len(c.served) {
			route.Tools = c.served[i]
		}
		list = append(list, route)
	}
	return list
}

// keepsBodies reports whether the request and response bodies of a route are stored.
func (c gatewayConfig) keepsBodies(r routeConfig) bool {
	if r.Bodies != nil {
		return *r.Bodies
	}
	return c.Keys.Bodies
}

// opener returns a function that opens upstreams, with a client for each way to ask.
func (s *settings) opener() (func(string, gateway.Way) (llm.Model, error), error) {
	clients := map[gateway.Way]*provider.Client{}
	ways := []gateway.Way{{}}
	for _, r := range s.Gateway.routes() {
		for _, u := range r.Upstreams {
			ways = append(ways, r.WayOf(u))
		}
	}
	for _, way := range ways {
		if clients[way] != nil {
			continue
		}
		c, err := s.client()
		if err != nil {
			return nil, err
		}
		c.Route, c.Style = way.Tools, way.Style
		c.StrictByCheck = true // the vendors' libraries always ask for strict schemas
		clients[way] = c
	}
	return func(id string, way gateway.Way) (llm.Model, error) {
		m, err := cmp.Or(clients[way], clients[gateway.Way{}]).Open(id)
		return m, s.placed(err)
	}, nil
}

// placed adds the setting that holds a wrong address to the error.
func (s *settings) placed(err error) error {
	var address *provider.AddressError
	var known *llm.Error
	if !errors.As(err, &known) || !errors.As(err, &address) {
		return err
	}
	row, setting := s.Providers[address.Vendor], "base_url"
	if row.BaseURL == "" {
		if setting = row.partSaid(); setting == "" {
			return err
		}
	}
	out := *known
	out.Err = fmt.Errorf("%w; see %s of %s in providers", known.Err, setting, address.Vendor)
	return &out
}

// addressOf returns the listen address: the flag, else the setting, else the default.
func addressOf(s *settings, flag string) string { return cmp.Or(flag, s.Gateway.Addr, defaultAddr) }

// defaultAddr is the default listen address of serve.
const defaultAddr = "127.0.0.1:8230"

func newServe() *cobra.Command {
	var addr string
	var check bool
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
  toolpost serve --for codex`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return serve(cmd, addr, check) },
	}
	cmd.Flags().StringVar(&addr, "addr", "", "address to listen on, "+defaultAddr+" if not given; port 0 picks a free one")
	cmd.Flags().String("keys", "", keysUsage+"; with it every request needs a key")
	cmd.Flags().Bool(publicFlag, false, "listen where others can reach it without asking them for a key")
	cmd.Flags().BoolVar(&check, "check", false, "only say everything that is wrong with the configuration, with its line")
	cmd.Flags().Bool("json", false, "with --check: print one JSON object")
	cmd.Flags().String("config", "", "`FILE` to read in place of your config.yaml")
	return withPrograms(cmd)
}

// gatewaySetup builds the setup of a gateway from the settings.
func (s *settings) gatewaySetup(log *slog.Logger) (gateway.Setup, error) {
	open, err := s.opener()
	if err != nil {
		return gateway.Setup{}, err
	}
	c := s.Gateway
	other, err := s.client()
	if err != nil {
		return gateway.Setup{}, err
	}
	return gateway.Setup{
		Open: open, Inside: []string{"sim/", "sim/" + scriptPrefix, "agent/"}, Forward: other.Forwarder, Routes: c.routes(), MaxBody: c.MaxBody, KeepAlive: c.KeepAlive, MaxRequests: c.Ops.MaxRequests,
		BodyTime: c.Ops.BodyTimeout, WriteTime: c.Ops.WriteTimeout, AnswerLife: c.Ops.AnswersFor, Log: log,
		Secrets: s.gatewaySecrets(), MaxKeptBody: c.Keys.BodySize,
	}, nil
}

// serve listens until the command is interrupted.
func serve(cmd *cobra.Command, addr string, check bool) error {
	log, endLog := gatewayLog(cmd.ErrOrStderr())
	defer endLog()
	v := &serving{cmd: cmd, addrFlag: addr, log: log}
	defer func() {
		if v.tools != nil {
			v.tools.close()
		}
	}()
	asJSON, _ := cmd.Flags().GetBool("json")
	if check {
		return v.serveCheck(asJSON)
	}
	if asJSON {
		return cli.Usagef(cmd, "--json is for --check")
	}
	m, s, setup := v.examine()
	wrong, said := m.Split(false, "")
	if err := v.refusal(wrong); err != nil {
		return err
	}
	v.say(slog.LevelWarn, "the gateway begins, though something may not be meant so", said)
	v.with, v.addr = s, addressOf(s, addr)
	var err error
	if v.tools, err = openRouteTools(cmd, s, false); err != nil {
		return err
	}
	setup.Routes = s.Gateway.routes() // now including their tools
	defer v.openSpans(&setup)()
	if v.guards, err = openGuards(cmd, s); err != nil {
		return err
	}
	defer v.guards.done()
	setup.Access, setup.State = v.guards.book, v.guards.state
	if v.live, err = gateway.NewLive(setup); err != nil {
		return err
	}
	v.guards.live = v.live
	defer v.live.Close()
	ctx, stop := context.WithCancel(cmd.Context())
	defer stop()
	attended, err := v.guards.attend(ctx, cmd, s.Gateway.Keys, s.Gateway.Ops.WriteTimeout)
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

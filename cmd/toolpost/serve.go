package main

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/toolpost/toolpost/gateway"
)

// gatewayConfig is what serve is told by the configuration.
type gatewayConfig struct {
	Addr      string        `yaml:"addr"`
	KeepAlive time.Duration `yaml:"keep_alive"`
	MaxBody   int64         `yaml:"max_body"`
	Routes    []routeConfig `yaml:"routes"`
}

// routeConfig is a gateway.Route in the configuration.
type routeConfig struct {
	Model    string           `yaml:"model"`
	From     []string         `yaml:"from"`
	To       []upstreamConfig `yaml:"to"`
	Fallback []string         `yaml:"fallback"`
	Check    string           `yaml:"check"`
}

// upstreamConfig is a gateway.Upstream in the configuration.
type upstreamConfig struct {
	Model  string `yaml:"model"`
	Weight int    `yaml:"weight"`
}

// String returns the names that clients may ask for.
func (c gatewayConfig) String() string {
	var names []string
	for _, r := range c.Routes {
		names = append(names, r.Model)
	}
	return strings.Join(names, ", ")
}

// routes returns the routes; without any, the offline model answers for every name.
func (c gatewayConfig) routes() []gateway.Route {
	if len(c.Routes) == 0 {
		to := []gateway.Upstream{{Model: offlineID}}
		return []gateway.Route{{Model: offlineID, Upstreams: to}, {Model: "*", Upstreams: to}}
	}
	var list []gateway.Route
	for _, r := range c.Routes {
		route := gateway.Route{Model: r.Model, From: r.From, Fallback: r.Fallback, Check: gateway.Check(r.Check)}
		for _, u := range r.To {
			route.Upstreams = append(route.Upstreams, gateway.Upstream{Model: u.Model, Weight: u.Weight})
		}
		list = append(list, route)
	}
	return list
}

// defaultAddr is where serve listens.
const defaultAddr = "127.0.0.1:8230"

func newServe() *cobra.Command {
	var addr string
	var check bool
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Serve the vendors' APIs to any client, over any model",
		Long: `Answers clients of the OpenAI (Chat Completions and Responses), Anthropic, Gemini, Ollama and
Amazon Bedrock (Converse) APIs on loopback. The routes of the configuration say which model
answers for which name; without any, the offline model answers for every name.

  gateway:
    routes:
      - model: fast
        to: [{model: ollama/qwen3:8b}]
      - model: claude-*                    # every name that begins so
        to: [{model: anthropic/claude-*}]
        fallback: [fast]

Models that have no tools are taught those of the client, and calls are read from whatever
they write. What could not be done as asked stands in the header Toolpost-Warning.`,
		Example: `  toolpost serve
  toolpost serve --addr 127.0.0.1:9000 --config gateway.yaml
  toolpost serve --check --config gateway.yaml`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return serve(cmd, addr, check) },
	}
	cmd.Flags().StringVar(&addr, "addr", "", "loopback address to listen on, "+defaultAddr+" if not given; port 0 picks a free one")
	cmd.Flags().BoolVar(&check, "check", false, "only say whether the routes are in order")
	cmd.Flags().String("config", "", "`FILE` to read in place of your config.yaml")
	return cmd
}

// serve listens until the command is interrupted.
func serve(cmd *cobra.Command, addr string, check bool) error {
	s, err := loadSettings(cmd)
	if err != nil {
		return err
	}
	client, err := s.client()
	if err != nil {
		return err
	}
	g, err := gateway.New(gateway.Config{
		Open: client.Open, Routes: s.Gateway.routes(), MaxBody: s.Gateway.MaxBody, KeepAlive: s.Gateway.KeepAlive,
		Log: slog.New(slog.NewTextHandler(cmd.ErrOrStderr(), nil)),
	})
	if err != nil {
		return err
	}
	out := cmd.OutOrStdout()
	if check {
		_, err := fmt.Fprintf(out, "the routes are in order: %s\n", cmp.Or(s.Gateway.String(), "none, so the offline model answers"))
		return err
	}
	addr = cmp.Or(addr, s.Gateway.Addr, defaultAddr)
	if err := loopback(addr); err != nil {
		return usagef(cmd, "%w", errors.New(strings.Replace(err.Error(), "simulator", "gateway", 1)))
	}
	listener, err := net.Listen("tcp", addr)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "listening on http://%s\n", listener.Addr())
	return serveUntilDone(cmd.Context(), listener, g)
}

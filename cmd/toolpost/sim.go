package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/toolpost/toolpost/cmd/toolpost/internal/cli"
	"github.com/toolpost/toolpost/sim"
)

type simFlags struct {
	addr   string
	script string
	alias  string
	list   bool
	json   bool
}

func newSim() *cobra.Command {
	var f simFlags
	cmd := &cobra.Command{
		Use:   "sim",
		Short: "Serve simulated models, in every vendor's format",
		Long: `Serves the OpenAI (Chat Completions and Responses), Anthropic, Gemini, Ollama and Amazon
Bedrock (Converse) APIs on loopback, without network or keys. The model's name says how it
behaves:

  sim/native              calls tools as the vendor's own models do
  sim/hermes_json         writes its calls as text in a dialect (any of 'toolpost sim --list')
  sim/native+429=2s       with a fault; faults add up: sim/native+slow-args+cut=900

Behind the names is an offline model that chooses tools by rule, not a language model;
--script FILE makes it say what the file says. Point any client at the printed address.`,
		Example: `  toolpost sim
  toolpost sim --addr 127.0.0.1:8080
  toolpost sim --script conversation.txtar --unknown sim/native
  toolpost sim --list`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if f.list {
				return f.printList(cmd)
			}
			return f.serve(cmd)
		},
	}
	cmd.Flags().StringVar(&f.addr, "addr", "127.0.0.1:8231", "loopback address to listen on; port 0 picks a free one")
	cmd.Flags().StringVar(&f.script, "script", "", "a txtar file with one answer per file")
	cmd.Flags().StringVar(&f.alias, "unknown", "", "the `MODEL` that answers for names of other models, like sim/native; they are refused if not given")
	cmd.Flags().BoolVar(&f.list, "list", false, "list the models and faults")
	cmd.Flags().BoolVar(&f.json, "json", false, "with --list: print one JSON object")
	return cmd
}

func (f simFlags) printList(cmd *cobra.Command) error {
	out := cmd.OutOrStdout()
	if f.json {
		return cli.PrintJSON(out, map[string]any{"models": sim.Models(), "faults": sim.Faults()})
	}
	c := cli.Colours(out)
	fmt.Fprintln(out, c.Bold("Models"))
	for _, name := range sim.Models() {
		fmt.Fprintln(out, "  "+name)
	}
	fmt.Fprintln(out, c.Bold("Faults, added to a name with +"))
	for _, fault := range sim.Faults() {
		fmt.Fprintf(out, "  %-14s %s\n", fault.Name, c.Dim(fault.Help))
	}
	return nil
}

// serve listens until the command is interrupted.
func (f simFlags) serve(cmd *cobra.Command) error {
	server := &sim.Server{Unknown: f.alias}
	if _, err := sim.ParseBehaviour(f.alias); f.alias != "" && err != nil {
		return cli.Usagef(cmd, "--unknown: %w", err)
	}
	if f.script != "" {
		src, err := cli.ReadFile(f.script, cli.MaxLine)
		if err != nil {
			return err
		}
		if server.Model, err = sim.ParseScript(src); err != nil {
			return err
		}
	}
	if err := loopback(f.addr); err != nil {
		return cli.Usagef(cmd, "%w", err)
	}
	listener, err := net.Listen("tcp", f.addr)
	if err != nil {
		return err
	}
	fmt.Fprintf(cmd.OutOrStdout(), "listening on http://%s\n", listener.Addr())
	return serveUntilDone(cmd.Context(), listener, server)
}

// loopback refuses addresses that other machines can reach, because the simulator requires no key.
func loopback(addr string) error {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return fmt.Errorf("--addr: %w", err)
	}
	if ip := net.ParseIP(host); strings.EqualFold(host, "localhost") || ip != nil && ip.IsLoopback() {
		return nil
	}
	return fmt.Errorf("--addr: %s is not a loopback address, and the simulator answers anyone who can reach it", addr)
}

// serveUntilDone serves until ctx is done, and then gives open responses a moment to end.
func serveUntilDone(ctx context.Context, listener net.Listener, handler http.Handler) error {
	server := &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute, Protocols: new(http.Protocols), HTTP2: &http.HTTP2Config{WriteByteTimeout: 2 * time.Minute}}
	server.Protocols.SetHTTP1(true)
	server.Protocols.SetUnencryptedHTTP2(true) // Amazon's JavaScript client requires it
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(listener) }()
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
	}
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
	defer cancel()
	if err := server.Shutdown(grace); err != nil {
		server.Close()
	}
	if err := <-failed; !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

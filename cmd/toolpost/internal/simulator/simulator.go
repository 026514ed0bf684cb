// Package simulator is the command sim: servers that answer like those of vendors.
package simulator

import (
	"fmt"
	"net"

	"github.com/spf13/cobra"

	"github.com/toolpost/toolpost/cmd/toolpost/internal/cli"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/listen"
	"github.com/toolpost/toolpost/sim"
)

type simFlags struct {
	addr   string
	script string
	alias  string
	list   bool
	json   bool
}

func New() *cobra.Command {
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
	if err := sim.CheckModel(f.alias); f.alias != "" && err != nil {
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
	if err := listen.Loopback(f.addr); err != nil {
		return cli.Usagef(cmd, "%w", err)
	}
	listener, err := net.Listen("tcp", f.addr)
	if err != nil {
		return err
	}
	fmt.Fprintf(cmd.OutOrStdout(), "listening on http://%s\n", listener.Addr())
	return listen.Serve(cmd.Context(), listener, server)
}

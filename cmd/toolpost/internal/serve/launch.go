package serve

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/toolpost/toolpost/cmd/toolpost/internal/cli"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/codingagents"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/openmodel"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/settings"
)

// launchPatience is how long an agent may take to end after a signal that asks for it.
const launchPatience = 30 * time.Second

// NewLaunch returns the command launch.
func NewLaunch() *cobra.Command {
	var model string
	cmd := &cobra.Command{
		Use:   "launch AGENT [-- ARGUMENT...]",
		Short: "Start a coding agent together with a gateway for it",
		Long: `Starts a gateway on a free port of this machine and a coding agent that uses it, and ends
the gateway with the agent. The configuration of the agent stays as it is: what it has to
know is in its environment, its arguments or a temporary folder.

The agents are: ` + wrapped(codingagents.Names(), 88) + `

--model names a model or a route. Without it the routes of the configuration answer, or
without routes the model that 'toolpost run' would choose. The log of the gateway is in
launch.log in the state folder. The exit code is that of the agent.`,
		Example: `  toolpost launch claude-code
  toolpost launch codex --model ollama/qwen3:8b
  toolpost launch claude-code -m openai/gpt-5 -- --continue`,
		Args: func(cmd *cobra.Command, args []string) error {
			if n := cmd.ArgsLenAtDash(); len(args) == 0 || n == 0 || n < 0 && len(args) > 1 || n > 1 {
				return cli.Usagef(cmd, "name one agent, and put the arguments for it after --: toolpost launch claude-code -- --continue")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return launch(cmd, args[0], args[1:], model) },
	}
	cmd.Flags().StringVarP(&model, "model", "m", "", "the `MODEL` that answers, or the name of a route")
	cli.AddConfigFlag(cmd.Flags())
	cli.NoEmptyFlags(cmd)
	return cmd
}

// wrapped joins words to lines of at most a number of characters.
func wrapped(words []string, width int) string {
	var b strings.Builder
	line := len("The agents are: ")
	for i, w := range words {
		if i < len(words)-1 {
			w += ","
		} else {
			w += "."
		}
		if line+1+len(w) > width {
			b.WriteString("\n")
			line = 0
		} else if i > 0 {
			b.WriteString(" ")
		}
		b.WriteString(w)
		line += 1 + len(w)
	}
	return b.String()
}

// launch starts a gateway and an agent, and waits for the agent.
func launch(cmd *cobra.Command, name string, args []string, model string) error {
	a, ok := codingagents.Find(name)
	switch {
	case !ok:
		return cli.Usagef(cmd, "nothing is known of %q; there are %s", name, strings.Join(codingagents.Names(), ", "))
	case a.Program == "":
		return cli.Usagef(cmd, "%s is started by itself: see 'toolpost serve --for %s'", a.Title, a.Name)
	}
	program, err := exec.LookPath(a.Program)
	if err != nil {
		return fmt.Errorf("%s is not installed: no program %q is on the path", a.Title, a.Program)
	}
	s, err := settings.Load(cmd)
	if err != nil {
		return err
	}
	asked := launchRoutes(cmd.Context(), s, a, model)
	v, err := agentValues(s, a, asked)
	if err != nil {
		return err
	}
	log, closeLog, err := launchLog()
	if err != nil {
		return err
	}
	defer closeLog()
	url, stop, err := servePrivately(cmd, s, log)
	if err != nil {
		return err
	}
	defer stop()
	v.URL = url
	dir, err := os.MkdirTemp("", "toolpost-launch-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	p, err := a.Prepare(dir, v)
	if err != nil {
		return err
	}
	if len(args) == 0 {
		args = a.Launch.Alone
	}
	agent := exec.Command(program, append(p.Args, args...)...)
	agent.Env = p.Environ(os.Environ())
	agent.Stdin, agent.Stdout, agent.Stderr = cmd.InOrStdin(), cmd.OutOrStdout(), cmd.ErrOrStderr()
	fmt.Fprintf(cmd.ErrOrStderr(), "toolpost: %s uses %s, answered at %s\n", a.Title, v.Main.Name, url)
	err = runAgent(cmd.Context(), agent)
	if kept := p.Keep(); kept != nil {
		fmt.Fprintf(cmd.ErrOrStderr(), "toolpost: not everything that %s wrote could be kept: %v\n", a.Title, kept)
	}
	return err
}

// launchRoutes gives the settings the routes for an agent, and returns the name that it asks for, "" for that of a
// route. A model that is not the name of a route answers for every name.
func launchRoutes(ctx context.Context, s *settings.Settings, a codingagents.Agent, model string) (name string) {
	if r, found := (agentNames{c: s.Gateway, format: a.WireFormat()}).route(model); model != "" && found && r.Model == model {
		return model
	}
	if model == "" {
		if len(s.Gateway.Routes) > 0 {
			return ""
		}
		model = openmodel.Choose(ctx, &s.ModelOptions, "").ID
	}
	name = nameOfModel(model)
	to := []settings.UpstreamConfig{{Model: model}}
	s.Gateway.Routes = []settings.RouteConfig{{Model: name, To: to}, {Model: "*", To: to, Hidden: true}}
	return name
}

// nameOfModel returns the name under which an agent may know a model: its id without the vendor.
func nameOfModel(id string) string {
	if _, model, ok := strings.Cut(id, "#"); ok && model != "" {
		return model
	}
	if _, model, ok := strings.Cut(id, "/"); ok && model != "" && !strings.Contains(id, "://") {
		return strings.TrimSuffix(model, "*")
	}
	return "model"
}

// launchLog opens the log of the gateway. Nothing is written to the terminal, which the agent may draw on.
func launchLog() (*slog.Logger, func(), error) {
	dir := settings.StateDir()
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, nil, err
	}
	f, err := os.OpenFile(filepath.Join(dir, "launch.log"), os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return nil, nil, err
	}
	log, end := gatewayLog(f, "")
	return log, func() { end(); f.Close() }, nil
}

// runAgent runs an agent to its end. It passes signals on, and returns an error with the exit code of the agent.
//
// A terminal sends Ctrl-C to the agent too, which decides what it means. So it is passed on only without a terminal.
func runAgent(ctx context.Context, agent *exec.Cmd) error {
	cli.MustEnd(ctx)
	caught := make(chan os.Signal, 8)
	signal.Notify(caught, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer signal.Stop(caught)
	terminal := cli.IsTerminal(os.Stdin)
	send := signalGroup
	if terminal {
		send = func(p *os.Process, s os.Signal) { _ = p.Signal(s) }
	} else {
		inGroup(agent)
	}
	if err := agent.Start(); err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- agent.Wait() }()
	var limit <-chan time.Time
	done := ctx.Done()
	for {
		select {
		case err := <-ended:
			return agentEnd(err)
		case s := <-caught:
			if s == os.Interrupt && terminal {
				continue
			}
			send(agent.Process, s)
			if s != os.Interrupt && limit == nil {
				limit = time.After(launchPatience)
			}
		case <-done: // a test, or a signal, which also arrives by itself
			done = nil
			if !errors.As(context.Cause(ctx), new(cli.Signalled)) {
				send(agent.Process, os.Kill)
			}
		case <-limit:
			send(agent.Process, os.Kill)
		}
	}
}

// agentEnd returns an error with the exit code of an agent.
func agentEnd(err error) error {
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		return err
	}
	code := exit.ExitCode()
	if status, ok := exit.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		code = 128 + int(status.Signal())
	}
	return cli.ExitWith(code)
}

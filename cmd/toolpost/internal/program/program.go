// Package program is the whole command: the table of its commands, its signals and its exit codes.
package program

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/toolpost/toolpost/cmd/toolpost/internal/cli"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/completion"
	"github.com/toolpost/toolpost/internal/contain"
	"github.com/toolpost/toolpost/tool/builtin"
)

// Main is the main function of the program.
func Main() {
	builtin.Supervise()
	// Commands that tools run must not find API keys in this process. The call fails on systems that cannot hide them,
	// and the error is ignored: see docs/builtin-tools.md.
	_ = contain.HideKeys()
	os.Exit(Run(untilSignal(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// untilSignal returns a context that ends with the first interrupt or termination signal. A second signal ends the
// program at once.
func untilSignal() context.Context {
	ctx, cancel := context.WithCancelCause(context.Background())
	caught := make(chan os.Signal, 1)
	signal.Notify(caught, os.Interrupt, syscall.SIGTERM)
	go func() {
		s := <-caught
		signal.Stop(caught)
		cancel(cli.Signalled{By: s})
	}()
	return ctx
}

// Run is Main without process state, for use by tests.
func Run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	root := New()
	cli.StrictDefaults(root)
	completion.AddInstall(root)
	args, bare := bareAllow(args)
	if bare {
		fmt.Fprintln(stderr, "toolpost: --allow takes a list now, like --allow exec; --yes allows any tool. Alone, --allow goes with the next release")
	}
	root.SetArgs(args)
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)
	code := cli.UntilInterrupted(ctx, stderr, root.ExecuteContext)
	var by cli.Signalled
	switch {
	case code != cli.ExitFailed && code != cli.ExitInterrupted || !errors.As(context.Cause(ctx), &by):
		return code
	case by.By == syscall.SIGTERM:
		return cli.ExitTerminated
	}
	return cli.ExitInterrupted
}

// Command toolpost makes any language model call any tool, and shows its work.
package main

import (
	"context"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/toolpost/toolpost/internal/contain"
	"github.com/toolpost/toolpost/tool/builtin"
)

func main() {
	builtin.Supervise()
	// Commands that tools run must not find API keys in this process. On systems
	// that cannot hide them this fails, and it is no reason to stop: see
	// docs/builtin-tools.md.
	_ = contain.HideKeys()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal ends the program at once
	os.Exit(run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// run is main without the process around it, so that tests can call it.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	root := newRoot()
	root.SetArgs(args)
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)
	return exitCode(stderr, root.ExecuteContext(ctx))
}

// Package cli holds what all commands share: arguments, standard input, batches, output and exit
// codes.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"
)

// The exit codes, documented in the root command's help.
const (
	ExitOK     = 0
	ExitFailed = 1 // the thing asked for failed
	ExitUsage  = 2 // wrong use
	ExitWaits  = 3 // the run waits for a person

	ExitInterrupted = 130 // by Ctrl-C or SIGINT, as shells count signals
	ExitTerminated  = 143 // by SIGTERM
)

// UsageError marks an error as wrong use: exit code 2, and a hint at --help.
type UsageError struct {
	Err     error
	command string // whose help to read
}

func (e UsageError) Error() string { return e.Err.Error() }

func (e UsageError) Unwrap() error { return e.Err }

// Usagef returns the error of a command that was used wrongly.
func Usagef(cmd *cobra.Command, format string, args ...any) error {
	return UsageError{fmt.Errorf(format, args...), cmd.CommandPath()}
}

// ErrReported is a failure whose message the command has printed already, and
// errInterrupted an interruption.
var (
	ErrReported    = errors.New("failed")
	ErrInterrupted = errors.New("interrupted")
)

// ExitCode prints err in one line and returns the code for it.
func ExitCode(stderr io.Writer, err error) int {
	var usage UsageError
	switch {
	case err == nil:
		return ExitOK
	case errors.Is(err, ErrReported):
		return ExitFailed
	case errors.Is(err, ErrWaiting):
		return ExitWaits
	case errors.Is(err, ErrInterrupted):
		return ExitInterrupted
	case errors.Is(err, context.Canceled):
		fmt.Fprintln(stderr, "toolpost: interrupted")
		return ExitInterrupted
	case errors.As(err, &usage):
		fmt.Fprintf(stderr, "toolpost: %v\nSee '%s --help'.\n", err, usage.command)
		return ExitUsage
	}
	fmt.Fprintf(stderr, "toolpost: %v\n", err)
	return ExitFailed
}

// ErrWaiting is the end of a run that waits for a person. The command has said
// so already.
var ErrWaiting = errors.New("the run waits for a person")

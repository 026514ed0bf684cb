// Package cli holds the parts that all commands share: arguments, standard input, batches, output and exit codes.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/spf13/cobra"
)

// The exit codes, documented in the root command's help.
const (
	ExitOK     = 0
	ExitFailed = 1 // the requested operation failed
	ExitUsage  = 2 // usage error
	ExitWaits  = 3 // the run waits for a person
	ExitMemory = 4 // with --strict: no tool was offered, and the answer is from memory
	ExitTool   = 5 // a tool kept failing, and no person was there to decide

	ExitInterrupted = 130 // by Ctrl-C or SIGINT, as shells count signals
	ExitTerminated  = 143 // by SIGTERM
)

// UsageError marks an error as wrong use. It has exit code 2 and a hint at --help.
type UsageError struct {
	Err     error
	command string // the command whose help the hint names
}

func (e UsageError) Error() string { return e.Err.Error() }

func (e UsageError) Unwrap() error { return e.Err }

// Usagef returns a usage error of a command.
func Usagef(cmd *cobra.Command, format string, args ...any) error {
	return UsageError{fmt.Errorf(format, args...), cmd.CommandPath()}
}

// ErrReported is a failure that the command has already printed. ErrInterrupted is an interruption.
var (
	ErrReported    = errors.New("failed")
	ErrInterrupted = errors.New("interrupted")
)

// ExitCode prints err in one line and returns the exit code for it.
func ExitCode(stderr io.Writer, err error) int {
	var usage UsageError
	var exit ExitWith
	switch {
	case err == nil:
		return ExitOK
	case errors.As(err, &exit):
		return int(exit)
	case errors.Is(err, ErrReported) && errors.As(err, &usage):
		return ExitUsage
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
		fmt.Fprintf(stderr, "toolpost: %s\nSee '%s --help'.\n", Plain(err), usage.command)
		return ExitUsage
	}
	fmt.Fprintf(stderr, "toolpost: %s\n", Plain(err))
	switch {
	case errors.Is(err, ErrFromMemory):
		return ExitMemory
	case errors.Is(err, ErrToolFailed):
		return ExitTool
	}
	return ExitFailed
}

// ExitWith is the end of a program that the command ran, with its exit code. The program has said why it ended.
type ExitWith int

func (e ExitWith) Error() string { return "exit status " + strconv.Itoa(int(e)) }

// ErrFromMemory and ErrToolFailed are ends of a run with their own exit codes. Their texts are empty, because they wrap
// an error that describes the end.
var (
	ErrFromMemory error = silent("from memory")
	ErrToolFailed error = silent("tool failed")
)

// silent is an error that adds nothing to a message.
type silent string

func (silent) Error() string { return "" }

// ErrWaiting is the end of a run that waits for a person. The command has already printed a message.
var ErrWaiting = errors.New("the run waits for a person")

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// The exit codes, documented in the root command's help.
const (
	exitOK     = 0
	exitFailed = 1 // the thing asked for failed
	exitUsage  = 2 // wrong use
	exitWaits  = 3 // the run waits for a person

	exitInterrupted = 130 // by Ctrl-C or SIGINT, as shells count signals
	exitTerminated  = 143 // by SIGTERM
)

// usageError marks an error as wrong use: exit code 2, and a hint at --help.
type usageError struct {
	err     error
	command string // whose help to read
}

func (e usageError) Error() string { return e.err.Error() }
func (e usageError) Unwrap() error { return e.err }

// usagef returns the error of a command that was used wrongly.
func usagef(cmd *cobra.Command, format string, args ...any) error {
	return usageError{fmt.Errorf(format, args...), cmd.CommandPath()}
}

// errReported is a failure whose message the command has printed already, and
// errInterrupted an interruption.
var (
	errReported    = errors.New("failed")
	errInterrupted = errors.New("interrupted")
)

func newRoot() *cobra.Command {
	var version bool
	root := &cobra.Command{
		Use:   "toolpost",
		Short: "Any model, any tool, a call you can trust",
		Long: `Toolpost gives any language model tools: it knows what every model can do, reads the
calls that models write in any dialect, repairs what is safe to repair, validates,
authorises and runs them, and leaves a record that verifies.

Output is for people; --json makes it one JSON document, --batch reads JSON lines
and answers each with one line, in order, with errors in the row.

Exit codes: 0 done; 1 the thing asked for failed; 2 wrong use; 3 a run waits for a person;
130 interrupted by Ctrl-C, 143 by SIGTERM; 'serve' ends with 0 on both.
Colour appears on a terminal only; NO_COLOR turns it off.`,
		Example: `  toolpost run 'Search for "checkpoint" and read the file it shows'
  toolpost doctor
  toolpost models show claude-sonnet-4-5
  toolpost version --json`,
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if version {
				return printVersion(cmd.OutOrStdout())
			}
			return cmd.Help()
		},
	}
	root.Flags().BoolVar(&version, "version", false, "print the version")
	root.SetFlagErrorFunc(wrongFlag)
	root.AddCommand(newVersion())
	root.AddCommand(newParse())
	root.AddCommand(newExplain())
	root.AddCommand(newValidate(), newSchema())
	root.AddCommand(newRepair())
	root.AddCommand(newModels())
	root.AddCommand(newTools(), newMCP())
	root.AddCommand(newSim(), newServe(), newKeys(), newUsage())
	root.AddCommand(newReceipts())
	root.AddCommand(newRun(), newChat(), newReplay(), newRuns())
	root.AddCommand(newConfig(), newDoctor())
	wrapArgs(root)
	addCompletion(root)
	return root
}

// exitCode prints err in one line and returns the code for it.
func exitCode(stderr io.Writer, err error) int {
	var usage usageError
	switch {
	case err == nil:
		return exitOK
	case errors.Is(err, errReported):
		return exitFailed
	case errors.Is(err, errWaiting):
		return exitWaits
	case errors.Is(err, errInterrupted):
		return exitInterrupted
	case errors.Is(err, context.Canceled):
		fmt.Fprintln(stderr, "toolpost: interrupted")
		return exitInterrupted
	case errors.As(err, &usage):
		fmt.Fprintf(stderr, "toolpost: %v\nSee '%s --help'.\n", err, usage.command)
		return exitUsage
	}
	fmt.Fprintf(stderr, "toolpost: %v\n", err)
	return exitFailed
}

// buildInfo is what version prints.
type buildInfo struct {
	Version  string `json:"version"`
	Revision string `json:"revision,omitempty"`
	Modified bool   `json:"modified,omitempty"`
	Time     string `json:"time,omitempty"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

func readBuildInfo() buildInfo {
	b := buildInfo{Version: "unknown", Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return b
	}
	b.Version = info.Main.Version
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			b.Revision = s.Value
		case "vcs.modified":
			b.Modified = s.Value == "true"
		case "vcs.time":
			b.Time = s.Value
		}
	}
	return b
}

func newVersion() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "version",
		Short:   "Print the version and how this program was built",
		Example: "  toolpost version\n  toolpost version --json",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if asJSON {
				return printJSON(cmd.OutOrStdout(), readBuildInfo())
			}
			return printVersion(cmd.OutOrStdout())
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	return cmd
}

func printVersion(w io.Writer) error {
	b := readBuildInfo()
	_, err := fmt.Fprintf(w, "toolpost %s%s %s %s\n", b.Version, revision(b), b.Go, b.Platform)
	return err
}

func revision(b buildInfo) string {
	if b.Revision == "" {
		return ""
	}
	s := " (" + b.Revision[:min(12, len(b.Revision))]
	if b.Modified {
		s += ", modified"
	}
	return s + ")"
}

// palette colours words on a terminal and leaves them alone elsewhere.
type palette struct{ on bool }

// colours returns the palette for w: on only if w is a terminal and NO_COLOR
// is not set.
func colours(w io.Writer) palette {
	f, ok := w.(*os.File)
	return palette{ok && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb" && isTerminal(f)}
}

func (p palette) paint(code, s string) string {
	if !p.on || s == "" || code == "" {
		return s
	}
	return "\x1b[" + code + "m" + s + "\x1b[0m"
}

func (p palette) bold(s string) string   { return p.paint("1", s) }
func (p palette) dim(s string) string    { return p.paint("2", s) }
func (p palette) red(s string) string    { return p.paint("31", s) }
func (p palette) green(s string) string  { return p.paint("32", s) }
func (p palette) yellow(s string) string { return p.paint("33", s) }
func (p palette) cyan(s string) string   { return p.paint("36", s) }

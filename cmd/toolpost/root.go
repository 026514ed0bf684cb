package main

import (
	"cmp"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/toolpost/toolpost/cmd/toolpost/internal/cli"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/evaluate"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/text"
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
	root.SetFlagErrorFunc(cli.WrongFlag)
	root.AddCommand(newVersion())
	root.AddCommand(text.NewParse())
	root.AddCommand(text.NewExplain())
	root.AddCommand(text.NewValidate(), text.NewSchema())
	root.AddCommand(text.NewRepair())
	root.AddCommand(newModels())
	root.AddCommand(newTools(), newMCP())
	root.AddCommand(newSim(), newServe(), newKeys(), newUsage())
	root.AddCommand(newReceipts(), evaluate.New(evaluationHost()))
	root.AddCommand(newRun(), newChat(), newReplay(), newRuns())
	root.AddCommand(newConfig(), newDoctor())
	cli.WrapArgs(root)
	addCompletion(root)
	return root
}

// release is the version of a released build, which internal/release sets.
var release string

// buildInfo is the output of version.
type buildInfo struct {
	Version  string `json:"version"`
	Revision string `json:"revision,omitempty"`
	Modified bool   `json:"modified,omitempty"`
	Time     string `json:"time,omitempty"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

func readBuildInfo() buildInfo {
	b := buildInfo{Version: cmp.Or(release, "unknown"), Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return b
	}
	b.Version = cmp.Or(release, info.Main.Version)
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
				return cli.PrintJSON(cmd.OutOrStdout(), readBuildInfo())
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

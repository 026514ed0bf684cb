// Package findings holds what doctor and mcp doctor found out, and prints it.
package findings

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/toolpost/toolpost/cmd/toolpost/internal/cli"
)

// Finding is the result of one check of doctor.
type Finding struct {
	What  string `json:"what"`
	State string `json:"state"` // "ok", "missing" or "broken"
	Says  string `json:"says"`
	Fix   string `json:"fix,omitempty"` // a command, or a change to make
}

// The states of a finding. Only Broken is a failure.
const (
	OK      = "ok"
	Missing = "missing"
	Broken  = "broken"
)

func Print(cmd *cobra.Command, findings []Finding) error {
	out := cmd.OutOrStdout()
	p := cli.Colours(out)
	marks := map[string]string{OK: p.Green("✓"), Missing: p.Dim("–"), Broken: p.Red("✗")}
	var b strings.Builder
	for _, f := range findings {
		fmt.Fprintf(&b, "%s %-13s %s\n", marks[f.State], f.What, f.Says)
		if f.Fix != "" {
			fmt.Fprintf(&b, "  %-13s %s\n", "", p.Dim(f.Fix))
		}
	}
	_, err := fmt.Fprint(out, b.String())
	return err
}

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/toolpost/toolpost/cmd/toolpost/internal/cli"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/program"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/programtest"
)

// TestManualPages: each command has a manual page with its description, flags and examples, and groff reads it without
// a complaint.
func TestManualPages(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "man1")
	programtest.Must(t, programtest.Run(t, "", "man", "--out", dir), cli.ExitOK, "pages written to")
	visitCommands(program.New(), func(cmd *cobra.Command) {
		name := strings.ReplaceAll(cmd.CommandPath(), " ", "-") + ".1"
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil && !cmd.Hidden && cmd.Name() != "help" && cmd.Name() != "completion" {
			t.Error(err)
		}
	})
	page := programtest.Run(t, "", "man", "models", "show")
	programtest.Must(t, page, cli.ExitOK, `.TH "TOOLPOST\-MODELS\-SHOW" 1`)
	for _, part := range []string{".SH NAME\n", ".SH SYNOPSIS\n", ".SH OPTIONS\n", ".SH EXAMPLES\n", `\-\-explain`, ".BR toolpost\\-models (1)"} {
		if !strings.Contains(page.Out, part) {
			t.Errorf("no %q in\n%s", part, page.Out)
		}
	}
	programtest.Must(t, programtest.Run(t, "", "man", "nonsense"), cli.ExitUsage, `unknown command "nonsense"`)
	groff, err := exec.LookPath("groff")
	if err != nil {
		return
	}
	for _, file := range []string{"toolpost.1", "toolpost-run.1", "toolpost-parse.1"} {
		out, err := exec.Command(groff, "-man", "-Tutf8", "-ww", "-z", filepath.Join(dir, file)).CombinedOutput()
		if err != nil || len(out) > 0 {
			t.Errorf("%s: %v\n%s", file, err, out)
		}
	}
}

// TestProgramWithoutArgumentsFitsAScreen: 'toolpost' alone prints at most 24 rows of 80 columns.
func TestProgramWithoutArgumentsFitsAScreen(t *testing.T) {
	r := programtest.Run(t, "")
	rows := strings.Split(strings.TrimSuffix(r.Out, "\n"), "\n")
	if r.Code != cli.ExitOK || len(rows) > 24 {
		t.Errorf("%d rows", len(rows))
	}
	for _, row := range rows {
		if len([]rune(row)) > 80 {
			t.Errorf("%d columns: %s", len([]rune(row)), row)
		}
	}
	for _, cmd := range program.New().Commands() {
		if cmd.IsAvailableCommand() && cmd.Name() != "help" && !strings.Contains(r.Out, cmd.Name()) {
			t.Errorf("%s is missing", cmd.Name())
		}
	}
}

package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/toolpost/toolpost/cmd/toolpost/internal/clitest"
)

// Every command is run by a test. The generated reference has its page: see TestCommandsReference.
func TestEveryCommandIsTested(t *testing.T) {
	tests := strings.NewReplacer(`", "`, " ", `"}, "`, " ").Replace(join(t, ".", "_test.go"))
	evaluations := join(t, "internal/evaluate", "_test.go") // its tests run commands without the first word
	visitCommands(newRoot(), func(cmd *cobra.Command) {
		if cmd.HasSubCommands() || !cmd.HasParent() || cmd.Hidden || cmd.Name() == "help" {
			return
		}
		path := strings.TrimPrefix(cmd.CommandPath(), "toolpost ")
		if cmd.Parent().Name() == "completion" { // one command for each shell
			path = "completion"
		}
		if own, ok := strings.CutPrefix(path, "eval "); ok && strings.Contains(evaluations, `"`+own) || path == "models drift" && strings.Contains(evaluations, "NewDrift") {
			return
		}
		if !strings.Contains(tests, path) {
			t.Errorf("no test runs 'toolpost %s'", path)
		}
	})
}

// Without evaluations, the list is empty.
func TestEvalListWithoutEvaluations(t *testing.T) {
	clitest.Bare(t, nil)
	must(t, toolpost(t, "", "eval", "list", "--json"), 0, "[]")
}

// join returns the text of the files below a folder whose names have the ending, without generated pages.
func join(t *testing.T, dir, ending string) string {
	t.Helper()
	var all strings.Builder
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ending) {
			return err
		}
		text, err := os.ReadFile(path)
		all.Write(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all.String()
}

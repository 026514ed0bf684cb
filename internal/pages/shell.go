package pages

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Shell runs the commands of a document one after the other, like a reader with one terminal: each command starts with
// the folder and the exported variables that the previous one left. It needs sh.
type Shell struct {
	Dir string   // where the next command is run
	Env []string // of all commands
	// Replace adapts a command to the test, for instance an address. Nil changes nothing.
	Replace *strings.Replacer

	exports string // commands that export the variables of earlier commands
}

// Check runs a command and returns an error unless it prints the output in the document. A command may fail only if
// the document shows the first line of its output.
func (s *Shell) Check(ctx context.Context, c Command) error {
	shown := strings.Join(c.Output, "\n")
	if s.Replace != nil {
		c.Text, shown = s.Replace.Replace(c.Text), s.Replace.Replace(shown)
	}
	out, err := s.run(ctx, c.Text)
	if err != nil && (len(c.Output) == 0 || strings.TrimSpace(c.Output[0]) == "…") {
		return fmt.Errorf("line %d: $ %s\n%w\n%s", c.Line, c.Text, err, out)
	}
	got := strings.TrimSuffix(out, "\n")
	if !Matches(strings.Split(shown, "\n"), strings.Split(got, "\n")) {
		return fmt.Errorf("line %d: $ %s\nshown:\n%s\nreal:\n%s\nerror: %v", c.Line, c.Text, shown, got, err)
	}
	return nil
}

// run runs a command and keeps its folder and exported variables.
func (s *Shell) run(ctx context.Context, command string) (string, error) {
	notes, err := os.MkdirTemp("", "shell")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(notes)
	script := s.exports + "\n" + command + "\nstatus=$?; pwd >\"$1/pwd\"; export -p >\"$1/exports\"; exit $status"
	cmd := exec.CommandContext(ctx, "sh", "-c", script, "sh", notes)
	cmd.Dir, cmd.Env = s.Dir, s.Env
	out, failed := cmd.CombinedOutput()
	left, err := os.ReadFile(filepath.Join(notes, "exports"))
	if err != nil {
		return string(out), fmt.Errorf("%w, and it left no note: %w", failed, err)
	}
	dir, err := os.ReadFile(filepath.Join(notes, "pwd"))
	if err != nil {
		return string(out), err
	}
	s.Dir, s.exports = strings.TrimSpace(string(dir)), string(left)
	return string(out), failed
}

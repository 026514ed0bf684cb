package run

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/cmd/toolpost/internal/cli"
)

// runHere runs the command without a terminal, with a script as the model.
func runHere(t *testing.T, script string, args ...string) (out, log string, err error) {
	t.Helper()
	dir := t.TempDir()
	file := filepath.Join(dir, "script.txt")
	if err := os.WriteFile(file, []byte(script), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := New()
	var stdout, stderr bytes.Buffer
	cmd.SetOut(&stdout)
	cmd.SetErr(&stderr)
	cmd.SetIn(strings.NewReader(""))
	cmd.SetArgs(append([]string{"-m", "sim/script:" + file, "--journal", filepath.Join(dir, "runs")}, args...))
	err = cmd.ExecuteContext(context.Background())
	return stdout.String(), stderr.String(), err
}

// A run without a person ends when a tool failed as often as it is tried. The error names the tool, its error and the
// command that continues.
func TestUnattendedRunEndsWithADeadTool(t *testing.T) {
	dir := t.TempDir()
	tools := filepath.Join(dir, "tools.yaml")
	if err := os.WriteFile(tools, []byte(`tools:
  - name: ping_host
    description: Ping a host.
    parameters: {type: object, properties: {host: {type: string}}, required: [host]}
    effects: [read_only, local]
    http: {url: "http://127.0.0.1:9/ping"}
`), 0o600); err != nil {
		t.Fatal(err)
	}
	var script strings.Builder
	script.WriteString("The model calls the tool again and again.\n")
	for i := range 10 {
		fmt.Fprintf(&script, "-- %d --\ncall ping_host {\"host\":\"h%d\"}\n", i+1, i)
	}
	_, log, err := runHere(t, script.String(), "--tools", tools, "Ping the hosts.")
	if !errors.Is(err, cli.ErrToolFailed) {
		t.Fatalf("error %v; log:\n%s", err, log)
	}
	var screen bytes.Buffer
	if code := cli.ExitCode(&screen, err); code != cli.ExitTool {
		t.Errorf("exit code %d, want %d", code, cli.ExitTool)
	}
	for _, want := range []string{"ping_host failed 3 times in a row", "connection refused", "toolpost run --resume "} {
		if !strings.Contains(screen.String(), want) {
			t.Errorf("%q is missing in:\n%s", want, screen.String())
		}
	}
	if n := strings.Count(log, "✗ ping_host"); n != 3 {
		t.Errorf("%d calls were made, want 3:\n%s", n, log)
	}
}

// An answer that strays from the results is followed by the results.
func TestWrongParaphraseIsFollowedByTheResult(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "config.toml"), []byte("timeout = 4521\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		answer string
		marked bool
	}{{"The timeout is 4521 seconds.", false}, {"The timeout is 4,521 seconds.", false}, {"The timeout is 9000 seconds.", true}} {
		_, log, err := runHere(t, "-- 1 --\ncall read_file {\"path\":\"config.toml\"}\n-- 2 --\ntext "+c.answer+"\n", "--root", dir, "What is the timeout?")
		if err != nil {
			t.Fatal(err)
		}
		if marked := strings.Contains(log, "not in any result: 9000") && strings.Contains(log, "  timeout = 4521"); marked != c.marked {
			t.Errorf("%q: marked %v, want %v:\n%s", c.answer, marked, c.marked, log)
		}
	}
}

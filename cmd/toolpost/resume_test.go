package main

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/toolpost/toolpost/agent"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/cli"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/clitest"
	"github.com/toolpost/toolpost/journal"
)

// stoppedRun starts a run that times out and returns the id to resume. If the run had no time to start, it is given
// more.
func stoppedRun(t *testing.T, args ...string) string {
	t.Helper()
	for limit := 300 * time.Millisecond; ; limit *= 2 {
		r := toolpost(t, "", append([]string{"run", "--timeout", limit.String()}, args...)...)
		m := regexp.MustCompile(`the time of the run is over: --timeout is ` + limit.String() + `: toolpost run --resume (\S+)`).FindStringSubmatch(r.errOut)
		if m != nil && r.code == cli.ExitFailed {
			return m[1]
		}
		if limit > time.Minute {
			t.Fatalf("%+v", r)
		}
	}
}

// A resumed run uses its previous model, tools and settings, from any folder. Flags override them.
func TestResumeRestoresSettings(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the tool is a POSIX program")
	}
	work := clitest.Bare(t, map[string]string{
		"below/notes.txt": "Apples keep for weeks.\n",
		"own.yaml":        "- name: count_words\n  description: Count the words of a file.\n  parameters: {type: object, properties: {path: {type: string}}, required: [path]}\n  effects: [read_only, local]\n  command: [wc, -w, '{path}']\n",
		"schema.json":     `{"type":"object","properties":{"answer":{"type":"string"}}}`,
	})
	id := stoppedRun(t, "-m", "sim/native+stall=60s", "--root", "below", "--allow", "write", "--tools", "own.yaml", "--system", "Be brief.", "--max-turns", "7", "--max-tokens", "999", "--temperature", "0.5",
		"--output-schema", "schema.json", "count the words of notes.txt")
	t.Chdir(t.TempDir())
	store, err := journal.OpenDir(filepath.Join(os.Getenv("XDG_STATE_HOME"), "toolpost", "runs"))
	if err != nil {
		t.Fatal(err)
	}
	check := func(model string, turns int) {
		t.Helper()
		s, err := agent.ReadSettings(t.Context(), store, id)
		if err != nil {
			t.Fatal(err)
		}
		if s.Model != model || s.System != "Be brief." || s.MaxTurns != turns || s.Request.MaxTokens != 999 || *s.Request.Temperature != 0.5 || s.Request.Output == nil ||
			!strings.Contains(strings.Join(s.Tools, " "), "count_words") || !strings.Contains(strings.Join(s.Tools, " "), "write_file") ||
			!strings.Contains(string(s.Program), `"root":"`+filepath.Join(work, "below")+`"`) {
			t.Errorf("%+v\n%s", s, s.Program)
		}
	}
	check("sim/native+stall=60s", 7)
	r := toolpost(t, "", "run", "--resume", id)
	if r.code != cli.ExitFailed || !strings.Contains(r.errOut, "the time of the run is over") {
		t.Errorf("resumed as it was: %+v", r)
	}
	check("sim/native+stall=60s", 7)
	if err := os.Rename(filepath.Join(work, "own.yaml"), filepath.Join(work, "moved.yaml")); err != nil {
		t.Fatal(err)
	}
	r = toolpost(t, "", "run", "--resume", id, "-m", "sim/native")
	if r.code == cli.ExitOK || !strings.Contains(r.errOut, "own.yaml") {
		t.Errorf("its tools are gone: %+v", r)
	}
	r = toolpost(t, "", "run", "--resume", id, "-m", "sim/native", "--timeout", "0", "--max-turns", "8", "--tools", filepath.Join(work, "moved.yaml"))
	if !strings.Contains(r.errOut, "✓ count_words path=notes.txt") { // the simulator writes no answer for the schema
		t.Errorf("resumed with another model: %+v", r)
	}
	check("sim/native", 8)
}

// A run that failed without an answer of the model stays open. The command prints how to resume it, unless
// nothing was recorded.
func TestFailedRunPrintsResume(t *testing.T) {
	clitest.Bare(t, map[string]string{"notes.txt": "Apples keep for weeks.\n"})
	wrongKey := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, `{"error":{"message":"no such key"}}`, http.StatusUnauthorized)
	}))
	defer wrongKey.Close()
	r := toolpost(t, "", "run", "-m", wrongKey.URL+"/v1#m", "read notes.txt")
	m := regexp.MustCompile(`(?m)^The run has not ended: toolpost run --resume (\S+)$`).FindStringSubmatch(r.errOut)
	if m == nil || r.code != cli.ExitFailed {
		t.Fatalf("%+v", r)
	}
	expect(t, cli.ExitFailed, []string{"open    " + m[1], "the run has not ended"}, "receipts", "verify", m[1])
	expect(t, cli.ExitOK, nil, "run", "--resume", m[1], "-m", "sim/native")
	expect(t, cli.ExitOK, []string{"sealed  " + m[1]}, "receipts", "verify", m[1])
	if r := toolpost(t, "", "run", "--no-journal", "-m", wrongKey.URL+"/v1#m", "read notes.txt"); r.code != cli.ExitFailed || strings.Contains(r.errOut, "--resume") {
		t.Errorf("without a record: %+v", r)
	}
}

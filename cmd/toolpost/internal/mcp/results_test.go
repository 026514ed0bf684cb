package mcp_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/cmd/toolpost/internal/cli"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/clitest"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/programtest"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/settings"
	"github.com/toolpost/toolpost/internal/mcptest"
	"github.com/toolpost/toolpost/sim"
)

// exactResult is the structured result of the tool exact, which its text does not repeat.
const exactResult = `9007199254740993`

// In a run, structured results with all digits, attached resources, log messages and progress of servers reach the model,
// the record and, with -v, the screen.
func TestResultsLogsAndResourcesOfServersInARun(t *testing.T) {
	for _, path := range []string{"/mcp", "/stateless"} {
		mcpHome(t, "mcp_servers:\n  one: {url: "+mcptest.HTTP(t, mcptest.Whole(), nil)+path+"}\n")
		programtest.Place(t, "s.txtar", "Calls.\n-- 1 --\ncall one__exact\n-- 2 --\ncall one__log\n-- 3 --\ncall one__progress\n-- 4 --\ncall one__read_resource {\"uri\":\"test://items/7\"}\n-- 5 --\ntext Done.\n")
		r := programtest.Run(t, "", "run", "-m", "sim/script:s.txtar", "--yes", "-v", "What does @one:test://notes say?")
		programtest.Must(t, r, cli.ExitOK, "Done.", "one (error): something happened", "step 2")
		id, record := onlyRecord(t)
		for _, want := range []string{exactResult, "content of test://notes", "content of test://items/7"} {
			if !strings.Contains(record, want) {
				t.Errorf("%s: the record of %s has no %q:\n%s", path, id, want, record)
			}
		}
		if quiet := programtest.Run(t, "", "run", "-m", "sim/script:s.txtar", "--yes", "Go."); strings.Contains(quiet.ErrOut+quiet.Out, "something happened") {
			t.Errorf("%s: without -v it prints %s", path, quiet.ErrOut)
		}
	}
}

// In the gateway, structured results with all digits reach the model and the record.
func TestResultsOfServersInTheGateway(t *testing.T) {
	dir := clitest.Bare(t, nil)
	script, err := sim.ParseScript([]byte("-- 1 --\ncall one__exact\n-- 2 --\ntext Done.\n"))
	if err != nil {
		t.Fatal(err)
	}
	model := &programtest.Heard{Model: script}
	upstream := httptest.NewServer(&sim.Server{Model: model})
	t.Cleanup(upstream.Close)
	programtest.Place(t, "gateway.yaml", "mcp_servers:\n  one: {url: "+mcptest.HTTP(t, mcptest.Whole(), nil)+"/mcp}\n"+
		fmt.Sprintf("gateway:\n  addr: 127.0.0.1:0\n  routes:\n    - {model: m, to: [{model: \"openai+%s/v1#sim/native\", tools: native}], mcp: [one], yes_to: [one__*]}\n", upstream.URL))
	url := programtest.StartServe(t, "--config", filepath.Join(dir, "gateway.yaml"))
	resp, err := http.Post(url+"/v1/chat/completions", "application/json", strings.NewReader(`{"model":"m","messages":[{"role":"user","content":"Hi"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if b, _ := io.ReadAll(resp.Body); resp.StatusCode != http.StatusOK || !strings.Contains(string(b), "Done.") || !strings.Contains(model.Last, exactResult) {
		t.Errorf("%s: %s; the model was told %s", resp.Status, b, model.Last)
	}
	programtest.Must(t, programtest.Run(t, "", "receipts", "show", resp.Header.Get("Toolpost-Request-Id")), cli.ExitOK, exactResult)
}

// onlyRecord returns the record of the only run.
func onlyRecord(t *testing.T) (id, text string) {
	t.Helper()
	files, _ := filepath.Glob(filepath.Join(settings.StateDir(), "runs", "*.jsonl"))
	if len(files) != 1 {
		t.Fatalf("the records are %v", files)
	}
	b, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSuffix(filepath.Base(files[0]), ".jsonl"), string(b)
}

package serve_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/cmd/toolpost/internal/programtest"
	runscmd "github.com/toolpost/toolpost/cmd/toolpost/internal/runs"
)

// TestRunsOfAGateway: a waiting call of a gateway is listed with the team and the route of its request. The gateway's
// configuration locates it and is used to decide about it. The record contains no key.
func TestRunsOfAGateway(t *testing.T) {
	d := newDepot(t, "sqlite:keys.db")
	t.Setenv("TOOLPOST_STORE", "")
	config := filepath.Join(d.dir, "gateway.yaml")
	text, err := os.ReadFile(config)
	if err != nil {
		t.Fatal(err)
	}
	records := filepath.Join(d.dir, "in another place")
	programtest.WriteFile(t, config, "journal: "+records+"\n"+string(text))
	key := keyOf(t, "research")
	_, url := d.start(t)
	asked := call(t.Context(), "POST", url+"/v1/chat/completions", key, "", chatBody("ask", "Deliver it."))
	run := asked.header.Get("Toolpost-Request-Id")
	if asked.status != 200 || run == "" {
		t.Fatalf("%v %d %s", asked.err, asked.status, asked.body)
	}

	programtest.Must(t, programtest.Run(t, "", "runs", "list", "--config", config), 0, run, "team research, route ask: ", "deliver")
	programtest.Must(t, programtest.Run(t, "", "receipts", "list", "--config", config), 0, run, "team research, route ask: ")
	programtest.Must(t, programtest.Run(t, "", "receipts", "show", run, "--config", config), 0, "team research, route ask: ")
	var runs []runscmd.WaitingRun
	listed := programtest.Run(t, "", "runs", "list", "--json", "--config", config)
	if err := json.Unmarshal([]byte(listed.Out), &runs); err != nil || len(runs) != 1 || runs[0].Team != "research" || runs[0].Route != "ask" {
		t.Errorf("%v: %s%s", err, listed.Out, listed.ErrOut)
	}
	if r := programtest.Run(t, "", "runs", "list"); strings.Contains(r.Out, run) {
		t.Errorf("found without the configuration: %s", r.Out)
	}
	programtest.Must(t, programtest.Run(t, "", "runs", "list", "--config", "nowhere.yaml"), 1, "nowhere.yaml")
	programtest.Must(t, programtest.Run(t, "", "runs", "list", "--config", config, "--journal", "nowhere"), 1, "there are no runs")
	programtest.Must(t, programtest.Run(t, "", "runs", "approve", run, "--config", config), 0, "allowed")
	files, err := filepath.Glob(filepath.Join(records, "*"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%v, %v", files, err)
	}
	for _, file := range files {
		if b, err := os.ReadFile(file); err == nil && strings.Contains(string(b), key) {
			t.Errorf("%s holds the key", file)
		}
	}
}

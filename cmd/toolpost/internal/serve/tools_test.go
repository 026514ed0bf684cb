package serve_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/cmd/toolpost/internal/clitest"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/programtest"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/serve"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/settings"
	"github.com/toolpost/toolpost/sim"
)

// TestServeTools: routes have built-in tools and tools of MCP servers. Tools that do more than read need yes_to. Each
// run is recorded for its request.
func TestServeTools(t *testing.T) {
	dir := clitest.Bare(t, map[string]string{"notes.txt": "The tide is high.\n"})
	script, err := sim.ParseScript([]byte("-- 1 --\ncall read_file {\"path\":\"notes.txt\"}\ncall one__echo {\"text\":\"hello there\"}\n-- 2 --\ntext Done.\n"))
	if err != nil {
		t.Fatal(err)
	}
	model := &programtest.Heard{Model: script}
	server := httptest.NewServer(&sim.Server{Model: model})
	t.Cleanup(server.Close)
	route := fmt.Sprintf("    - model: NAME\n      to: [{model: \"openai+%s/v1#sim/native\", tools: native}]\n      tools: [read_file]\n      mcp: [one]\n", server.URL)
	programtest.Place(t, "gateway.yaml", "mcp_servers:\n"+programtest.ServerYAML("one", "ordinary")+"gateway:\n  addr: 127.0.0.1:0\n  routes:\n"+
		strings.Replace(route, "NAME", "careful", 1)+strings.Replace(route, "NAME", "trusting", 1)+"      yes_to: [one__*]\n")
	url := programtest.StartServe(t, "--config", filepath.Join(dir, "gateway.yaml"))
	for name, says := range map[string]string{"careful": "one__echo may change things", "trusting": "hello there"} {
		resp, err := http.Post(url+"/v1/chat/completions", "application/json", strings.NewReader(`{"model":"`+name+`","messages":[{"role":"user","content":"Hi"}]}`))
		if err != nil {
			t.Fatal(err)
		}
		b, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if resp.StatusCode != 200 || !strings.Contains(string(b), "Done.") || strings.Contains(string(b), "read_file") {
			t.Errorf("%s: %s %s", name, resp.Status, b)
		}
		results := model.Last[strings.LastIndex(model.Last, "{call_"):]
		if !strings.Contains(model.Last, "The tide is high.") || !strings.Contains(results, says) {
			t.Errorf("%s: the model was told %s", name, model.Last)
		}
		programtest.Must(t, programtest.Run(t, "", "receipts", "verify", resp.Header.Get("Toolpost-Request-Id")), 0, "")
	}
}

// TestServeToolsRefuses: invalid tool settings of a route are refused before the gateway listens.
func TestServeToolsRefuses(t *testing.T) {
	clitest.Bare(t, nil)
	for route, says := range map[string]string{
		"tools: [read_fil]":                      "no tool is called read_fil",
		"mcp: [nowhere]":                         "gateway.routes[0].mcp[0]: route 1 (a): mcp nowhere",
		"yes_to: [read_file]":                    "it has no effect, because the route has neither tools nor mcp",
		"tools: [read_file], rounds: -1":         "rounds: -1",
		"tools: [read_file], yes_to: [wite]":     "yes_to: it has no tool wite",
		"tools: read_file":                       "expected a list",
		"tools: [read_file], approval: maybe":    "is not one of refuse, pending",
		"tools: [write_file], approval: pending": "",
		"dialect: klingon":                       "no dialect that can be taught is called",
		"dialect: hermes":                        "",
		"tools: [write_file], yes_to: [write_*]": "",
	} {
		programtest.Place(t, "gateway.yaml", "gateway:\n  routes:\n    - {model: a, to: [{model: sim/offline}], "+route+"}\n")
		code := 1
		if says == "" {
			code = 0
		}
		programtest.Must(t, programtest.Run(t, "", "serve", "--check", "--config", "gateway.yaml"), code, says)
	}
}

// TestServeToolsLater: a reloaded configuration keeps the open tools. If it names other tools, the error asks for a
// restart.
func TestServeToolsLater(t *testing.T) {
	clitest.Bare(t, nil)
	config := func(route string) *settings.Settings {
		programtest.Place(t, "gateway.yaml", "gateway:\n  routes:\n    - {model: a, to: [{model: sim/offline}], "+route+"}\n")
		s := &settings.Settings{ToolOptions: settings.ToolOptions{Root: "."}, Sources: make(map[string]string)}
		if err := s.ReadFile("gateway.yaml"); err != nil {
			t.Fatal(err)
		}
		return s
	}
	first := config("tools: [read_file]")
	first.Journal = t.TempDir()
	tools, err := serve.OpenRouteTools(serve.New(), first, false, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer tools.Close()
	again := config("tools: [read_file]")
	if err := tools.Attach(&again.Gateway); err != nil || serve.GatewayRoutes(again.Gateway)[0].Tools == nil || serve.GatewayRoutes(again.Gateway)[0].Tools != serve.GatewayRoutes(first.Gateway)[0].Tools {
		t.Errorf("%v: what is known of the tools is lost", err)
	}
	if err := tools.Attach(&config("tools: [list_files]").Gateway); err != nil {
		t.Error(err)
	}
	if err := tools.Attach(&config("mcp: [one]").Gateway); err == nil || !strings.Contains(err.Error(), "start it again") {
		t.Errorf("a server that was not there: %v", err)
	}
	if none := config("check: off"); tools.Attach(&none.Gateway) != nil || serve.GatewayRoutes(none.Gateway)[0].Tools != nil {
		t.Error("a route without tools has some")
	}
}

// TestServeApproval: a call that needs approval waits. Another process approves it, and it runs once when the client
// repeats the request.
func TestServeApproval(t *testing.T) {
	dir := clitest.Bare(t, nil)
	script, err := sim.ParseScript([]byte("-- 1 --\ncall write_file {\"path\":\"note.txt\",\"content\":\"hello\"}\n-- 2 --\ntext Done.\n"))
	if err != nil {
		t.Fatal(err)
	}
	model := &programtest.Heard{Model: script}
	server := httptest.NewServer(&sim.Server{Model: model})
	t.Cleanup(server.Close)
	programtest.Place(t, "gateway.yaml", fmt.Sprintf("gateway:\n  addr: 127.0.0.1:0\n  routes:\n    - model: m\n      to: [{model: \"openai+%s/v1#sim/native\", tools: native}]\n      tools: [write_file]\n      approval: pending\n", server.URL))
	url := programtest.StartServe(t, "--config", filepath.Join(dir, "gateway.yaml"))
	ask := func(told string) string {
		t.Helper()
		resp, err := http.Post(url+"/v1/chat/completions", "application/json", strings.NewReader(`{"model":"m","messages":[{"role":"user","content":"Hi"}]}`))
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		b, _ := io.ReadAll(resp.Body)
		if resp.StatusCode != 200 || !strings.Contains(string(b), "Done.") || !strings.Contains(model.Last, told) {
			t.Fatalf("%s %s; the model was told %s", resp.Status, b, model.Last)
		}
		return resp.Header.Get("Toolpost-Request-Id")
	}
	run := ask("awaits a person's approval")
	ask("awaits a person's approval")
	programtest.Must(t, programtest.Run(t, "", "runs", "list"), 0, run)
	programtest.Must(t, programtest.Run(t, "", "runs", "approve", run), 0, "the gateway continues")
	if _, err := os.Stat(filepath.Join(dir, "note.txt")); err == nil {
		t.Fatal("it was written before anybody asked again")
	}
	ask("note.txt")
	if b, err := os.ReadFile(filepath.Join(dir, "note.txt")); err != nil || string(b) != "hello" {
		t.Fatalf("%q %v", b, err)
	}
	os.Remove(filepath.Join(dir, "note.txt"))
	ask("note.txt")
	if _, err := os.Stat(filepath.Join(dir, "note.txt")); err == nil {
		t.Error("it was written twice")
	}
	programtest.Must(t, programtest.Run(t, "", "receipts", "verify", run), 0, "")
}

package main

import (
	"context"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/sim"
)

// heard is a model that keeps what it was asked last.
type heard struct {
	llm.Model
	mu   sync.Mutex
	last string
}

func (h *heard) Stream(ctx context.Context, req *llm.Request) iter.Seq2[llm.Event, error] {
	h.mu.Lock()
	h.last = fmt.Sprint(req.Messages)
	h.mu.Unlock()
	return h.Model.Stream(ctx, req)
}

// TestServeTools: routes of the command's gateway have built-in tools and those of MCP servers; what
// may do more than read needs yes_to; each run is on the record of its request.
func TestServeTools(t *testing.T) {
	dir := bare(t, map[string]string{"notes.txt": "The tide is high.\n"})
	script, err := sim.ParseScript([]byte("-- 1 --\ncall read_file {\"path\":\"notes.txt\"}\ncall one__echo {\"text\":\"hello there\"}\n-- 2 --\ntext Done.\n"))
	if err != nil {
		t.Fatal(err)
	}
	model := &heard{Model: script}
	server := httptest.NewServer(&sim.Server{Model: model})
	t.Cleanup(server.Close)
	route := fmt.Sprintf("    - model: NAME\n      to: [{model: \"openai+%s/v1#sim/native\", tools: native}]\n      tools: [read_file]\n      mcp: [one]\n", server.URL)
	place(t, "gateway.yaml", "mcp_servers:\n"+serverYAML("one", "ordinary")+"gateway:\n  addr: 127.0.0.1:0\n  routes:\n"+
		strings.Replace(route, "NAME", "careful", 1)+strings.Replace(route, "NAME", "trusting", 1)+"      yes_to: [one__*]\n")
	url := startServe(t, "--config", filepath.Join(dir, "gateway.yaml"))
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
		results := model.last[strings.LastIndex(model.last, "{call_"):]
		if !strings.Contains(model.last, "The tide is high.") || !strings.Contains(results, says) {
			t.Errorf("%s: the model was told %s", name, model.last)
		}
		must(t, toolpost(t, "", "receipts", "verify", resp.Header.Get("Toolpost-Request-Id")), 0, "")
	}
}

// TestServeToolsRefuses: what a route says of tools that cannot be is refused before anything is
// served.
func TestServeToolsRefuses(t *testing.T) {
	bare(t, nil)
	for route, says := range map[string]string{
		"tools: [read_fil]":                      "no tool is called read_fil",
		"mcp: [nowhere]":                         "gateway: mcp nowhere",
		"yes_to: [read_file]":                    "yes_to and rounds are for tools and mcp",
		"tools: [read_file], rounds: -1":         "rounds: -1",
		"tools: [read_file], yes_to: [wite]":     "yes_to: it has no tool wite",
		"tools: read_file":                       "sequence is expected",
		"tools: [write_file], yes_to: [write_*]": "",
	} {
		place(t, "gateway.yaml", "gateway:\n  routes:\n    - {model: a, to: [{model: sim/offline}], "+route+"}\n")
		code := 1
		if says == "" {
			code = 0
		}
		must(t, toolpost(t, "", "serve", "--check", "--config", "gateway.yaml"), code, says)
	}
}

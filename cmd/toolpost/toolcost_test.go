package main

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/cmd/toolpost/internal/clitest"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/programtest"
	"github.com/toolpost/toolpost/internal/js"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/provider"
	"github.com/toolpost/toolpost/sim"
	"github.com/toolpost/toolpost/tool"
	"github.com/toolpost/toolpost/wire"
)

// TestToolTokensInVendorFormat: the tokens of many definitions are counted in the form for the model's vendor, not
// as plain words. The budget lies between both counts.
func TestToolTokensInVendorFormat(t *testing.T) {
	var tools bytes.Buffer
	for i := range 40 {
		fmt.Fprintf(&tools, "- {name: t%d, description: D, command: [\"true\"]}\n", i)
	}
	clitest.Bare(t, map[string]string{"many.yaml": tools.String()})
	var body []byte
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ = io.ReadAll(r.Body)
		r.Body = io.NopCloser(bytes.NewReader(body))
		new(sim.Server).ServeHTTP(w, r)
	}))
	defer server.Close()
	id := "anthropic+" + server.URL + "/v1#claude-sonnet-4-5"
	model, err := new(provider.Client).Open(id)
	if err != nil {
		t.Fatal(err)
	}
	sent := func(budget int) []llm.ToolDef {
		t.Helper()
		body = nil
		programtest.Run(t, "", "run", "-m", id, "--tools", "many.yaml", "--tool-tokens", fmt.Sprint(budget), "hello")
		req, _, err := (wire.Codec{Format: wire.Messages}).DecodeRequest(body)
		if err != nil {
			t.Fatalf("%v: %s", err, body)
		}
		return req.Tools
	}
	cost, asSent, asWords := model.(*provider.Model).ToolCost(), 0, 0
	all := sent(100_000)
	for _, d := range all {
		asSent += cost(d)
		asWords += llm.EstimateTool(d)
	}
	if len(all) < 40 || asSent-asWords < 100 && asWords-asSent < 100 {
		t.Fatalf("%d tools, %d tokens as they are sent, %d as words: the test cannot tell", len(all), asSent, asWords)
	}
	got := sent((asSent + asWords) / 2)
	narrowed := strings.Contains(string(js.Get(body, "tools")), "defer_loading") || len(got) < len(all) || strings.Contains(string(body), tool.FinderName)
	if narrowed != (asSent > asWords) {
		t.Errorf("%d tokens as they are sent, %d as words, budget between: %d of %d tools, narrowed %v", asSent, asWords, len(got), len(all), narrowed)
	}
}

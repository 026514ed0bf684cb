package agent_test

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/toolpost/toolpost/agent"
	"github.com/toolpost/toolpost/catalog"
	"github.com/toolpost/toolpost/journal"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/provider"
	"github.com/toolpost/toolpost/sim"
	"github.com/toolpost/toolpost/tool"
	"github.com/toolpost/toolpost/wire"
)

// recorder keeps the bodies of the requests that it passes on.
type recorder struct {
	http.Handler
	mu     sync.Mutex
	bodies []string
}

func (r *recorder) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	body, err := io.ReadAll(req.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	r.mu.Lock()
	r.bodies = append(r.bodies, string(body))
	r.mu.Unlock()
	req.Body = io.NopCloser(bytes.NewReader(body))
	r.Handler.ServeHTTP(w, req)
}

// TestVendorSearchOverHTTP: a strict server of the vendor's finds the tool that did not fit,
// the agent runs it, and what was found goes back with every later request, so that nothing
// is searched twice: in both formats that have a search, streamed and whole.
func TestVendorSearchOverHTTP(t *testing.T) {
	script, err := sim.ParseScript([]byte("-- 1 --\ntext Let me look.\ncall weather {}\n-- 2 --\ntext Sunny.\n-- 3 --\ncall weather {}\n-- 4 --\ntext Still sunny.\n"))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ format, vendor, block string }{
		{wire.Messages, "anthropic+", `"tool_search_tool_result"`}, {wire.Responses, "openai+", `"tool_search_output"`},
	} {
		for how, whole := range map[string]bool{"streamed": false, "whole": true} {
			t.Run(c.format+" "+how, func(t *testing.T) {
				seen := &recorder{Handler: &sim.Server{Model: script}}
				server := httptest.NewServer(seen)
				defer server.Close()
				id := c.vendor + server.URL + "/v1#sim/native+strict"
				info := catalog.Default().Lookup(id)
				info.NativeTools, info.ToolSearch, info.Wire = yes, yes, c.format
				model, err := (&provider.Client{HTTP: server.Client(), Whole: whole, Catalog: catalog.Default().With(info)}).Open(id)
				if err != nil {
					t.Fatal(err)
				}
				n := 0
				store := new(journal.Memory)
				a := &agent.Agent{Model: model, ID: id, Store: store, Tools: manyTools(&n), Offer: tool.SelectionBudget{Tools: 3}, Request: llm.Request{MaxTokens: 1000},
					HostedSupport: func(_ string, def llm.ToolDef) error { return model.(*provider.Model).RunsHosted(def) }}
				first := run(t, a, "pay the invoice for the parcel and the ticket")
				if first.err != nil || first.done.Text != "Sunny." || n != 1 {
					t.Fatal(first.err, first.done.Text, n)
				}
				if h := of[llm.HostedCall](first); len(h) != 1 || h[0].Name != llm.ToolSearch || !strings.Contains(string(h[0].Args), "weather") {
					t.Errorf("the search is seen as %+v", h)
				}
				second := listen(a.Run(t.Context(), append(first.done.Messages, llm.User("And now the ticket?"))...))
				if second.err != nil || second.done.Text != "Still sunny." || n != 2 || len(of[llm.HostedCall](second)) != 0 {
					t.Errorf("%v, %q, %d calls, searched again: %v", second.err, second.done.Text, n, of[llm.HostedCall](second))
				}
				if len(seen.bodies) != 4 {
					t.Fatalf("%d requests", len(seen.bodies))
				}
				for i, body := range seen.bodies {
					if got := strings.Count(body, c.block); got != min(i, 1) {
						t.Errorf("request %d has what was found %d times: %s", i+1, got, body)
					}
					if deferred := strings.Count(body[strings.LastIndex(body, `"tools":`):], `"defer_loading":true`); deferred != 8 {
						t.Errorf("request %d has %d deferred tools", i+1, deferred)
					}
				}
				for _, l := range []*log{first, second} {
					if err := agent.Replay(t.Context(), store, l.done.Run); err != nil {
						t.Error(err)
					}
				}
			})
		}
	}
}

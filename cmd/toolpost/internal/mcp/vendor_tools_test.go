package mcp_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/toolpost/toolpost/cmd/toolpost/internal/programtest"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/settings"
)

// vendor is a server with the Messages format that answers with the given blocks, one list per request. It stores the
// requests.
type vendor struct {
	mu      sync.Mutex
	answers [][]string
	asked   []map[string]any
}

func (v *vendor) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	var req map[string]any
	if json.Unmarshal(body, &req) != nil || !strings.HasSuffix(r.URL.Path, "/messages") {
		http.NotFound(w, r)
		return
	}
	v.mu.Lock()
	v.asked = append(v.asked, req)
	blocks := v.answers[min(len(v.asked), len(v.answers))-1]
	v.mu.Unlock()
	w.Header().Set("Content-Type", "text/event-stream")
	event := func(kind, rest string) {
		fmt.Fprintf(w, "event: %s\ndata: {\"type\":%q%s}\n\n", kind, kind, rest)
	}
	event("message_start", `,"message":{"id":"m","type":"message","role":"assistant","model":"claude-sonnet-4-5","content":[],"usage":{"input_tokens":1,"output_tokens":1}}`)
	reason := "end_turn"
	for i, b := range blocks {
		if strings.Contains(b, `"tool_use"`) {
			reason = "tool_use"
		}
		event("content_block_start", fmt.Sprintf(`,"index":%d,"content_block":%s`, i, b))
		event("content_block_stop", fmt.Sprintf(`,"index":%d`, i))
	}
	event("message_delta", fmt.Sprintf(`,"delta":{"stop_reason":%q},"usage":{"output_tokens":5}`, reason))
	event("message_stop", "")
}

// requests returns the requests to the vendor, as text.
func (v *vendor) requests(t *testing.T) []string {
	v.mu.Lock()
	defer v.mu.Unlock()
	var out []string
	for _, r := range v.asked {
		text, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, string(text))
	}
	return out
}

const (
	hostedSearch = `{"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{"query":"tides"}}`
	hostedResult = `{"type":"web_search_tool_result","tool_use_id":"srvtoolu_1","content":[{"type":"web_search_result","url":"https://example.org/tides","title":"Tides","encrypted_content":"x"}]}`
)

func uses(id, name, input string) string {
	return fmt.Sprintf(`{"type":"tool_use","id":%q,"name":%q,"input":%s}`, id, name, input)
}

// vendorHome returns such a vendor, in a home with a configuration.
func vendorHome(t *testing.T, config string, answers ...[]string) *vendor {
	t.Helper()
	v := &vendor{answers: answers}
	server := httptest.NewServer(v)
	t.Cleanup(server.Close)
	mcpHome(t, fmt.Sprintf("providers:\n  own: {base_url: %s/v1, wire: messages}\n", server.URL)+config)
	return v
}

var lastWords = []string{`{"type":"text","text":"Done."}`}

// TestVendorAndServerInOneRun: in one run, the vendor runs its search within a request, and we run the tools of a
// server. All are disclosed before the first turn, nothing is forced, and the vendor's calls are shown and recorded.
func TestVendorAndServerInOneRun(t *testing.T) { // 3.1, 3.3, 3.6, 3.8
	v := vendorHome(t, "mcp_servers:\n"+programtest.ServerYAML("one", "ordinary"), []string{hostedSearch, hostedResult, uses("toolu_1", "one__echo", `{"text":"hello"}`)}, lastWords)
	r := programtest.Run(t, "", "run", "-m", "own/claude-sonnet-4-5", "--yes", "--lanes", "web_search=native", "--json", "go")
	programtest.Must(t, r, 0, `"tool":"web_search","lane":"native"`, "the provider runs it, as asked for", "tides", "hello")
	asked := v.requests(t)
	if len(asked) != 2 {
		t.Fatalf("there were %d requests", len(asked))
	}
	for _, want := range []string{`"type":"web_search_20250305"`, `"name":"web_search"`, `"name":"one__echo"`} {
		if !strings.Contains(asked[0], want) {
			t.Errorf("the first request lacks %s:\n%s", want, asked[0])
		}
	}
	if strings.Contains(asked[0], `"tool_choice"`) {
		t.Errorf("a call is forced: %s", asked[0])
	}
	if !strings.Contains(asked[1], `"tool_use_id":"toolu_1"`) || strings.Contains(asked[1], `"tool_result","tool_use_id":"srvtoolu_1"`) {
		t.Errorf("the second request answers the wrong calls: %s", asked[1])
	}
	programtest.Must(t, programtest.Run(t, "", "receipts", "show", "latest"), 0, "one__echo")
}

// TestMCPToolInSeveralRounds: calls of a server's tools run in order, in any number of rounds. A failure is fed
// back, and the vendor's tool is not offered.
func TestMCPToolInSeveralRounds(t *testing.T) { // 3.4, 3.5
	v := vendorHome(t, "mcp_servers:\n"+programtest.ServerYAML("one", "ordinary"),
		[]string{uses("toolu_1", "one__fail", `{"text":"no such tide"}`), uses("toolu_2", "one__echo", `{"text":"first"}`)},
		[]string{uses("toolu_3", "one__echo", `{"text":"second"}`)},
		[]string{uses("toolu_4", "one__echo", `{"text":"third"}`)}, lastWords)
	programtest.Must(t, programtest.Run(t, "", "run", "-m", "own/claude-sonnet-4-5", "--yes", "--lanes", "web_search=one__echo", "go"), 0, "web_search is run by: mcp (as asked for)", "Done.")
	asked := v.requests(t)
	if len(asked) != 4 {
		t.Fatalf("there were %d requests", len(asked))
	}
	if a, b := strings.Index(asked[1], `"tool_use_id":"toolu_1"`), strings.Index(asked[1], `"tool_use_id":"toolu_2"`); a < 0 || b < a || !strings.Contains(asked[1], "no such tide") || !strings.Contains(asked[1], `"is_error":true`) {
		t.Errorf("the results are not fed back in order: %s", asked[1])
	}
	for _, r := range asked {
		if strings.Contains(r, "web_search") {
			t.Errorf("the vendor's tool is offered, too: %s", r)
		}
	}
	if !strings.Contains(asked[3], "third") {
		t.Errorf("the last round is lost: %s", asked[3])
	}
}

// TestMissingVendorToolIsNotOffered: a missing tool is not offered and not claimed. Selected by name, it is refused before
// any request.
func TestMissingVendorToolIsNotOffered(t *testing.T) { // 3.7, 4.3
	v := vendorHome(t, "", lastWords)
	programtest.Must(t, programtest.Run(t, "", "run", "-m", "own/claude-sonnet-4-5", "--lanes", "web_search=auto", "go"), 0, "web_search is run by: never", "own is not known to run tools itself")
	if asked := v.requests(t); strings.Contains(strings.ToLower(asked[0]), "web_search") || strings.Contains(asked[0], "search the web") {
		t.Errorf("a search is claimed that is not there: %s", asked[0])
	}
	programtest.Must(t, programtest.Run(t, "", "run", "-m", "own/claude-sonnet-4-5", "--lanes", "web_search=mcp", "go"), 1, "there is no such tool")
	programtest.Must(t, programtest.Run(t, "", "run", "-m", "own/claude-sonnet-4-5", "--lanes", "web_search=reach", "go"), 1, "no tool is called reach")
	programtest.Must(t, programtest.Run(t, "", "run", "-m", "sim/offline", "--lanes", "web_search=native", "go"), 1, "runs no tools itself")
	if n := len(v.requests(t)); n != 1 {
		t.Errorf("there were %d requests", n)
	}
}

// TestVendorToolWithoutServers: the vendor's tool needs no MCP settings.
func TestVendorToolWithoutServers(t *testing.T) { // 3.9
	v := vendorHome(t, "lanes: [web_search=native]\n", []string{hostedSearch, hostedResult, `{"type":"text","text":"High at noon."}`})
	programtest.Must(t, programtest.Run(t, "", "run", "-m", "own/claude-sonnet-4-5", "--mcp", "none", "go"), 0, "High at noon.")
	if asked := v.requests(t); len(asked) != 1 || !strings.Contains(asked[0], "web_search_20250305") {
		t.Errorf("the requests are %s", asked)
	}
}

// TestLanesSetting reads the setting from the flag, the variable and the file, in old and new words, and refuses
// unknown words.
func TestLanesSetting(t *testing.T) { // 3.2
	for words, want := range map[string]string{
		"": "auto", "mcp": "mcp", "ai-web-search": "native", "duckduckgo": "local", "never": "never",
		"local,web_search=native": "local web_search:native", "web_search=brave__search": "auto web_search>brave__search",
	} {
		var list []string
		if words != "" {
			list = strings.Split(words, ",")
		}
		c, err := settings.ParseLanes(list)
		got := string(c.Overall)
		for _, p := range c.Tools {
			if p.Own != "" {
				got += " " + p.Name + ">" + p.Own
			} else {
				got += " " + p.Name + ":" + string(p.Lane)
			}
		}
		if err != nil || got != want {
			t.Errorf("%q is %q, %v", words, got, err)
		}
	}
	vendorHome(t, "lanes: [vendor]\n", lastWords)
	programtest.Must(t, programtest.Run(t, "", "config", "check"), 1, `config.yaml:3: lanes: "vendor" is not one of auto`)
	programtest.Must(t, programtest.Run(t, "", "run", "--lanes", "web_search=", "go"), 2, "says nothing")
	t.Setenv("TOOLPOST_LANES", "a=mcp,a=local")
	programtest.Must(t, programtest.Run(t, "", "config", "check", "--config", ""), 2, "a is named twice")
}

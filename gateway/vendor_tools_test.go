package gateway_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/gateway"
	"github.com/toolpost/toolpost/provider"
	"github.com/toolpost/toolpost/wire"
)

// vendorTools are the tools that OpenAI defines, each with its call item and the field with details in a tool choice.
var vendorTools = []struct{ tool, more, item string }{
	{`"type":"web_search"`, "", `{"type":"web_search_call","id":"w","status":"completed","action":{"type":"search","query":"q"}}`},
	{`"type":"web_search_2025_08_26"`, "", `{"type":"web_search_call","id":"w","status":"completed","action":{"type":"search","query":"q"}}`},
	{`"type":"web_search_preview"`, "", `{"type":"web_search_call","id":"w","status":"completed","action":{"type":"search","query":"q"}}`},
	{`"type":"web_search_preview_2025_03_11"`, "", `{"type":"web_search_call","id":"w","status":"completed","action":{"type":"search","query":"q"}}`},
	{`"type":"file_search","vector_store_ids":["v"]`, "", `{"type":"file_search_call","id":"f","status":"completed","queries":["q"],"results":null}`},
	{`"type":"code_interpreter","container":{"type":"auto"}`, "", `{"type":"code_interpreter_call","id":"c","status":"completed","code":"1","container_id":"x","outputs":[]}`},
	{`"type":"image_generation"`, "", `{"type":"image_generation_call","id":"i","status":"completed","result":"aGk="}`},
	{`"type":"mcp","server_label":"s","server_url":"https://x.example"`, `,"server_label":"s"`, `{"type":"mcp_call","id":"m","server_label":"s","name":"y","arguments":"{}","output":"o","status":"completed"}`},
	{`"type":"mcp","server_label":"s","server_url":"https://x.example"`, `,"server_label":"s","name":"y"`, `{"type":"mcp_call","id":"m","server_label":"s","name":"y","arguments":"{}","output":"o","status":"completed"}`},
	{`"type":"tool_search","execution":"client"`, "", `{"type":"tool_search_call","id":"t","call_id":"call_1","execution":"client","status":"completed","arguments":{"query":"q"}}`},
	{`"type":"tool_search"`, "", `{"type":"tool_search_call","id":"t","call_id":null,"execution":"server","status":"completed","arguments":{"query":"q"}}`},
	{`"type":"computer"`, "", `{"type":"computer_call","id":"k","call_id":"call_1","status":"completed","actions":[{"type":"screenshot"}],"pending_safety_checks":[]}`},
	{`"type":"computer_use_preview","display_width":1,"display_height":1,"environment":"browser"`, "",
		`{"type":"computer_call","id":"k","call_id":"call_1","status":"completed","action":{"type":"screenshot"},"pending_safety_checks":[]}`},
	{`"type":"local_shell"`, "", `{"type":"local_shell_call","id":"l","call_id":"call_1","status":"completed","action":{"type":"exec","command":["ls"],"env":{}}}`},
	{`"type":"shell"`, "", `{"type":"shell_call","id":"s","call_id":"call_1","status":"completed","action":{"commands":["ls"]}}`},
	{`"type":"apply_patch"`, "", `{"type":"apply_patch_call","id":"a","call_id":"call_1","status":"completed","operation":{"type":"delete_file","path":"x"}}`},
}

// TestVendorToolCallsKeepTheirType checks tools that OpenAI defines: they may be demanded, allowed or offered, and their
// calls count as calls of the tool, although the type names differ. The choice reaches the upstream unchanged.
func TestVendorToolCallsKeepTheirType(t *testing.T) {
	for _, c := range vendorTools {
		typ, _, _ := strings.Cut(c.tool, ",")
		ref := "{" + typ + c.more + "}"
		for _, choice := range []string{`"auto"`, `"required"`, ref, `{"type":"allowed_tools","mode":"required","tools":[` + ref + `]}`, `{"type":"allowed_tools","mode":"auto","tools":[` + ref + `]}`} {
			for _, stream := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s, %s, stream=%t", c.tool, choice, stream), func(t *testing.T) {
					body := fmt.Sprintf(`{"model":"m","store":false,"input":"q","tools":[{%s},{"type":"function","name":"f","parameters":{"type":"object","properties":{}}}],"tool_choice":%s,"stream":%t}`, c.tool, choice, stream)
					status, warned, got, asked := vendorAnswer(t, wire.Responses, itemsOf(c.item), "/v1/responses", body)
					if status != http.StatusOK || strings.Contains(got, "broken_promise") || !strings.Contains(got, `"completed"`) {
						t.Errorf("%d %s", status, got)
					}
					if strings.Contains(warned+got, "not offered") {
						t.Errorf("a false warning: %s %s", warned, got)
					}
					var want any
					_ = json.Unmarshal([]byte(choice), &want)
					if said := asked["tool_choice"]; !reflect.DeepEqual(said, want) && (said != nil || want != "auto") {
						t.Errorf("the upstream is told %v, want %v", said, want)
					}
				})
			}
		}
	}
}

// TestForcedVendorToolExcludesOthers checks that a choice of one vendor tool excludes calls of other tools.
func TestForcedVendorToolExcludesOthers(t *testing.T) {
	const shell = `{"type":"shell_call","id":"s","call_id":"call_1","status":"completed","action":{"commands":["ls"]}}`
	body := `{"model":"m","store":false,"input":"q","tools":[{"type":"computer_use_preview"},{"type":"shell"}],"tool_choice":{"type":"computer_use_preview"}}`
	status, _, got, _ := vendorAnswer(t, wire.Responses, itemsOf(shell), "/v1/responses", body)
	if status != http.StatusBadGateway || !strings.Contains(got, "shell, which the choice excludes") {
		t.Errorf("%d %s", status, got)
	}
}

// TestAnthropicToolCallsKeepTheirType checks the same for tools that Anthropic defines, which have client-chosen names.
func TestAnthropicToolCallsKeepTheirType(t *testing.T) {
	for _, c := range []struct{ typ, name, call, more string }{
		{"computer_20250124", "computer", "tool_use", `,"display_width_px":10,"display_height_px":20`},
		{"computer_20251124", "computer", "tool_use", `,"display_width_px":10,"display_height_px":20`},
		{"bash_20250124", "bash", "tool_use", ""},
		{"text_editor_20250728", "str_replace_based_edit_tool", "tool_use", ""},
		{"text_editor_20250124", "str_replace_editor", "tool_use", ""},
		{"memory_20250818", "memory", "tool_use", ""},
		{"web_search_20250305", "web_search", "server_tool_use", ""},
		{"web_fetch_20250910", "web_fetch", "server_tool_use", ""},
		{"tool_search_tool_regex_20251119", "tool_search_tool_regex", "server_tool_use", ""},
	} {
		for _, choice := range []string{`{"type":"auto"}`, `{"type":"any"}`, `{"type":"tool","name":"` + c.name + `"}`} {
			t.Run(c.typ+choice, func(t *testing.T) {
				says := func(w http.ResponseWriter, _ *http.Request) {
					w.Header().Set("Content-Type", "application/json")
					fmt.Fprintf(w, `{"id":"m1","type":"message","role":"assistant","model":"m","content":[{"type":%q,"id":"toolu_1","name":%q,"input":{"command":"view","action":"screenshot","path":"/x"}}],`+
						`"stop_reason":"tool_use","stop_sequence":null,"usage":{"input_tokens":5,"output_tokens":5}}`, c.call, c.name)
				}
				body := fmt.Sprintf(`{"model":"m","max_tokens":50,"messages":[{"role":"user","content":"q"}],"tools":[{"type":%q,"name":%q%s}],"tool_choice":%s}`, c.typ, c.name, c.more, choice)
				status, warned, got, _ := vendorAnswer(t, wire.Messages, says, "/v1/messages", body)
				if status != http.StatusOK || !strings.Contains(got, `"`+c.name+`"`) || strings.Contains(warned, "not offered") {
					t.Errorf("%d %s %s", status, warned, got)
				}
			})
		}
	}
}

// vendorAnswer calls a gateway for an upstream that runs tools itself, and returns the answer, its warnings and the
// upstream's request.
func vendorAnswer(t *testing.T, format string, says http.HandlerFunc, path, body string) (status int, warned, got string, asked map[string]any) {
	t.Helper()
	up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		_ = json.Unmarshal(b, &asked)
		r.Body = io.NopCloser(strings.NewReader(string(b)))
		says(w, r)
	}))
	t.Cleanup(up.Close)
	client := &provider.Client{Vendors: map[string]provider.Vendor{"up": {BaseURL: up.URL, Wires: []string{format}, Hosts: true}}, Route: provider.Native}
	url := serve(t, gateway.Setup{Open: opening(client), Routes: []gateway.ModelRoute{to("m", "up/m")}})
	status, warned, got = allOf(t, url, path, body)
	return status, warned, got, asked
}

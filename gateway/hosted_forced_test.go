package gateway_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/gateway"
	"github.com/toolpost/toolpost/provider"
	"github.com/toolpost/toolpost/wire"
)

// itemsOf answers in the Responses format with items. In a stream, each item is one event.
func itemsOf(items ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		whole := `{"id":"r1","object":"response","created_at":1,"status":"completed","model":"m","output":[` + strings.Join(items, ",") + `],"usage":{"input_tokens":5,"output_tokens":5,"total_tokens":10},"tools":[]}`
		if !strings.Contains(string(body), `"stream":true`) {
			w.Header().Set("Content-Type", "application/json")
			io.WriteString(w, whole)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		n := 0
		say := func(kind, members string) {
			fmt.Fprintf(w, "event: %s\ndata: {\"type\":%q,\"sequence_number\":%d,%s}\n\n", kind, kind, n, members)
			n++
		}
		say("response.created", `"response":{"id":"r1","object":"response","created_at":1,"status":"in_progress","model":"m","output":[],"tools":[]}`)
		for i, item := range items {
			say("response.output_item.added", fmt.Sprintf(`"output_index":%d,"item":%s`, i, item))
			say("response.output_item.done", fmt.Sprintf(`"output_index":%d,"item":%s`, i, item))
		}
		say("response.completed", `"response":`+whole)
	}
}

// searched answers in the Messages format with a search that Anthropic ran.
func searched(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	blocks := []string{
		`{"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{"query":"q"}}`,
		`{"type":"web_search_tool_result","tool_use_id":"srvtoolu_1","content":[]}`, `{"type":"text","text":"found"}`,
	}
	if !strings.Contains(string(body), `"stream":true`) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"id":"m1","type":"message","role":"assistant","model":"m","content":[%s],"stop_reason":"end_turn","stop_sequence":null,"usage":{"input_tokens":5,"output_tokens":5}}`, strings.Join(blocks, ","))
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	io.WriteString(w, "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"m1\",\"type\":\"message\",\"role\":\"assistant\",\"model\":\"m\",\"content\":[],\"stop_reason\":null,\"usage\":{\"input_tokens\":5,\"output_tokens\":1}}}\n\n")
	for i, b := range blocks {
		delta := ""
		switch i {
		case 0:
			b, delta = strings.Replace(b, `{"query":"q"}`, `{}`, 1), `{"type":"input_json_delta","partial_json":"{\"query\":\"q\"}"}`
		case 2:
			b, delta = `{"type":"text","text":""}`, `{"type":"text_delta","text":"found"}`
		}
		fmt.Fprintf(w, "event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":%d,\"content_block\":%s}\n\n", i, b)
		if delta != "" {
			fmt.Fprintf(w, "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":%d,\"delta\":%s}\n\n", i, delta)
		}
		fmt.Fprintf(w, "event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":%d}\n\n", i)
	}
	io.WriteString(w, "event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\",\"stop_sequence\":null},\"usage\":{\"output_tokens\":5}}\n\nevent: message_stop\ndata: {\"type\":\"message_stop\"}\n\n")
}

// A client that demands a call of a vendor's tool gets the answer in which the vendor ran it, relayed and translated,
// as a document and as a stream. An answer without such a call is an error.
func TestForcedToolsThatTheVendorRuns(t *testing.T) {
	const (
		said     = `{"type":"message","id":"m1","role":"assistant","status":"completed","content":[{"type":"output_text","text":"found","annotations":[]}]}`
		search   = `{"type":"web_search_call","id":"w","status":"completed","action":{"type":"search","query":"q"}}`
		code     = `{"type":"code_interpreter_call","id":"c","status":"completed","code":"1","container_id":"x","outputs":[]}`
		files    = `{"type":"file_search_call","id":"c","status":"completed","queries":["q"],"results":null}`
		drawn    = `{"type":"image_generation_call","id":"c","status":"completed","result":"aGk="}`
		listed   = `{"type":"mcp_list_tools","id":"l","server_label":"x","tools":[]}`
		called   = `{"type":"mcp_call","id":"c","name":"f","arguments":"{}","server_label":"x","output":"r"}`
		approve  = `{"type":"mcp_approval_request","id":"m","name":"f","arguments":"{}","server_label":"x"}`
		server   = `{"type":"mcp","server_label":"x","server_url":"https://x.example"}`
		messages = "/v1/messages"
	)
	anthropics := func(choice string) string {
		return `{"model":"m","max_tokens":50,"messages":[{"role":"user","content":"q"}],"tools":[{"type":"web_search_20250305","name":"web_search"}],"tool_choice":` + choice
	}
	openais := func(tool, choice string) string {
		return `{"model":"m","store":false,"input":"q","tools":[` + tool + `],"tool_choice":` + choice
	}
	for name, c := range map[string]struct {
		format string // of the upstream
		says   http.HandlerFunc
		path   string
		body   string
		want   string
	}{
		"search":                   {wire.Responses, itemsOf(search, said), "/v1/responses", openais(`{"type":"web_search"}`, `{"type":"web_search"}`), `web_search_call`},
		"search, required":         {wire.Responses, itemsOf(search, said), "/v1/responses", openais(`{"type":"web_search"}`, `"required"`), `web_search_call`},
		"search, older":            {wire.Responses, itemsOf(search, said), "/v1/responses", openais(`{"type":"web_search_preview"}`, `{"type":"web_search_preview"}`), `web_search_call`},
		"code":                     {wire.Responses, itemsOf(code, said), "/v1/responses", openais(`{"type":"code_interpreter","container":{"type":"auto"}}`, `{"type":"code_interpreter"}`), `code_interpreter_call`},
		"files":                    {wire.Responses, itemsOf(files, said), "/v1/responses", openais(`{"type":"file_search","vector_store_ids":["v"]}`, `{"type":"file_search"}`), `file_search_call`},
		"an image":                 {wire.Responses, itemsOf(drawn), "/v1/responses", openais(`{"type":"image_generation"}`, `{"type":"image_generation"}`), `image_generation_call`},
		"a server's tool":          {wire.Responses, itemsOf(listed, called, said), "/v1/responses", openais(server, `{"type":"mcp","server_label":"x"}`), `mcp_call`},
		"a server's, to approve":   {wire.Responses, itemsOf(approve), "/v1/responses", openais(server, `"required"`), `mcp_approval_request`},
		"Anthropic's":              {wire.Messages, searched, messages, anthropics(`{"type":"tool","name":"web_search"}`), `srvtoolu_1`},
		"Anthropic's, any":         {wire.Messages, searched, messages, anthropics(`{"type":"any"}`), `srvtoolu_1`},
		"Anthropic's, translated":  {wire.Messages, searched, "/v1/responses", openais(`{"type":"web_search"}`, `{"type":"web_search"}`), `found`},
		"OpenAI's, translated":     {wire.Responses, itemsOf(search, said), messages, anthropics(`{"type":"tool","name":"web_search"}`), `found`},
		"OpenAI's, any translated": {wire.Responses, itemsOf(search, said), messages, anthropics(`{"type":"any"}`), `found`},
		"not called":               {wire.Responses, itemsOf(said), "/v1/responses", openais(`{"type":"web_search"}`, `{"type":"web_search"}`), ""},
		"nor as asked":             {wire.Responses, itemsOf(search, said), "/v1/responses", openais(`{"type":"web_search"},{"type":"file_search","vector_store_ids":["v"]}`, `{"type":"file_search"}`), ""},
	} {
		for _, stream := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, stream=%t", name, stream), func(t *testing.T) {
				up := httptest.NewServer(c.says)
				t.Cleanup(up.Close)
				client := &provider.Client{Vendors: map[string]provider.Vendor{"up": {BaseURL: up.URL, Wires: []string{c.format}, Hosts: true}}, Route: provider.Native}
				url := serve(t, gateway.Setup{Open: opening(client), Routes: []gateway.ModelRoute{to("m", "up/m")}})
				status, _, got := allOf(t, url, c.path, fmt.Sprintf(`%s,"stream":%t}`, c.body, stream))
				broken := status != http.StatusOK || strings.Contains(got, "was to call")
				if c.want == "" && !broken || c.want != "" && (broken || !strings.Contains(got, c.want)) {
					t.Errorf("%d %s", status, got)
				}
			})
		}
	}
}

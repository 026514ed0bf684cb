package gateway_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/gateway"
	"github.com/toolpost/toolpost/provider"
	"github.com/toolpost/toolpost/wire"
	"golang.org/x/tools/txtar"
)

// interrupted has, for each format, a call without a result, followed by text of the user. It has the model, the list
// in the request that contains the call, and the content of the list. Repairing the history requires rewriting the
// request.
var interrupted = map[string]struct{ model, list, turns string }{
	wire.Chat:      {"gpt-4o", "messages", `{"role":"assistant","content":null,"tool_calls":[{"id":"lost9","type":"function","function":{"name":"lost","arguments":"{}"}}]},{"role":"user","content":"Stop."}`},
	wire.Messages:  {"claude-sonnet-4-5", "messages", `{"role":"assistant","content":[{"type":"tool_use","id":"toolu_lost","name":"lost","input":{}}]},{"role":"user","content":"Stop."}`},
	wire.Responses: {"gpt-5", "input", `{"type":"function_call","id":"fc_lost","call_id":"call_lost","name":"lost","arguments":"{}","status":"completed"},{"role":"user","content":"Stop."}`},
	wire.Gemini:    {"gemini-2.5-pro", "contents", `{"role":"model","parts":[{"functionCall":{"name":"lost","args":{}}}]},{"role":"user","parts":[{"text":"Stop."}]}`},
	wire.Ollama:    {"qwen3:8b", "messages", `{"role":"assistant","content":"","tool_calls":[{"function":{"name":"lost","arguments":{}}}]},{"role":"user","content":"Stop."}`},
	wire.Converse:  {"anthropic.claude-sonnet-4-5-20250929-v1:0", "messages", `{"role":"assistant","content":[{"toolUse":{"toolUseId":"tooluse_lost","name":"lost","input":{}}}]},{"role":"user","content":[{"text":"Stop."}]}`},
}

// written is an upstream that keeps the last request, and fails.
func written(t *testing.T, format string) (url string, last *[]byte) {
	t.Helper()
	last = new([]byte)
	up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		*last, _ = io.ReadAll(r.Body)
		w.WriteHeader(http.StatusBadRequest)
	}))
	t.Cleanup(up.Close)
	client := &provider.Client{Route: provider.Native, Retry: provider.RetryPolicy{Attempts: -1}, Vendors: map[string]provider.Vendor{
		"up": {BaseURL: up.URL + roots[format], Wires: []string{format}, Apart: true, Hosts: true, Strict: true},
	}}
	return serve(t, gateway.Setup{Routes: []gateway.ModelRoute{{Model: "*", Upstreams: []gateway.Upstream{{Model: "up/" + interrupted[format].model}}}}, Open: opening(client)}), last
}

// rewritten sends a request with an interrupted call at its end, and returns the request that an upstream of the same
// format got.
func rewritten(t *testing.T, format string, body []byte) (sent, got map[string]any) {
	t.Helper()
	url, last := written(t, format)
	if err := json.Unmarshal(body, &sent); err != nil {
		t.Fatal(err)
	}
	var more []any
	in := interrupted[format]
	delete(sent, "previous_response_id") // refers to an unknown answer
	if format == wire.Responses {
		delete(sent, "text") // a schema that the model does not support
	}
	if format != wire.Gemini && format != wire.Converse { // these have it in the path
		sent["model"] = "any"
	}
	if err := json.Unmarshal([]byte("["+in.turns+"]"), &more); err != nil {
		t.Fatal(err)
	}
	list, _ := sent[in.list].([]any)
	if text, is := sent[in.list].(string); is {
		list = []any{map[string]any{"role": "user", "content": text}}
	}
	sent[in.list] = append(slices.Clip(list), more...)
	body, _ = json.Marshal(sent)
	sent[in.list] = list
	stream, _ := sent["stream"].(bool)
	resp, err := http.Post(url+roots[format]+"/"+wire.Codec{Format: format}.Path("any", stream), "application/json", bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	said, _ := io.ReadAll(resp.Body)
	if err := json.Unmarshal(*last, &got); err != nil {
		t.Fatalf("%v: the upstream got %q, and the client %s", err, *last, said)
	}
	all, _ := got[in.list].([]any)
	if len(all) <= len(list) || bytes.Equal(*last, body) {
		t.Fatalf("it was not written anew: %s", *last)
	}
	got[in.list] = all[:len(list)]
	return sent, got
}

// differences returns the places in which the received request differs from the sent one.
func differences(at string, sent, got any) (list []string) {
	switch s := sent.(type) {
	case map[string]any:
		g, is := got.(map[string]any)
		if !is {
			break
		}
		all := maps.Clone(s)
		maps.Copy(all, g)
		for _, key := range slices.Sorted(maps.Keys(all)) {
			was, had := s[key]
			is, has := g[key]
			switch {
			case had && has:
				list = append(list, differences(at+"/"+key, was, is)...)
			case had:
				list = append(list, fmt.Sprintf("%s/%s is gone: %v", at, key, was))
			default:
				list = append(list, fmt.Sprintf("%s/%s is new: %v", at, key, is))
			}
		}
		return list
	case []any:
		g, is := got.([]any)
		if !is || len(g) != len(s) {
			break
		}
		for i := range s {
			list = append(list, differences(fmt.Sprint(at, "/", i), s[i], g[i])...)
		}
		return list
	}
	if !reflect.DeepEqual(sent, got) {
		was, _ := json.Marshal(sent)
		is, _ := json.Marshal(got)
		list = append(list, fmt.Sprintf("%s is %s, was %s", at, is, was))
	}
	return list
}

// plain returns the parts that have content: without fields that are null, false or the default, and without the list
// around a single plain text, where a string is enough.
func plain(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for key, val := range v {
			if val = plain(val); val == nil || val == false || key == "type" && val == "message" || key == "content" && val == "" {
				delete(v, key)
				continue
			}
			v[key] = val
		}
	case []any:
		for i := range v {
			v[i] = plain(v[i])
		}
		if one, is := slices.Clip(v), len(v) == 1; is {
			if m, is := one[0].(map[string]any); is && len(m) == 2 && (m["type"] == "text" || m["type"] == "input_text") {
				return m["text"]
			}
		}
	}
	return v
}

// A request that must be rewritten for one reason reaches an upstream of the client's own format with no other change,
// including fields at any depth that only this format has.
func TestSameFormatIsRelayedUnchanged(t *testing.T) {
	for _, file := range append(goldenRequests(t), onlyOwn...) {
		t.Run(file.name, func(t *testing.T) {
			sent, got := rewritten(t, file.format, file.body)
			for _, key := range []string{interrupted[file.format].list, "system"} {
				for _, d := range differences("/"+key, plain(sent[key]), plain(got[key])) {
					if !slices.ContainsFunc(elsewhere[file.name], func(place string) bool { return strings.HasPrefix(d, place) }) {
						t.Errorf("%.400s", d)
					}
				}
			}
		})
	}
}

// elsewhere are the places of the golden requests that change for other reasons when a request is rewritten. Other
// tests cover these rules.
var elsewhere = map[string][]string{
	// The models of the test take no instructions among the messages.
	"agents/claude-code": {"/messages/6/", "/messages/7/", "/messages/8/"},
	"converse/request":   {"/messages/4/", "/messages/5/", "/system is [{\"text\":\"You must answer"},
	// A demand that the vendor does not support in addition to the rest becomes a part of the instructions.
	"messages/request": {"/system is [{\"text\":\"You must answer"},
	"ollama/request":   {"/messages/0/content", "/messages/2/tool_calls/1/", "/messages/4/tool_call_id"}, // calls get ids
	// Calls get ids, and results those of their calls. Unsigned thinking is not sent.
	"agents/gemini-cli": {"/contents/3/parts", "/contents/4/parts/0/functionResponse/id"},
	"gemini/noids":      {"/contents/1/parts/", "/contents/2/parts/", "/contents/2/role"},
	// The vendor of the test does not support thinking, and takes the name of a result from its call.
	"agents/qwen-code":      {"/messages/2/reasoning_content"},
	"agents/mini-swe-agent": {"/messages/3/name"},
}

// onlyOwn are requests with content that only their format supports, in messages and in results.
var onlyOwn = []goldenRequest{
	{"messages, in results", wire.Messages, ownMessages(`{"type":"tool_result","tool_use_id":"t1","content":[{"type":"search_result","source":"s","title":"t","content":[{"type":"text","text":"R"}],"citations":{"enabled":true}},` +
		`{"type":"tool_reference","tool_name":"Deferred"},{"type":"brand_new","x":1},{"type":"document","source":{"type":"content","content":[{"type":"text","text":"x"}]}},{"type":"image","source":{"type":"file","file_id":"f1"}}]}`)},
	{"messages, one in a result", wire.Messages, ownMessages(`{"type":"tool_result","tool_use_id":"t1","content":[{"type":"tool_reference","tool_name":"Deferred"}]}`)},
	{"messages, beside results", wire.Messages, ownMessages(`{"type":"tool_result","tool_use_id":"t1","content":"r"},{"type":"container_upload","file_id":"f"},{"type":"search_result","source":"s","title":"t","content":[{"type":"text","text":"x"}]},{"type":"brand_new","x":1}`)},
	{"converse", wire.Converse, []byte(`{"messages":[{"role":"user","content":[{"text":"q"}]},{"role":"assistant","content":[{"toolUse":{"toolUseId":"t1","name":"n","input":{"a":"1"}}},{"brandNew":{"x":1}}]},` +
		`{"role":"user","content":[{"toolResult":{"toolUseId":"t1","content":[{"searchResult":{"source":"s","title":"t","content":[{"text":"R"}],"citations":{"enabled":true}}},{"json":{"a":[1]}},{"brandNew":{"x":1}}]}},{"brandNew":{"y":1}}]}]}`)},
	{"responses", wire.Responses, []byte(`{"input":[{"role":"user","content":[{"type":"input_text","text":"q"},{"type":"brand_new","x":1}]},{"type":"message","id":"msg_1","role":"assistant","status":"completed","content":[{"type":"output_text","text":"t","annotations":[{"type":"file_citation","index":0,"file_id":"f1","filename":"a"},{"type":"container_file_citation","container_id":"c","file_id":"f1","start_index":0,"end_index":1,"filename":"a"}]}]},` +
		`{"type":"brand_new_item","id":"b1","x":1},{"type":"function_call","id":"fc_1","call_id":"c1","name":"n","arguments":"{}","status":"completed"},{"type":"function_call_output","call_id":"c1","output":[{"type":"input_text","text":"r"},{"type":"brand_new","x":1}]}]}`)},
	{"gemini", wire.Gemini, []byte(`{"contents":[{"role":"user","parts":[{"text":"q"},{"brandNew":{"x":1}}]},{"role":"model","parts":[{"text":"t","thoughtSignature":"c2lo"},{"executableCode":{"language":"PYTHON","code":"1"}},{"codeExecutionResult":{"outcome":"OUTCOME_OK","output":"1"}},{"functionCall":{"id":"f1","name":"n","args":{"a":"1"}},"thoughtSignature":"c2lp"}]},` +
		`{"role":"user","parts":[{"functionResponse":{"id":"f1","name":"n","response":{"output":"r"},"parts":[{"inlineData":{"mimeType":"image/png","data":"iVBORw0KGgo="}}]}}]}]}`)},
	{"chat", wire.Chat, []byte(`{"messages":[{"role":"user","content":[{"type":"text","text":"q"},{"type":"brand_new","x":1}]},{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"n","arguments":"{}"}}]},` +
		`{"role":"tool","tool_call_id":"c1","content":[{"type":"text","text":"r"},{"type":"brand_new","x":1}]}]}`)},
}

// ownMessages returns a Messages request whose last message has these blocks, after an answer with citations.
func ownMessages(blocks string) []byte {
	return []byte(`{"max_tokens":50,"messages":[{"role":"user","content":"q"},{"role":"assistant","content":[{"type":"text","text":"t","citations":[{"type":"char_location","cited_text":"d","document_index":0,"document_title":"T","start_char_index":0,"end_char_index":1},{"type":"brand_new_location","x":1}]},` +
		`{"type":"tool_use","id":"t1","name":"n","input":{"a":"1"}}]},{"role":"user","content":[` + blocks + `]}]}`)
}

type goldenRequest struct {
	name, format string
	body         []byte
}

// goldenRequests returns the requests of wire's golden files.
func goldenRequests(t *testing.T) (list []goldenRequest) {
	t.Helper()
	files, err := filepath.Glob("../wire/testdata/*/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		ar, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		format := filepath.Base(filepath.Dir(file))
		for _, f := range ar.Files {
			if _, is := interrupted[f.Name]; is && format == "agents" {
				list = append(list, goldenRequest{"agents/" + strings.TrimSuffix(filepath.Base(file), ".txtar"), f.Name, f.Data})
			} else if f.Name == "request" {
				list = append(list, goldenRequest{format + "/" + strings.TrimSuffix(filepath.Base(file), ".txtar"), format, f.Data})
			}
		}
	}
	if len(list) < 18 {
		t.Fatalf("%d requests", len(list))
	}
	return list
}

// An answer of the client's own format that needs a repair, here because two calls share an id, keeps content that only
// this format supports.
func TestRepairedAnswersKeepVendorFields(t *testing.T) {
	blocks := []string{
		`{"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{"query":"q"}}`,
		`{"type":"web_search_tool_result","tool_use_id":"srvtoolu_1","content":[{"type":"web_search_result","title":"E","url":"https://e.org","encrypted_content":"ENC","page_age":null}]}`,
		`{"type":"text","text":"Found","citations":[{"type":"web_search_result_location","url":"https://e.org","title":"E","encrypted_index":"IDX","cited_text":"c"}]}`,
		`{"type":"brand_new","data":"NEW"}`,
		`{"type":"tool_use","id":"A","name":"n","input":{"a":"1"}}`, `{"type":"tool_use","id":"A","name":"n","input":{"a":"2"}}`,
	}
	deltas := map[int]string{
		2: `{"type":"citations_delta","citation":{"type":"web_search_result_location","url":"https://e.org","title":"E","encrypted_index":"IDX","cited_text":"c"}}`,
		4: `{"type":"input_json_delta","partial_json":"{\"a\":\"1\"}"}`, 5: `{"type":"input_json_delta","partial_json":"{\"a\":\"2\"}"}`,
	}
	stream := `data: {"type":"message_start","message":{"id":"m1","type":"message","role":"assistant","model":"m","content":[],"stop_reason":null,"usage":{"input_tokens":5,"output_tokens":1}}}` + "\n\n"
	for i, b := range blocks {
		if i >= 4 {
			b = `{"type":"tool_use","id":"A","name":"n","input":{}}`
		}
		b, _, _ = strings.Cut(b, `,"citations"`)
		if i == 2 {
			b += "}"
		}
		stream += fmt.Sprintf(`data: {"type":"content_block_start","index":%d,"content_block":%s}`, i, b) + "\n\n"
		if d := deltas[i]; d != "" {
			stream += fmt.Sprintf(`data: {"type":"content_block_delta","index":%d,"delta":%s}`, i, d) + "\n\n"
		}
		stream += fmt.Sprintf(`data: {"type":"content_block_stop","index":%d}`, i) + "\n\n"
	}
	stream += `data: {"type":"message_delta","delta":{"stop_reason":"tool_use","stop_sequence":null},"usage":{"output_tokens":5}}` + "\n\n" + `data: {"type":"message_stop"}` + "\n\n"
	whole := `{"id":"m1","type":"message","role":"assistant","model":"m","content":[` + strings.Join(blocks, ",") + `],"stop_reason":"tool_use","stop_sequence":null,"usage":{"input_tokens":5,"output_tokens":5}}`
	url := serve(t, gateway.Setup{Open: opening(bodyOf(t, wire.Messages, stream, whole)), Routes: []gateway.ModelRoute{to("m", "up/m")}})
	for _, streams := range []bool{false, true} {
		_, warning, got := allOf(t, url, "/v1/messages", fmt.Sprintf(`{"model":"m","max_tokens":50,"stream":%t,"messages":[{"role":"user","content":"q"}],"tools":[{"name":"n","input_schema":{"type":"object"}}]}`, streams))
		if strings.Count(got, `"id":"A"`) != 1 {
			t.Errorf("stream=%t: it was not mended: %s", streams, got)
		}
		for _, own := range []string{"ENC", "IDX", "NEW", "srvtoolu_1"} {
			if !strings.Contains(got, own) {
				t.Errorf("stream=%t: %s is lost: %s\n%s", streams, own, warning, got)
			}
		}
	}
}

// TestGeminiArray checks that a Gemini stream is a JSON array unless events are requested.
func TestGeminiArray(t *testing.T) {
	for _, upstream := range []string{wire.Gemini, wire.Chat} {
		url := serve(t, gateway.Setup{Routes: []gateway.ModelRoute{to("m", "up-"+upstream+"/sim/native")}})
		codec, _ := wire.For(wire.Gemini)
		body, _, _ := codec.EncodeRequest(question("m"), true)
		resp, err := http.Post(url+"/v1beta/models/m:streamGenerateContent", "application/json", strings.NewReader(string(body)))
		if err != nil {
			t.Fatal(err)
		}
		b, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		var list []map[string]any
		if err := json.Unmarshal(b, &list); err != nil || len(list) == 0 || resp.Header.Get("Content-Type") != "application/json" {
			t.Errorf("over %s: %v, %q: %s", upstream, err, resp.Header.Get("Content-Type"), b)
		}
	}
}

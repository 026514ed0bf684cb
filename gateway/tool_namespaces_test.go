package gateway_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/toolpost/toolpost/gateway"
	"github.com/toolpost/toolpost/gateway/internal/conversation"
	"github.com/toolpost/toolpost/gateway/internal/exchange"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/provider"
	"github.com/toolpost/toolpost/sim"
	"github.com/toolpost/toolpost/wire"
)

// The tools of a coding agent: a plain one, and two in a namespace. One of these has the same name as the plain tool.
const (
	spaceSchema = `{"type":"object","properties":{"t":{"type":"string"}},"required":["t"]}`
	spaceOnly   = `{"type":"namespace","name":"mcp__gh","description":"The forge.","tools":[{"type":"function","name":"create_issue","parameters":` + spaceSchema + `},{"type":"function","name":"shell","parameters":` + spaceSchema + `}]}`
	spaceTools  = `[{"type":"function","name":"shell","parameters":` + spaceSchema + `},` + spaceOnly + `]`
	spaceCalls  = " shell mcp__gh/create_issue mcp__gh/shell"
)

// spaceHost is an upstream whose model calls each offered tool, until it has results.
type spaceHost struct {
	mu     sync.Mutex
	bodies [][]byte
}

func (*spaceHost) says(_ context.Context, req *llm.Request) iter.Seq2[llm.Event, error] {
	last := req.Messages[len(req.Messages)-1]
	parts, reason := []llm.Part{llm.Text{Text: "Done."}}, llm.Stop
	if text := last.Text(); strings.Contains(text, "text:") && !strings.Contains(text, "fine") {
		names := []string{"shell", "create_issue", "mcp__gh__shell"}
		parts = nil
		for _, name := range names {
			parts = append(parts, llm.Text{Text: fmt.Sprintf("<tool_call>\n{\"name\": %q, \"arguments\": {\"t\": \"T\"}}\n</tool_call>\n", name)})
		}
	} else if strings.Contains(text, "native:") {
		parts, reason = nil, llm.ToolCalls
		for i, t := range req.Tools {
			parts = append(parts, llm.Call{ID: fmt.Sprintf("c%d_%d", len(req.Messages), i), Name: t.Name, Args: json.RawMessage(`{"t":"T"}`)})
		}
	}
	r := &llm.Response{Message: llm.Message{Role: llm.RoleAssistant, Parts: parts}, Finish: llm.Finish{Reason: reason}}
	return func(yield func(llm.Event, error) bool) {
		for _, ev := range r.Events() {
			if !yield(ev, nil) {
				return
			}
		}
	}
}

// last returns the last request, parsed in its format.
func (h *spaceHost) last(t *testing.T, format string) (string, *llm.Request) {
	t.Helper()
	h.mu.Lock()
	defer h.mu.Unlock()
	body := h.bodies[len(h.bodies)-1]
	codec, _ := wire.For(format)
	req, _, err := codec.DecodeRequest(body)
	if err != nil {
		t.Fatal(err)
	}
	return string(body), req
}

// spaceGateway is a gateway with a route for each format, for a model without native tools, and for a model used as a
// fallback.
func spaceGateway(t *testing.T) (*spaceHost, string) {
	t.Helper()
	host := new(spaceHost)
	model := &sim.Server{Model: llm.ModelFunc(host.says), Unknown: "sim/native"}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		host.mu.Lock()
		host.bodies = append(host.bodies, body)
		host.mu.Unlock()
		r.Body = io.NopCloser(bytes.NewReader(body))
		model.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	down := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "{}", http.StatusServiceUnavailable) }))
	t.Cleanup(down.Close)
	vendors := map[string]provider.Vendor{"up-text": {BaseURL: server.URL + "/v1", Wires: []string{wire.Chat}}, "down": {BaseURL: down.URL, Wires: []string{wire.Messages}}}
	var routes []gateway.ModelRoute
	for format, root := range roots {
		vendors["up-"+format] = provider.Vendor{BaseURL: server.URL + root, Wires: []string{format}}
		cached := to("cached-"+format, "up-"+format+"/sim/native")
		cached.Cache = gateway.Cache{For: time.Hour, Tools: true}
		after := gateway.ModelRoute{Model: "after-" + format, Upstreams: []gateway.Upstream{{Model: "down/sim/native"}}, Fallback: []string{format}}
		routes = append(routes, to(format, "up-"+format+"/sim/native"), cached, after)
	}
	routes = append(routes, to("text", "up-text/sim/native+no-tools"))
	native := &provider.Client{Vendors: vendors, Retry: provider.RetryPolicy{Attempts: -1}, Route: provider.Native}
	text := &provider.Client{Vendors: vendors, Retry: provider.RetryPolicy{Attempts: -1}, Style: "hermes"}
	open := func(id string, _ gateway.Way) (llm.Model, error) {
		if strings.HasPrefix(id, "up-text/") {
			return text.Open(id)
		}
		return native.Open(id)
	}
	return host, serve(t, gateway.Setup{Open: open, Routes: routes})
}

// spaceAnswer is an answer to a client of the Responses format.
type spaceAnswer struct {
	id     string
	calls  string   // calls with their namespaces
	items  string   // calls and their results, to be sent back
	ids    []string // ids of the calls
	header http.Header
	body   string
}

// spaceItem is an item of an answer.
type spaceItem struct {
	Type, Name, Namespace string
	CallID                string `json:"call_id"`
}

// askSpaced sends a Responses request, and reads calls from the end of the answer and from the items of its stream.
func askSpaced(t *testing.T, url, body, name string) (a spaceAnswer) {
	t.Helper()
	post, err := http.NewRequestWithContext(t.Context(), "POST", url+"/v1/responses", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if name != "" {
		post.Header.Set(conversation.IdempotencyHeader, name)
	}
	resp, err := http.DefaultClient.Do(post)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	got, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("%v %d %s", err, resp.StatusCode, got)
	}
	a.header, a.body = resp.Header, string(got)
	var answer struct {
		ID     string
		Output []json.RawMessage
	}
	whole, begun, ended := string(got), "", ""
	for line := range strings.Lines(string(got)) {
		data, ok := strings.CutPrefix(line, "data: ")
		if !ok {
			continue
		}
		var ev struct {
			Type     string
			Item     spaceItem
			Response json.RawMessage
		}
		if err := json.Unmarshal([]byte(data), &ev); err != nil {
			t.Fatal(err)
		}
		switch ev.Type {
		case "response.output_item.added":
			begun += ev.Item.call()
		case "response.output_item.done":
			ended += ev.Item.call()
		case "response.completed":
			whole = string(ev.Response)
		}
	}
	if err := json.Unmarshal([]byte(whole), &answer); err != nil {
		t.Fatalf("%v: %s", err, got)
	}
	a.id = answer.ID
	for _, raw := range answer.Output {
		var item spaceItem
		if err := json.Unmarshal(raw, &item); err != nil {
			t.Fatal(err)
		}
		if a.calls += item.call(); item.Type == "function_call" {
			a.ids = append(a.ids, item.CallID)
		}
		a.items += "," + string(raw)
	}
	if whole != string(got) && (begun != a.calls || ended != a.calls) {
		t.Errorf("the items begin as%s and end as%s, but the answer has%s", begun, ended, a.calls)
	}
	a.items += a.results()
	return a
}

func (i spaceItem) call() string {
	switch {
	case i.Type != "function_call":
		return ""
	case i.Namespace == "":
		return " " + i.Name
	}
	return " " + i.Namespace + "/" + i.Name
}

// results returns results of the calls.
func (a spaceAnswer) results() (items string) {
	for _, id := range a.ids {
		items += fmt.Sprintf(`,{"type":"function_call_output","call_id":%q,"output":"fine"}`, id)
	}
	return items
}

// flatHistory returns the tool names of the calls and results of a request.
func flatHistory(req *llm.Request) (calls, results string) {
	for _, m := range req.Messages {
		for _, p := range m.Parts {
			switch p := p.(type) {
			case llm.Call:
				calls += " " + p.Name
			case llm.Result:
				results += " " + p.Name
			}
		}
	}
	return calls, results
}

// TestToolNamespacesRoundTrip checks that calls of tools in a namespace have the namespace again, for every kind of answer,
// and that the next request uses the same upstream name for each tool.
func TestToolNamespacesRoundTrip(t *testing.T) {
	host, url := spaceGateway(t)
	for format := range roots {
		for _, stream := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/stream=%t", format, stream), func(t *testing.T) {
				comesBack(t, host, url, format, stream)
			})
		}
	}
}

func comesBack(t *testing.T, host *spaceHost, url, format string, stream bool) {
	says := func(model, input, more string) string {
		return fmt.Sprintf(`{"model":%q,"stream":%t,"input":[{"role":"user","content":"native: go"}%s],"tools":%s%s}`, model, stream, input, spaceTools, more)
	}
	const unkept = `,"store":false`
	first := askSpaced(t, url, says(format, "", unkept), "")
	if first.calls != spaceCalls {
		t.Fatalf("calls:%s", first.calls)
	}
	if fallen := askSpaced(t, url, says("after-"+format, "", unkept), ""); fallen.calls != spaceCalls || fallen.header.Get(exchange.WarningHeader) == "" {
		t.Errorf("after a failure:%s, %v", fallen.calls, fallen.header)
	}
	for _, want := range []string{"miss", "hit"} {
		if cached := askSpaced(t, url, says("cached-"+format, "", unkept), ""); cached.calls != spaceCalls || cached.header.Get("Toolpost-Cache") != want {
			t.Errorf("cached (%s):%s", want, cached.calls)
		}
	}
	name := fmt.Sprint(format, stream)
	for i, body := range []string{says(format, "", unkept), says(format, "", unkept), strings.Replace(says(format, "", unkept), fmt.Sprint(stream), fmt.Sprint(!stream), 1)} {
		if again := askSpaced(t, url, body, name); again.calls != spaceCalls || (again.header.Get(conversation.ReplayHeader) != "") != (i > 0) {
			t.Errorf("named, %d:%s", i, again.calls)
		}
	}
	sameNames := func(how string) {
		t.Helper()
		want := " shell create_issue mcp__gh__shell"
		body, req := host.last(t, format)
		if calls, results := flatHistory(req); calls != want || strings.ReplaceAll(results, " ", "") != "" && results != want {
			t.Errorf("%s: the upstream is told of calls%s and results%s: %s", how, calls, results, body)
		}
		if format == wire.Responses && (strings.Contains(body, "mcp__gh__shell") || strings.Count(body, `"namespace":"mcp__gh"`) != 2) {
			t.Errorf("%s: %s", how, body)
		}
	}
	askSpaced(t, url, says(format, first.items, unkept), "")
	sameNames("by the items")
	kept := askSpaced(t, url, says(format, "", ""), "")
	askSpaced(t, url, fmt.Sprintf(`{"model":%q,"stream":%t,"previous_response_id":%q,"input":[%s],"tools":%s}`, format, stream, kept.id, kept.results()[1:], spaceTools), "")
	sameNames("by the id")
	if format == wire.Responses {
		return
	}
	askSpaced(t, url, fmt.Sprintf(`{"model":%q,"stream":%t,"previous_response_id":%q,"input":[%s],"tools":[%s]}`, format, stream, kept.id, kept.results()[1:], spaceOnly), "")
	if body, req := host.last(t, format); strings.Contains(body, "mcp__gh__shell") {
		calls, _ := flatHistory(req)
		t.Errorf("with other tools: the upstream is told of calls%s: %s", calls, body)
	}
	get, err := http.Get(url + "/v1/responses/" + kept.id)
	if err != nil {
		t.Fatal(err)
	}
	defer get.Body.Close()
	if shown, _ := io.ReadAll(get.Body); strings.Count(string(shown), `"namespace":"mcp__gh"`) != 2 {
		t.Errorf("the answer is kept as %s", shown)
	}
}

// TestToolNamespacesOfTextModels checks the same for a model without native tools that writes its calls as text.
func TestToolNamespacesOfTextModels(t *testing.T) {
	host, url := spaceGateway(t)
	for _, stream := range []bool{false, true} {
		says := func(input string) string {
			return fmt.Sprintf(`{"model":"text","stream":%t,"store":false,"input":[{"role":"user","content":"text: go"}%s],"tools":%s}`, stream, input, spaceTools)
		}
		first := askSpaced(t, url, says(""), "")
		if first.calls != spaceCalls {
			t.Fatalf("stream=%t: calls:%s in %s", stream, first.calls, first.body)
		}
		askSpaced(t, url, says(first.items), "")
		if body, _ := host.last(t, wire.Chat); strings.Count(body, "mcp__gh__shell") < 2 {
			t.Errorf("stream=%t: the model is not told what it called: %s", stream, body)
		}
	}
}

// TestToolNamespacesOfRepairedAnswers checks that an answer of the same format that must be rewritten keeps its namespaces,
// and that each call is checked against the schema of its own tool.
func TestToolNamespacesOfRepairedAnswers(t *testing.T) {
	const calls = `{"type":"function_call","id":"fc_1","call_id":"c1","name":"shell","arguments":"{\"t\":\"T\"}","status":"completed"},` +
		`{"type":"function_call","id":"fc_2","call_id":"c2","name":"create_issue","namespace":"mcp__gh","arguments":"{\"t\":\"T\",}","status":"completed"},` +
		`{"type":"function_call","id":"fc_3","call_id":"c3","name":"shell","namespace":"mcp__gh","arguments":"{\"t\":\"T\",}","status":"completed"}`
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		answer := `{"id":"resp_1","object":"response","created_at":1,"model":"m","status":"completed","output":[` + calls + `],"usage":{"input_tokens":1,"output_tokens":1,"total_tokens":2}}`
		if !strings.Contains(string(body), `"stream":true`) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, answer)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		seq, calls, answer := 0, strings.ReplaceAll(calls, ",}", "}"), strings.ReplaceAll(answer, ",}", "}")
		send := func(kind, rest string) {
			fmt.Fprintf(w, "event: %s\ndata: {\"type\":%q,\"sequence_number\":%d,%s}\n\n", kind, kind, seq, rest)
			seq++
		}
		send("response.created", `"response":{"id":"resp_1","object":"response","created_at":1,"model":"m","status":"in_progress","output":[]}`)
		for i, item := range strings.Split(strings.ReplaceAll(calls, "},{", "}\n{"), "\n") {
			send("response.output_item.added", fmt.Sprintf(`"output_index":%d,"item":%s`, i, strings.NewReplacer(`"{\"t\":\"T\"}"`, `""`, "completed", "in_progress").Replace(item)))
			const args = `{\"t\":\"T\"}`
			send("response.function_call_arguments.delta", fmt.Sprintf(`"item_id":"fc_%d","output_index":%d,"delta":"%s"`, i+1, i, args))
			send("response.function_call_arguments.done", fmt.Sprintf(`"item_id":"fc_%d","output_index":%d,"arguments":"%s"`, i+1, i, args))
			send("response.output_item.done", fmt.Sprintf(`"output_index":%d,"item":%s`, i, item))
		}
		send("response.completed", `"response":`+answer)
	}))
	t.Cleanup(server.Close)
	client := &provider.Client{Vendors: map[string]provider.Vendor{"up": {BaseURL: server.URL, Wires: []string{wire.Responses}}}, Retry: provider.RetryPolicy{Attempts: -1}, Route: provider.Native}
	held := to("held", "up/m")
	held.Check = gateway.Reask // prevents relaying
	url := serve(t, gateway.Setup{Open: opening(client), Routes: []gateway.ModelRoute{to("relayed", "up/m"), held}})
	wanting := strings.Replace(spaceTools, `"required":["t"]`, `"required":["t","u"]`, 1) // only the client's own tool requires u
	for _, stream := range []bool{false, true} {
		for _, c := range []struct{ model, tools string }{{"relayed", wanting}, {"relayed", spaceTools}, {"held", spaceTools}} {
			for _, store := range []bool{false, true} {
				got := askSpaced(t, url, fmt.Sprintf(`{"model":%q,"stream":%t,"store":%t,"input":"go","tools":%s}`, c.model, stream, store, c.tools), "")
				if got.calls != spaceCalls || strings.Contains(got.body, `T\",}`) {
					t.Errorf("%s, stream=%t:%s in %s", c.model, stream, got.calls, got.body)
				}
				faults := strings.Count(got.body+strings.Join(got.header[exchange.WarningHeader], "\n"), `required property "u"`)
				if want := map[bool]int{true: 1}[c.tools == wanting]; faults != want {
					t.Errorf("%s, stream=%t: %d calls do not fit: %s %v", c.model, stream, faults, got.body, got.header)
				}
			}
		}
	}
}

// TestToolNamespacesRemovedByClient checks that a call of a namespace that is no longer offered is not sent to the upstream as
// a call of a client's tool with the same name. It gets its name back when the namespace is offered again.
func TestToolNamespacesRemovedByClient(t *testing.T) {
	host, url := spaceGateway(t)
	own := `[{"type":"function","name":"shell","parameters":` + spaceSchema + `}]`
	for format := range roots {
		says := func(more string) string {
			return fmt.Sprintf(`{"model":%q,%s}`, format, more)
		}
		gone := func(how string) {
			t.Helper()
			body, req := host.last(t, format)
			calls, results := flatHistory(req)
			if want := " shell mcp__gh__create_issue mcp__gh__shell"; calls != want || strings.TrimSpace(results) != "" && results != want {
				t.Errorf("%s, %s: the upstream is told of calls%s and results%s: %s", format, how, calls, results, body)
			}
			if format == wire.Responses && (strings.Contains(body, "mcp__gh__") || strings.Count(body, `"namespace":"mcp__gh"`) != 2) {
				t.Errorf("%s: %s", how, body)
			}
		}
		kept := askSpaced(t, url, says(`"input":[{"role":"user","content":"native: go"}],"tools":`+spaceTools), "")
		askSpaced(t, url, says(`"store":false,"input":[{"role":"user","content":"native: go"}`+kept.items+`],"tools":`+own), "")
		gone("by the items")
		after := askSpaced(t, url, says(fmt.Sprintf(`"previous_response_id":%q,"input":[%s],"tools":%s`, kept.id, kept.results()[1:], own)), "")
		gone("by the id")
		askSpaced(t, url, says(fmt.Sprintf(`"previous_response_id":%q,"input":"And now?","tools":%s`, after.id, own)), "")
		gone("by the id of the next")
		askSpaced(t, url, says(fmt.Sprintf(`"previous_response_id":%q,"input":"And now?","tools":%s`, after.id, spaceTools)), "")
		body, req := host.last(t, format)
		if calls, _ := flatHistory(req); calls != " shell create_issue mcp__gh__shell" {
			t.Errorf("%s: when it is offered again, the upstream is told of calls%s: %s", format, calls, body)
		}
	}
}

// TestToolChoiceInNamespace checks that a tool choice in a namespace does not select a client's tool with the same name.
func TestToolChoiceInNamespace(t *testing.T) {
	codec, _ := wire.For(wire.Responses)
	for _, c := range []struct {
		choice string
		want   llm.ToolChoice
	}{
		{`{"type":"function","name":"shell"}`, llm.ToolChoice{Mode: llm.MustCall, Name: "shell"}},
		{`{"type":"function","name":"shell","namespace":"mcp__gh"}`, llm.ToolChoice{Mode: llm.MustCall, Name: "mcp__gh__shell"}},
		{`{"type":"function","name":"create_issue","namespace":"mcp__gh"}`, llm.ToolChoice{Mode: llm.MustCall, Name: "create_issue"}},
		{`{"type":"allowed_tools","mode":"required","tools":[{"type":"function","name":"shell"},{"type":"function","name":"shell","namespace":"mcp__gh"}]}`, llm.ToolChoice{Mode: llm.MustCall, Allowed: []string{"shell", "mcp__gh__shell"}}},
	} {
		req, _, err := codec.DecodeRequest([]byte(`{"model":"m","input":"hi","tools":` + spaceTools + `,"tool_choice":` + c.choice + `}`))
		if err != nil {
			t.Fatal(err)
		}
		if got := req.Choice; got.Mode != c.want.Mode || got.Name != c.want.Name || !slices.Equal(got.Allowed, c.want.Allowed) {
			t.Errorf("%s is %+v", c.choice, got)
		}
		body, warnings, err := codec.EncodeRequest(req, false)
		if err != nil || len(warnings) > 0 {
			t.Fatal(err, warnings)
		}
		again, _, err := codec.DecodeRequest(body)
		if err != nil || again.Choice.Name != c.want.Name || !slices.Equal(again.Choice.Allowed, c.want.Allowed) || strings.Contains(string(body), "mcp__gh__") {
			t.Errorf("%s is sent as %s, %v", c.choice, body, err)
		}
	}
}

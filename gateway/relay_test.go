package gateway_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/toolpost/toolpost/gateway"
	"github.com/toolpost/toolpost/gateway/internal/exchange"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/provider"
	"github.com/toolpost/toolpost/sim"
	"github.com/toolpost/toolpost/wire"
	wireformat "github.com/toolpost/toolpost/wire/format"
)

// raw sends a request unchanged and returns the answer unchanged.
func raw(t *testing.T, url, format, model string, body []byte, stream bool) []byte {
	t.Helper()
	codec, _ := wire.For(format)
	resp, err := http.Post(url+roots[format]+"/"+codec.Path(model, stream), "application/json", bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	if resp.StatusCode != http.StatusOK {
		t.Fatalf("status %d: %s", resp.StatusCode, b)
	}
	return b
}

// TestValidAnswersAreRelayedUnchanged checks that a client gets the exact bytes of an upstream of its own format, and the
// upstream those of the client, except for the model name.
func TestValidAnswersAreRelayedUnchanged(t *testing.T) {
	var got []byte
	server := new(sim.Server)
	up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got, _ = io.ReadAll(r.Body)
		r.Body = io.NopCloser(bytes.NewReader(got))
		server.ServeHTTP(w, r)
	}))
	defer up.Close()
	const model = "sim/native+seed=7"
	vendors := map[string]provider.Vendor{}
	var routes []gateway.ModelRoute
	for format, root := range roots {
		vendors["up-"+format] = provider.Vendor{BaseURL: up.URL + root, Wires: []string{format}}
		routes = append(routes, to("alias-"+format, "up-"+format+"/"+model))
	}
	client := &provider.Client{Vendors: vendors, Route: provider.Native}
	url := serve(t, gateway.Setup{Open: opening(client), Routes: routes})
	for format := range roots {
		for _, stream := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/stream=%t", format, stream), func(t *testing.T) {
				codec, _ := wire.For(format)
				codec.Quirks.MaxTokens = "max_tokens" // as clients of Chat servers send it
				req := question("alias-" + format)
				body, _, err := codec.EncodeRequest(req, stream)
				if err != nil {
					t.Fatal(err)
				}
				body = append([]byte("  "), body...) // which no encoder of Toolpost writes
				through := raw(t, url, format, req.Model, body, stream)
				asked := bytes.Clone(got)
				named := bytes.Replace(body, []byte(`"alias-`+format+`"`), []byte(`"`+model+`"`), 1)
				if !bytes.Equal(asked, named) {
					t.Errorf("the upstream was asked\n%s\nwant\n%s", asked, named)
				}
				if direct := raw(t, up.URL, format, model, named, stream); !bytes.Equal(through, direct) {
					t.Errorf("the client got\n%s\nand without the gateway\n%s", through, direct)
				}
			})
		}
	}
}

// TestRelayRepairsInTheMiddle checks that a call in the text of an upstream of the client's own format reaches the client as
// a call, and the text before it once.
func TestRelayRepairsInTheMiddle(t *testing.T) {
	for format := range roots {
		for _, stream := range []bool{false, true} {
			url := serve(t, gateway.Setup{Routes: []gateway.ModelRoute{to("m", "up-"+format+"/sim/hermes_json")}})
			got := ask(t, url, format, question("m"), stream)
			if got.err != nil {
				t.Fatal(format, got.err)
			}
			if calls := got.Message.Calls(); len(calls) != 1 || strings.Contains(got.Message.Text(), "tool_call") {
				t.Errorf("%s, stream=%t: %+v, text %q", format, stream, calls, got.Message.Text())
			}
		}
	}
}

// TestBrokenPromise checks that an answer without the demanded call ends in an error, also if the upstream uses the
// client's format.
func TestBrokenPromise(t *testing.T) {
	for format := range roots {
		codec, _ := wire.For(format)
		if !codec.Properties().Has(wireformat.ChoiceRequired) {
			continue
		}
		for _, stream := range []bool{false, true} {
			url := serve(t, gateway.Setup{Routes: []gateway.ModelRoute{to("m", "up-"+format+"/sim/echo")}})
			req := question("m")
			req.Choice.Mode = llm.MustCall
			got := ask(t, url, format, req, stream)
			if got.err == nil {
				t.Errorf("%s, stream=%t: %+v", format, stream, got.Message)
			}
		}
	}
}

// TestRelayReportsOneError checks that a relayed answer that breaks off has exactly one error.
func TestRelayReportsOneError(t *testing.T) {
	url := serve(t, gateway.Setup{Routes: []gateway.ModelRoute{to("m", "up-messages/sim/native+fail=6"), to("cut", "up-messages/sim/native+cut=900")}})
	codec, _ := wire.For(wire.Messages)
	for _, model := range []string{"m", "cut"} {
		body, _, _ := codec.EncodeRequest(&llm.Request{Model: model, MaxTokens: 99, Messages: []llm.Message{llm.User("Hello there")}}, true)
		got := string(raw(t, url, wire.Messages, model, body, true))
		if n := strings.Count(got, "event: error"); n != 1 || strings.Count(got, "message_start\n") != 1 {
			t.Errorf("%s: %d errors in\n%s", model, n, got)
		}
	}
}

// bodyOf is an upstream of a format that answers every request with a body.
func bodyOf(t *testing.T, format, stream, whole string) *provider.Client {
	t.Helper()
	codec, _ := wire.For(format)
	up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if strings.Contains(string(body), `"stream":true`) || strings.Contains(r.URL.Path, "stream") {
			w.Header().Set("Content-Type", codec.StreamType())
			fmt.Fprint(w, stream)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, whole)
	}))
	t.Cleanup(up.Close)
	return &provider.Client{Vendors: map[string]provider.Vendor{"up": {BaseURL: up.URL + roots[format], Wires: []string{format}}}, Route: provider.Native, Retry: provider.RetryPolicy{Attempts: -1}}
}

// TestRepeatedAnswerIDs checks that a client continues from the last answer if its upstream gives every answer the same
// id.
func TestRepeatedAnswerIDs(t *testing.T) {
	n := 0
	up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		n++
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"id":"resp_same","object":"response","status":"completed","model":"m","output":[{"type":"message","id":"msg_%d","role":"assistant","status":"completed","content":[{"type":"output_text","text":%q,"annotations":[]}]}]}`,
			n, fmt.Sprintf("answer %d to %d bytes, about it %t", n, len(body), strings.Contains(string(body), "alpha")))
	}))
	t.Cleanup(up.Close)
	client := &provider.Client{Vendors: map[string]provider.Vendor{"up": {BaseURL: up.URL + "/v1", Wires: []string{wire.Responses}}}, Route: provider.Native}
	url := serve(t, gateway.Setup{Open: opening(client), Routes: []gateway.ModelRoute{to("m", "up/m")}})
	post := func(body string) string { return string(raw(t, url, wire.Responses, "m", []byte(body), false)) }
	post(`{"model":"m","input":"the alpha question"}`)
	post(`{"model":"m","input":"another question"}`)
	if got := post(`{"model":"m","input":"and?","previous_response_id":"resp_same"}`); !strings.Contains(got, "about it false") {
		t.Errorf("it went on from the first answer: %s", got)
	}
}

// TestRelayRepairsStreams checks that relayed answers are repaired too: a finish reason that contradicts the calls, and
// repeated call ids.
func TestRelayRepairsStreams(t *testing.T) {
	for format := range roots {
		for _, stream := range []bool{false, true} {
			url := serve(t, gateway.Setup{Routes: []gateway.ModelRoute{to("m", "up-"+format+"/sim/native+wrong-finish")}})
			codec, _ := wire.For(format)
			body, _, _ := codec.EncodeRequest(question("m"), stream)
			got := string(raw(t, url, format, "m", body, stream))
			switch format {
			case wire.Chat:
				if !strings.Contains(got, `"finish_reason":"tool_calls"`) {
					t.Errorf("%s, stream=%t: %s", format, stream, got)
				}
			case wire.Messages, wire.Converse:
				said := regexp.MustCompile(`(?m)^: .*$`).ReplaceAllString(got, "") // comments may quote the vendor
				if !strings.Contains(said, `"tool_use"`) || strings.Contains(said, `"end_turn"`) {
					t.Errorf("%s, stream=%t: %s", format, stream, got)
				}
			}
		}
	}
	call := `{"index":%d,"id":"same","type":"function","function":{"name":"get_weather","arguments":"{\"city\":\"%s\"}"}}`
	two := fmt.Sprintf(call, 0, "Rome") + "," + fmt.Sprintf(call, 1, "Paris")
	client := saying(t, `{"role":"assistant","tool_calls":[`+two+`]}`, "tool_calls")
	url := serve(t, gateway.Setup{Open: opening(client), Routes: []gateway.ModelRoute{to("m", "up/m")}})
	for _, stream := range []bool{false, true} {
		codec, _ := wire.For(wire.Chat)
		body, _, _ := codec.EncodeRequest(question("m"), stream)
		if got := string(raw(t, url, wire.Chat, "m", body, stream)); strings.Count(got, `"id":"same"`) != 1 {
			t.Errorf("stream=%t: %s", stream, got)
		}
	}
}

const weatherTool = `"tools":[{"type":"function","function":{"name":"get_weather","parameters":{"type":"object","properties":{"city":{"type":"string"}}}}}]`

// answersOf starts a gateway for an upstream of a format that answers each request with the output of say.
func answersOf(t *testing.T, format, model string, say http.HandlerFunc, limits llm.Limits) string {
	t.Helper()
	up := httptest.NewServer(say)
	t.Cleanup(up.Close)
	client := &provider.Client{
		Vendors: map[string]provider.Vendor{"up": {BaseURL: up.URL, Wires: []string{format}}},
		Route:   provider.Native, Retry: provider.RetryPolicy{Initial: time.Millisecond}, Limits: limits,
	}
	return serve(t, gateway.Setup{Open: opening(client), Routes: []gateway.ModelRoute{to("m", "up/"+model)}})
}

// allOf sends a request and returns the whole answer.
func allOf(t *testing.T, url, path, body string) (status int, warning, answer string) {
	t.Helper()
	resp, err := http.Post(url+path, "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, strings.Join(resp.Header[exchange.WarningHeader], "\n"), string(b)
}

// A valid document in the client's own format is relayed byte for byte. Content that a client could not read, or would
// misread, is repaired or becomes an error.
func TestRelayRepairsDocuments(t *testing.T) {
	choice := func(index, message, reason string) string {
		return `{` + index + `"message":{"role":"assistant",` + message + `},"finish_reason":` + reason + `}`
	}
	call := func(id, args string) string {
		return `{` + id + `"type":"function","function":{"name":"get_weather","arguments":` + args + `}}`
	}
	calls := func(list ...string) string {
		return choice(`"index":0,`, `"content":null,"tool_calls":[`+strings.Join(list, ",")+`]`, `"tool_calls"`)
	}
	good := `"{\"city\":\"Rome\"}"`
	cases := []struct {
		name, choices string
		status        int
		want          []string // parts of the client's answer; nil if it equals the upstream's
	}{
		{"a call", calls(call(`"id":"c1",`, good)), 200, nil},
		{"text and two answers", choice(`"index":0,`, `"content":"a"`, `"stop"`) + "," + choice(`"index":1,`, `"content":"b"`, `"stop"`), 200, nil},
		{"answers in another order", choice(`"index":1,`, `"content":"b"`, `"stop"`) + "," + choice(`"index":0,`, `"content":"a"`, `"stop"`), 200, nil},
		{"one with another index", choice(`"index":5,`, `"content":"a"`, `"stop"`), 200, nil},
		{"a mended one in another order", choice(`"index":1,`, `"content":"b"`, `"stop"`) + "," + calls(call(`"id":"c1",`, `"{\"city\":\"Rome\",}"`)), 200, []string{`"index":0,"message":{"role":"assistant","content":null,"tool_calls"`, `"index":1,"message":{"role":"assistant","content":"b"}`}},
		{"answers without an index", choice("", `"content":"a"`, `"stop"`) + "," + choice("", `"content":"b"`, `"stop"`) + "," + choice("", `"content":"c"`, `"stop"`), 200, nil},
		{"a closer is missing", calls(call(`"id":"c1",`, `"{\"city\":\"Rome\""`)), 200, []string{good, `"finish_reason":"tool_calls"`}},
		{"a comma too many", calls(call(`"id":"c1",`, `"{\"city\":\"Rome\",}"`)), 200, []string{good}},
		{"a fence", calls(call(`"id":"c1",`, "\"```json\\n{\\\"city\\\":\\\"Rome\\\"}\\n```\"")), 200, []string{good}},
		{"an object", calls(call(`"id":"c1",`, `{"city":"Rome"}`)), 200, []string{good}},
		{"no id", calls(call("", good)), 200, []string{`"id":"call_1"`, good}},
		{"an empty id", calls(call(`"id":"",`, good)), 200, []string{`"id":"call_1"`, good}},
		{"one id twice", calls(call(`"id":"c1",`, good), call(`"id":"c1",`, `"{\"city\":\"Oslo\"}"`)), 200, []string{`"id":"c1"`, `"id":"call_`, good, `Oslo`}},
		{"cut in a string", calls(call(`"id":"c1",`, `"{\"city\":\"Ro"`)), 502, nil},
		{"cut in the second answer", choice(`"index":0,`, `"content":"a"`, `"stop"`) + "," + strings.Replace(calls(call(`"id":"c1",`, `"{\"city\":\"Ro"`)), `"index":0`, `"index":1`, 1), 502, nil},
		{"a call of nothing", calls(`{"id":"c1","type":"function","function":{"name":"","arguments":"{}"}}`), 502, nil},
		{"an empty reason to end", choice(`"index":0,`, `"content":"a"`, `null`), 200, []string{`"finish_reason":"stop"`}},
		{"no reason to end", `{"index":0,"message":{"role":"assistant","content":"a"}}`, 502, nil},
		{"no choice", "", 502, nil},
	}
	for _, model := range []string{"gpt-4o", "qwen3-32b"} {
		for _, c := range cases {
			t.Run(model+"/"+c.name, func(t *testing.T) {
				said, asked := `{"id":"a1","object":"chat.completion","created":1,"model":"`+model+`","choices":[`+c.choices+`],"zz":1}`, 0
				url := answersOf(t, wire.Chat, model, func(w http.ResponseWriter, r *http.Request) {
					if r.Method != http.MethodPost { // a probe of the server type
						http.NotFound(w, r)
						return
					}
					asked++
					w.Header().Set("Content-Type", "application/json")
					io.WriteString(w, said)
				}, llm.Limits{})
				status, _, got := allOf(t, url, "/v1/chat/completions", `{"model":"m","messages":[{"role":"user","content":"Weather?"}],`+weatherTool+`}`)
				if status != c.status || asked != 1 {
					t.Fatalf("status %d, asked %d times: %s", status, asked, got)
				}
				if status == 200 && c.want == nil && got != said {
					t.Errorf("got\n%s\nwant\n%s", got, said)
				}
				for _, part := range c.want {
					if !strings.Contains(got, part) {
						t.Errorf("got\n%s\nwithout %s", got, part)
					}
				}
			})
		}
	}
}

// Clients merge the chunks of calls by index. So a stream is rewritten if two calls share an index or a call lacks one.
func TestStreamedCallsHaveTheirOwnIndex(t *testing.T) {
	piece := func(index, id, city string) string {
		return fmt.Sprintf(`data: {"id":"a1","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"tool_calls":[{%s%s"type":"function","function":{"name":"get_weather","arguments":"{\"city\":\"%s\"}"}}]},"finish_reason":null}]}`+"\n\n", index, id, city)
	}
	for name, said := range map[string]string{
		"one index":  piece(`"index":0,`, `"id":"x",`, "Rome") + piece(`"index":0,`, `"id":"y",`, "Oslo"),
		"no index":   piece("", `"id":"x",`, "Rome") + piece("", `"id":"y",`, "Oslo"),
		"no id":      piece(`"index":0,`, "", "Rome") + piece(`"index":1,`, "", "Oslo"),
		"as it is":   piece(`"index":0,`, `"id":"x",`, "Rome") + piece(`"index":1,`, `"id":"y",`, "Oslo"),
		"empty id":   piece(`"index":0,`, `"id":"",`, "Rome") + piece(`"index":1,`, `"id":"",`, "Oslo"),
		"third call": piece(`"index":0,`, `"id":"x",`, "Rome") + piece(`"index":1,`, `"id":"y",`, "Oslo") + piece(`"index":1,`, `"id":"z",`, "Bonn"),
	} {
		t.Run(name, func(t *testing.T) {
			said := said + `data: {"id":"a1","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}` + "\n\ndata: [DONE]\n\n"
			url := answersOf(t, wire.Chat, "gpt-4o", func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "text/event-stream")
				io.WriteString(w, said)
			}, llm.Limits{})
			_, _, got := allOf(t, url, "/v1/chat/completions", `{"model":"m","stream":true,"messages":[{"role":"user","content":"Weather?"}],`+weatherTool+`}`)
			if (got == said) != (name == "as it is") {
				t.Errorf("got\n%s", got)
			}
			for i, city := range []string{"Rome", "Oslo", "Bonn"} {
				if strings.Contains(said, city) && !addedUp(got, i, city) {
					t.Errorf("no call %d for %s in\n%s", i, city, got)
				}
			}
		})
	}
}

// addedUp reports whether a client that merges chunks by index gets the arguments of a city, and an id, for a call.
func addedUp(stream string, index int, city string) bool {
	var args, id strings.Builder
	for _, line := range strings.Split(stream, "\n") {
		if _, at, ok := strings.Cut(line, fmt.Sprintf(`"tool_calls":[{"index":%d,`, index)); ok {
			if _, rest, ok := strings.Cut(at, `"arguments":"`); ok {
				args.WriteString(rest)
			}
			if strings.Contains(at, `"id":"`) && !strings.Contains(at, `"id":""`) {
				id.WriteString("x")
			}
		}
	}
	return strings.Contains(args.String(), city) && strings.Count(args.String(), "city") == 1 && id.String() == "x"
}

// Data about a text outside of it does not make it another answer.
func TestResponsesWithToolsAreRelayed(t *testing.T) {
	said := `{"id":"resp_1","object":"response","created_at":1,"status":"completed","error":null,"incomplete_details":null,"max_tool_calls":null,"model":"gpt-5","output":[{"id":"msg_1","type":"message","status":"completed","role":"assistant","content":[{"type":"output_text","annotations":[],"logprobs":[],"text":"Hello."}]}],"user":null,"usage":{"input_tokens":1,"input_tokens_details":{"cached_tokens":0},"output_tokens":2,"output_tokens_details":{"reasoning_tokens":0},"total_tokens":3}}`
	for _, model := range []string{"gpt-5", "qwen3-32b"} {
		url := answersOf(t, wire.Responses, model, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			io.WriteString(w, said)
		}, llm.Limits{})
		_, _, got := allOf(t, url, "/v1/responses", `{"model":"m","store":false,"input":"Hi","tools":[{"type":"function","name":"f","strict":false,"parameters":{"type":"object","properties":{}}}]}`)
		if got != said {
			t.Errorf("%s: got\n%s\nwant\n%s", model, got, said)
		}
	}
}

// The order of the fields of a schema, the escaping of its characters, and its draft version are the client's business.
func TestSchemasInAnyOrderAreRelayed(t *testing.T) {
	for _, schema := range []string{
		`{"properties":{"city":{"type":"string"}},"type":"object"}`,
		`{"type":"object","required":["city"],"additionalProperties":false,"properties":{"city":{"description":"a","type":"string"}}}`,
		`{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","properties":{"city":{"type":"string"}}}`,
		`{"type":"object","properties":{"city":{"type":"string","description":"caf\u00e9"}}}`,
	} {
		body := `{"model":"m","messages":[{"role":"user","content":"Weather?"}],"tools":[{"type":"function","function":{"name":"get_weather","parameters":` + schema + `}}]}`
		var got string
		url := answersOf(t, wire.Chat, "gpt-4o", func(w http.ResponseWriter, r *http.Request) {
			b, _ := io.ReadAll(r.Body)
			got = string(b)
			w.Header().Set("Content-Type", "application/json")
			io.WriteString(w, `{"id":"a","object":"chat.completion","created":1,"model":"x","choices":[{"index":0,"message":{"role":"assistant","content":"."},"finish_reason":"stop"}]}`)
		}, llm.Limits{})
		allOf(t, url, "/v1/chat/completions", body)
		if want := strings.Replace(body, `"m"`, `"gpt-4o"`, 1); got != want {
			t.Errorf("the upstream was asked\n%s\nwant\n%s", got, want)
		}
	}
}

// An upstream that writes its document slowly is not silent.
func TestSlowDocuments(t *testing.T) {
	said := `{"id":"a","object":"chat.completion","created":1,"model":"x","choices":[{"index":0,"message":{"role":"assistant","content":"slow"},"finish_reason":"stop"}]}`
	url := answersOf(t, wire.Chat, "gpt-4o", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		for i := 0; i < len(said); i += 20 {
			io.WriteString(w, said[i:min(i+20, len(said))])
			http.NewResponseController(w).Flush()
			time.Sleep(150 * time.Millisecond)
		}
	}, llm.Limits{Idle: 900 * time.Millisecond})
	if status, _, got := allOf(t, url, "/v1/chat/completions", `{"model":"m","messages":[{"role":"user","content":"?"}]}`); status != 200 || got != said {
		t.Errorf("status %d: %s", status, got)
	}
}

// A Gemini client that does not ask for events gets an array, also from Google's own bytes, whose lines end in CR LF.
func TestArraysOfRelayedEvents(t *testing.T) {
	const first, second = `{"candidates":[{"content":{"parts":[{"text":"Hi"}],"role":"model"},"index":0}]}`, `{"candidates":[{"content":{"parts":[{"text":" you"}],"role":"model"},"finishReason":"STOP","index":0}]}`
	for name, said := range map[string]string{
		"LF":            "data: " + first + "\n\ndata: " + second + "\n\n",
		"CR LF":         "data: " + first + "\r\n\r\ndata: " + second + "\r\n\r\n",
		"no last blank": "data: " + first + "\r\n\r\ndata: " + second + "\r\n",
	} {
		url := answersOf(t, wire.Gemini, "gemini-2.5-pro", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			io.WriteString(w, said)
		}, llm.Limits{})
		_, _, got := allOf(t, url, "/v1beta/models/m:streamGenerateContent", `{"contents":[{"role":"user","parts":[{"text":"Hi"}]}]}`)
		if want := "[" + first + ",\n" + second + "]\n"; got != want {
			t.Errorf("%s: got\n%s\nwant\n%s", name, got, want)
		}
	}
}

// If a vendor makes two calls although one was requested, both are relayed with a warning.
func TestParallelCallLimitOfVendor(t *testing.T) {
	said := `{"id":"msg_1","type":"message","role":"assistant","model":"c","content":[{"type":"tool_use","id":"t1","name":"f","input":{}},{"type":"tool_use","id":"t2","name":"f","input":{}}],"stop_reason":"tool_use","stop_sequence":null,"usage":{"input_tokens":1,"output_tokens":2}}`
	url := answersOf(t, wire.Messages, "claude-sonnet-4-5", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, said)
	}, llm.Limits{})
	_, warning, got := allOf(t, url, "/v1/messages", `{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"Hi"}],"tools":[{"name":"f","input_schema":{"type":"object","properties":{}}}],"tool_choice":{"type":"auto","disable_parallel_tool_use":true}}`)
	if got != said || !strings.Contains(warning, "one_call") {
		t.Errorf("warned %q, got\n%s", warning, got)
	}
}

// A repair in a document changes nothing else: its parts keep their places and their data.
func TestRepairedDocumentsKeepMemberOrder(t *testing.T) {
	for name, c := range map[string]struct{ format, model, path, request, said, want string }{
		"messages": {wire.Messages, "claude-sonnet-4-5", "/v1/messages",
			`{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"Hi"}],"tools":[{"name":"f","input_schema":{"type":"object","properties":{}}}]}`,
			`{"id":"msg_1","type":"message","role":"assistant","model":"c","content":[{"type":"text","text":"a"},{"type":"thinking","thinking":"t","signature":"s"},{"type":"text","text":"b","citations":[{"type":"char_location","cited_text":"z","document_index":0,"document_title":null,"start_char_index":0,"end_char_index":1}]},{"type":"tool_use","id":"t1","name":"f","input":{}}],"stop_reason":"end_turn","stop_sequence":null,"usage":{"input_tokens":1,"output_tokens":2}}`,
			`"content":[{"type":"text","text":"a"},{"type":"thinking","thinking":"t","signature":"s"},{"type":"text","text":"b","citations":[{"type":"char_location","cited_text":"z","document_index":0,"document_title":null,"start_char_index":0,"end_char_index":1}]},{"type":"tool_use","id":"t1","name":"f","input":{}}],"stop_reason":"tool_use"`},
		"responses": {wire.Responses, "gpt-5", "/v1/responses",
			`{"model":"m","store":false,"input":"Hi","tools":[{"type":"function","name":"f","strict":false,"parameters":{"type":"object","properties":{}}}]}`,
			`{"id":"resp_1","object":"response","created_at":5,"status":"completed","model":"m","output":[{"type":"message","id":"m1","role":"assistant","status":"completed","content":[{"type":"output_text","text":"text","annotations":[]}]},{"type":"brand_new","id":"z"},{"type":"function_call","id":"fc1","call_id":"c","name":"f","arguments":"{}","status":"completed"},{"type":"function_call","id":"fc2","call_id":"c","name":"f","arguments":"{}","status":"completed"}]}`,
			`"text":"text","annotations":[]}],"id":"m1","status":"completed"},{"type":"brand_new","id":"z"},{"type":"function_call","call_id":"c","name":"f"`},
		"gemini": {wire.Gemini, "gemini-2.5-pro", "/v1beta/models/m:generateContent",
			`{"contents":[{"role":"user","parts":[{"text":"Hi"}]}],"tools":[{"functionDeclarations":[{"name":"f","parameters":{"type":"object","properties":{}}}]}]}`,
			`{"candidates":[{"content":{"parts":[{"text":"a","thoughtSignature":"S"},{"functionCall":{"id":"i","name":"f","args":{}}},{"functionCall":{"id":"i","name":"f","args":{}}}],"role":"model"},"finishReason":"STOP","index":0}]}`,
			`"parts":[{"text":"a","thoughtSignature":"S"},{"functionCall":{"id":"i","name":"f","args":{}}},{"functionCall":{"id":"call_1"`},
	} {
		url := answersOf(t, c.format, c.model, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			io.WriteString(w, c.said)
		}, llm.Limits{})
		if _, _, got := allOf(t, url, c.path, c.request); !strings.Contains(got, c.want) || got == c.said {
			t.Errorf("%s: got\n%s\nwant in it\n%s", name, got, c.want)
		}
	}
}

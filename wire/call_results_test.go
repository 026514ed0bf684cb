package wire

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/internal/linear"
	"github.com/toolpost/toolpost/internal/wire/history"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/wire/internal/codec"
)

// paired are two calls and their results, as name, arguments and text in the order of the calls, of a request that was
// translated to some format.
func paired(t *testing.T, format, body string) []string {
	t.Helper()
	req, _, err := Codec{Format: format}.DecodeRequest([]byte(body))
	if err != nil {
		t.Fatalf("%s: %v", body, err)
	}
	var out []string
	for i, m := range req.Messages {
		for k, c := range m.Calls() {
			if i+1 >= len(req.Messages) || len(req.Messages[i+1].Parts) <= k {
				t.Fatalf("call %d of message %d has no result behind it: %s", k, i, body)
			}
			r, ok := req.Messages[i+1].Parts[k].(llm.Result)
			if !ok || r.CallID != c.ID || r.Name != c.Name {
				t.Errorf("call %q %q is followed by %#v", c.ID, c.Name, req.Messages[i+1].Parts[k])
			}
			out = append(out, c.Name+string(c.Args)+" "+strings.Replace(r.Text(), history.Interrupted, "INTERRUPTED", 1))
		}
	}
	return out
}

// mended sends a request on as providers do: healed, and with ids that the target takes.
func mended(t *testing.T, from, to, body string) (string, []llm.Warning) {
	t.Helper()
	req, stream, err := Codec{Format: from}.DecodeRequest([]byte(body))
	if err != nil {
		t.Fatalf("%s: %v", from, err)
	}
	var changed []llm.Warning
	req.Messages, changed = history.Repair(req.Messages, to)
	req, _ = history.Rules{}.Apply(req)
	out, warnings, err := Codec{Format: to}.EncodeRequest(req, stream)
	if err != nil {
		t.Fatalf("%s → %s: %v", from, to, err)
	}
	return string(out), append(changed, warnings...)
}

// twoOfOneID are histories with two calls of one turn that have the same id, in each format that has ids.
func twoOfOneID(id string) map[string]string {
	q, _ := json.Marshal(id)
	fill := func(s string) string { return strings.ReplaceAll(s, "ID", string(q)) }
	return map[string]string{
		Chat: fill(`{"model":"m","messages":[{"role":"user","content":"q"},{"role":"assistant","content":null,"tool_calls":[
			{"id":ID,"type":"function","function":{"name":"read_file","arguments":"{\"a\":1}"}},{"id":ID,"type":"function","function":{"name":"weather","arguments":"{\"a\":2}"}}]},
			{"role":"tool","tool_call_id":ID,"content":"FILE"},{"role":"tool","tool_call_id":ID,"content":"SUN"}]}`),
		Messages: fill(`{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"q"},{"role":"assistant","content":[
			{"type":"tool_use","id":ID,"name":"read_file","input":{"a":1}},{"type":"tool_use","id":ID,"name":"weather","input":{"a":2}}]},
			{"role":"user","content":[{"type":"tool_result","tool_use_id":ID,"content":"FILE"},{"type":"tool_result","tool_use_id":ID,"content":"SUN"}]}]}`),
		Responses: fill(`{"model":"m","input":[{"role":"user","content":"q"},{"type":"function_call","call_id":ID,"name":"read_file","arguments":"{\"a\":1}"},
			{"type":"function_call","call_id":ID,"name":"weather","arguments":"{\"a\":2}"},{"type":"function_call_output","call_id":ID,"output":"FILE"},{"type":"function_call_output","call_id":ID,"output":"SUN"}]}`),
		Converse: fill(`{"messages":[{"role":"user","content":[{"text":"q"}]},{"role":"assistant","content":[
			{"toolUse":{"toolUseId":ID,"name":"read_file","input":{"a":1}}},{"toolUse":{"toolUseId":ID,"name":"weather","input":{"a":2}}}]},
			{"role":"user","content":[{"toolResult":{"toolUseId":ID,"content":[{"text":"FILE"}]}},{"toolResult":{"toolUseId":ID,"content":[{"text":"SUN"}]}}]}]}`),
		Gemini: fill(`{"contents":[{"role":"user","parts":[{"text":"q"}]},{"role":"model","parts":[
			{"functionCall":{"id":ID,"name":"read_file","args":{"a":1}}},{"functionCall":{"id":ID,"name":"weather","args":{"a":2}}}]},
			{"role":"user","parts":[{"functionResponse":{"id":ID,"name":"read_file","response":{"output":"FILE"}}},{"functionResponse":{"id":ID,"name":"weather","response":{"output":"SUN"}}}]}]}`),
		Ollama: fill(`{"model":"m","messages":[{"role":"user","content":"q"},{"role":"assistant","content":"","tool_calls":[
			{"id":ID,"function":{"name":"read_file","arguments":{"a":1}}},{"id":ID,"function":{"name":"weather","arguments":{"a":2}}}]},
			{"role":"tool","content":"FILE","tool_call_id":ID},{"role":"tool","content":"SUN","tool_call_id":ID}]}`),
	}
}

// Two calls of a turn that have one id are two calls with two results in order, whoever sends them and to whom they go,
// and each result has the name of its own call.
func TestTwoCallsOfOneID(t *testing.T) {
	want := `[read_file{"a":1} FILE weather{"a":2} SUN]`
	for _, id := range []string{"call_0", ""} {
		for from, body := range twoOfOneID(id) {
			for _, to := range Formats() {
				out, warnings := mended(t, from, to, body)
				if got := fmt.Sprint(paired(t, to, out)); got != want {
					t.Errorf("%s → %s with the id %q: %s\n%s", from, to, id, got, out)
				}
				for _, w := range warnings {
					if w.Feature == "history" {
						t.Errorf("%s → %s with the id %q: warned of %v", from, to, id, w)
					}
				}
				if to == Gemini && strings.Contains(out, `"name":"weather","response":{"output":"FILE"`) {
					t.Errorf("%s → %s: the first result has the name of the second call: %s", from, to, out)
				}
			}
		}
	}
}

// A call with arguments that are no JSON does not take the result of another with its id.
func TestBrokenCallBesideItsID(t *testing.T) {
	body := strings.Replace(twoOfOneID("call_0")[Chat], `"{\"a\":1}"`, `"{\"a\":"`, 1)
	out, _ := mended(t, Chat, Messages, body)
	if got := fmt.Sprint(paired(t, Messages, out)); got != `[weather{"a":2} SUN]` || !strings.Contains(out, "FILE") {
		t.Errorf("got %s of %s", got, out)
	}
}

// A function_call of old has no id, and its result a name only.
func TestLegacyFunctionCall(t *testing.T) {
	body := `{"model":"m","messages":[{"role":"user","content":"q"},{"role":"assistant","content":null,"function_call":{"name":"weather","arguments":"{\"a\":1}"}},
		{"role":"function","name":"weather","content":"SUN"},{"role":"assistant","content":null,"function_call":{"name":"weather","arguments":"{\"a\":2}"}},{"role":"function","name":"weather","content":"RAIN"}]}`
	for _, to := range Formats() {
		out, _ := mended(t, Chat, to, body)
		if got := fmt.Sprint(paired(t, to, out)); got != `[weather{"a":1} SUN weather{"a":2} RAIN]` {
			t.Errorf("%s: %s", to, got)
		}
	}
}

// usedAgain are histories in which an id is used in a second turn, and its first call has no result.
var usedAgain = map[string]string{
	Chat: `{"model":"m","messages":[{"role":"user","content":"q"},{"role":"assistant","tool_calls":[{"id":"A","type":"function","function":{"name":"weather","arguments":"{}"}}]},{"role":"user","content":"r"},
		{"role":"assistant","tool_calls":[{"id":"A","type":"function","function":{"name":"read_file","arguments":"{}"}}]},{"role":"tool","tool_call_id":"A","content":"FILE"}]}`,
	Messages: `{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"q"},{"role":"assistant","content":[{"type":"tool_use","id":"A","name":"weather","input":{}}]},{"role":"user","content":"r"},
		{"role":"assistant","content":[{"type":"tool_use","id":"A","name":"read_file","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"A","content":"FILE"}]}]}`,
	Responses: `{"model":"m","input":[{"role":"user","content":"q"},{"type":"function_call","call_id":"A","name":"weather","arguments":"{}"},{"role":"user","content":"r"},
		{"type":"function_call","call_id":"A","name":"read_file","arguments":"{}"},{"type":"function_call_output","call_id":"A","output":"FILE"}]}`,
	Converse: `{"messages":[{"role":"user","content":[{"text":"q"}]},{"role":"assistant","content":[{"toolUse":{"toolUseId":"A","name":"weather","input":{}}}]},{"role":"user","content":[{"text":"r"}]},
		{"role":"assistant","content":[{"toolUse":{"toolUseId":"A","name":"read_file","input":{}}}]},{"role":"user","content":[{"toolResult":{"toolUseId":"A","content":[{"text":"FILE"}]}}]}]}`,
	Gemini: `{"contents":[{"role":"user","parts":[{"text":"q"}]},{"role":"model","parts":[{"functionCall":{"name":"f","args":{}}}]},{"role":"user","parts":[{"text":"r"}]},
		{"role":"model","parts":[{"functionCall":{"name":"f","args":{}}}]},{"role":"user","parts":[{"functionResponse":{"name":"f","response":{"output":"FILE"}}}]}]}`,
	Ollama: `{"model":"m","messages":[{"role":"user","content":"q"},{"role":"assistant","content":"","tool_calls":[{"function":{"name":"weather","arguments":{}}}]},{"role":"user","content":"r"},
		{"role":"assistant","content":"","tool_calls":[{"function":{"name":"read_file","arguments":{}}}]},{"role":"tool","content":"FILE"}]}`,
}

// A result answers the nearest call before it that waits, and no older one of its id.
func TestResultOfTheNearestCall(t *testing.T) {
	for from, body := range usedAgain {
		for _, to := range Formats() {
			out, _ := mended(t, from, to, body)
			got := fmt.Sprint(paired(t, to, out))
			if want := `[weather{} INTERRUPTED read_file{} FILE]`; got != want && got != `[f{} INTERRUPTED f{} FILE]` {
				t.Errorf("%s → %s: %s, want %s", from, to, got, want)
			}
		}
	}
}

// Results of several turns, in odd places: which call each answers.
func TestResultMatching(t *testing.T) {
	ask := func(ids ...string) llm.Message {
		m := llm.Message{Role: llm.RoleAssistant}
		for _, s := range ids {
			id, name, _ := strings.Cut(s, ":")
			m.Parts = append(m.Parts, llm.Call{ID: id, Name: name, Args: []byte("{}")})
		}
		return m
	}
	tell := func(ids ...string) llm.Message {
		m := llm.Message{Role: llm.RoleTool}
		for _, s := range ids {
			id, text, _ := strings.Cut(s, ":")
			m.Parts = append(m.Parts, llm.Result{CallID: id, Parts: []llm.Part{llm.Text{Text: text}}})
		}
		return m
	}
	user := llm.User("u")
	for name, tt := range map[string]struct {
		in   []llm.Message
		want string
	}{
		"late":                    {[]llm.Message{user, ask("A:f"), user, ask("B:g"), tell("B:2", "A:1")}, "f 1, g 2"},
		"one id late":             {[]llm.Message{user, ask("A:f"), user, ask("A:g"), tell("A:2"), user, tell("A:1")}, "f 1, g 2"},
		"before its call":         {[]llm.Message{user, tell("A:1"), ask("A:f")}, "f 1"},
		"before the first of two": {[]llm.Message{user, tell("A:1"), ask("A:f"), tell("A:2"), ask("A:g")}, "f 2, g 1"},
		"a second is no later's":  {[]llm.Message{user, ask("A:f"), tell("A:1", "A:9"), user, ask("A:g")}, "f 1, g INTERRUPTED"},
		"one turn, two messages":  {[]llm.Message{user, ask("A:f"), ask("A:g"), tell("A:1", "A:2")}, "f 1, g 2"},
		"three of two":            {[]llm.Message{user, ask("A:f", "A:g"), tell("A:1", "A:2", "A:3")}, "f 1, g 2"},
		"hosted beside":           {[]llm.Message{user, {Role: llm.RoleAssistant, Parts: []llm.Part{llm.Call{ID: "A", Name: "h", Hosted: true}, llm.Result{CallID: "A", Hosted: true}, llm.Call{ID: "A", Name: "f"}}}, tell("A:1")}, "f 1"},
	} {
		healed, _ := history.Repair(tt.in, "")
		var got []string
		for i, m := range healed {
			for k, c := range m.Calls() {
				r := healed[i+1].Parts[k].(llm.Result)
				got = append(got, c.Name+" "+strings.Replace(r.Text(), history.Interrupted, "INTERRUPTED", 1))
				if r.Name != c.Name {
					t.Errorf("%s: the result of %s is named %s", name, c.Name, r.Name)
				}
			}
		}
		if s := strings.Join(got, ", "); s != tt.want {
			t.Errorf("%s: %s, want %s", name, s, tt.want)
		}
	}
}

// A result without an id goes to a call of its name. If none waits it goes to another, which is told.
func TestResultsByName(t *testing.T) {
	history := func(names ...string) string {
		var b strings.Builder
		b.WriteString(`{"model":"m","messages":[{"role":"user","content":"q"},{"role":"assistant","content":"","tool_calls":[{"function":{"name":"read_file","arguments":{}}},{"function":{"name":"weather","arguments":{}}}]}`)
		for _, n := range names {
			fmt.Fprintf(&b, `,{"role":"tool","tool_name":%q,"content":%q}`, n, "of "+n)
		}
		return b.String() + "]}"
	}
	for _, tt := range []struct {
		body, want string
		warned     bool
	}{
		{history("weather", "read_file"), `[read_file{} of read_file weather{} of weather]`, false},
		{history("read_file", "clock"), `[read_file{} of read_file weather{} of clock]`, true},
	} {
		for _, to := range Formats() {
			out, warnings := mended(t, Ollama, to, tt.body)
			if got := fmt.Sprint(paired(t, to, out)); got != tt.want {
				t.Errorf("%s: %s, want %s", to, got, tt.want)
			}
			told := strings.Contains(fmt.Sprint(warnings), "1 results of the history have the name of another tool")
			if told != tt.warned {
				t.Errorf("%s: told %t, want %t: %v", to, told, tt.warned, warnings)
			}
		}
	}
}

// Pairing takes time in proportion to the history, also if all calls have one id, one name or none.
func TestResultMatchingIsLinear(t *testing.T) {
	body := func(n int, call, result string) []byte {
		var b strings.Builder
		b.WriteString(`{"model":"m","messages":[{"role":"user","content":"q"}`)
		for range n {
			b.WriteString(`,{"role":"assistant","content":"","tool_calls":[{` + call + `"function":{"name":"f","arguments":{}}}]},{"role":"user","content":"u"}`)
		}
		for range n {
			b.WriteString(`,{"role":"tool",` + result + `"content":"r"}`)
		}
		b.WriteString("]}")
		return []byte(b.String())
	}
	for _, tt := range [][2]string{{`"id":"A",`, `"tool_call_id":"A",`}, {``, `"tool_name":"f",`}, {``, ``}, {``, `"tool_call_id":"z",`}, {`"id":"A",`, `"tool_name":"none",`}} {
		linear.Check(t, tt[0]+tt[1], 1000, func(n int) func() {
			text := body(n, tt[0], tt[1])
			return func() {
				req, _, err := Codec{Format: Ollama}.DecodeRequest(text)
				if err != nil {
					t.Fatal(err)
				}
				history.Repair(req.Messages, "")
			}
		})
	}
}

// Where two calls of a turn have one id, results that say whose they are belong to the calls of their names, in whatever order they come.
func TestResultsOfOneIDByName(t *testing.T) {
	const gemini = `{"contents":[{"role":"user","parts":[{"text":"q"}]},` +
		`{"role":"model","parts":[{"functionCall":{"id":"A","name":"weather","args":{}}},{"functionCall":{"id":"A","name":"read_file","args":{}}}]},` +
		`{"role":"user","parts":[{"functionResponse":{"id":"A","name":"read_file","response":{"output":"FILE"}}},{"functionResponse":{"id":"A","name":"weather","response":{"output":"SUN"}}}]}]}`
	const chat = `{"model":"m","messages":[{"role":"user","content":"q"},{"role":"assistant","tool_calls":[{"id":"A","type":"function","function":{"name":"weather","arguments":"{}"}},` +
		`{"id":"A","type":"function","function":{"name":"read_file","arguments":"{}"}}]},{"role":"tool","tool_call_id":"A","name":"read_file","content":"FILE"},{"role":"tool","tool_call_id":"A","name":"weather","content":"SUN"}]}`
	for format, body := range map[string]string{Gemini: gemini, Chat: chat} {
		c := Codec{Format: format}
		req, _, err := c.DecodeRequest([]byte(body))
		if err != nil {
			t.Fatal(err)
		}
		healed, _ := history.Repair(req.Messages, "")
		var said string
		for _, m := range healed {
			for _, part := range m.Parts {
				if r, ok := part.(llm.Result); ok { // in the order of their calls
					said += r.Name + " " + r.Text() + " "
				}
			}
		}
		if said != "weather SUN read_file FILE " {
			t.Errorf("%s: %s", format, said)
		}
	}
}

// A text document without a byte is said as text like others, and is no file.
func TestEmptyTextDocuments(t *testing.T) {
	from := Codec{Format: Messages}
	req, _, err := from.DecodeRequest([]byte(`{"model":"m","max_tokens":9,"messages":[{"role":"user","content":[{"type":"document","title":"n.txt","source":{"type":"text","media_type":"text/plain","data":""}},{"type":"text","text":"look"}]}]}`))
	if err != nil {
		t.Fatal(err)
	}
	to := Codec{Format: Chat}
	body, _, err := to.EncodeRequest(req, false)
	if err != nil || strings.Contains(string(body), `"file"`) || !strings.Contains(string(body), "n.txt") {
		t.Errorf("%s %v", body, err)
	}
}

// answered is a request whose tool f gave that result.
func answered(r llm.Result) *llm.Request {
	r.CallID, r.Name = "c1", "f"
	return &llm.Request{Model: "m", MaxTokens: 5, Messages: []llm.Message{llm.User("hi"),
		{Role: llm.RoleAssistant, Parts: []llm.Part{llm.Call{ID: "c1", Name: "f", Args: []byte("{}")}}}, {Role: llm.RoleTool, Parts: []llm.Part{r}}}}
}

// TestBlankResults: a result that is empty reaches each vendor in a form that it takes, and one of which nothing can be carried says so.
func TestBlankResults(t *testing.T) {
	blank, video := []llm.Part{llm.Text{}}, []llm.Part{llm.Media{Kind: llm.Video, URL: "https://x.test/y.mp4"}}
	for _, c := range []struct {
		Format string
		result llm.Result
		want   string // in the body
		lacks  string
	}{
		{Chat, llm.Result{Parts: blank}, `"content":""}`, codec.NotShown},
		{Responses, llm.Result{Parts: blank}, `"output":""}`, codec.NotShown},
		{Gemini, llm.Result{Parts: blank}, `"response":{"output":""}`, codec.NotShown},
		{Gemini, llm.Result{Failed: true}, `"response":{"error":""}`, codec.NotShown},
		{Ollama, llm.Result{Parts: blank}, `"content":"","tool_name"`, codec.NotShown},
		{Ollama, llm.Result{Parts: video}, codec.NotShown, `{"role":"user","content":""}`},
		{Messages, llm.Result{}, `"tool_use_id":"c1"}`, codec.NotShown},
		{Messages, llm.Result{Parts: blank}, `"content":""`, codec.NotShown},
		{Messages, llm.Result{Parts: video}, `"content":"` + codec.NotShown, `"content":[]`},
		{Messages, llm.Result{Failed: true}, `"content":"` + codec.NoOutput + `","is_error":true`, codec.NotShown},
		{Messages, llm.Result{Failed: true, Parts: blank}, `"content":"` + codec.NoOutput + `","is_error":true`, codec.NotShown},
		{Converse, llm.Result{}, `"content":[]`, codec.NotShown},
		{Converse, llm.Result{Parts: blank}, `"content":[]`, codec.NotShown},
		{Converse, llm.Result{Parts: video}, codec.NotShown, `"content":[]`},
		{Converse, llm.Result{Failed: true, Parts: blank}, codec.NoOutput, codec.NotShown},
	} {
		codec, _ := For(c.Format)
		body, _, err := codec.EncodeRequest(answered(c.result), false)
		if err != nil || !strings.Contains(string(body), c.want) || strings.Contains(string(body), c.lacks) {
			t.Errorf("%s, %+v: %v, want %s and not %s in\n%s", c.Format, c.result, err, c.want, c.lacks, body)
		}
	}
}

// TestNoOutputIsOurs: the words for a failed result without text are not taken for the tool's.
func TestNoOutputIsOurs(t *testing.T) {
	for _, format := range []string{Messages, Converse} {
		codec, _ := For(format)
		body, _, err := codec.EncodeRequest(answered(llm.Result{Failed: true}), false)
		if err != nil {
			t.Fatal(err)
		}
		req, _, err := codec.DecodeRequest(body)
		if err != nil {
			t.Fatal(err)
		}
		if r := req.Messages[2].Parts[0].(llm.Result); !r.Failed || len(r.Parts) > 0 {
			t.Errorf("%s: %+v", format, r)
		}
	}
}

// TestConverseStatus: a word that Amazon refuses is refused here, with where it stands.
func TestConverseStatus(t *testing.T) {
	const body = `{"messages":[{"role":"user","content":[{"text":"hi"}]},{"role":"assistant","content":[{"toolUse":{"toolUseId":"c1","name":"f","input":{}}}]},
		{"role":"user","content":[{"toolResult":{"toolUseId":"c1","content":[{"text":"x"}],"status":WORD}}]}]}`
	codec, _ := For(Converse)
	for word, failed := range map[string]bool{`"success"`: false, `"error"`: true, `null`: false} {
		req, _, err := codec.DecodeRequest([]byte(strings.Replace(body, "WORD", word, 1)))
		if err != nil || req.Messages[2].Parts[0].(llm.Result).Failed != failed {
			t.Errorf("%s: %v", word, err)
		}
	}
	for _, word := range []string{`"failed"`, `""`, `"ERROR"`} {
		_, _, err := codec.DecodeRequest([]byte(strings.Replace(body, "WORD", word, 1)))
		if err == nil || !strings.Contains(err.Error(), "success or error") || !strings.Contains(err.Error(), "status") {
			t.Errorf("%s: %v", word, err)
		}
	}
}

// TestComputerActions: a computer_call with several actions is a call with all of them, also where another vendor is told of it.
func TestComputerActions(t *testing.T) {
	const item = `{"type":"computer_call","id":"cu_1","call_id":"c1","status":"completed","pending_safety_checks":[],` +
		`"actions":[{"type":"click","button":"left","x":1,"y":2},{"type":"type","text":"hello"}]}`
	const want = `{"actions":[{"type":"click","button":"left","x":1,"y":2},{"type":"type","text":"hello"}]}`
	codec, _ := For(Responses)
	r, err := codec.DecodeResponse([]byte(`{"id":"r","object":"response","status":"completed","model":"m","output":[` + item + `]}`))
	if err != nil {
		t.Fatal(err)
	}
	if calls := r.Message.Calls(); len(calls) != 1 || string(calls[0].Args) != want {
		t.Errorf("in an answer: %+v", calls)
	}
	req, _, err := codec.DecodeRequest([]byte(`{"model":"m","input":[{"role":"user","content":"hi"},` + item + `,{"type":"computer_call_output","call_id":"c1","output":{"type":"computer_screenshot","image_url":"data:image/png;base64,AAAA"}}]}`))
	if err != nil {
		t.Fatal(err)
	}
	for format, want := range map[string]string{Responses: item, Messages: `"input":` + want, Gemini: `"args":` + want} {
		to, _ := For(format)
		body, _, err := to.EncodeRequest(req, false)
		if err != nil || !strings.Contains(string(body), want) {
			t.Errorf("%s: %v\n%s", format, err, body)
		}
	}
}

// TestUnknownPartsOfResults: a part of a result that only its format knows goes back to that format as it came, and is named
// where the model speaks another; nothing stands in its place.
func TestUnknownPartsOfResults(t *testing.T) {
	converseRequest := func(content string) string {
		return `{"modelId":"m","messages":[{"role":"user","content":[{"text":"hi"}]},{"role":"assistant","content":[{"toolUse":{"toolUseId":"t1","name":"f","input":{}}}]},` +
			`{"role":"user","content":[{"toolResult":{"toolUseId":"t1","content":` + content + `}}]}],"inferenceConfig":{"maxTokens":9}}`
	}
	messagesRequest := func(content string) string {
		return `{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"hi"},{"role":"assistant","content":[{"type":"tool_use","id":"t1","name":"f","input":{}}]},` +
			`{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":` + content + `}]}]}`
	}
	for _, test := range []struct{ Format, body, block, name, path string }{
		{Converse, converseRequest(`[{"text":"a"},{"searchResult":{"source":"s"}}]`), `{"searchResult":{"source":"s"}}`, "searchResult", "messages.2.content.0.toolResult.content.1"},
		{Converse, converseRequest(`[{"text":"a"},{"hologram":{"x":1}}]`), `{"hologram":{"x":1}}`, "hologram", "messages.2.content.0.toolResult.content.1"},
		{Converse, converseRequest(`[{"text":"a"},{"toolUse":{"toolUseId":"z","name":"g","input":{}}}]`), `{"toolUse":{"toolUseId":"z","name":"g","input":{}}}`, "toolUse", "messages.2.content.0.toolResult.content.1"},
		{Converse, converseRequest(`[{"text":"a"},{"toolResult":{"toolUseId":"z","content":[{"text":"in"}]}}]`), `{"toolResult":{"toolUseId":"z","content":[{"text":"in"}]}}`, "toolResult", "messages.2.content.0.toolResult.content.1"},
		{Converse, converseRequest(`[{"text":"a"},{"reasoningContent":{"reasoningText":{"text":"hm"}}}]`), `{"reasoningContent":{"reasoningText":{"text":"hm"}}}`, "reasoningContent", "messages.2.content.0.toolResult.content.1"},
		{Messages, messagesRequest(`[{"type":"text","text":"a"},{"type":"hologram","x":1}]`), `{"type":"hologram","x":1}`, "hologram", "messages.2.content.0.content.1"},
	} {
		req, _, err := Codec{Format: test.Format}.DecodeRequest([]byte(test.body))
		if err != nil {
			t.Errorf("%s: %v", test.block, err)
			continue
		}
		for _, to := range Formats() {
			out, warnings, err := Codec{Format: to}.EncodeRequest(req, false)
			if err != nil {
				t.Fatal(err)
			}
			if to == test.Format {
				if got := string(at(out, test.path)); got != canonicalJSON(t, test.block) {
					t.Errorf("%s went back as %s", test.block, got)
				}
				continue
			}
			if !strings.Contains(fmt.Sprint(warnings), test.name) {
				t.Errorf("%s → %s: no warning names it: %v", test.block, to, warnings)
			}
			for path, want := range map[string]string{
				Gemini: "contents.2.parts.0.functionResponse.response.output", Ollama: "messages.2.content",
			} {
				if got := string(at(out, want)); to == path && got != `"a"` {
					t.Errorf("%s → %s: the result is %s", test.block, to, got)
				}
			}
		}
	}
}

// TestOllamaResultOfANamelessCall checks that a result with an id and no name answers the call that
// came without an id: some clients leave out the ids of calls, but not those of results.
func TestOllamaResultOfANamelessCall(t *testing.T) {
	codec, _ := For(Ollama)
	req, _, err := codec.DecodeRequest([]byte(`{"model":"m","messages":[{"role":"user","content":"Rome and Paris?"},
		{"role":"assistant","content":"","tool_calls":[{"function":{"name":"w","arguments":{"city":"Rome"}}},{"function":{"name":"w","arguments":{"city":"Paris"}}}]},
		{"role":"tool","content":"sunny","tool_call_id":"8135dfb4"},{"role":"tool","content":"rain","tool_call_id":"73f1"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	calls := req.Messages[1].Calls()
	for i, p := range req.Messages[2].Parts {
		if r := p.(llm.Result); r.CallID != calls[i].ID || r.CallID == "" {
			t.Errorf("the result %q answers %q, want %q", r.Text(), r.CallID, calls[i].ID)
		}
	}
}

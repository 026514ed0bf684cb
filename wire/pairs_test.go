package wire

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/llm"
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
			out = append(out, c.Name+string(c.Args)+" "+strings.Replace(r.Text(), Interrupted, "INTERRUPTED", 1))
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
	req.Messages, changed = Heal(req.Messages, to)
	req, _ = Rules{}.Apply(req)
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
func TestFunctionCallOfOld(t *testing.T) {
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
func TestPairs(t *testing.T) {
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
		healed, _ := Heal(tt.in, "")
		var got []string
		for i, m := range healed {
			for k, c := range m.Calls() {
				r := healed[i+1].Parts[k].(llm.Result)
				got = append(got, c.Name+" "+strings.Replace(r.Text(), Interrupted, "INTERRUPTED", 1))
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
func TestPairsAreLinear(t *testing.T) {
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
		req, _, err := Codec{Format: Ollama}.DecodeRequest(body(20000, tt[0], tt[1]))
		if err != nil {
			t.Fatal(err)
		}
		Heal(req.Messages, "")
	}
}

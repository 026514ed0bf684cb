package emulate

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/llm"
)

// envelopes are answers of one JSON object. Each word that begins with keep must
// come out: in the text, in a thought, in a call, or in a call that cannot be run.
// Members beside a call that runs are text if their key says so; others, like ids,
// are not.
var envelopes = []string{
	`{"name":"ping","arguments":{"a":"keep1"}}`,
	`{"name":"keep1","arguments":{"a":"keep2"}}`,
	`{"tool_calls":[{"name":"ping","arguments":{"a":"keep1"}},{"name":"keep2","arguments":{"x":"keep3"}}]}`,
	`{"tool_calls":[{"name":"keep1","arguments":{"x":"keep2"}},{"name":"ping","arguments":{"a":"keep3"}}]}`,
	`{"tool_calls":[{"tool":"keep1","input":{"x":"keep2"}},{"tool":"keep3","input":{"x":"keep4"}}]}`,
	`{"tool_calls":[{"name":"ping","arguments":{"a":"keep1"}},"keep2",{"other":"keep3"}]}`,
	`{"type":"tool-calls","calls":[{"toolName":"ping","input":{"a":"keep1"}},{"toolName":"keep2","input":{"x":"keep3"}}]}`,
	`{"tool_calls":[{"name":"ping","arguments":{"a":"keep1"}}],"content":"keep2"}`,
	`{"name":"ping","arguments":{"a":"keep1"},"thought":"keep2"}`,
	`{"thought":"keep1","tool":"ping","input":{"a":"keep2"},"content":"keep3"}`,
	`{"type":"tool-calls","calls":[{"toolName":"ping","input":{"a":"keep1"}}],"text":"keep2"}`,
	`{"type":"text","text":"keep1"}`,
	`{"type":"text","text":"keep1","note":"keep2"}`,
	`{"note":"keep1","type":"text","text":"keep2"}`,
	`{"type":"text","text":"keep1","note":{"a":["keep2",{"b":"keep3"}]}}`,
	`{"type":"text","text":["keep1"],"other":"keep2"}`,
	`{"type":"keep1","text":"keep2"}`,
}

var keptWord = regexp.MustCompile(`keep\d`)

// TestEnvelopesLoseNothing: the one reader of envelopes keeps all text and every
// call, on every path through it and in whatever pieces the answer comes.
func TestEnvelopesLoseNothing(t *testing.T) {
	tools := []llm.ToolDef{{Name: "ping", Schema: objectOf(`"a":{"type":"string"}`)}}
	readers := map[string]CallReader{
		"whole":          {Whole: true},
		"all":            {},
		"marked":         {Promotion: llm.PromoteMarked},
		"off":            {Promotion: llm.PromoteOff},
		"taught":         {Dialect: "envelope", Taught: true},
		"taught, marked": {Dialect: "envelope", Taught: true, Promotion: llm.PromoteMarked},
	}
	answers := 0
	for _, envelope := range envelopes {
		for _, text := range []string{envelope, "```json\n" + envelope + "\n```", "Well: " + envelope, envelope + "\nkeep9"} {
			for name, c := range readers {
				c.Tools, c.Request = tools, &llm.Request{Tools: tools, Messages: []llm.Message{llm.User("hi")}}
				for _, n := range []int{1, 7, len(text)} {
					answers++
					got := everything(t, c, text, n)
					for _, word := range keptWord.FindAllString(text, -1) {
						if !strings.Contains(got, word) {
							t.Errorf("%s, in pieces of %d: %s is lost\n%s\nbecame\n%s", name, n, word, text, got)
						}
					}
				}
			}
		}
	}
	t.Logf("%d answers", answers)
}

// everything returns the text of an answer and all its calls.
func everything(t *testing.T, c CallReader, text string, n int) string {
	t.Helper()
	var b llm.Builder
	for ev, err := range c.Read(say(text, n, llm.Stop)) {
		if err != nil {
			t.Fatal(err)
		}
		b.Add(ev)
	}
	r := b.Response()
	out := "text " + r.Message.Text()
	for _, p := range r.Message.Parts {
		if p, ok := p.(llm.Thinking); ok {
			out += "\nthinking " + p.Text
		}
	}
	for _, call := range r.Message.Calls() {
		out += fmt.Sprintf("\ncall %s %s", call.Name, call.Args)
	}
	for _, bad := range r.Invalid {
		out += fmt.Sprintf("\ninvalid %s %s", bad.Name, bad.Raw)
	}
	return out
}

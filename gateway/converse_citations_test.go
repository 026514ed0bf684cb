package gateway_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/wire"
)

// A block of citations stays one block when an answer is rewritten for another reason.
func TestRepairedConverseAnswersKeepCitations(t *testing.T) {
	const calls = `{"toolUse":{"toolUseId":"t","name":"f","input":{}}},{"toolUse":{"toolUseId":"t","name":"f","input":{}}}`
	for name, block := range map[string]string{
		"with citations":    `{"citationsContent":{"content":[{"text":"a"}],"citations":[{"title":"T","sourceContent":[{"text":"q"}],"location":{"documentChar":{"documentIndex":0,"start":0,"end":1}}}]}}`,
		"without any":       `{"citationsContent":{"content":[{"text":"a"}],"citations":[]}}`,
		"no list of them":   `{"citationsContent":{"content":[{"text":"a"}]}}`,
		"in two pieces":     `{"citationsContent":{"content":[{"text":"a"},{"text":"b"}],"citations":[{"title":"T"}]}}`,
		"without a text":    `{"citationsContent":{"content":[],"citations":[{"title":"T"}]}}`,
		"beside other text": `{"text":"x"},{"citationsContent":{"content":[{"text":"a"}],"citations":[{"title":"T"}]}},{"text":"y"}`,
		"two of them":       `{"citationsContent":{"content":[{"text":"a"}],"citations":[{"title":"T"}]}},{"citationsContent":{"content":[{"text":"b"}],"citations":[{"title":"U"}]}}`,
		"one of each":       `{"citationsContent":{"content":[{"text":"a"}],"citations":[{"title":"T"}]}},{"citationsContent":{"content":[{"text":"b"}],"citations":[]}},{"text":"c"}`,
		"with a new member": `{"citationsContent":{"content":[{"text":"a"}],"citations":[{"title":"T"}],"zz":1}}`,
	} {
		t.Run(name, func(t *testing.T) {
			said := `{"output":{"message":{"role":"assistant","content":[` + block + `,` + calls + `]}},"stopReason":"tool_use","usage":{"inputTokens":1,"outputTokens":2,"totalTokens":3},"metrics":{"latencyMs":5}}`
			url := answersOf(t, wire.Converse, "anthropic.claude-sonnet-4-5", func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				io.WriteString(w, said)
			}, llm.Limits{})
			_, _, got := allOf(t, url, "/model/m/converse", `{"messages":[{"role":"user","content":[{"text":"Hi"}]}],"toolConfig":{"tools":[{"toolSpec":{"name":"f","inputSchema":{"json":{"type":"object","properties":{}}}}}]}}`)
			if !strings.Contains(got, block) || got == said {
				t.Errorf("got\n%s\nwithout\n%s", got, block)
			}
		})
	}
}

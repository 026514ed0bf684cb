package emulate

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/llm"
)

// TestFinalToolFitsItsBudgets: for a large schema the definition of the final tool stays below 1,000 tokens, and the request
// costs less than 10 percent more than one of 10,000 tokens without it.
func TestFinalToolFitsItsBudgets(t *testing.T) {
	var fields, required []string
	for i := range 20 {
		fields = append(fields, fmt.Sprintf(`"field_%d":{"type":"string","description":"What the person said about subject %d, in one sentence."}`, i, i))
		required = append(required, fmt.Sprintf(`"field_%d"`, i))
	}
	schema := json.RawMessage(`{"type":"object","properties":{` + strings.Join(fields, ",") + `},"required":[` + strings.Join(required, ",") + `]}`)
	req := &llm.Request{
		Messages: []llm.Message{llm.User(strings.Repeat("The people of the town talked about the weather. ", 1000))},
		Tools:    []llm.ToolDef{{Name: "search", Description: "Searches.", Schema: json.RawMessage(`{"type":"object"}`)}},
	}
	before := llm.EstimateRequest(req)
	req.Output = &llm.OutputFormat{Name: "answer", Schema: schema}
	AnswerByTool(req, false)
	after := llm.EstimateRequest(req)
	if cost := after - before; before < 9_000 || cost > 1_000 || cost*10 > before {
		t.Errorf("the final tool costs %d tokens with a request of %d", cost, before)
	}
}

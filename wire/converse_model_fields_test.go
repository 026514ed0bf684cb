package wire

import (
	"fmt"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/internal/wire/names"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/wire/format"
)

// TestConverseModelFields: what clients of the converse format say in the fields of a model's maker reaches models elsewhere,
// although the client's codec knows no maker; a model of the format gets the fields as they came, or as its maker has them.
func TestConverseModelFields(t *testing.T) {
	request := func(fields, more string) string {
		return `{"modelId":"m","messages":[{"role":"user","content":[{"text":"hi"}]}],"inferenceConfig":{"maxTokens":9000}` + more + `,"additionalModelRequestFields":` + fields + `}`
	}
	for name, test := range map[string]struct {
		fields, more string
		Format       string
		maker        string
		want         map[string]string // by path
		lost         string            // what a warning names
	}{
		"top_k to Messages":       {fields: `{"top_k":7}`, Format: Messages, want: map[string]string{"top_k": "7"}},
		"top_k to Gemini":         {fields: `{"top_k":7}`, Format: Gemini, want: map[string]string{"generationConfig.topK": "7"}},
		"top_k to Ollama":         {fields: `{"inferenceConfig":{"topK":7}}`, Format: Ollama, want: map[string]string{"options.top_k": "7"}},
		"top_k to Chat":           {fields: `{"top_k":7}`, Format: Chat, lost: "top_k"},
		"a budget to Messages":    {fields: `{"thinking":{"type":"enabled","budget_tokens":2048}}`, Format: Messages, want: map[string]string{"thinking": `{"type":"enabled","budget_tokens":2048}`}},
		"of the older name":       {fields: `{"reasoning_config":{"type":"enabled","budget_tokens":2048}}`, Format: Messages, want: map[string]string{"thinking": `{"type":"enabled","budget_tokens":2048}`}},
		"a budget to Gemini":      {fields: `{"thinking":{"type":"enabled","budget_tokens":2048}}`, Format: Gemini, want: map[string]string{"generationConfig.thinkingConfig.thinkingBudget": "2048"}},
		"off to Gemini":           {fields: `{"thinking":{"type":"disabled"}}`, Format: Gemini, want: map[string]string{"generationConfig.thinkingConfig.thinkingBudget": "0"}},
		"an effort to Chat":       {fields: `{"reasoningConfig":{"type":"enabled","maxReasoningEffort":"low"}}`, Format: Chat, want: map[string]string{"reasoning_effort": `"low"`}},
		"an effort to Responses":  {fields: `{"reasoning_effort":"low"}`, Format: Responses, want: map[string]string{"reasoning.effort": `"low"`}},
		"with an effort beside":   {fields: `{"thinking":{"type":"adaptive"}}`, more: `,"outputConfig":{"effort":"low"}`, Format: Messages, want: map[string]string{"thinking": `{"type":"adaptive"}`, "output_config": `{"effort":"low"}`}},
		"as they came":            {fields: `{"top_k":7,"thinking":{"type":"enabled","budget_tokens":2048},"x":1}`, Format: Converse, want: map[string]string{"additionalModelRequestFields": `{"top_k":7,"thinking":{"type":"enabled","budget_tokens":2048},"x":1}`}},
		"an effort as it came":    {fields: `{"reasoning_effort":"low"}`, Format: Converse, want: map[string]string{"additionalModelRequestFields": `{"reasoning_effort":"low"}`, "outputConfig": ""}},
		"and the one beside":      {fields: `{"thinking":{"type":"adaptive"}}`, more: `,"outputConfig":{"effort":"low"}`, Format: Converse, want: map[string]string{"additionalModelRequestFields": `{"thinking":{"type":"adaptive"}}`, "outputConfig": `{"effort":"low"}`}},
		"to another maker":        {fields: `{"top_k":7,"thinking":{"type":"disabled"},"x":1}`, Format: Converse, maker: names.AmazonFields, want: map[string]string{"additionalModelRequestFields": `{"reasoningConfig":{"type":"disabled"},"inferenceConfig":{"topK":7},"x":1}`}},
		"what is not understood":  {fields: `{"top_k":7.5,"thinking":{"type":"enabled","budget_tokens":2048,"x":1}}`, Format: Converse, want: map[string]string{"additionalModelRequestFields": `{"top_k":7.5,"thinking":{"type":"enabled","budget_tokens":2048,"x":1}}`}},
		"is a warning, elsewhere": {fields: `{"thinking":{"type":"enabled","budget_tokens":2048,"x":1}}`, Format: Messages, want: map[string]string{"thinking": ""}, lost: "additionalModelRequestFields"},
	} {
		req, _, err := Codec{Format: Converse}.DecodeRequest([]byte(request(test.fields, test.more)))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		body, warnings, err := Codec{Format: test.Format, Quirks: format.Quirks{ModelFields: test.maker}}.EncodeRequest(req, false)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		for path, want := range test.want {
			if want != "" {
				want = string(at([]byte(`{"v":`+want+`}`), "v"))
			}
			if got := string(at(body, path)); got != want {
				t.Errorf("%s: %s is %s, not %s", name, path, got, want)
			}
		}
		if strings.Contains(string(body), "restated") {
			t.Errorf("%s: %s", name, body)
		}
		if got := fmt.Sprint(warnings); (len(warnings) > 0) != (test.lost != "") || !strings.Contains(got, test.lost) {
			t.Errorf("%s: the warnings are %s", name, got)
		}
	}
}

// TestConverseModelFieldsOverruled: fields that no longer say what the request does are left out.
func TestConverseModelFieldsOverruled(t *testing.T) {
	req, _, err := Codec{Format: Converse}.DecodeRequest([]byte(`{"modelId":"m","messages":[{"role":"user","content":[{"text":"hi"}]}],"additionalModelRequestFields":{"top_k":7,"thinking":{"type":"enabled","budget_tokens":2048}}}`))
	if err != nil {
		t.Fatal(err)
	}
	req.Reasoning = &llm.Reasoning{Off: true}
	body, warnings, err := Codec{Format: Converse}.EncodeRequest(req, false)
	if got := string(at(body, "additionalModelRequestFields")); err != nil || got != `{"top_k":7}` || len(warnings) != 1 {
		t.Errorf("%s, %v, %v", got, warnings, err)
	}
}

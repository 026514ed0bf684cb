package dialect_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/dialect"
	"github.com/toolpost/toolpost/llm"
)

type reasoningRow struct {
	Parser    string `json:"ref_parser"`
	Raw       string `json:"raw_text"`
	Reasoning string `json:"expected_reasoning"`
	Content   string `json:"expected_content"`
	Test      string
}

// prefilled reports whether the reference assumes that the prompt opened
// thinking: the state of a request that the text alone does not show.
func (r reasoningRow) prefilled() bool {
	if strings.Contains(r.Test, "disabled") || strings.Contains(r.Test, "effort_none") {
		return false
	}
	for _, name := range []string{"DeepSeekR1R", "Ernie45", "Glm47Moe", "HYV3", "KimiK2", "MiniMaxM2Reasoning", "Step3p5", "ThinkReasoning"} {
		if strings.HasPrefix(r.Parser, name) {
			return true
		}
	}
	return strings.Contains(r.Test, "Thinking-2507") || strings.Contains(r.Test, "with_thinking_keeps")
}

// Thinking and text apart, as the reasoning parsers of vLLM see them.
func TestReasoning(t *testing.T) {
	rows := readLines[reasoningRow](t, "dialects/reasoning.jsonl")
	var thinking, text, both score
	var out strings.Builder
	for _, r := range rows {
		p := dialect.Parser{Tools: []llm.ToolDef{}, ThinkingOpen: dialect.BeginsInThinking(r.Raw) || r.prefilled()}
		got := parse(t, p, dialect.Whole(r.Raw))
		okThink := strings.TrimSpace(got.Thinking) == strings.TrimSpace(r.Reasoning)
		okText := strings.TrimSpace(got.Text) == strings.TrimSpace(r.Content)
		thinking.add(r.Parser, okThink)
		text.add(r.Parser, okText)
		both.add(r.Parser, okThink && okText)
		if !okThink || !okText {
			fmt.Fprintf(&out, "%s %s\n  raw  %q\n  thnk %q\n  want %q\n  text %q\n  want %q\n", r.Parser, r.Test, r.Raw, got.Thinking, r.Reasoning, got.Text, r.Content)
		}
	}
	if *showRows != "" {
		os.WriteFile(*showRows+".reasoning", []byte(out.String()), 0o644)
	}
	t.Logf("thinking: %v", &thinking)
	t.Logf("text: %v", &text)
	t.Logf("both: %v", &both)
}

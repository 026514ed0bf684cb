package dialect_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/dialect"
	"github.com/toolpost/toolpost/internal/corpus"
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
	if r.off() {
		return false
	}
	for _, name := range []string{"DeepSeekR1R", "Ernie45", "Glm47Moe", "HYV3", "KimiK2", "MiniMaxM2Reasoning", "Step3p5", "ThinkReasoning"} {
		if strings.HasPrefix(r.Parser, name) {
			return true
		}
	}
	return strings.Contains(r.Test, "Thinking-2507") || strings.Contains(r.Test, "with_thinking_keeps")
}

// off reports whether the request turned thinking off, or left it to a model
// whose prompt then opens none.
func (r reasoningRow) off() bool {
	if strings.HasPrefix(r.Parser, "MiniMaxM3") {
		return !strings.Contains(r.Test, "enabled")
	}
	return strings.Contains(r.Test, "disabled") || strings.Contains(r.Test, "effort_none")
}

// splitsNothing is a reference that writes a marker before the answer and
// calls all of it text.
const splitsNothing = "MiniMaxM2AppendThinkReasoningParser"

// unlike are the tests of the references from which we differ, and why.
var unlike = map[string]string{
	splitsNothing: "it splits nothing: it writes <think> before the answer and calls all of it text",
	"test_nemotron_v3_force_nonempty_content_moves_into_content": "an option of the host: thinking that never ends becomes the text",
	"test_ling3_enable_thinking_keeps_open_reasoning_as_content": "the same",
	"test_ling3_disable_thinking_keeps_reasoning_as_content":     "thinking that was turned off and comes all the same is thinking",
}

// Thinking and text apart, as the reasoning parsers of vLLM see them.
func TestReasoning(t *testing.T) {
	rows := readLines[reasoningRow](t, "dialects/reasoning.jsonl")
	var thinking, text, both, split score
	var out strings.Builder
	for _, r := range rows {
		p := dialect.Parser{Tools: []llm.ToolDef{}, ThinkingOff: r.off(), ThinkingOpen: !r.off() && dialect.Builtin().BeginsInThinking(r.Raw) || r.prefilled()}
		got := parse(t, p, dialect.Whole(r.Raw))
		okThink := strings.TrimSpace(got.Thinking) == strings.TrimSpace(r.Reasoning)
		okText := strings.TrimSpace(got.Text) == strings.TrimSpace(r.Content)
		thinking.add(r.Parser, okThink)
		text.add(r.Parser, okText)
		both.add(r.Parser, okThink && okText)
		if r.Parser != splitsNothing {
			split.add(r.Parser, okThink && okText)
		}
		if !okThink || !okText {
			if unlike[r.Parser]+unlike[r.Test] == "" {
				t.Errorf("%s %s: %q gives %q and %q, want %q and %q, and no reason is given", r.Parser, r.Test, r.Raw, got.Thinking, got.Text, r.Reasoning, r.Content)
			}
			fmt.Fprintf(&out, "%s %s\n  raw  %q\n  thnk %q\n  want %q\n  text %q\n  want %q\n", r.Parser, r.Test, r.Raw, got.Thinking, r.Reasoning, got.Text, r.Content)
		}
	}
	if *showRows != "" {
		os.WriteFile(*showRows+".reasoning", []byte(out.String()), 0o644)
	}
	t.Logf("thinking: %v", &thinking)
	t.Logf("text: %v", &text)
	t.Logf("both: %v", &both)
	t.Logf("both, of references that split: %v", &split)
	if corpus.Whole() && (thinking.share() < 0.95 || split.share() < 0.98) {
		t.Error("the figures have fallen")
	}
}

// The end of thinking shows that an answer began inside, unless it only trails
// after the last call.
func TestBeginsInThinking(t *testing.T) {
	for text, want := range map[string]bool{
		"Hm.</think>Yes.":         true,
		"Hm.</think>":             true,
		"<think>Hm.</think>Yes.":  false,
		"Yes.":                    false,
		"Hm.<|END_THINKING|>Yes.": true,
		"</think>Yes.":            true,
		"Thought: hm\nYes.":       false,
		"<|channel|>commentary to=functions.f<|message|>{\"a\": \"</think>\"}<|call|>": false, // in an argument
		"[BEGIN FINAL RESPONSE]\nYes":                                                           true,
		"<|tool_call>call:f{}<tool_call|>\n<channel|>":                                          false,
		"<tool_call>{}</tool_call></think>Yes.":                                                 true, // a rehearsal, then the answer
		"Maybe <tool_call>{}</tool_call>?</think><tool_call>{}</tool_call>":                     true,
		"<tool_call>{\"name\": \"f\", \"arguments\": {}}</tool_call>\n</think>\n":               false,
		"<think>a</think><tool_call>{\"name\": \"f\", \"arguments\": {}}</tool_call></think>\n": false,
	} {
		if got := dialect.Builtin().BeginsInThinking(text); got != want {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
}

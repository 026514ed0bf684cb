package wire

import (
	"strings"
	"testing"

	"github.com/toolpost/toolpost/llm"
)

// TestDescribedTools: a tool that Anthropic defines is described to models of others, and the warning says that, and not that
// the type is ignored. What the description does not say is named.
func TestDescribedTools(t *testing.T) {
	body := `{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"hi"}],"tools":[
		{"type":"bash_20250124","name":"bash"},
		{"type":"computer_20250124","name":"computer","display_width_px":1024,"display_height_px":768,"display_number":1},
		{"type":"memory_20990101","name":"memory"}]}`
	req, _, err := Codec{Format: Messages}.DecodeRequest([]byte(body))
	if err != nil {
		t.Fatal(err)
	}
	for _, to := range Formats() {
		out, warnings, err := Codec{Format: to}.EncodeRequest(req, false)
		if err != nil {
			t.Fatal(err)
		}
		if to == Messages {
			if len(warnings) > 0 {
				t.Errorf("its own format warns: %v", warnings)
			}
			continue
		}
		said := map[string]string{}
		for _, w := range warnings {
			said[w.Feature] = string(w.Code) + " " + w.Detail
		}
		for feature, want := range map[string]string{
			"bash_20250124": "degraded the tool bash is offered with a description", "computer_20250124": "degraded the tool computer is offered with a description",
			"memory_20990101": "degraded the model is told what memory_20250818 takes, the newest version of the tool memory", "display_number": "ignored only the messages format",
			"type": "", "display_width_px": "",
		} {
			if !strings.HasPrefix(said[feature], want) || want == "" && said[feature] != "" {
				t.Errorf("→ %s: of %s it is said %q, not %q", to, feature, said[feature], want)
			}
		}
		if !strings.Contains(string(out), "1024 pixels wide") {
			t.Errorf("→ %s: the size of the screen is not told: %s", to, out)
		}
	}
	words := &llm.Request{Model: "m", Messages: req.Messages} // tools are told in the prompt
	for _, w := range Unsent(req, words) {
		if w.Feature == "type" || w.Feature == "display_width_px" {
			t.Errorf("told in words, and yet: %v", w)
		}
	}
}

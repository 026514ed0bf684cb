package wire

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/internal/js"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/wire/internal/messages"
)

// TestDefinedTools: a tool that the vendor of the messages format defines tells the models of all others what it takes, and goes back to its own
// vendor as it came.
func TestDefinedTools(t *testing.T) {
	takes := map[string]string{"bash_": "command", "text_editor_": "old_str", "computer_": "coordinate", "memory_": "old_path"}
	for typ, def := range messages.DefinedTools {
		if !json.Valid([]byte(def.Schema)) || def.Description == "" {
			t.Fatalf("%s: %s", typ, def.Schema)
		}
		prefix := typ[:strings.LastIndexByte(typ, '_')+1]
		tool := fmt.Sprintf(`{"type":%q,"name":"mine"}`, typ)
		if prefix == "computer_" {
			tool = fmt.Sprintf(`{"type":%q,"name":"mine","display_width_px":1024,"display_height_px":768}`, typ)
		}
		req, _, err := Codec{Format: Messages}.DecodeRequest([]byte(`{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"go"}],"tools":[` + tool + `]}`))
		if err != nil {
			t.Fatal(err)
		}
		for _, format := range []string{Chat, Responses, Messages, Gemini, Ollama, Converse} {
			body, warnings, err := Codec{Format: format}.EncodeRequest(req, false)
			if err != nil {
				t.Fatal(err)
			}
			if format == Messages {
				asItCame(t, typ, string(body))
				continue
			}
			back, _, err := Codec{Format: format}.DecodeRequest(body)
			if err != nil || len(back.Tools) != 1 || back.Tools[0].Name != "mine" || back.Tools[0].Description == "" || js.Get(js.Get(back.Tools[0].Schema, "properties"), takes[prefix]) == nil {
				t.Errorf("%s in %s: %v %s", typ, format, err, body)
			}
			if prefix == "computer_" && !strings.Contains(string(body), "1024 pixels wide and 768 high") {
				t.Errorf("%s in %s: %s", typ, format, body)
			}
			for _, w := range warnings {
				if strings.Contains(w.Detail, "is not told") {
					t.Errorf("%s in %s: %s", typ, format, w)
				}
			}
		}
	}
}

// asItCame checks that the vendor of a tool is told its type, and nothing that this says.
func asItCame(t *testing.T, typ, body string) {
	t.Helper()
	if strings.Contains(body, "input_schema") || strings.Contains(body, "description") || !strings.Contains(body, `"type":"`+typ+`"`) {
		t.Errorf("%s: %s", typ, body)
	}
}

// TestUndefinedTools: of a version that nobody has described the model is told what the newest known one takes, and the client is told so.
func TestUndefinedTools(t *testing.T) {
	req, _, err := Codec{Format: Messages}.DecodeRequest([]byte(`{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"go"}],"tools":[{"type":"bash_20991231","name":"bash"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	for _, format := range []string{Chat, Responses, Messages, Gemini, Ollama, Converse} {
		body, warnings, err := Codec{Format: format}.EncodeRequest(req, false)
		if err != nil || !strings.Contains(string(body), `"bash"`) {
			t.Fatalf("%s: %v %s", format, err, body)
		}
		told := 0
		for _, w := range warnings {
			if w.Code == llm.Degraded && w.Feature == "bash_20991231" && strings.Contains(w.Detail, "the model is told what bash_20250124 takes, the newest version of the tool bash") {
				told++
			}
		}
		if want := map[bool]int{false: 1}[format == Messages]; told != want || strings.Contains(string(body), `"restart"`) != (want == 1) {
			t.Errorf("%s: %v", format, warnings)
		}
	}
}

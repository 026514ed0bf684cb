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
	for _, w := range Uncarried(req, words) {
		if w.Feature == "type" || w.Feature == "display_width_px" {
			t.Errorf("told in words, and yet: %v", w)
		}
	}
}

// messagesWith is a request of the messages format with those tools.
func messagesWith(tools string) string {
	return `{"model":"m","max_tokens":5,"messages":[{"role":"user","content":"a"}],"mcp_servers":[{"type":"url","url":"https://x.example","name":"x"}],"tools":[` + tools + `]}`
}

// Tools of types that nobody knows here go back to their own format as they came, also those without a date or a name, and
// several of one type.
func TestToolsOfUnknownTypesGoBack(t *testing.T) {
	for _, tools := range []string{
		`{"type":"mcp_toolset","mcp_server_name":"x"}`,
		`{"type":"mcp_toolset","mcp_server_name":"x","default_config":{"enabled":false},"configs":{"f":{"enabled":true}},"cache_control":{"type":"ephemeral"}}`,
		`{"type":"mcp_toolset","mcp_server_name":"x"},{"type":"mcp_toolset","mcp_server_name":"y"}`,
		`{"type":"zork","name":"zork"}`, `{"type":"zork","name":"n","max_uses":3,"allowed_domains":["a.test"],"depth":1}`,
		`{"type":"zork_20990101","name":"zork","depth":1}`,
		`{"type":"bash_20990101","name":"bash"}`, `{"type":"text_editor_20990101","name":"e","max_characters":5}`,
		`{"type":"computer_20990101","name":"c","display_width_px":1,"display_height_px":2}`, `{"type":"memory_20990101","name":"m","strict":true}`,
	} {
		out, warnings := offered(t, Messages, Messages, messagesWith(tools))
		_, got, _ := strings.Cut(out, `"tools":[`)
		got, _, _ = strings.Cut(got, "]")
		want, _, _ := strings.Cut(tools, "]")
		if len(warnings) > 0 || canonicalMembers(t, got+"]") != canonicalMembers(t, want+"]") {
			t.Errorf("%s became %s, %v", tools, out, warnings)
		}
	}
}

// canonicalMembers sorts the letters of a text: the order of members may change on the way.
func canonicalMembers(t *testing.T, s string) string {
	t.Helper()
	letters := strings.Split(s, "")
	counts := map[string]int{}
	for _, l := range letters {
		counts[l]++
	}
	var b strings.Builder
	for c := ' '; c <= '~'; c++ {
		b.WriteString(strings.Repeat(string(c), counts[string(c)]))
	}
	return b.String()
}

// Other formats name the servers and the set of their tools.
func TestToolsetsAreNamedElsewhere(t *testing.T) {
	for _, to := range Formats() {
		if to == Messages {
			continue
		}
		out, warnings := offered(t, Messages, to, messagesWith(`{"type":"mcp_toolset","mcp_server_name":"x"},{"name":"f","input_schema":{"type":"object"}}`))
		said := ""
		for _, w := range warnings {
			said += w.String() + "\n"
		}
		if strings.Contains(out, "mcp") || !strings.Contains(said, "ignored mcp: the tool is not offered: ") || !strings.Contains(said, "mcp_toolset") || !strings.Contains(said, "ignored mcp_servers: ") {
			t.Errorf("%s: %s\n%s", to, out, said)
		}
	}
}

// A version of a tool that is not known here is told to other vendors' models as the newest one that is, with a warning.
func TestNewerVersionsAreToldAsTheNewestKnown(t *testing.T) {
	for typ, want := range map[string][2]string{
		"bash_20990101":        {"bash_20250124", "restart"},
		"text_editor_20990101": {"text_editor_20250728", "insert_text"},
		"computer_20990101":    {"computer_20251124", "zoom"},
		"memory_20990101":      {"memory_20250818", "old_path"},
		"computer_next":        {"computer_20251124", "zoom"},
	} {
		more := ""
		if strings.HasPrefix(typ, "computer") {
			more = `,"display_width_px":640,"display_height_px":480`
		}
		for _, to := range Formats() {
			if to == Messages {
				continue
			}
			out, warnings := offered(t, Messages, to, messagesWith(`{"type":"`+typ+`","name":"tool1"`+more+`},{"name":"f"}`))
			told := 0
			for _, w := range warnings {
				if w.Feature == typ && strings.Contains(w.Detail, want[0]) && strings.Contains(w.Detail, "tool1") {
					told++
				}
			}
			if told != 1 || !strings.Contains(out, want[1]) || strings.Contains(typ, "computer") != strings.Contains(out, "640 pixels wide") {
				t.Errorf("%s to %s: %s, %v", typ, to, out, warnings)
			}
		}
	}
}

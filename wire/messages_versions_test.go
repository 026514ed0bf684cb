package wire

import (
	"strings"
	"testing"
)

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

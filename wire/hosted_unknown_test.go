package wire

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/llm"
)

// offered translates a request as servers do that pass on hosted tools.
func offered(t *testing.T, from, to, body string) (string, []llm.Warning) {
	t.Helper()
	req, stream, err := Codec{Format: from}.DecodeRequest([]byte(body))
	if err != nil {
		t.Fatal(err)
	}
	c := Codec{Format: to}
	req, left := c.Portable(req)
	out, warnings, err := c.EncodeRequest(req, stream)
	if err != nil {
		t.Fatal(err)
	}
	return string(out), append(left, warnings...)
}

// A member of a tool object of Gemini's is a hosted tool if it is known or an object, and else a member that nobody knows: it
// goes back to the tools that it stood beside. Other formats warn about both.
func TestUnknownMembersBesideGeminiTools(t *testing.T) {
	const more = `{"functionDeclarations":[{"name":"f"}]},{"googleSearch":{}}`
	for _, tt := range []struct{ tools, want, name string }{
		{`{"functionDeclarations":[{"name":"f"}],"zq":"x"},{"googleSearch":{}}`, `{"functionDeclarations":[{"name":"f"}],"zq":"x"},{"googleSearch":{}}`, "tools.0.zq"},
		{`{"zq":[1],"function_declarations":[{"name":"f"}],"google_search":{}}`, `{"functionDeclarations":[{"name":"f"}],"zq":[1]},{"googleSearch":{}}`, "tools.0.zq"},
		{`{"googleSearch":{}},{"functionDeclarations":[{"name":"f"}]},{"codeExecution":{},"zq":5}`, more + `,{"codeExecution":{},"zq":5}`, "tools.2.zq"},
		{`{"googleSearch":{},"a/b":true}`, `{"googleSearch":{},"a/b":true}`, "tools.0.a/b"},
		{more + `,{"zq":{"a":1}}`, more + `,{"zq":{"a":1}}`, "zq"},
		{more + `,{"zq_new":{}}`, more + `,{"zqNew":{}}`, "zqNew"},
		{more + `,{"mcp_servers":[{"name":"s"}]}`, more + `,{"mcpServers":[{"name":"s"}]}`, "mcpServers"},
		{more + `,{"enterprise_web_search":{}}`, more + `,{"enterpriseWebSearch":{}}`, "enterpriseWebSearch"},
	} {
		body := `{"contents":[],"tools":[` + tt.tools + `]}`
		for _, to := range Formats() {
			out, warnings := offered(t, Gemini, to, body)
			named := slices.Contains(lostNames(warnings), tt.name)
			if to == Gemini && (named || !strings.Contains(out, `"tools":[`+tt.want+`]`)) || to != Gemini && !named {
				t.Errorf("%s → %s: %s, %v", tt.tools, to, out, warnings)
			}
		}
	}
}

// Null is no tool, and a member that has no place any more, or two values, is named.
func TestUnknownMembersWithoutGeminiTools(t *testing.T) {
	for tools, name := range map[string]string{
		`{"functionDeclarations":[{"name":"f"}],"googleSearch":null,"zq":null}`:                                 "",
		`{"functionDeclarations":[{"name":"f"}]},{"zq":1}`:                                                      "tools.1.zq",
		`{"functionDeclarations":[{"name":"f"}],"zq":1},{"functionDeclarations":[{"name":"g"}],"zq":2,"zr":[]}`: "tools.2.zq",
	} {
		out, warnings := offered(t, Gemini, Gemini, `{"contents":[],"tools":[`+tools+`]}`)
		if names := strings.Join(lostNames(warnings), " "); names != name || strings.Contains(out, "oogleSearch") {
			t.Errorf("%s: %s, %v", tools, out, warnings)
		}
	}
}

// Many such members and tools cost what their bytes cost.
func TestManyUnknownMembersBesideGeminiTools(t *testing.T) {
	var tools strings.Builder
	for i := range 5000 {
		fmt.Fprintf(&tools, `,{"functionDeclarations":[{"name":"f%d"}],"zq%d":1}`, i, i)
	}
	out, warnings := offered(t, Gemini, Gemini, `{"contents":[],"tools":[`+tools.String()[1:]+`]}`)
	if len(warnings) > 0 || strings.Count(out, `"zq`) != 5000 {
		t.Errorf("%d of 5000, %v", strings.Count(out, `"zq`), warnings)
	}
}

// The options of a search of the chat format that nobody knows go back there. In others the search is not offered: one of
// them may have been what it must not reach.
func TestUnknownSearchOptions(t *testing.T) {
	for options, named := range map[string]string{
		`{"search_context_size":"low","zq":{"a":1}}`:                                                 "the tool is not offered",
		`{"user_location":{"type":"approximate","approximate":{"city":"Paris"},"zq":1}}`:             "web_search_options.user_location.zq",
		`{"user_location":{"type":"approximate","approximate":{"city":"Paris","zq":1}}}`:             "web_search_options.user_location.approximate.zq",
		`{"user_location":{"type":"approximate","approximate":{"city":"Paris","zq":1}},"filters":5}`: "web_search_options.user_location.approximate.zq",
	} {
		for _, to := range Formats() {
			out, warnings := offered(t, Chat, to, `{"model":"m","messages":[],"web_search_options":`+options+`}`)
			said := fmt.Sprint(warnings)
			if to == Chat && (len(warnings) > 0 || !strings.Contains(out, options)) {
				t.Errorf("%s: %s, %v", options, out, warnings)
			}
			if to != Chat && (strings.Contains(out, "zq") || strings.Contains(out, "filters") || !strings.Contains(said, named)) {
				t.Errorf("%s → %s: %s, %v", options, to, out, warnings)
			}
			if strings.Contains(options, "filters") && to != Chat && (strings.Contains(out, "earch") || !strings.Contains(said, "ignored web_search: the tool is not offered")) {
				t.Errorf("%s → %s: %s, %v", options, to, out, warnings)
			}
		}
	}
	out, warnings := offered(t, Gemini, Chat, `{"contents":[],"tools":[{"googleSearch":{"zq":1}}]}`)
	if strings.Contains(out, "zq") || !strings.Contains(fmt.Sprint(warnings), "the options of googleSearch are not those of the chat format: zq") {
		t.Errorf("%s, %v", out, warnings)
	}
}

package wire

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/toolpost/toolpost/internal/wire/loss"
	"github.com/toolpost/toolpost/llm"
)

// Members that nobody knows go back to the object that they came from.
func TestUnknownMembersKeepTheirPlace(t *testing.T) {
	for _, tt := range []struct{ Format, ObjectSpec, body string }{
		{Chat, `"json_schema":{"name":"a","schema":{"type":"object"},"new":[1]}`,
			`{"model":"m","messages":[],"response_format":{"type":"json_schema","json_schema":{"name":"a","new":[1],"schema":{"type":"object"}}}}`},
		{Chat, `{"type":"function","function":{"name":"b","a/b":2}}`,
			`{"model":"m","messages":[],"tools":[{"type":"function","function":{"name":"a"}},{"type":"function","function":{"name":"b"}}],"tool_choice":{"type":"allowed_tools","allowed_tools":{"mode":"auto","tools":[
			{"type":"function","function":{"name":"a"}},{"type":"function","function":{"a/b":2,"name":"b"}}]}}}`},
		{Chat, `"stream_options":{"include_usage":true,"new":1}`, `{"model":"m","messages":[],"stream":true,"stream_options":{"new":1}}`},
		{Messages, `"source":{"type":"url","url":"https://a.test/a.png","new":{"x":1}}`,
			`{"model":"m","max_tokens":5,"messages":[{"role":"user","content":[{"type":"image","source":{"type":"url","new":{"x":1},"url":"https://a.test/a.png"}}]}]}`},
		{Gemini, `"functionCallingConfig":{"mode":"ANY","new_one":1}`,
			`{"contents":[],"tools":[{"functionDeclarations":[{"name":"f"}]}],"tool_config":{"function_calling_config":{"mode":"ANY","new_one":1}}}`},
		{Converse, `"any":{"other":1}`,
			`{"messages":[],"toolConfig":{"tools":[{"toolSpec":{"name":"f","inputSchema":{"json":{"type":"object"}}}}],"toolChoice":{"any":{"new":null,"other":1}}}}`},
		{Chat, `{"type":"refusal","refusal":"no","new":1}`, `{"model":"m","messages":[{"role":"assistant","content":[{"type":"refusal","refusal":"no","new":1}]}]}`},
		{Messages, `"/new":1`, `{"model":"m","max_tokens":5,"messages":[],"/new":1}`},
	} {
		c := Codec{Format: tt.Format}
		req, stream, err := c.DecodeRequest([]byte(tt.body))
		if err != nil {
			t.Fatal(err)
		}
		out, warnings, err := c.EncodeRequest(req, stream)
		if err != nil || !strings.Contains(string(out), tt.ObjectSpec) || len(warnings) > 0 {
			t.Errorf("%s: %s is not in %s, %v, %v", tt.Format, tt.ObjectSpec, out, warnings, err)
		}
	}
}

// Where the object is not sent, the client learns which of its members are lost.
func TestUnknownMembersWithoutTheirObject(t *testing.T) {
	c := Codec{Format: Chat}
	req, _, err := c.DecodeRequest([]byte(`{"model":"m","messages":[],"tool_choice":{"type":"function","function":{"name":"f","new":1}}}`))
	if err != nil {
		t.Fatal(err)
	}
	req.Choice = llm.ToolChoice{}
	for _, to := range Formats() {
		_, warnings, err := Codec{Format: to}.EncodeRequest(req, false)
		if err != nil || !slices.ContainsFunc(warnings, func(w llm.Warning) bool { return w.Feature == "tool_choice.function.new" }) {
			t.Errorf("%s: %v, %v", to, warnings, err)
		}
	}
}

// A request of many members that nobody knows costs what its bytes cost, and not the square of it.
func TestManyUnknownMembers(t *testing.T) {
	var many strings.Builder
	for i := range 20000 {
		fmt.Fprintf(&many, `,"k%d":1`, i)
	}
	for _, body := range []string{
		`{"model":"m","max_tokens":5,"messages":[]` + many.String() + `}`,
		`{"model":"m","max_tokens":5,"messages":[],"thinking":{"type":"adaptive"` + many.String() + `}}`,
		`{"model":"m","max_tokens":5,"messages":[],"output_config":{"effort":"low"` + many.String() + `}}`,
	} {
		req, _, err := Codec{Format: Messages}.DecodeRequest([]byte(body))
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		out, warnings, err := Codec{Format: Messages}.EncodeRequest(req, false)
		if err != nil || len(warnings) > 0 || strings.Count(string(out), `"k`) != 20000 {
			t.Errorf("%d of 20000 members, %v, %v", strings.Count(string(out), `"k`), warnings, err)
		}
		_, warnings, err = Codec{Format: Chat}.EncodeRequest(req, false)
		if err != nil || len(warnings) != loss.MaxWarnings || warnings[loss.MaxWarnings-1].Feature != "more" {
			t.Errorf("%d warnings, %v", len(warnings), err)
		}
		if took := time.Since(began); took > 5*time.Second { // it was 11 seconds and more
			t.Errorf("it took %v", took)
		}
	}
}

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

// TestConverseUnknownFieldsTwice checks that fields of makers which are not as those want them, or say one thing twice, go back as they came.
func TestConverseUnknownFieldsTwice(t *testing.T) {
	for _, fields := range []string{
		`{"reasoning_effort":3}`, `{"reasoningConfig":{"type":"enabled","maxReasoningEffort":5}}`,
		`{"thinking":{"type":"enabled","budget_tokens":"x"}}`, `{"top_k":2.5}`,
		`{"top_k":5,"inferenceConfig":{"topK":9}}`, `{"thinking":{"type":"enabled","budget_tokens":2000},"reasoning_effort":"high"}`,
		`{"reasoning_effort":"high","thinking":{"type":"disabled"},"top_k":1}`,
	} {
		c := Codec{Format: Converse}
		req, _, err := c.DecodeRequest([]byte(`{"modelId":"m","messages":[{"role":"user","content":[{"text":"q"}]}],"additionalModelRequestFields":` + fields + `}`))
		if err != nil {
			t.Errorf("%s: %v", fields, err)
			continue
		}
		req.Model = "m"
		out, warnings, err := c.EncodeRequest(req, false)
		if err != nil || len(warnings) > 0 {
			t.Errorf("%s: %v %v", fields, err, warnings)
		}
		for member := range strings.SplitSeq(strings.Trim(fields, "{}"), `,"`) {
			if !strings.Contains(string(out), strings.Trim(member, `"{}`)) {
				t.Errorf("%s became %s", fields, out)
			}
		}
	}
}

package emulate

import (
	"testing"

	"github.com/toolpost/toolpost/llm"
)

// A call that the provider ran keeps the promise to call, if it is of the tool that had to be called, or may be: the calls of
// an MCP server and of a sandbox have names of their own. One of another offered tool does not keep it.
func TestHostedCallsKeepThePromiseToCall(t *testing.T) {
	hosted := func(names ...string) (tools []llm.ToolDef) {
		for _, n := range names {
			tools = append(tools, llm.ToolDef{Name: n, Kind: llm.HostedTool})
		}
		return tools
	}
	function := llm.ToolDef{Name: "note", Schema: objectOf(`"t":{"type":"string"}`)}
	must := func(name string, allowed ...string) llm.ToolChoice {
		return llm.ToolChoice{Mode: llm.MustCall, Name: name, Allowed: allowed}
	}
	for name, c := range map[string]struct {
		tools  []llm.ToolDef
		choice llm.ToolChoice
		ran    string
		kept   bool
	}{
		"the one forced":              {hosted("web_search"), must("web_search"), "web_search", true},
		"any":                         {hosted("web_search"), must(""), "web_search", true},
		"any, beside functions":       {append(hosted("web_search"), function), must(""), "web_search", true},
		"of a server":                 {hosted("mcp"), must("mcp"), "list_issues", true},
		"of a server, any":            {hosted("mcp"), must(""), "list_issues", true},
		"a command of the sandbox":    {hosted("code_execution", "web_search"), must("code_execution"), "bash_code_execution", true},
		"another one":                 {hosted("code_execution", "web_search"), must("code_execution"), "web_search", false},
		"of the allowed":              {hosted("code_execution", "web_search"), must("", "web_search"), "web_search", true},
		"not of the allowed":          {hosted("code_execution", "web_search"), must("", "code_execution"), "web_search", false},
		"a function was forced":       {append(hosted("web_search"), function), must("note"), "web_search", false},
		"a function of the same name": {append(hosted("mcp"), function), must("note"), "note", false},
		"nothing that a vendor runs":  {[]llm.ToolDef{function}, must(""), "web_search", false},
	} {
		t.Run(name, func(t *testing.T) {
			for _, ev := range []llm.Event{llm.HostedCall{Call: llm.Call{ID: "h1", Name: c.ran, Hosted: true}}, llm.Call{ID: "h1", Name: c.ran, Hosted: true}} {
				var failed error
				got := 0
				k := Keep("test", &llm.Request{Tools: c.tools, Choice: c.choice})(func(_ llm.Event, err error) bool {
					got++
					failed = err
					return true
				})
				for _, ev := range []llm.Event{ev, llm.TextDelta{Text: "found"}, llm.Finish{Reason: llm.Stop}} {
					k.Take(ev, nil)
				}
				if got != 3 || (failed == nil) != c.kept {
					t.Errorf("%T: %d events, %v", ev, got, failed)
				}
			}
		})
	}
}

package gateway_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/wire"
)

// TestNamespacesThatAreGone: a call of a namespace that is not offered any more is not told to the upstream as one of a tool
// of the client's that has the same name; it has its own name again when the namespace is.
func TestNamespacesThatAreGone(t *testing.T) {
	host, url := spaceGateway(t)
	own := `[{"type":"function","name":"shell","parameters":` + spaceSchema + `}]`
	for format := range roots {
		says := func(more string) string {
			return fmt.Sprintf(`{"model":%q,%s}`, format, more)
		}
		gone := func(how string) {
			t.Helper()
			body, req := host.last(t, format)
			calls, results := flatHistory(req)
			if want := " shell mcp__gh__create_issue mcp__gh__shell"; calls != want || strings.TrimSpace(results) != "" && results != want {
				t.Errorf("%s, %s: the upstream is told of calls%s and results%s: %s", format, how, calls, results, body)
			}
			if format == wire.Responses && (strings.Contains(body, "mcp__gh__") || strings.Count(body, `"namespace":"mcp__gh"`) != 2) {
				t.Errorf("%s: %s", how, body)
			}
		}
		kept := askSpaced(t, url, says(`"input":[{"role":"user","content":"native: go"}],"tools":`+spaceTools), "")
		askSpaced(t, url, says(`"store":false,"input":[{"role":"user","content":"native: go"}`+kept.items+`],"tools":`+own), "")
		gone("by the items")
		after := askSpaced(t, url, says(fmt.Sprintf(`"previous_response_id":%q,"input":[%s],"tools":%s`, kept.id, kept.results()[1:], own)), "")
		gone("by the id")
		askSpaced(t, url, says(fmt.Sprintf(`"previous_response_id":%q,"input":"And now?","tools":%s`, after.id, own)), "")
		gone("by the id of the next")
		askSpaced(t, url, says(fmt.Sprintf(`"previous_response_id":%q,"input":"And now?","tools":%s`, after.id, spaceTools)), "")
		body, req := host.last(t, format)
		if calls, _ := flatHistory(req); calls != " shell create_issue mcp__gh__shell" {
			t.Errorf("%s: when it is offered again, the upstream is told of calls%s: %s", format, calls, body)
		}
	}
}

// TestChoicesInNamespaces: a choice names a tool in a namespace, and not one of the client's that has the same name.
func TestChoicesInNamespaces(t *testing.T) {
	codec, _ := wire.For(wire.Responses)
	for _, c := range []struct {
		choice string
		want   llm.ToolChoice
	}{
		{`{"type":"function","name":"shell"}`, llm.ToolChoice{Mode: llm.MustCall, Name: "shell"}},
		{`{"type":"function","name":"shell","namespace":"mcp__gh"}`, llm.ToolChoice{Mode: llm.MustCall, Name: "mcp__gh__shell"}},
		{`{"type":"function","name":"create_issue","namespace":"mcp__gh"}`, llm.ToolChoice{Mode: llm.MustCall, Name: "create_issue"}},
		{`{"type":"allowed_tools","mode":"required","tools":[{"type":"function","name":"shell"},{"type":"function","name":"shell","namespace":"mcp__gh"}]}`, llm.ToolChoice{Mode: llm.MustCall, Allowed: []string{"shell", "mcp__gh__shell"}}},
	} {
		req, _, err := codec.DecodeRequest([]byte(`{"model":"m","input":"hi","tools":` + spaceTools + `,"tool_choice":` + c.choice + `}`))
		if err != nil {
			t.Fatal(err)
		}
		if got := req.Choice; got.Mode != c.want.Mode || got.Name != c.want.Name || !slices.Equal(got.Allowed, c.want.Allowed) {
			t.Errorf("%s is %+v", c.choice, got)
		}
		body, warnings, err := codec.EncodeRequest(req, false)
		if err != nil || len(warnings) > 0 {
			t.Fatal(err, warnings)
		}
		again, _, err := codec.DecodeRequest(body)
		if err != nil || again.Choice.Name != c.want.Name || !slices.Equal(again.Choice.Allowed, c.want.Allowed) || strings.Contains(string(body), "mcp__gh__") {
			t.Errorf("%s is sent as %s, %v", c.choice, body, err)
		}
	}
}

package tool_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/tool"
)

func def(name, description, schema string) llm.ToolDef {
	return llm.ToolDef{Name: name, Description: description, Schema: json.RawMessage(schema)}
}

func TestAudit(t *testing.T) {
	for _, c := range []struct {
		why   string
		def   llm.ToolDef
		score float64
		rules string
	}{
		{"a good one, with an ambiguous name that its description makes clear",
			def("read_file", "Returns the text of a file. Fails if it is larger than 1 MB. Do not use it for folders; use list_files instead. Example: {\"path\": \"src/main.go\"}.",
				`{"properties":{"path":{"type":"string","description":"Relative to the root of the project."}},"required":["path"]}`),
			1, ""},
		{"nothing said at all", def("f", "", `{"properties":{"data":{}},"required":["data"]}`), 0,
			"no-example no-edge-cases no-input-format no-boundaries unclear-parameter no-description undocumented-required untyped vendor-loss"},
		{"no parameters: nothing to mistake", def("now", "Returns the time.", ``), 0.4,
			"no-example no-edge-cases no-boundaries short-description"},
		{"praise", def("x", "A powerful, seamless tool that handles stuff. For example: anything. Never fails. Only for you.", ``), 1,
			"vague-words marketing-words"},
		{"a name some vendor refuses", def("a.b", "Adds things up. Example: 1. Only if you must.", ``), 1, "invalid-name vague-words"},
		{"too long", def("x", strings.Repeat("If not, do not. Example. ", 60), ``), 1, "long-description"},
		{"formats in the schema count", def("x", "Looks up a country. Example: IT. Only if in Europe.",
			`{"properties":{"code":{"type":"string","pattern":"^[A-Z]{2}$","description":"country"}}}`), 1, "short-parameter vendor-loss"},
		{"a schema nobody can use", def("x", "Does it. Example: none. Only if needed.", `{"type":"nonsense"}`), 1, "broken-schema"},
	} {
		r := tool.Audit([]llm.ToolDef{c.def})[0]
		var rules []string
		for _, f := range r.Findings {
			rules = append(rules, f.Rule)
			if f.Problem == "" || f.Fix == "" {
				t.Errorf("%s: %s says nothing", c.why, f.Rule)
			}
		}
		if r.Score != c.score {
			t.Errorf("%s: score %.1f, want %.1f", c.why, r.Score, c.score)
		}
		if diff := cmp.Diff(c.rules, strings.Join(rules, " ")); diff != "" {
			t.Errorf("%s:\n%s", c.why, diff)
		}
	}
}

func TestAuditComparesTools(t *testing.T) {
	reports := tool.Audit([]llm.ToolDef{def("a", "Does one thing well.", ""), def("a", "Does another thing.", ""), def("b", "Does one thing well.", "")})
	has := func(r tool.AuditReport, rule string) bool {
		for _, f := range r.Findings {
			if f.Rule == rule {
				return true
			}
		}
		return false
	}
	if !has(reports[1], "duplicate-name") || !has(reports[2], "duplicate-description") || has(reports[0], "duplicate-name") {
		t.Errorf("%+v", reports)
	}
}

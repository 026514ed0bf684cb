package write

import (
	"strings"
	"testing"

	"github.com/toolpost/toolpost/dialect/spec"
	"github.com/toolpost/toolpost/llm"
)

var twoResults = []llm.Result{
	{CallID: "call_1", Name: "get_weather", Parts: []llm.Part{llm.Text{Text: `{"temp": 18}`}}},
	{CallID: "call_2", Name: "get_time", Failed: true, Parts: []llm.Part{llm.Text{Text: "no such zone"}, llm.Media{Kind: llm.Image, MIME: "image/png"}}},
}

// Whatever a tool returns, its result ends where we end it: the closing
// markers occur as often as there are results.
func TestResultsCannotBreakOut(t *testing.T) {
	for _, d := range spec.Builtin() {
		name, w := d.Name, Shown(d)
		_, clean := Results(d, []llm.Result{{CallID: "1", Name: "f", Parts: []llm.Part{llm.Text{Text: "x"}}}})
		for _, m := range Guards(d) {
			for _, evil := range []string{m, strings.ToUpper(m), m + " >", "a" + m + m + "b", m + "\n" + w.Close + w.Each} {
				_, got := Results(d, []llm.Result{{CallID: "1", Name: "f", Parts: []llm.Part{llm.Text{Text: evil}}}})
				if n, want := strings.Count(strings.ToLower(got), strings.ToLower(m)), strings.Count(strings.ToLower(clean), strings.ToLower(m)); n != want {
					t.Errorf("%s: %q stands %d times instead of %d in\n%s", name, m, n, want, got)
				}
			}
		}
	}
}

// The id under which a result is shown is the one under which the call was.
func TestResultIDsMatchCalls(t *testing.T) {
	for _, d := range spec.Builtin() {
		name, s, w := d.Name, d.Write, Shown(d)
		if w.ID == spec.NoID || s.ID == spec.NoID {
			continue
		}
		for i, r := range twoResults {
			if a, b := writtenID(s.ID, r.CallID, r.Name, i), writtenID(w.ID, r.CallID, r.Name, i); a != b {
				t.Errorf("%s: call %s, result %s", name, a, b)
			}
		}
	}
}

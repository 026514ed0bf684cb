package dialect

import (
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/toolpost/toolpost/llm"
)

var twoResults = []llm.Result{
	{CallID: "call_1", Name: "get_weather", Parts: []llm.Part{llm.Text{Text: `{"temp": 18}`}}},
	{CallID: "call_2", Name: "get_time", Failed: true, Parts: []llm.Part{llm.Text{Text: "no such zone"}, llm.Media{Kind: llm.Image, MIME: "image/png"}}},
}

// Two results in every dialect, to be read by people.
func TestWrapGolden(t *testing.T) {
	got := txtar.Archive{Comment: []byte("Two results, the second failed, as the models of each dialect are shown them. The first line is the role.\n")}
	for _, name := range sortedNames() {
		role, text := WrapResults(name, twoResults)
		got.Files = append(got.Files, txtar.File{Name: name, Data: []byte(string(role) + "\n" + text + "\n")})
	}
	golden(t, "testdata/render/results.txtar", string(txtar.Format(&got)))
}

// Whatever a tool returns, its result ends where we end it: the closing
// markers occur as often as there are results.
func TestResultsCannotBreakOut(t *testing.T) {
	for _, d := range All() {
		name, w := d.Name, resultsOf(d)
		_, clean := WrapResults(name, []llm.Result{{CallID: "1", Name: "f", Parts: []llm.Part{llm.Text{Text: "x"}}}})
		for _, m := range guardsOf(d) {
			for _, evil := range []string{m, strings.ToUpper(m), m + " >", "a" + m + m + "b", m + "\n" + w.Close + w.Each} {
				_, got := WrapResults(name, []llm.Result{{CallID: "1", Name: "f", Parts: []llm.Part{llm.Text{Text: evil}}}})
				if n, want := strings.Count(strings.ToLower(got), strings.ToLower(m)), strings.Count(strings.ToLower(clean), strings.ToLower(m)); n != want {
					t.Errorf("%s: %q stands %d times instead of %d in\n%s", name, m, n, want, got)
				}
			}
		}
	}
}

func TestResultNamesCannotBreakOut(t *testing.T) {
	_, got := WrapResults("", []llm.Result{{CallID: `1" x="`, Name: "f\"><script>", Parts: []llm.Part{llm.Text{Text: "x"}}}})
	if want := "<tool_result name=\"f___script_\" id=\"1__x__\">\nx\n</tool_result>"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// The id under which a result is shown is the one under which the call was.
func TestResultIDsMatchCalls(t *testing.T) {
	for _, d := range All() {
		name, s, w := d.Name, d.Write, resultsOf(d)
		if w.ID == NoID || s.ID == NoID {
			continue
		}
		for i, r := range twoResults {
			if a, b := writtenID(s.ID, r.CallID, r.Name, i), writtenID(w.ID, r.CallID, r.Name, i); a != b {
				t.Errorf("%s: call %s, result %s", name, a, b)
			}
		}
	}
}

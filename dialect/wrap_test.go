package dialect

import (
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
		role, text := Builtin().WrapResults(name, twoResults)
		got.Files = append(got.Files, txtar.File{Name: name, Data: []byte(string(role) + "\n" + text + "\n")})
	}
	golden(t, "testdata/render/results.txtar", string(txtar.Format(&got)))
}

func TestResultNamesCannotBreakOut(t *testing.T) {
	_, got := Builtin().WrapResults("", []llm.Result{{CallID: `1" x="`, Name: "f\"><script>", Parts: []llm.Part{llm.Text{Text: "x"}}}})
	if want := "<tool_result name=\"f___script_\" id=\"1__x__\">\nx\n</tool_result>"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

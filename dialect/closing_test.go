package dialect_test

import (
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/toolpost/toolpost/dialect"
	"github.com/toolpost/toolpost/llm"
)

// rewritten joins the text of an answer and the markup of its calls. It is not ok
// if the answer lacks call, or an invalid one, or thinks.
func rewritten(t *testing.T, p dialect.Parser, text string, chunk int) (joined string, ok bool) {
	t.Helper()
	p.Markup, p.Closing = true, true
	var b strings.Builder
	calls, others := 0, 0
	for ev, err := range p.Parse(dialect.Cut(text, chunk)) {
		if err != nil {
			t.Fatal(err)
		}
		switch ev := ev.(type) {
		case llm.TextDelta:
			b.WriteString(ev.Text)
		case dialect.Markup:
			calls++
			b.WriteString(ev.Before + ev.Text[ev.Said:])
		case dialect.Closing:
			b.WriteString(ev.Text)
		case llm.ThinkingDelta, llm.InvalidCall:
			others++
		}
	}
	return b.String(), calls > 0 && others == 0
}

// next to are the cases with something in or next to their calls that belongs
// neither to text nor to a call.
var beside = map[string]string{
	"broken_strings.txtar, end of thinking":             "thinking ends in the call",
	"broken_strings.txtar, end of thinking on its line": "thinking ends in the call",
	"cohere_cofl.txtar, text and two":                   "headers of messages",
	"command_action.txtar, text and two":                "headers of messages",
	"functionary_v32.txtar, text and two":               "headers of messages",
	"functionary_v32.txtar, all and a call":             "headers of messages",
	"gemma4.txtar, stray closers":                       "thinking ends behind the call",
	"glm4_classic.txtar, two messages":                  "a message ends",
	"harmony.txtar, text and two":                       "headers of messages",
	"hyperclova.txtar, text and two":                    "headers of messages",
	"inkling.txtar, text and two":                       "headers of messages",
	"json_fence.txtar, wire message":                    "text as a string, which comes by itself",
	"kimi_k3.txtar, text and two":                       "headers of messages",
	"kimi_k3.txtar, unclosed response":                  "headers of messages",
	"llama3_builtin.txtar, header":                      "headers of messages",
	"muse_glimmer.txtar, text and two":                  "headers of messages",
	"place.txtar, end 17":                               "a message ends",
	"place.txtar, fence 13":                             "a message ends",
	"solar_open.txtar, text and two":                    "headers of messages",
}

// TestMarkupIsWhatWasWritten: the text and the markup of the calls are all that
// the model wrote, however it is cut.
func TestMarkupIsWhatWasWritten(t *testing.T) {
	files, err := filepath.Glob("testdata/cases/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	checked := 0
	for _, file := range files {
		archive, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for i := 0; i+1 < len(archive.Files); i += 2 {
			in := archive.Files[i]
			text := strings.TrimSuffix(string(in.Data), "\n")
			p := caseParser(in.Name)
			if strings.HasPrefix(in.Name, "hint ") {
				p.Dialect = strings.TrimSuffix(filepath.Base(file), ".txtar")
			}
			whole, ok := rewritten(t, p, text, len(text))
			if !ok {
				continue
			}
			checked++
			if name := filepath.Base(file) + ", " + in.Name; (whole != text) != (beside[name] != "") {
				t.Errorf("%s: %q is %q", name, text, whole)
			}
			if cut, _ := rewritten(t, p, text, 1); cut != whole {
				t.Errorf("%s, %s: %q is %q, in bytes %q", filepath.Base(file), in.Name, text, whole, cut)
			}
		}
	}
	if checked < 1000 {
		t.Errorf("only %d cases are nothing but text and calls", checked)
	}
}

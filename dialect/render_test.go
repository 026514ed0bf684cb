package dialect

import (
	"bufio"
	"encoding/json"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/toolpost/toolpost/dialect/spec"
	"github.com/toolpost/toolpost/internal/corpus"
	"github.com/toolpost/toolpost/llm"
)

// Update has the tests write what they compare with: the cases, the golden files
// and the page about the dialects.
var Update = flag.Bool("update", false, "write what the cases mean, the golden files and docs/dialects.md anew")

// a turn with everything a model may write
var turn = []llm.Part{
	llm.Thinking{Text: "Need the weather."},
	llm.Text{Text: "Let me check."},
	llm.Call{ID: "call_1", Name: "get_weather", Args: json.RawMessage(`{"city":"Paris","days":3,"tags":["a","b"],"opts":{"wind":true}}`)},
	llm.Call{ID: "call_2", Name: "get_time", Args: json.RawMessage(`{}`)},
}

// sortedNames returns the names of all dialects in alphabetical order.
func sortedNames() (names []string) {
	for _, d := range Builtin().All() {
		names = append(names, d.Name)
	}
	slices.Sort(names)
	return names
}

// writtenWhole reports whether an answer in a dialect is one JSON value.
func writtenWhole(name string) bool {
	d, _ := Builtin().Lookup(name)
	return d.Write.Whole
}

// The whole turn in every dialect, to be read by people.
func TestRenderGolden(t *testing.T) {
	const file = "testdata/render/turn.txtar"
	var got txtar.Archive
	got.Comment = []byte("One turn, thinking, text and two calls, as each dialect writes it.\n")
	for _, name := range sortedNames() {
		parts := turn
		if writtenWhole(name) { // text and calls exclude each other
			parts = []llm.Part{turn[0], turn[2], turn[3]}
		}
		text, err := Builtin().Render(name, parts...)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		got.Files = append(got.Files, txtar.File{Name: name, Data: []byte(text + "\n")})
	}
	golden(t, file, string(txtar.Format(&got)))
}

// golden compares got with a file, or writes the file with -update.
func golden(t *testing.T, file, got string) {
	t.Helper()
	if *Update {
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got; -update rewrites it):\n%s", file, diff)
	}
}

// otherSpelling are the samples that show another spelling than the one we
// write, and why we do not write it.
var otherSpelling = map[string]string{
	"mistral_json variant":    "no space after the marker; ids are the model's own",
	"mistral_json single":     "the id is the model's own",
	"mistral_call_id single":  "the id is the model's own",
	"solar_open single":       "the id is the model's own",
	"solar_open variant":      "the id is the model's own, and the header was in the prompt",
	"hy_v3 variant":           "a suffix that one tokenizer adds",
	"gemma3_prompted variant": "the list form; we write the fence",
	"llama3_json variant":     "the tag is for code; plain objects are the documented form",
	"pythonic variant":        "special tokens around the list",
	"phi4_functools variant":  "a leading space",
	"xlam variant":            "in a fence",
	"gigachat3 variant":       "the form of version 3; we write that of 3.1",
	"minicpm5 variant":        "CDATA although nothing needs it",
	"qwen_agent variant":      "no colon at the end",
	"command_action variant":  "the opener of thinking was in the prompt",
}

// around is what samples say besides their calls.
var around = map[string][]llm.Part{
	"ernie45 single":          {llm.Thinking{Text: "I should look it up."}},
	"deepseek_dsml_v4 single": {llm.Thinking{Text: "Let me check"}},
	"kimi_k3 single":          {llm.Text{Text: "On it."}},
	"harmony single":          {llm.Thinking{Text: "Need weather."}},
	"functionary_v32 variant": {llm.Text{Text: "Let me check."}},
	"command_action single":   {llm.Thinking{Text: "I will look it up"}},
	"inkling single":          {llm.Thinking{Text: "Need weather"}},
	"muse_glimmer single":     {llm.Thinking{Text: "Need weather"}},
	"hyperclova single":       {llm.Text{Text: "Checking."}},
	"react single":            {llm.Thinking{Text: "I need the weather."}},
	"json_fence single":       {llm.Text{Text: "Sure."}},
}

// Every sample is written byte for byte as the models write it, except for
// the openers of thinking that were in the prompt.
func TestRenderSamples(t *testing.T) {
	f, err := os.Open(corpus.Path(t, "dialect_samples.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	same, total := 0, 0
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var row struct {
			Dialect, Kind, Raw string
			Calls              []struct {
				Name      string
				Arguments json.RawMessage
			}
		}
		if err := json.Unmarshal(lines.Bytes(), &row); err != nil {
			t.Fatal(err)
		}
		total++
		name := row.Dialect + " " + row.Kind
		parts := slices.Clone(around[name])
		for _, c := range row.Calls {
			parts = append(parts, llm.Call{Name: c.Name, Args: c.Arguments})
		}
		got, err := Builtin().Render(row.Dialect, parts...)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		why, differs := otherSpelling[name]
		switch {
		case got == row.Raw || strings.HasSuffix(got, row.Raw) && len(got)-len(row.Raw) <= len("<think>\n"):
			same++
			if differs {
				t.Errorf("%s is listed as another spelling (%s), but it is ours", name, why)
			}
		case !differs:
			t.Errorf("%s:\n%s", name, cmp.Diff(row.Raw, got))
		}
	}
	t.Logf("%d of %d samples written byte for byte; the others show spellings we read but do not write", same, total)
}

// What a dialect cannot say is refused.
func TestRenderRefuses(t *testing.T) {
	call := func(name, args string) []llm.Part {
		return []llm.Part{llm.Call{Name: name, Args: json.RawMessage(args)}}
	}
	for _, tt := range []struct {
		why, dialect string
		parts        []llm.Part
		kind         llm.Kind
	}{
		{"unknown dialect", "klingon", turn, llm.Unsupported},
		{"a list is no object", "hermes_json", call("f", `[1]`), llm.Invalid},
		{"a string is no object", "hermes_json", call("f", `"x"`), llm.Invalid},
		{"two objects", "hermes_json", call("f", `{}{}`), llm.Invalid},
		{"cut off", "hermes_json", call("f", `{"a":`), llm.Invalid},
		{"a name that closes its tag", "qwen3_coder_xml", call("f>x", `{}`), llm.Invalid},
		{"no name", "hermes_json", call("", `{}`), llm.Invalid},
		{"a key that closes its tag", "qwen3_coder_xml", call("f", `{"a>b":1}`), llm.Invalid},
		{"a key that is no Python name", "pythonic", call("f", `{"a-b":1}`), llm.Invalid},
		{"a key that would not be read back", "pythonic", call("f", `{"`+strings.Repeat("k", spec.MaxWord+1)+`":1}`), llm.Invalid},
		{"a key with a colon", "gemma4", call("f", `{"a:b":1}`), llm.Invalid},
		{"text and calls in one envelope", "envelope", turn, llm.Invalid},
		{"media", "hermes_json", []llm.Part{llm.Media{Kind: llm.Image}}, llm.Invalid},
		{"results", "hermes_json", []llm.Part{llm.Result{}}, llm.Invalid},
		{"hosted calls", "hermes_json", []llm.Part{llm.Call{Name: "web_search", Hosted: true}}, llm.Invalid},
	} {
		text, err := Builtin().Render(tt.dialect, tt.parts...)
		if got := llm.KindOf(err); text != "" || got != tt.kind {
			t.Errorf("%s: got %q and %v, want kind %v", tt.why, text, err, tt.kind)
		}
		if e := new(llm.Error); !errors.As(err, &e) {
			t.Errorf("%s: %T is no *llm.Error", tt.why, err)
		}
	}
}

// A string can hold the dialect's own closers where there are escapes.
func TestRenderDisarms(t *testing.T) {
	for name, want := range map[string]string{
		"hermes_json": `<tool_call>` + "\n" + `{"name": "f", "arguments": {"s": "\u003c/tool_call>"}}` + "\n</tool_call>",
		"olmo3":       "<function_calls>\n" + `f(s="</tool_call>")` + "\n</function_calls>",
		"mistral_v11": `[TOOL_CALLS]f[ARGS]{"s": "</tool_call>"}`,
	} {
		got, err := Builtin().Render(name, llm.Call{Name: "f", Args: json.RawMessage(`{"s":"</tool_call>"}`)})
		if err != nil || got != want {
			t.Errorf("%s: %v, %q, want %q", name, err, got, want)
		}
	}
	got, _ := Builtin().Render("mistral_v11", llm.Call{Name: "f", Args: json.RawMessage(`{"s":"[TOOL_CALLS]g[ARGS]{}"}`)})
	if want := `[TOOL_CALLS]f[ARGS]{"s": "\u005bTOOL_CALLS]g\u005bARGS]{}"}`; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

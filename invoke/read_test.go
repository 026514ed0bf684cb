package invoke_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/invoke"
	"github.com/toolpost/toolpost/journal"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/tool"
)

// lister returns a tool with a long result.
func lister() tool.Tool {
	return doer("list", tool.ReadOnly, func(context.Context) (string, error) {
		var rows []string
		for i := range 500 {
			rows = append(rows, fmt.Sprintf(`{"id":%d,"name":"part %d","secret":"sk-ant-%048d"}`, 100+i, i, i))
		}
		return "[" + strings.Join(rows, ",") + "]", nil
	})
}

var noted = regexp.MustCompile(`call read_result with \{"id":"([0-9a-f-]+)"\}`)

// read calls read_result.
func read(t *testing.T, s *invoke.Session, id, args string) string {
	t.Helper()
	return outcomes(t, s, call(id, invoke.ReaderName, args))[0].Result.Text()
}

// TestReadResult: what was left out of a view can be had back, filtered or page by page,
// from a file or from memory, without its secrets.
func TestReadResult(t *testing.T) {
	for name, o := range map[string]invoke.ResultView{
		"file":   {Mode: invoke.Concise, SpillDir: filepath.Join(t.TempDir(), "spill")},
		"memory": {Mode: invoke.Concise, NoSpill: true},
	} {
		t.Run(name, func(t *testing.T) {
			s, _ := session(t, &invoke.Runner{Tools: tool.MustSet(lister()), Output: o})
			first := outcomes(t, s, call("a", "list", ``))[0].Result.Text()
			m := noted.FindStringSubmatch(first)
			if m == nil {
				t.Fatalf("no note how to go on:\n%s", first)
			}
			if got := read(t, s, "b", fmt.Sprintf(`{"id":%q,"match":"part 317"}`, m[1])); !strings.Contains(got, "417|part 317\n") || strings.Contains(got, "part 318") {
				t.Errorf("the filter finds\n%s", got)
			}
			seen := make(map[string]bool)
			next := regexp.MustCompile(`To go on call read_result with (\{.*\})\]`)
			for n, args := 0, fmt.Sprintf(`{"id":%q}`, m[1]); args != ""; n++ {
				page := read(t, s, fmt.Sprint("page", n), args)
				if strings.Contains(page, "sk-ant-") || n > 20 {
					t.Fatalf("page %d has a secret, or there is no end:\n%.300s", n, page)
				}
				for _, p := range regexp.MustCompile(`\|(part \d+)\n`).FindAllStringSubmatch(page, -1) {
					seen[p[1]] = true
				}
				args = ""
				if m := next.FindStringSubmatch(page); m != nil {
					args = m[1]
				}
			}
			if len(seen) != 500 {
				t.Errorf("the pages have %d of 500 parts", len(seen))
			}
			for _, args := range []string{`{"id":"00000000"}`, `{"id":"../../../../x"}`, `{"id":"aaaaaaaa-x"}`} {
				o := outcomes(t, s, call("x"+args, invoke.ReaderName, args))[0]
				if !o.Result.Failed {
					t.Errorf("%s is answered: %s", args, o.Result.Text())
				}
			}
			if got := read(t, s, "c", fmt.Sprintf(`{"id":%q,"match":"nowhere"}`, m[1])); !strings.Contains(got, "No line has") {
				t.Errorf("what is not there: %s", got)
			}
		})
	}
}

// TestReadResultLater: another session, as after a resume or in the next turn of a chat,
// reads the same file.
func TestReadResultLater(t *testing.T) {
	o := invoke.ResultView{Mode: invoke.Concise, SpillDir: filepath.Join(t.TempDir(), "spill")}
	s, _ := session(t, &invoke.Runner{Tools: tool.MustSet(lister()), Output: o})
	id := noted.FindStringSubmatch(outcomes(t, s, call("a", "list", ``))[0].Result.Text())[1]
	later, _ := session(t, &invoke.Runner{Tools: tool.MustSet(lister()), Output: o})
	if got := read(t, later, "b", fmt.Sprintf(`{"id":%q,"match":"part 42"}`, id)); !strings.Contains(got, "142|part 42\n") {
		t.Errorf("a later session reads\n%s", got)
	}
	if err := os.RemoveAll(o.SpillDir); err != nil {
		t.Fatal(err)
	}
	if out := outcomes(t, later, call("c", invoke.ReaderName, fmt.Sprintf(`{"id":%q}`, id)))[0]; !out.Result.Failed || !strings.Contains(out.Result.Text(), "call the tool again") {
		t.Errorf("a file that is gone: %s", out.Result.Text())
	}
}

// TestReadResultChecksTheFile: a file that was changed, or that somebody else put there,
// is not returned as a result.
func TestReadResultChecksTheFile(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "spill")
	o := invoke.ResultView{Mode: invoke.Concise, SpillDir: dir}
	s, _ := session(t, &invoke.Runner{Tools: tool.MustSet(lister()), Output: o})
	first := outcomes(t, s, call("a", "list", ``))[0]
	id := noted.FindStringSubmatch(first.Result.Text())[1]
	b, err := os.ReadFile(first.Receipt.Spill)
	if err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(){
		"changed":    func() { os.WriteFile(first.Receipt.Spill, append(b, '!'), 0o600) },
		"other name": func() { os.WriteFile(filepath.Join(dir, "zzz-bbbbbbbb.txt"), []byte("planted"), 0o600) },
	} {
		change()
		for n, id := range []string{id, "bbbbbbbb"} {
			out := outcomes(t, s, call(fmt.Sprint(name, n), invoke.ReaderName, fmt.Sprintf(`{"id":%q}`, id)))[0]
			if !out.Result.Failed && name == "changed" || strings.Contains(out.Result.Text(), "planted") {
				t.Errorf("%s: it is returned: %.200s", name, out.Result.Text())
			}
		}
		os.WriteFile(first.Receipt.Spill, b, 0o600)
	}
	if got := read(t, s, "d", fmt.Sprintf(`{"id":%q,"match":"part 317"}`, id)); !strings.Contains(got, "417|part 317") {
		t.Errorf("as it was: %s", got)
	}
}

// TestReadResultFrom: where to begin is a number, however it is written, and what is none
// is explained without names of Go.
func TestReadResultFrom(t *testing.T) {
	s, _ := session(t, &invoke.Runner{Tools: tool.MustSet(lister()), Output: invoke.ResultView{Mode: invoke.Concise, NoSpill: true}})
	id := noted.FindStringSubmatch(outcomes(t, s, call("a", "list", ``))[0].Result.Text())[1]
	for from, want := range map[string]string{"2e2": "200: ", "1e30": "", "100000": "The result has only", "1.5": "", "-1": ""} {
		got := read(t, s, "from"+from, fmt.Sprintf(`{"id":%q,"from":%s}`, id, from))
		if !strings.Contains(got, want) || strings.Contains(got, "Go ") || strings.Contains(got, "int64") {
			t.Errorf("%s: %.300s", from, got)
		}
	}
	got := read(t, s, "heads", fmt.Sprintf(`{"id":%q,"from":100}`, id))
	if !strings.HasPrefix(got, "1: [500]: id|name") || !strings.Contains(got, "\n100: ") {
		t.Errorf("a later page has no head:\n%.300s", got)
	}
}

// TestReadResultToolAdded: with a short view, and never in the place of a tool of
// the program.
func TestReadResultToolAdded(t *testing.T) {
	set := tool.MustSet(lister())
	if got := (&invoke.Runner{Tools: set}).Set(); got != set {
		t.Error("the zero value changes the tools")
	}
	short := &invoke.Runner{Tools: set, Output: invoke.ResultView{Mode: invoke.Concise}}
	first, then := short.Set(), short.Set()
	if names := first.Names(); len(names) != 2 || names[1] != invoke.ReaderName || first != then {
		t.Errorf("with short views the tools are %v", names)
	}
	own := doer(invoke.ReaderName, tool.ReadOnly, func(context.Context) (string, error) { return "mine", nil })
	r := &invoke.Runner{Tools: tool.MustSet(lister(), own), Output: invoke.ResultView{Mode: invoke.Concise, NoSpill: true}}
	s, _ := session(t, r)
	if got := outcomes(t, s, call("a", "list", ``))[0].Result.Text(); strings.Contains(got, "call read_result") {
		t.Error("the note names a tool that is another one")
	}
	if got := read(t, s, "b", `{}`); got != "mine" {
		t.Errorf("the program's own tool is not called: %s", got)
	}
}

// TestResponseFormat: a tool lets the model choose, and does not see the choice.
func TestResponseFormat(t *testing.T) {
	var got json.RawMessage
	list := lister()
	plain := list.Call
	list.Input = []byte(`{"type":"object","properties":{"b":{"type":"integer"},"a":{"type":"string"}},"required":["a"],"additionalProperties":false}`)
	list.Call = func(ctx context.Context, args json.RawMessage) (tool.Output, error) {
		got = args
		return plain(ctx, nil)
	}
	list, err := tool.OfferFormats(list)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tool.OfferFormats(list); err == nil {
		t.Error("a tool with formats of its own gets them twice")
	}
	size := func(mode invoke.Mode, args string) int {
		s, _ := session(t, &invoke.Runner{Tools: tool.MustSet(list), Output: invoke.ResultView{Mode: mode, NoSpill: true}})
		o := outcomes(t, s, call("a", "list", args))[0]
		if o.Result.Failed {
			t.Fatalf("%s: %s", args, o.Result.Text())
		}
		if string(got) != `{"a":"x"}` {
			t.Errorf("%s reaches the tool as %s", args, got)
		}
		text, _, _ := strings.Cut(o.Result.Text(), "\n\n[output ") // the notes say different ways to go on
		return llm.EstimateText(text)
	}
	all, concise, minimal := size(invoke.Minimal, `{"a":"x","response_format":"detailed"}`), size(invoke.Detailed, `{"response_format":"concise","a":"x"}`), size(invoke.Detailed, `{"a":"x","response_format":"minimal"}`)
	if !(all > 2*concise && concise > 2*minimal) {
		t.Errorf("detailed has %d tokens, concise %d, minimal %d", all, concise, minimal)
	}
	if n := size(invoke.Minimal, `{"a":"x"}`); n != minimal {
		t.Errorf("without a choice it has %d tokens, the runner's view %d", n, minimal)
	}
}

// TestShortViewsAreOnRecord: the receipt has the hash of the whole and the view as the
// model saw it.
func TestShortViewsAreOnRecord(t *testing.T) {
	s, store := session(t, &invoke.Runner{Tools: tool.MustSet(lister()), Output: invoke.ResultView{Mode: invoke.Concise, NoSpill: true}})
	short := outcomes(t, s, call("a", "list", ``))[0]
	s, _ = session(t, &invoke.Runner{Tools: tool.MustSet(lister()), Output: invoke.ResultView{NoSpill: true}})
	whole := outcomes(t, s, call("a", "list", ``))[0]
	if short.Receipt.OutputHash != whole.Receipt.OutputHash || !short.Receipt.Truncated || short.Receipt.OutputBytes != whole.Receipt.OutputBytes {
		t.Errorf("the receipts differ in more than what was shown:\n%+v\n%+v", short.Receipt, whole.Receipt)
	}
	if _, err := journal.Verify(store.Read(t.Context(), "run", 0)); err != nil {
		t.Error(err)
	}
}

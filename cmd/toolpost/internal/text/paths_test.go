package text

import (
	"context"
	"encoding/json"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/toolpost/toolpost/agent"
	"github.com/toolpost/toolpost/dialect"
	"github.com/toolpost/toolpost/internal/emulate"
	"github.com/toolpost/toolpost/invoke"
	"github.com/toolpost/toolpost/journal"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/tool"
)

// pathTools are the tools of the cases and of the blind sets of package dialect.
var pathTools = []llm.ToolDef{
	{Name: "find_room", Schema: []byte(`{"type":"object","properties":{"town":{"type":"string"},"beds":{"type":"integer"},"notes":{"type":["string","null"]},"tags":{"type":"array","items":{"type":"string"}},"owner":{"type":"object"}},"required":["town"]}`)},
	{Name: "make_note", Schema: []byte(`{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]}`)},
	{Name: "ping", Schema: []byte(`{"type":"object","properties":{}}`)},
	{Name: "write_file", Schema: []byte(`{"type":"object","properties":{"path":{"type":"string"},"content":{"type":"string"}}}`)},
	{Name: "book_table", Schema: []byte(`{"type":"object","properties":{"restaurant":{"type":"string"},"guests":{"type":"integer"},"note":{"type":"string"}},"required":["restaurant","guests"]}`)},
	{Name: "lookup_word", Schema: []byte(`{"type":"object","properties":{"word":{"type":"string"},"lang":{"type":"string"}},"required":["word"]}`)},
	{Name: "save_text", Schema: []byte(`{"type":"object","properties":{"file":{"type":"string"},"body":{"type":"string"}},"required":["file","body"]}`)},
	{Name: "delete_branch", Schema: []byte(`{"type":"object","properties":{"branch":{"type":"string"},"force":{"type":"boolean"}},"required":["branch"]}`)},
}

// pathTexts returns the texts of all case files and blind sets.
func pathTexts(t *testing.T) (texts []string) {
	t.Helper()
	const dir = "../../../../dialect/testdata/"
	files, _ := filepath.Glob(dir + "cases/*.txtar")
	for _, file := range files {
		archive, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for i := 0; i < len(archive.Files); i += 2 {
			texts = append(texts, strings.TrimSuffix(string(archive.Files[i].Data), "\n"))
		}
	}
	sets, _ := filepath.Glob(dir + "blind/*.jsonl")
	for _, file := range sets {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(data)) {
			var row struct{ Text string }
			if err := json.Unmarshal([]byte(line), &row); err != nil {
				t.Fatal(err)
			}
			texts = append(texts, row.Text)
		}
	}
	if len(texts) < 2000 {
		t.Fatalf("only %d texts", len(texts))
	}
	return texts
}

// callSink keeps calls.
type callSink struct{ calls []string }

func (*callSink) said(bool, string) error { return nil }
func (s *callSink) called(c llm.Call) error {
	s.calls = append(s.calls, c.Name+string(c.Args)+resultOf(c.Provenance))
	return nil
}
func (*callSink) end(*parseAnswer) error { return nil }

// keep keeps the calls of events that fit the schemas.
func (s *callSink) keep(t *testing.T, events iter.Seq2[llm.Event, error]) {
	for ev, err := range events {
		if err != nil {
			t.Fatal(err)
		}
		if c, ok := ev.(llm.Call); ok {
			if c, bad := checked(c, pathTools); bad == nil {
				_ = s.called(c)
			}
		}
	}
}

func (s *callSink) keepAnswer(a parseAnswer) {
	for _, c := range a.Calls {
		s.calls = append(s.calls, c.Name+string(c.Arguments)+c.Result)
	}
}

// spoken is the answer of a model that says a text.
func spoken(text string) iter.Seq2[llm.Event, error] {
	return func(yield func(llm.Event, error) bool) {
		_ = yield(llm.TextDelta{Text: text}, nil) && yield(llm.Finish{Reason: llm.Stop}, nil)
	}
}

// The library, a model's answer, parse, parse --batch and explain find the same calls with the same results in every
// text of the case files.
func TestOneReaderOnEveryPath(t *testing.T) {
	parser := dialect.Parser{Tools: pathTools}
	req := &llm.Request{Tools: pathTools}
	for i, text := range pathTexts(t) {
		if strings.Contains(text, "</think>") || testing.Short() && i%8 != 0 {
			continue // commands see the whole text, so they know whether it begins in thinking
		}
		var library, model, single, batch, explained callSink
		library.keep(t, parser.Parse(dialect.Whole(text)))
		model.keep(t, emulate.CallReader{Request: req, Tools: pathTools, Promotion: llm.PromoteAll}.Read(spoken(text)))
		if _, err := (&reading{finish: "stop"}).stream(parser, text, &single); err != nil {
			t.Fatal(err)
		}
		row, err := parseRow{Text: &text, Finish: "stop"}.answer(parser, nil)
		if err != nil {
			t.Fatal(err)
		}
		batch.keepAnswer(row)
		c := openCapture(text)
		if c.format != "" {
			continue // a vendor's response
		}
		whole, _, err := traced(parser, c)
		if err != nil {
			t.Fatal(err)
		}
		hold(&whole, pathTools)
		explained.keepAnswer(whole)
		for path, got := range map[string][]string{"model": model.calls, "parse": single.calls, "batch": batch.calls, "explain": explained.calls} {
			if !slices.Equal(got, library.calls) {
				t.Errorf("%s finds %q, the library %q in\n%s", path, got, library.calls, text)
			}
		}
	}
}

// An agent runs the calls that the library finds, and a replay of its record finds the same.
func TestAgentsAndReplaysReadLikeTheLibrary(t *testing.T) {
	var set []tool.Tool
	var ran []string
	for _, d := range pathTools {
		f := tool.New(d.Name, "A tool.", d.Schema, func(_ context.Context, args json.RawMessage) (tool.Output, error) {
			ran = append(ran, d.Name+string(args))
			return tool.Text("ok"), nil
		})
		f.Effects = tool.ReadOnly
		set = append(set, f)
	}
	texts := pathTexts(t)
	for i, text := range texts {
		if i%7 != 0 {
			continue
		}
		var want []string
		invalid := false
		for ev := range (emulate.CallReader{Request: &llm.Request{Tools: pathTools}, Tools: pathTools, Promotion: llm.PromoteAll}).Read(spoken(text)) {
			if _, ok := ev.(llm.InvalidCall); ok {
				invalid = true
			}
			if c, ok := ev.(llm.Call); ok {
				if c, bad := checked(c, pathTools); bad == nil {
					want = append(want, c.Name+string(c.Args))
				}
			}
		}
		ran = nil
		asked := 0
		m := llm.ModelFunc(func(_ context.Context, req *llm.Request) iter.Seq2[llm.Event, error] {
			if asked++; asked > 1 {
				return spoken("Done.")
			}
			return emulate.CallReader{Request: req, Tools: req.Tools, Promotion: llm.PromoteAll}.Read(spoken(text))
		})
		store := new(journal.Memory)
		a := agent.Agent{Model: m, ID: "m", Store: store, Tools: &invoke.Runner{Tools: tool.MustSet(set...), Policy: invoke.AllowAll}}
		done, err := a.Ask(t.Context(), llm.User("Go."))
		if err != nil {
			t.Errorf("%v in\n%s", err, text)
			continue
		}
		slices.Sort(want)
		slices.Sort(ran)
		if !slices.Equal(slices.Compact(want), slices.Compact(ran)) {
			t.Errorf("the agent ran %q, want %q in\n%s", ran, want, text)
		}
		if err := agent.Replay(t.Context(), store, done.Run); err != nil && !invalid { // a record does not hold where an invalid call was in the text
			t.Errorf("replay: %v in\n%s", err, text)
		}
	}
}

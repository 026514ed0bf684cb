package emulate

import (
	"encoding/json"
	"iter"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/llm"
)

// TestDataFlowUnlessFenced checks that data which begin like JSON are not held back, that a code fence is removed however
// the text is cut, and that text before a call stays as it is.
func TestDataFlowUnlessFenced(t *testing.T) {
	req := &llm.Request{Output: &llm.OutputFormat{Schema: json.RawMessage(`{"type":"object","properties":{"a":{"type":"integer"}},"required":["a"]}`)}}
	read := func(text string, size int, events ...llm.Event) (shown []string, whole string, failed error) {
		var source iter.Seq2[llm.Event, error] = func(yield func(llm.Event, error) bool) {
			for len(text) > 0 {
				n := min(size, len(text))
				if !yield(llm.TextDelta{Text: text[:n]}, nil) {
					return
				}
				text = text[n:]
			}
			for _, ev := range events {
				if !yield(ev, nil) {
					return
				}
			}
		}
		for ev, err := range Keep("test", req).Read(source) {
			if err != nil {
				return shown, whole, err
			}
			if d, is := ev.(llm.TextDelta); is {
				shown, whole = append(shown, d.Text), whole+d.Text
			}
		}
		return shown, whole, nil
	}
	for size := 1; size < 20; size++ {
		if shown, whole, err := read(` {"a": 1}`, size, llm.Finish{Reason: llm.Stop}); err != nil || whole != ` {"a": 1}` || size == 1 && len(shown) != 9 {
			t.Errorf("size %d: %q %v", size, shown, err)
		}
		if _, whole, err := read("Sure:\n```json\n{\"a\": 1}\n```", size, llm.Finish{Reason: llm.Stop}); err != nil || whole != `{"a": 1}` {
			t.Errorf("size %d: %q %v", size, whole, err)
		}
		call := llm.Call{ID: "1", Name: "f", Args: json.RawMessage(`{}`)}
		if _, whole, err := read("```\n1\n```", size, call, llm.Finish{Reason: llm.ToolCalls}); err != nil || whole != "```\n1\n```" {
			t.Errorf("size %d: %q %v", size, whole, err)
		}
		if _, whole, err := read("No idea.", size, llm.Finish{Reason: llm.Stop}); err == nil || whole != "No idea." || !strings.Contains(err.Error(), "does not match the schema") {
			t.Errorf("size %d: %q %v", size, whole, err)
		}
		if _, whole, err := read("```json\n{\"a\": 1", size, llm.Finish{Reason: llm.Length}); err != nil || whole != "```json\n{\"a\": 1" {
			t.Errorf("size %d: %q %v", size, whole, err)
		}
	}
}

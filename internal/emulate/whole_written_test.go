package emulate_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/internal/emulate"
	"github.com/toolpost/toolpost/llm"
)

// A whole call that may not be run is shown as a whole call; one that was cut off stays open.
func TestInvalidCallsAsWritten(t *testing.T) {
	for _, c := range []struct {
		call llm.InvalidCall
		want string
	}{
		{llm.InvalidCall{ID: "2", Name: "f", Raw: `{"city":"Oslo"}`, Reason: llm.NotAllowed}, `{"name": "f", "arguments": {"city":"Oslo"}}`},
		{llm.InvalidCall{ID: "2", Name: `f"`, Raw: " [1]\n", Reason: llm.NotAllowed}, `{"name": "f\"", "arguments": [1]}`},
		{llm.InvalidCall{ID: "2", Name: "f", Reason: llm.NotAllowed}, `{"name": "f", "arguments": {}}`},
		{llm.InvalidCall{ID: "2", Name: "f", Raw: `{"city":"Os`, Reason: llm.CutOff}, `{"name": "f", "arguments": {"city":"Os`},
		{llm.InvalidCall{ID: "2", Name: "f", Reason: llm.CutOff}, `{"name": "f", "arguments": `},
	} {
		text, warned := "", 0
		for ev, err := range emulate.WholeCalls(func(yield func(llm.Event, error) bool) {
			_ = yield(llm.CallStart{ID: "2", Name: c.call.Name}, nil) && yield(c.call, nil) && yield(llm.Finish{Reason: llm.ToolCalls}, nil)
		}, nil) {
			if err != nil {
				t.Fatal(err)
			}
			switch ev := ev.(type) {
			case llm.TextDelta:
				text += ev.Text
			case llm.Warning:
				warned++
			case llm.CallStart, llm.Call, llm.CallDelta:
				t.Errorf("%+v is shown as a call: %+v", c.call, ev)
			}
		}
		if text != c.want || warned != 1 {
			t.Errorf("%d warnings, %s, want %s", warned, text, c.want)
		}
		if c.call.Reason != llm.CutOff && !json.Valid([]byte(text)) || strings.Count(text, `"name"`) != 1 {
			t.Errorf("%s is no JSON", text)
		}
	}
}

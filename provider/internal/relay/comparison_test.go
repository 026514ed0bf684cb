package relay

import (
	"testing"

	"github.com/toolpost/toolpost/internal/emulate"
	"github.com/toolpost/toolpost/llm"
)

// Text of an answer without tools skips the stages. Calls do not.
func TestTextSkipsStages(t *testing.T) {
	asked := &llm.Request{Messages: []llm.Message{llm.User("hi")}}
	l := New(emulate.Answer{}, asked, asked)
	defer l.Stop()
	var heard int
	hear := func(llm.Event, error) bool { heard++; return true }
	for _, ev := range []llm.Event{llm.Start{}, llm.TextDelta{Text: "a"}, llm.KeepAlive{}, llm.TextDelta{Text: "<tool_call>"}} {
		l.Decide(l.Show(ev, hear))
	}
	if l.begun || heard != 4 {
		t.Errorf("readers were started for text, or %d of 4 events were heard", heard)
	}
	l.Decide(l.Show(llm.InvalidCall{ID: "1", Name: "f", Reason: llm.CutOff}, hear))
	if !l.begun {
		t.Error("a call was not shown to the readers")
	}
	if l.broken(llm.Finish{Reason: llm.Stop}) == nil {
		t.Error("an answer with half a call passes as whole")
	}
	tools := &llm.Request{Tools: []llm.ToolDef{{Name: "f"}}}
	if textPasses(tools, tools) {
		t.Error("text of an answer with tools is not read")
	}
}

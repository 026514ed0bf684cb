package provider

import (
	"testing"

	"github.com/toolpost/toolpost/llm"
)

// Text of an answer without tools needs no readers. What they are for is judged all the same.
func TestTextPassesWithoutReaders(t *testing.T) {
	asked := &llm.Request{Messages: []llm.Message{llm.User("hi")}}
	l := newLockstep(&job{req: asked, asked: asked})
	defer l.stop()
	var heard int
	hear := func(llm.Event, error) bool { heard++; return true }
	for _, ev := range []llm.Event{llm.Start{}, llm.TextDelta{Text: "a"}, llm.KeepAlive{}, llm.TextDelta{Text: "<tool_call>"}} {
		l.judge(ev, hear)
	}
	if l.wake != nil || heard != 4 {
		t.Errorf("readers were started for text, or %d of 4 events were heard", heard)
	}
	l.judge(llm.InvalidCall{ID: "1", Name: "f", Reason: llm.CutOff}, hear)
	if l.wake == nil {
		t.Error("a call was not shown to the readers")
	}
	if l.broken(llm.Finish{Reason: llm.Stop}) == nil {
		t.Error("an answer with half a call passes as whole")
	}
	tools := &llm.Request{Tools: []llm.ToolDef{{Name: "f"}}}
	if (&job{req: tools, asked: tools}).textPasses() {
		t.Error("text of an answer with tools is not read")
	}
}

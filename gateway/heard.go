package gateway

import (
	"errors"

	"github.com/toolpost/toolpost/llm"
)

// heard is what an answer has held so far.
type heard struct{ spoke, called, thought bool }

func (h *heard) hear(ev llm.Event) {
	switch ev := ev.(type) {
	case llm.TextDelta:
		h.spoke = h.spoke || ev.Text != "" || ev.Part != nil
	case llm.ThinkingDelta:
		h.thought = true
	case llm.Call, llm.CallStart, llm.InvalidCall:
		h.called = true
	case llm.HostedCall, llm.HostedResult:
		h.spoke = true
	}
}

// natural is why an answer ended whose vendor has a word for it that nobody knows.
func (h heard) natural() llm.Reason {
	if h.called {
		return llm.ToolCalls
	}
	return llm.Stop
}

// ends looks at the end of an answer, for which the upstream says why. One that holds nothing, and of
// which it does not say why it ended, is none. One in which the model only thought is told to the client.
func (a *asking) ends(why string) error {
	switch {
	case a.spoke || a.called:
		return nil
	case a.thought:
		return a.each(llm.Warning{Code: llm.Degraded, Feature: "answer", Detail: "the model thought, and said nothing"})
	case why == "" && a.labels.Upstream != "":
		return &llm.Error{Op: "gateway", Kind: llm.Incomplete, Err: errors.New("the upstream ended without an answer")}
	}
	return nil
}

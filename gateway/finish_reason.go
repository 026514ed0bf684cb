package gateway

import (
	"errors"
	"fmt"
	"strings"

	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/wire"
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

// meant returns the reason that a client of another format is given, if an upstream stops with such a word: an answer that is
// not complete is one that was cut off. What nobody knows is taken for the natural end.
func (a *asking) meant(word string) llm.Reason {
	responses := strings.HasSuffix(a.labels.Upstream, "/"+wire.Responses) // which has words for what is incomplete alone
	if word != "" && (responses || wire.BrokenOff(word)) {
		return llm.Length
	}
	return a.natural()
}

// unusual warns the client of an answer that ends with a word that its format lacks; nil if it does not. For why it is not
// inlined see note.
//
//go:noinline
func (a *asking) unusual(ev llm.Event) *llm.Warning {
	f, is := ev.(llm.Finish)
	if !is || f.Reason != llm.OtherReason || f.Raw == "" || a.labels.Client != "" {
		return nil
	}
	return &llm.Warning{Code: llm.Degraded, Feature: "finish reason", Detail: fmt.Sprintf("the upstream stopped with %.60q, for which this format has no word", f.Raw)}
}

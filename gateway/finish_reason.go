package gateway

import (
	"errors"
	"fmt"
	"strings"

	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/wire"
)

// contentKinds records the kinds of content in an answer so far.
type contentKinds struct{ spoke, called, thought bool }

func (h *contentKinds) record(ev llm.Event) {
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

// natural returns the finish reason of an answer whose vendor reports an unknown one.
func (h contentKinds) natural() llm.Reason {
	if h.called {
		return llm.ToolCalls
	}
	return llm.Stop
}

// ends checks the end of an answer and the finish reason of the upstream. An empty answer without a reason is an error.
// An answer with only thinking is a warning.
func (a *asking) ends(why string) error {
	switch {
	case a.spoke || a.called:
		return nil
	case a.thought:
		return a.each(llm.Warning{Code: llm.Degraded, Feature: "answer", Detail: "the answer has only thinking and no text"})
	case why == "" && a.labels.Upstream != "":
		return &llm.Error{Op: "gateway", Kind: llm.Incomplete, Err: errors.New("the upstream ended without an answer")}
	}
	return nil
}

// meant returns the finish reason for a client of another format. A word for an incomplete answer becomes Length. Other
// unknown words become the natural reason.
func (a *asking) meant(word string) llm.Reason {
	responses := strings.HasSuffix(a.labels.Upstream, "/"+wire.Responses) // Responses uses its own words only for incomplete answers
	if word != "" && (responses || wire.BrokenOff(word)) {
		return llm.Length
	}
	return a.natural()
}

// unusual returns a warning if an answer ends with a finish reason that the client's format lacks, otherwise nil. It is
// not inlined; see note.
//
//go:noinline
func (a *asking) unusual(ev llm.Event) *llm.Warning {
	f, is := ev.(llm.Finish)
	if !is || f.Reason != llm.OtherReason || f.Raw == "" || a.labels.Client != "" {
		return nil
	}
	return &llm.Warning{Code: llm.Degraded, Feature: "finish reason", Detail: fmt.Sprintf("the upstream stopped with %.60q, for which this format has no word", f.Raw)}
}

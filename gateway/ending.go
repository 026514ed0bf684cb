package gateway

import (
	"fmt"
	"strings"

	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/wire"
)

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

package emulate

import (
	"fmt"
	"slices"

	"github.com/toolpost/toolpost/llm"
)

// WithoutHosted returns messages without the calls that a vendor ran itself, and
// without their results: a prompt cannot express them. Text about the results is kept.
// A warning has their number. The messages are not changed, and are returned
// themselves if there were none.
func WithoutHosted(messages []llm.Message) ([]llm.Message, []llm.Warning) {
	n := 0
	for _, msg := range messages {
		for _, p := range msg.Parts {
			if isHostedPart(p) {
				n++
			}
		}
	}
	if n == 0 {
		return messages, nil
	}
	kept := make([]llm.Message, 0, len(messages))
	for _, msg := range messages {
		had := len(msg.Parts)
		if slices.ContainsFunc(msg.Parts, isHostedPart) {
			msg.Parts = slices.DeleteFunc(slices.Clone(msg.Parts), isHostedPart)
		}
		if len(msg.Parts) > 0 || had == 0 {
			kept = append(kept, msg)
		}
	}
	return kept, []llm.Warning{{Code: llm.Ignored, Feature: "history", Detail: fmt.Sprintf("%d calls and results of tools that a vendor ran are left out", n)}}
}

// isHostedPart reports whether a part is a call that a vendor ran, or the result of one.
func isHostedPart(p llm.Part) bool {
	switch p := p.(type) {
	case llm.Call:
		return p.Hosted
	case llm.Result:
		return p.Hosted
	}
	return false
}

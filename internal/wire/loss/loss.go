// Package loss collects what a conversion could not carry. Every warning about a lost field, part or option is made here.
package loss

import (
	"encoding/json"
	"fmt"

	"github.com/toolpost/toolpost/llm"
)

// MaxNotes bounds the warnings about one feature, and maxWarnings those about one request: each is compared with all.
const (
	MaxNotes    = 8
	MaxWarnings = 1000
)

// Log collects what a conversion to a format could not carry. It writes nothing.
type Log struct {
	Format   string // that is written
	Vendor   string // whose opaque state can be sent
	LogProbs string // form of log probabilities that the format has
	Warnings []llm.Warning
}

// Lost notes that something was not carried, once for each thing that is said about a feature.
func (l *Log) Lost(code llm.WarningCode, feature, detail string) {
	if len(l.Warnings) == MaxWarnings {
		return
	}
	n := 0
	for _, w := range l.Warnings {
		if w.Code == code && w.Feature == feature {
			if n++; w.Detail == detail || n == MaxNotes {
				return
			}
		}
	}
	if len(l.Warnings) == MaxWarnings-1 {
		feature, detail = "more", fmt.Sprintf("more than %d things are lost, the first of them %s", MaxWarnings, feature)
	}
	l.Warnings = append(l.Warnings, llm.Warning{Code: code, Feature: feature, Detail: detail})
}

// Unsupported notes an option that this format lacks.
func (l *Log) Unsupported(set bool, feature string) {
	if set {
		l.Lost(llm.Ignored, feature, "the "+l.Format+" format has no field for it")
	}
}

// OwnLogProbs returns the tokens that this format can write.
func (l *Log) OwnLogProbs(p *llm.LogProbs) []json.RawMessage {
	if p == nil {
		return nil
	}
	if p.Form == l.LogProbs {
		return p.Tokens
	}
	l.Lost(llm.Ignored, "logprobs", "the format has no place for the log probabilities of "+p.Form)
	return nil
}

// InvalidAsText notes that a call which cannot be run is shown as what the
// model wrote: where arguments are objects, half an object cannot be sent.
func (l *Log) InvalidAsText(c llm.InvalidCall) {
	what := "a call"
	if c.Name != "" {
		what = "the call of " + c.Name
	}
	l.Lost(llm.Degraded, "invalid call", what+" cannot be run and is shown as text")
}

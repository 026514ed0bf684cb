package invoke

import (
	"regexp"

	"github.com/toolpost/toolpost/journal"
	"github.com/toolpost/toolpost/llm"
)

// Redact returns secrets that match regular expressions, for [Runner.Redact]. Keys of known forms are
// among them. A store takes the same value as its Secrets, for what a model writes itself. Redact
// panics if a pattern is not a regular expression.
func Redact(patterns ...string) *journal.Secrets {
	s := new(journal.Secrets)
	for _, p := range patterns {
		s.Patterns = append(s.Patterns, regexp.MustCompile(p))
	}
	return s
}

// Redacted returns messages without the secrets of r: those in text and in results of tools. It
// returns msgs itself if r redacts nothing.
func (r *Runner) Redacted(msgs []llm.Message) []llm.Message {
	if r == nil || r.Redact == nil {
		return msgs
	}
	out := make([]llm.Message, len(msgs))
	for i, m := range msgs {
		m.Parts = redactedParts(r.Redact, m.Parts)
		out[i] = m
	}
	return out
}

func redactedParts(s *journal.Secrets, parts []llm.Part) []llm.Part {
	out := make([]llm.Part, len(parts))
	for i, p := range parts {
		switch part := p.(type) {
		case llm.Text:
			part.Text, _ = s.Redact(part.Text)
			p = part
		case llm.Result:
			part.Parts = redactedParts(s, part.Parts)
			p = part
		}
		out[i] = p
	}
	return out
}

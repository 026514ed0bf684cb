package codec

import (
	"slices"

	"github.com/toolpost/toolpost/llm"
)

// LogProbs reads a list of log probabilities, one a token. An empty one is nil.
func (d *Decoder) LogProbs(list []byte) *llm.LogProbs {
	if !d.OneOf(list, "[", "an array") || len(list) <= 2 {
		return nil
	}
	p := &llm.LogProbs{Form: d.Host.Properties().LogProbs}
	for el := range d.Elements(list) {
		p.Tokens = append(p.Tokens, slices.Clone(el))
	}
	return p
}

// TextsOf returns the texts of an answer.
func TextsOf(parts []llm.Part) []llm.Text {
	var texts []llm.Text
	for _, p := range parts {
		if t, ok := p.(llm.Text); ok {
			texts = append(texts, t)
		}
	}
	return texts
}

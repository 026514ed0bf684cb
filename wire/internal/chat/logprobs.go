package chat

import (
	"encoding/json"

	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/wire/internal/codec"
)

// encodeProbs writes the log probabilities of texts, if there are any.
func encodeProbs(e *codec.Encoder, texts ...llm.Text) {
	var content, refusal []json.RawMessage
	for _, t := range texts {
		if t.Refusal {
			refusal = append(refusal, e.OwnLogProbs(t.LogProbs)...)
		} else {
			content = append(content, e.OwnLogProbs(t.LogProbs)...)
		}
	}
	if len(content)+len(refusal) == 0 {
		return
	}
	e.ObjectField("logprobs")
	if len(content) > 0 {
		e.ListField("content", content)
	}
	if len(refusal) > 0 {
		e.ListField("refusal", refusal)
	}
	e.End()
}

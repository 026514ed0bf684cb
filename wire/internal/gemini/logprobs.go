package gemini

import (
	"encoding/json"
	"slices"

	"github.com/toolpost/toolpost/internal/js"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/wire/internal/codec"
)

// The gemini format has tokens in two parallel lists. Ours has one list with both: {"chosen":…,"top":…}.

// readProbs reads the log probabilities of a chunk, and returns what else is said
// about them.
func (s *stream) readProbs(v []byte) (rest []byte) {
	var chosen, top [][]byte
	var more codec.Fields
	for key, val := range js.Members(v) {
		switch string(codec.CamelCase(key)) {
		case "chosenCandidates":
			chosen = slices.Collect(js.Elements(val))
		case "topCandidates":
			top = slices.Collect(js.Elements(val))
		default:
			more.Add(key, val)
		}
	}
	var p llm.LogProbs
	for i := range max(len(chosen), len(top)) {
		var w js.Writer
		w.Object()
		if i < len(chosen) {
			w.RawField("chosen", chosen[i])
		}
		if i < len(top) {
			w.RawField("top", top[i])
		}
		w.End()
		p.Tokens = append(p.Tokens, w.Buf)
	}
	if p.Form = properties.LogProbs; len(p.Tokens) > 0 {
		s.Probs = &p
	}
	return more.Object()
}

// encodeProbs writes the log probabilities of texts, with what else was said
// about them.
func encodeProbs(e *codec.Encoder, rest []byte, texts ...llm.Text) {
	var chosen, top []json.RawMessage
	for _, t := range texts {
		for _, token := range e.OwnLogProbs(t.LogProbs) {
			if c := js.Get(token, "chosen"); c != nil {
				chosen = append(chosen, c)
			}
			if c := js.Get(token, "top"); c != nil {
				top = append(top, c)
			}
		}
	}
	if len(chosen)+len(top)+len(rest) == 0 {
		return
	}
	start := e.ObjectField("logprobsResult")
	if len(top) > 0 {
		e.ListField("topCandidates", top)
	}
	if len(chosen) > 0 {
		e.ListField("chosenCandidates", chosen)
	}
	e.EndRest(start, rest)
}

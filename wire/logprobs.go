package wire

import (
	"encoding/json"
	"slices"

	"github.com/toolpost/toolpost/internal/js"
	"github.com/toolpost/toolpost/llm"
)

// probsOf reads a list of log probabilities, one a token. An empty one is nil.
func (d *decoder) probsOf(list []byte) *llm.LogProbs {
	if !d.oneOf(list, "[", "an array") || len(list) <= 2 {
		return nil
	}
	p := &llm.LogProbs{Form: d.c.properties().LogProbs}
	for el := range d.elements(list) {
		p.Tokens = append(p.Tokens, slices.Clone(el))
	}
	return p
}

// about returns what is known about the next piece of text, if it is more than
// the text.
func (a *answer) about() *llm.Text {
	if a.probs == nil {
		return nil
	}
	t := &llm.Text{LogProbs: a.probs}
	a.probs = nil
	return t
}

// list writes tokens as a member.
func (e *encoder) list(key string, tokens []json.RawMessage) {
	e.Key(key)
	e.Array()
	for _, t := range tokens {
		e.Raw(t)
	}
	e.EndArray()
}

// textsOf returns the texts of an answer.
func textsOf(parts []llm.Part) []llm.Text {
	var texts []llm.Text
	for _, p := range parts {
		if t, ok := p.(llm.Text); ok {
			texts = append(texts, t)
		}
	}
	return texts
}

// encodeProbs writes the log probabilities of texts, if there are any.
func (chat) encodeProbs(e *encoder, texts ...llm.Text) {
	var content, refusal []json.RawMessage
	for _, t := range texts {
		if t.Refusal {
			refusal = append(refusal, e.ownProbs(t.LogProbs)...)
		} else {
			content = append(content, e.ownProbs(t.LogProbs)...)
		}
	}
	if len(content)+len(refusal) == 0 {
		return
	}
	e.Key("logprobs")
	e.Object()
	if len(content) > 0 {
		e.list("content", content)
	}
	if len(refusal) > 0 {
		e.list("refusal", refusal)
	}
	e.End()
}

// The tokens of the gemini format stand in two lists side by side; one of ours
// has both: {"chosen":…,"top":…}.

// probs reads the log probabilities of a chunk, and returns what else is said
// about them.
func (s *geminiStream) readProbs(v []byte) (rest []byte) {
	var chosen, top [][]byte
	var more fields
	for key, val := range js.Members(v) {
		switch string(camel(key)) {
		case "chosenCandidates":
			chosen = slices.Collect(js.Elements(val))
		case "topCandidates":
			top = slices.Collect(js.Elements(val))
		default:
			more.add(key, val)
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
	if p.Form = geminiProperties.LogProbs; len(p.Tokens) > 0 {
		s.probs = &p
	}
	return more.object()
}

// encodeProbs writes the log probabilities of texts, with what else was said
// about them.
func (gemini) encodeProbs(e *encoder, rest []byte, texts ...llm.Text) {
	var chosen, top []json.RawMessage
	for _, t := range texts {
		for _, token := range e.ownProbs(t.LogProbs) {
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
	e.Key("logprobsResult")
	start := e.Object()
	if len(top) > 0 {
		e.list("topCandidates", top)
	}
	if len(chosen) > 0 {
		e.list("chosenCandidates", chosen)
	}
	e.rest(start, rest)
}

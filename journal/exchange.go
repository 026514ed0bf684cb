package journal

import (
	"encoding/json"
	"fmt"
	"iter"

	"github.com/toolpost/toolpost/llm"
)

// Exchange is a question to a model and what came back.
type Exchange struct {
	Seq     int64 // of the request's entry
	Request *llm.Request
	// Answer is nil if the record ends before one came.
	Answer *Answer
}

// Exchanges returns the questions of a run with their answers, in the order in
// which they were asked. A request is as it is on record: without secrets, and
// without its budget.
func Exchanges(entries iter.Seq2[Entry, error]) ([]Exchange, error) {
	r, err := NewReplay(entries)
	if err != nil {
		return nil, err
	}
	out := make([]Exchange, len(r.asked))
	for i, q := range r.asked {
		req, err := q.form.request()
		if err != nil {
			return nil, fmt.Errorf("journal: entry %d: %w", q.seq, err)
		}
		out[i] = Exchange{q.seq, req, q.answer}
	}
	return out, nil
}

// request puts a request together again; it is the way back from formOf.
func (f *requestForm) request() (*llm.Request, error) {
	var s settingsJSON
	if err := json.Unmarshal(f.settings, &s); err != nil {
		return nil, err
	}
	req := &llm.Request{
		Model: s.Model, System: s.System, OneCall: s.OneCall, Output: (*llm.Output)(s.Output), MaxTokens: s.MaxTokens,
		Temperature: s.Temperature, TopP: s.TopP, TopK: s.TopK, FrequencyPenalty: s.FrequencyPenalty,
		PresencePenalty: s.PresencePenalty, Seed: s.Seed, Stop: s.Stop, Reasoning: (*llm.Reasoning)(s.Reasoning), Extra: s.Extra,
	}
	if c := s.Choice; c != nil {
		mode, err := choiceMode(c.Mode)
		if err != nil {
			return nil, err
		}
		req.Choice = llm.ToolChoice{Mode: mode, Name: c.Name}
		if c.Allowed != nil {
			req.Choice.Allowed = *c.Allowed
		}
	}
	var tools []toolJSON
	if err := json.Unmarshal(f.tools, &tools); err != nil {
		return nil, err
	}
	for _, t := range tools {
		req.Tools = append(req.Tools, llm.ToolDef(t))
	}
	for i, raw := range f.messages {
		var m llm.Message
		if err := json.Unmarshal(raw, &m); err != nil {
			return nil, fmt.Errorf("message %d: %w", i, err)
		}
		req.Messages = append(req.Messages, m)
	}
	return req, nil
}

func choiceMode(word string) (llm.ChoiceMode, error) {
	for _, m := range []llm.ChoiceMode{llm.MayCall, llm.MustCall, llm.MustNotCall} {
		if m.String() == word {
			return m, nil
		}
	}
	return 0, fmt.Errorf("no choice of tools is called %q", word)
}

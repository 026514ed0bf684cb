package conversation

import (
	"crypto/sha256"
	"errors"
	"slices"
	"time"

	"github.com/toolpost/toolpost/internal/state"
	"github.com/toolpost/toolpost/llm"
)

// A model may call tools of the gateway and of the client in one answer, or one after the other
// without a word between them. The client knows only its own calls. What the gateway ran for the
// answer is held here and put back when the client sends its results.

// heldLife is how long that is.
const heldLife = 24 * time.Hour

// heldTurn is what became of a question up to the calls of the client. It is found by what it answers,
// and the calls of the client in it. Their ids do not count, because some clients do not send them back; where they do, they
// lead to it as well.
type heldTurn struct {
	Messages []llm.Message     `json:"messages"` // the last has the calls
	Results  []llm.Result      `json:"results"`  // of calls in the last message that the gateway ran
	IDs      []string          `json:"ids"`      // of the calls of the client
	Before   [sha256.Size]byte `json:"before"`   // all that the client had sent
}

// heldHead is the part of a turn that tells whose it is.
type heldHead struct {
	IDs    []string          `json:"ids"`
	Before [sha256.Size]byte `json:"before"`
}

// HoldTurn keeps what was run for an answer that ends with calls of the client: the messages, and the results that
// belong to the last one. The hashes are those of AskedBefore and SaidBefore.
func (m *Scope) HoldTurn(messages []llm.Message, asked, all [sha256.Size]byte, theirs []llm.Call, results []llm.Result) {
	if len(messages) < 2 && len(results) == 0 {
		return // nothing was run
	}
	calls, ids := callsOf(theirs)
	m.keepTurn(heldKey(asked, calls), heldTurn{messages, results, ids, all})
}

// keepTurn keeps a turn, or tells the client that it is not kept.
func (m *Scope) keepTurn(key state.Hash, t heldTurn) {
	entries, err := m.keptTurn(key, t)
	if err == nil {
		err = m.Store.Put(m.Context(), entries...)
	}
	switch {
	case errors.Is(err, state.ErrTooLarge):
		m.Tell(llm.Warning{Code: llm.Degraded, Feature: "tools", Detail: "what the tools of the gateway returned is too long to be kept for the next request"})
	case err != nil:
		m.Tell(Unavailable(state.Turn))
	}
}

// with returns the turn with the ids that the client has for its calls, and others for the gateway's
// that have one of these.
func (t heldTurn) with(calls []llm.Call) heldTurn {
	own := func(id string) string {
		for slices.ContainsFunc(calls, func(c llm.Call) bool { return c.ID == id }) {
			id += "-held"
		}
		return id
	}
	either := func(id string) string {
		if k := slices.Index(t.IDs, id); k >= 0 {
			return calls[k].ID
		}
		return own(id)
	}
	t.Messages, t.Results = slices.Clone(t.Messages), slices.Clone(t.Results)
	for i := range t.Messages {
		id := own
		if i == len(t.Messages)-1 { // the only one with calls of the client
			id = either
		}
		t.Messages[i].Parts = withIDs(t.Messages[i].Parts, id)
	}
	for i := range t.Results {
		t.Results[i].CallID = own(t.Results[i].CallID)
	}
	return t
}

// withIDs returns parts whose calls and results have other ids.
func withIDs(parts []llm.Part, id func(string) string) []llm.Part {
	parts = slices.Clone(parts)
	for i, p := range parts {
		switch p := p.(type) {
		case llm.Call:
			p.ID = id(p.ID)
			parts[i] = p
		case llm.Result:
			p.CallID = id(p.CallID)
			parts[i] = p
		}
	}
	return parts
}

// fits reports whether all tools of the gateway that a turn has results of are allowed.
func (t heldTurn) fits(allowed func(tool string) bool) bool {
	all := slices.Clone(t.Results)
	for _, m := range t.Messages {
		for _, p := range m.Parts {
			if r, ok := p.(llm.Result); ok {
				all = append(all, r)
			}
		}
	}
	return !slices.ContainsFunc(all, func(r llm.Result) bool { return !allowed(r.Name) })
}

// MergeHeld returns a conversation with all that is held for it, each turn once, but for turns with results of tools that are not allowed: keys of one
// owner need not have the same tools. The conversation is not changed.
func (m *Scope) MergeHeld(messages []llm.Message, allowed func(tool string) bool) []llm.Message {
	if m.Store.Empty(state.Turn) {
		return messages
	}
	turns := m.heldTurns(messages)
	if len(turns) == 0 {
		return messages
	}
	var out []llm.Message
	var results []llm.Result // that belong to the message before
	for i, m := range messages {
		if len(results) > 0 {
			own := ResultMessage(results)
			results = nil
			if m.Role == llm.RoleTool {
				m.Parts = slices.Concat(own.Parts, m.Parts)
			} else {
				out = append(out, own)
			}
		}
		if t, ok := turns[i]; ok && t.fits(allowed) {
			t = t.with(m.Calls())
			out, results = append(out, t.Messages...), t.Results
			continue
		}
		out = append(out, m)
	}
	if len(results) > 0 {
		out = append(out, ResultMessage(results))
	}
	return out
}

func ResultMessage(results []llm.Result) llm.Message {
	m := llm.Message{Role: llm.RoleTool}
	for _, r := range results {
		m.Parts = append(m.Parts, r)
	}
	return m
}

package conversation

import (
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/toolpost/toolpost/internal/state"
	"github.com/toolpost/toolpost/llm"
)

// A model may call tools of the gateway and of the client in one answer, or one after the other without text between
// them. The client sees only its own calls. The calls and results of the gateway's tools are held here. They are put
// back when the client sends its results.

// heldTurn is the part of a conversation from the client's last messages to the client's calls. Its key is the hash of
// these messages and of the calls. The key does not include call ids, because some clients do not send them back. If
// clients do, the ids link to the turn as well.
type heldTurn struct {
	Messages []llm.Message `json:"messages"` // the last one has the calls
	Results  []llm.Result  `json:"results"`  // of the gateway's calls in the last message
	heldHead
}

// heldHead is the part of a turn that identifies its message.
type heldHead struct {
	IDs    []string   `json:"ids"`    // of the client's calls
	Before state.Hash `json:"before"` // hash of all that the client had sent
}

// HoldTurn stores the messages of an answer that ends with calls of the client, and the results of the gateway's calls
// in the last message. The history is that of the client's request.
func (m *Scope) HoldTurn(messages []llm.Message, history *History, theirs []llm.Call, results []llm.Result) {
	if len(messages) < 2 && len(results) == 0 {
		return // no tool was run
	}
	end := len(history.messages)
	m.keepTurn(history.question(end), theirs, heldTurn{messages, results, heldHead{Before: history.sentBefore(end)}})
}

// keepTurn stores a turn with calls of the client, or warns the client that it could not be stored.
func (m *Scope) keepTurn(question state.Hash, theirs []llm.Call, t heldTurn) {
	entries, err := m.keptTurn(question, theirs, t)
	if err == nil {
		err = m.Store.Put(m.Context(), entries...)
	}
	switch {
	case errors.Is(err, state.ErrTooLarge):
		m.Tell(llm.Warning{Code: llm.Degraded, Feature: "tools", Detail: "the results of the gateway's tools are too long to be stored for the next request"})
	case err != nil:
		m.Tell(Unavailable(state.Turn))
	}
}

// with returns the turn with the client's ids for its calls. Calls of the gateway with the same ids get new ones.
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
		if i == len(t.Messages)-1 { // only the last message has calls of the client
			id = either
		}
		t.Messages[i].Parts = withIDs(t.Messages[i].Parts, id)
	}
	for i := range t.Results {
		t.Results[i].CallID = own(t.Results[i].CallID)
	}
	return t
}

// withIDs returns parts with the ids of calls and results replaced.
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

// fits reports whether all tools with results in the turn are allowed.
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

// MergeHeld returns a conversation with all held turns, each once. It omits turns with results of tools that are not
// allowed, because keys of one owner may have different tools. The argument is not changed.
func (m *Scope) MergeHeld(messages []llm.Message, allowed func(tool string) bool) []llm.Message {
	if m.Store.Empty(state.Turn) {
		return messages
	}
	turns := m.heldTurns(messages)
	if len(turns) == 0 {
		return messages
	}
	var out []llm.Message
	var results []llm.Result // of the gateway's calls in the previous message
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

// A client may change its messages before it sends the results of its calls: it drops old ones, or adds the time. The
// turn then cannot be found by the messages before it, so the calls of the client link to it as well. Counted ids, such
// as "call_1", also occur in other conversations. Turns found only by them are not put back, but the client is warned.

// maxLinks limits the links to a turn. Links count as store entries, which all owners share. With more links, one team
// would evict the turns of others sooner.
const maxLinks = 2

// maxLinked limits the calls of a message whose links are looked up. The client may have dropped the first ones.
const maxLinked = 8

// heldLink is the target of a link from a call of the client.
type heldLink struct {
	Turn  state.Hash `json:"turn"`
	Calls state.Hash `json:"calls"` // hash of the client's calls in that turn
}

// keptTurn returns the store entries of a turn: the turn, and links that expire with it. If clients may omit call ids, names
// and arguments link to the turn as well.
func (m *Scope) keptTurn(question state.Hash, theirs []llm.Call, t heldTurn) ([]state.Kept, error) {
	var calls state.Hash
	calls, t.IDs = callsOf(theirs)
	at := state.Kept{Place: forTurn.Key(m.Owner, question[:], calls[:]), Item: m.ID, Until: time.Now().Add(turnLife)}
	turn, err := json.Marshal(t)
	if err != nil {
		return nil, err
	}
	link, err := json.Marshal(heldLink{at.Hash, calls})
	if err != nil {
		return nil, err
	}
	at.Value = turn
	out := []state.Kept{at}
	at.Value = link
	optionalIDs := m.Codec.Properties().OptionalCallIDs
	for _, c := range theirs {
		if isRandomID(c.ID) || !optionalIDs {
			at.Place = m.callKey(c)
			out = append(out, at)
		}
		if optionalIDs {
			at.Place = m.callKey(llm.Call{Name: c.Name, Args: c.Args})
			out = append(out, at)
		}
	}
	return out[:min(len(out), 1+maxLinks)], nil
}

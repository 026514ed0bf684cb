package conversation

import (
	"crypto/sha256"
	"encoding/json"
	"slices"
	"time"

	"github.com/toolpost/toolpost/internal/state"
	"github.com/toolpost/toolpost/llm"
)

// A client may change what it said before it sends the results of its calls: it leaves out what is old, or adds the time. A turn is
// then not found by what it answers, so the calls of the client lead to it as well. Ids that are only counted, as "call_1" is,
// are those of other conversations too: what they lead to is not put back, but the client is told.

// maxLinks bounds what leads to a turn. Links count as entries of the store, which all owners share: with more of them, one team would push out
// the turns of others sooner.
const maxLinks = 2

// maxLinked bounds the calls of a message whose links are looked for. The client may have left out the first.
const maxLinked = 8

// heldLink is where a call of the client leads.
type heldLink struct {
	Turn  state.Hash        `json:"turn"`
	Calls [sha256.Size]byte `json:"calls"` // of the client in that turn
}

// theirs returns the calls of the client in a turn.
func (t *heldTurn) theirs() (calls []llm.Call) {
	if len(t.Messages) == 0 {
		return nil
	}
	for _, c := range t.Messages[len(t.Messages)-1].Calls() {
		if slices.Contains(t.IDs, c.ID) {
			calls = append(calls, c)
		}
	}
	return calls
}

// links returns what leads to a turn at a place, to be kept as long as that. Where clients need not send the ids of calls, their names and arguments
// lead to it as well.
func (t *heldTurn) links(at state.Kept, optionalIDs bool) (out []state.Kept) {
	calls := t.theirs()
	hash, _ := callsOf(calls)
	value, err := json.Marshal(heldLink{at.Hash, hash})
	if err != nil {
		return nil
	}
	at.Value = value
	for _, c := range calls {
		if isRandomID(c.ID) || !optionalIDs {
			at.Hash = linkKey(c)
			out = append(out, at)
		}
		if optionalIDs {
			at.Hash = linkKey(llm.Call{Name: c.Name, Args: c.Args})
			out = append(out, at)
		}
		if len(out) >= maxLinks {
			break
		}
	}
	return out[:min(len(out), maxLinks)]
}

// keptTurn is a turn at its place, and what leads to it.
func (m *Scope) keptTurn(key state.Hash, t heldTurn) ([]state.Kept, error) {
	value, err := json.Marshal(t)
	if err != nil {
		return nil, err
	}
	at := state.Kept{Place: state.Place{Kind: state.Turn, Owner: m.Owner, Hash: key}, Item: m.ID, Value: value, Until: time.Now().Add(heldLife)}
	return append([]state.Kept{at}, t.links(at, m.Codec.Properties().OptionalCallIDs)...), nil
}

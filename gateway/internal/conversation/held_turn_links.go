package conversation

import (
	"crypto/sha256"
	"encoding/json"
	"slices"
	"time"

	"github.com/toolpost/toolpost/internal/state"
	"github.com/toolpost/toolpost/llm"
)

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
	Turn  state.Hash        `json:"turn"`
	Calls [sha256.Size]byte `json:"calls"` // hash of the client's calls in that turn
}

// theirs returns the client's calls in a turn.
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

// links returns the links to a turn, which expire with it. If clients may omit call ids, names and arguments link to
// the turn as well.
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

// keptTurn returns the store entries of a turn and its links.
func (m *Scope) keptTurn(key state.Hash, t heldTurn) ([]state.Kept, error) {
	value, err := json.Marshal(t)
	if err != nil {
		return nil, err
	}
	at := state.Kept{Place: state.Place{Kind: state.Turn, Owner: m.Owner, Hash: key}, Item: m.ID, Value: value, Until: time.Now().Add(turnLife)}
	return append([]state.Kept{at}, t.links(at, m.Codec.Properties().OptionalCallIDs)...), nil
}

package gateway

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/toolpost/toolpost/gateway/state"
	"github.com/toolpost/toolpost/llm"
)

// A client may change what it said before it sends the results of its calls: it leaves out what is old, or adds the time. A turn is
// then not found by what it answers, so the calls of the client lead to it as well. Ids that are only counted, as "call_1" is,
// are those of other conversations too: what they lead to is not put back, but the client is told.

// maxLinks bounds the calls of a turn that lead to it.
const maxLinks = 8

// heldLink is where a call of the client leads.
type heldLink struct {
	Turn  state.Hash        `json:"turn"`
	Calls [sha256.Size]byte `json:"calls"` // of the client in that turn
}

// linkKey is what the link of a call is found by.
func linkKey(c llm.Call) state.Hash {
	if drawn(c.ID) {
		return state.HashOf([]byte("call"), []byte(c.ID))
	}
	return state.HashOf([]byte("call"), []byte(c.ID), []byte(c.Name), canonical(c.Args))
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

// links returns what leads to a turn at a place, to be kept as long as that.
func (t *heldTurn) links(at state.Kept) (out []state.Kept) {
	calls := t.theirs()
	hash, _ := callsOf(calls)
	value, err := json.Marshal(heldLink{at.Hash, hash})
	if err != nil {
		return nil
	}
	for _, c := range calls[:min(len(calls), maxLinks)] {
		link := at
		link.Hash, link.Value = linkKey(c), value
		out = append(out, link)
	}
	return out
}

// heldLookup is what may be held for the messages of a conversation.
type heldLookup struct {
	keys  map[int]state.Hash   // of the turns, by the place of the message with the calls
	links map[int][]state.Hash // of their calls
	found map[state.Hash][][]byte
	turns map[int][][]byte // that may be those of a message, by its place
}

// lookUpTurns finds what is held for the messages of a conversation, by their places, and tells the client of what is held and cannot be put back.
func (x *exchange) lookUpTurns(messages []llm.Message) map[int][][]byte {
	l := heldLookup{keys: make(map[int]state.Hash), links: make(map[int][]state.Hash), turns: make(map[int][][]byte)}
	var hashes []state.Hash
	for i, m := range messages {
		calls := m.Calls()
		if m.Role != llm.RoleAssistant || len(calls) == 0 {
			continue
		}
		hash, _ := callsOf(calls)
		l.keys[i] = heldKey(askedBefore(messages[:i]), hash)
		hashes = append(hashes, l.keys[i])
		for _, c := range calls[:min(len(calls), maxLinks)] {
			l.links[i] = append(l.links[i], linkKey(c))
		}
		hashes = append(hashes, l.links[i]...)
	}
	l.found = x.lookUp(state.Turn, hashes)
	if len(l.found) > 0 {
		x.followLinks(&l, messages)
	}
	return l.turns
}

// followLinks finds the turns of the messages, also those that are not found by what they answer.
func (x *exchange) followLinks(l *heldLookup, messages []llm.Message) {
	led := make(map[int]state.Hash) // messages whose links lead to a turn
	var hashes []state.Hash
	lost := 0
	for i, key := range l.keys {
		if l.turns[i] = l.found[key]; len(l.turns[i]) > 0 {
			continue
		}
		switch turn, known, sure := l.linked(i, messages[i]); {
		case sure:
			led[i], hashes = turn, append(hashes, turn)
		case known:
			lost++
		}
	}
	more := x.lookUp(state.Turn, hashes)
	for i, turn := range led {
		_, ids := callsOf(messages[i].Calls())
		for _, value := range more[turn] { // of alike questions, the one with these calls
			var t heldTurn
			if json.Unmarshal(value, &t) == nil && slices.Equal(t.IDs, ids) {
				l.turns[i] = append(l.turns[i], value)
			}
		}
		if len(l.turns[i]) == 0 {
			lost++
		}
	}
	if lost > 0 {
		x.warnOfUnmerged(lost)
	}
}

// linked returns the turn to which the calls of a message lead, whether they lead to any, and whether it is certain to be that of the message.
func (l *heldLookup) linked(at int, m llm.Message) (turn state.Hash, known, sure bool) {
	calls := m.Calls()
	hash, _ := callsOf(calls)
	for k, key := range l.links[at] {
		for _, value := range l.found[key] { // the newest first
			var link heldLink
			if json.Unmarshal(value, &link) != nil {
				continue
			}
			if known = true; link.Calls == hash && drawn(calls[k].ID) {
				return link.Turn, true, true
			}
		}
	}
	return turn, known, false
}

// warnOfUnmerged tells that results of the gateway's tools may be missing from a conversation.
func (x *exchange) warnOfUnmerged(turns int) {
	x.warn(llm.Warning{Code: llm.Degraded, Feature: "tools", Detail: fmt.Sprintf("what the tools of the gateway returned beside calls of the client may be missing in %d turns: the conversation before these calls, or the calls, "+
		"are not as they were, and the ids of the calls do not tell whose they are", turns)})
	attrs := []slog.Attr{slog.String("id", x.id), slog.Int("turns", turns)}
	x.settings.Log.LogAttrs(x.ctx(), slog.LevelWarn, "results of the gateway's tools are held for calls of a conversation that was changed, and are not put back", append(attrs, x.whose()...)...)
}

// keptTurn is a turn at its place, and what leads to it.
func (x *exchange) keptTurn(key state.Hash, t heldTurn) ([]state.Kept, error) {
	value, err := json.Marshal(t)
	if err != nil {
		return nil, err
	}
	at := state.Kept{Place: state.Place{Kind: state.Turn, Owner: x.owner, Hash: key}, Item: x.id, Value: value, Until: time.Now().Add(heldLife)}
	return append([]state.Kept{at}, t.links(at)...), nil
}

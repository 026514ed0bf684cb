package conversation

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"slices"

	"github.com/toolpost/toolpost/internal/state"
	"github.com/toolpost/toolpost/llm"
)

// Several held turns may match one message: of other conversations of the owner, of other runs, or of other places in
// the conversation. Each turn is put back once, where it fits best, and never where the ids belong to another message.

// maxMerged limits the bytes put back into a conversation. The newest turns come first.
const maxMerged = 16 << 20

// mostAlike is how many turns with the same key a store keeps.
const mostAlike = 8

// keptHead is a held turn. Only its head is decoded until it is put back.
type keptHead struct {
	heldHead
	key   state.Hash
	value []byte
	put   bool // assigned to a message
}

// score rates how well a turn fits calls with these ids after these messages. Equal ids count more than an equal
// conversation. The score is negative if the turn belongs to other calls: both have random ids and these differ.
// Counted or missing ids also occur in other conversations, so they require an equal conversation.
func (h *keptHead) score(ids []string, said state.Hash) (score int) {
	if len(h.IDs) != len(ids) {
		return -1
	}
	for k, id := range ids {
		if id != h.IDs[k] && isRandomID(id) && isRandomID(h.IDs[k]) {
			return -1
		}
	}
	same := slices.Equal(h.IDs, ids)
	if h.Before != said && h.Before != (state.Hash{}) && !(same && slices.ContainsFunc(ids, isRandomID)) {
		return -1
	}
	if same {
		score += 2
	}
	if h.Before == said {
		score++
	}
	return score
}

// heldPlace is a message with calls that may have a held turn.
type heldPlace struct {
	at     int
	ids    []string
	calls  state.Hash
	key    state.Hash   // key of a turn with the same messages before it
	links  []state.Hash // keys of the links of its calls
	maybe  []*keptHead  // candidates, newest first
	scores []int        // scores of the candidates
	turn   *keptHead    // the assigned turn
}

// add adds a turn to the candidates of the message, unless its score is negative.
func (p *heldPlace) add(h *keptHead, said state.Hash) {
	if score := h.score(p.ids, said); score >= 0 {
		p.maybe, p.scores = append(p.maybe, h), append(p.scores, score)
	}
}

// own reports whether a turn has the same ids as the message.
func (p *heldPlace) own(h *keptHead) bool { return slices.Equal(h.IDs, p.ids) }

// heldPlaces returns the messages with calls, and all hashes to look up.
func (m *Scope) heldPlaces(history *History) (places []*heldPlace, hashes []state.Hash) {
	all, optionalIDs := make(map[state.Hash]bool), m.Codec.Properties().OptionalCallIDs
	for i, said := range history.messages {
		calls := said.Calls()
		if said.Role != llm.RoleAssistant || len(calls) == 0 {
			continue
		}
		p := &heldPlace{at: i}
		p.calls, p.ids = callsOf(calls)
		question := history.question(i)
		p.key = forTurn.Key(m.Owner, question[:], p.calls[:]).Hash
		all[p.key] = true
		for _, c := range calls[:min(len(calls), maxLinked)] {
			if optionalIDs && !isRandomID(c.ID) {
				c.ID = ""
			}
			link := m.callKey(c).Hash
			p.links = append(p.links, link)
			all[link] = true
		}
		places = append(places, p)
	}
	return places, slices.Collect(maps.Keys(all))
}

// heldLookup is the result of a lookup for all messages of a conversation. Each turn is decoded once.
type heldLookup struct {
	history *History
	found   map[state.Hash][][]byte
	heads   map[state.Hash][]*keptHead
}

// turnsAt returns the turns with a key, newest first.
func (l *heldLookup) turnsAt(key state.Hash) []*keptHead {
	list, known := l.heads[key]
	if known {
		return list
	}
	for _, value := range l.found[key] {
		h := &keptHead{key: key, value: value}
		if json.Unmarshal(value, &h.heldHead) == nil {
			list = append(list, h)
		}
	}
	l.heads[key] = list
	return list
}

// linksAt returns the links with a key, newest first.
func (l *heldLookup) linksAt(key state.Hash) []heldLink { return decodeEach[heldLink](l.found[key]) }

// heldTurns finds the held turns of a conversation, by message index. It warns the client of turns that cannot be
// restored.
func (m *Scope) heldTurns(messages []llm.Message) map[int]heldTurn {
	history := NewHistory(messages)
	places, hashes := m.heldPlaces(history)
	l := heldLookup{history: history, found: m.lookUp(state.Turn, hashes), heads: make(map[state.Hash][]*keptHead)}
	if len(l.found) == 0 {
		return nil
	}
	for _, p := range places {
		for _, h := range l.turnsAt(p.key) {
			p.add(h, history.sentBefore(p.at))
		}
	}
	m.followLinks(&l, places)
	assignTurns(places)
	m.warnOfUnmerged(l.lost(places))
	return m.readTurns(places)
}

// followLinks finds turns by links, for messages whose turn is not found by the messages before them.
func (m *Scope) followLinks(l *heldLookup, places []*heldPlace) {
	led := make(map[*heldPlace]state.Hash)
	more := make(map[state.Hash]bool)
	for _, p := range places {
		if slices.ContainsFunc(p.maybe, p.own) {
			continue
		}
		if turn, ok := l.linked(p); ok {
			led[p] = turn
			if l.found[turn] == nil {
				more[turn] = true
			}
		}
	}
	maps.Copy(l.found, m.lookUp(state.Turn, slices.Collect(maps.Keys(more))))
	for p, turn := range led {
		for _, h := range l.turnsAt(turn) {
			if p.own(h) { // of similar questions, the one with these calls
				p.add(h, l.history.sentBefore(p.at))
			}
		}
	}
}

// linked returns the turn that the calls of a message link to. Only random ids count.
func (l *heldLookup) linked(p *heldPlace) (turn state.Hash, ok bool) {
	for k, key := range p.links {
		if !isRandomID(p.ids[k]) {
			continue
		}
		for _, link := range l.linksAt(key) {
			if link.Calls == p.calls {
				return link.Turn, true
			}
		}
	}
	return turn, false
}

// assignTurns assigns turns to messages, the best scores first. With equal scores, later messages get newer turns.
func assignTurns(places []*heldPlace) {
	for score := 3; score >= 0; score-- {
		for _, p := range slices.Backward(places) {
			if p.turn != nil {
				continue
			}
			for k, h := range p.maybe {
				if p.scores[k] == score && !h.put {
					p.turn, h.put = h, true
					break
				}
			}
		}
	}
}

// lost counts the messages without a turn that may have had one.
func (l *heldLookup) lost(places []*heldPlace) (lost int) {
	put := make(map[state.Hash]bool)
	for _, p := range places {
		if p.turn != nil {
			put[p.turn.key] = true
		}
	}
	for _, p := range places {
		if p.turn == nil && l.mayMiss(p, put) {
			lost++
		}
	}
	return lost
}

// mayMiss reports whether a message without a turn may have had one. This is the case if a matching turn is not
// assigned, if the store may have dropped one because it holds the maximum, or if its calls link to one. A turn that is
// assigned to another message is not missing.
func (l *heldLookup) mayMiss(p *heldPlace, put map[state.Hash]bool) bool {
	random := slices.ContainsFunc(p.ids, isRandomID)
	if random && slices.ContainsFunc(p.maybe, p.own) {
		return false // the message occurs twice
	}
	alike := l.turnsAt(p.key)
	if !random && len(alike) >= mostAlike || slices.ContainsFunc(alike, func(h *keptHead) bool { return !h.put }) {
		return true
	}
	for k, key := range p.links {
		if slices.ContainsFunc(l.linksAt(key), func(link heldLink) bool { return isRandomID(p.ids[k]) || !put[link.Turn] }) {
			return true
		}
	}
	return false
}

// readTurns decodes the assigned turns, by message index, up to maxMerged bytes.
func (m *Scope) readTurns(places []*heldPlace) map[int]heldTurn {
	turns := make(map[int]heldTurn)
	left, over := maxMerged, 0
	for _, p := range slices.Backward(places) {
		if p.turn == nil {
			continue
		}
		if len(p.turn.value) > left {
			over++
			continue
		}
		var t heldTurn
		if json.Unmarshal(p.turn.value, &t) == nil { // otherwise it was written by another version
			turns[p.at] = t
			left -= len(p.turn.value)
		}
	}
	if over > 0 {
		m.Warn(llm.Warning{Code: llm.Degraded, Feature: "tools", Detail: fmt.Sprintf("what the tools of the gateway returned together with calls of the client is missing in %d turns: all of it is more than %d MiB", over, maxMerged>>20)})
		m.logUnmerged(over, "results of the gateway's tools that are held for a conversation are too long together, and are not all put back")
	}
	return turns
}

// warnOfUnmerged warns that results of the gateway's tools may be missing in some turns. It does nothing for 0 turns.
func (m *Scope) warnOfUnmerged(turns int) {
	if turns == 0 {
		return
	}
	m.Warn(llm.Warning{Code: llm.Degraded, Feature: "tools", Detail: fmt.Sprintf("what the tools of the gateway returned together with calls of the client may be missing in %d turns: the conversation before these calls, or the calls, "+
		"are not as they were, and the ids of the calls do not tell whose they are", turns)})
	m.logUnmerged(turns, "results of the gateway's tools are held for calls of a conversation that was changed, and are not put back")
}

// logUnmerged logs turns that are not put back.
func (m *Scope) logUnmerged(turns int, why string) {
	attrs := []slog.Attr{slog.String("id", m.ID), slog.Int("turns", turns)}
	m.Log.LogAttrs(m.Context(), slog.LevelWarn, why, append(attrs, m.LogAttrs()...)...)
}

package gateway

import (
	"crypto/sha256"
	"encoding/json"
	"slices"
	"sync"
	"time"

	"github.com/toolpost/toolpost/llm"
)

// A model may call tools of the gateway and of the client in one answer, or one after the other
// without a word between them. The client knows only its own calls. What the gateway ran for the
// answer is held here and put back when the client sends its results.

// Bounds of what is held.
const (
	maxHeld      = 20_000
	maxHeldSize  = 128 << 20
	maxHeldOwner = 32 << 20 // of one owner
	heldLife     = 24 * time.Hour
)

// heldTurns are the answers that ended with calls of the client. The oldest go first, and those of an
// owner who has too many before those of others.
type heldTurns struct {
	mu    sync.Mutex
	kept  map[heldKey]heldTurn
	order []heldKey // oldest first
	size  int
	sizes map[string]int // by owner
}

// heldKey is what a turn is found by: its first call of the client's, and what it answers.
type heldKey struct {
	owner, call string
	asked       [sha256.Size]byte
}

// heldTurn is what became of a question up to the calls of the client.
type heldTurn struct {
	messages []llm.Message // the last has the calls
	results  []llm.Result  // of calls in the last message that the gateway ran
	calls    []string      // ids of those of the client
	size     int
	until    time.Time
}

// hold keeps what was run for an answer that ends with calls of the client.
func (s *serving) hold(theirs []llm.Call, results []llm.Result) {
	messages := slices.Clone(s.conv.Messages[s.before:])
	if len(messages) < 2 && len(results) == 0 {
		return // nothing was run
	}
	turn := heldTurn{messages: messages, results: results, until: time.Now().Add(heldLife)}
	for _, c := range theirs {
		turn.calls = append(turn.calls, c.ID)
	}
	key := heldKey{s.x.owner, theirs[0].ID, s.asked}
	if !s.x.held.keep(key, turn) {
		s.x.warn(llm.Warning{Code: llm.Degraded, Feature: "tools", Detail: "what the tools of the gateway returned is too long to be kept for the next request"})
	}
}

// keep keeps a turn, and reports false if it is too long.
func (h *heldTurns) keep(key heldKey, t heldTurn) bool {
	said, _ := json.Marshal(t.messages) // parts, which have all been decoded
	gave, _ := json.Marshal(t.results)
	t.size = len(said) + len(gave) + len(key.owner) + len(key.call) + sha256.Size
	if t.size > maxHeldOwner/4 {
		return false
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.kept == nil {
		h.kept, h.sizes = make(map[heldKey]heldTurn), make(map[string]int)
	}
	if _, ok := h.kept[key]; ok {
		h.drop(slices.Index(h.order, key))
	}
	h.kept[key] = t
	h.order = append(h.order, key)
	h.size += t.size
	h.sizes[key.owner] += t.size
	for len(h.order) > 0 && (len(h.order) > maxHeld || h.size > maxHeldSize || !h.kept[h.order[0]].until.After(time.Now())) {
		h.drop(0)
	}
	for h.sizes[key.owner] > maxHeldOwner {
		h.drop(slices.IndexFunc(h.order, func(k heldKey) bool { return k.owner == key.owner }))
	}
	return true
}

// drop forgets the turn at a place; it wants h.mu.
func (h *heldTurns) drop(i int) {
	key := h.order[i]
	size := h.kept[key].size
	delete(h.kept, key)
	h.order = slices.Delete(h.order, i, i+1)
	h.size -= size
	if h.sizes[key.owner] -= size; h.sizes[key.owner] <= 0 {
		delete(h.sizes, key.owner)
	}
}

// find returns what is held for a message of the model, if it has all calls that it had.
func (h *heldTurns) find(owner string, before []llm.Message, m llm.Message) (heldTurn, bool) {
	calls := m.Calls()
	if m.Role != llm.RoleAssistant || len(calls) == 0 {
		return heldTurn{}, false
	}
	h.mu.Lock()
	t, ok := h.kept[heldKey{owner, calls[0].ID, askedBefore(before)}]
	h.mu.Unlock()
	same := ok && time.Now().Before(t.until) && slices.EqualFunc(calls, t.calls, func(c llm.Call, id string) bool { return c.ID == id })
	return t, same
}

// merge returns a conversation with all that is held for it. The conversation is not changed.
func (h *heldTurns) merge(owner string, messages []llm.Message) []llm.Message {
	var out []llm.Message
	var results []llm.Result // that belong to the message before
	for i, m := range messages {
		if len(results) > 0 {
			own := resultMessage(results)
			results = nil
			if m.Role == llm.RoleTool {
				m.Parts = slices.Concat(own.Parts, m.Parts)
			} else {
				out = append(out, own)
			}
		}
		if t, ok := h.find(owner, messages[:i], m); ok {
			out, results = append(out, t.messages...), t.results
			continue
		}
		out = append(out, m)
	}
	if len(results) > 0 {
		out = append(out, resultMessage(results))
	}
	return out
}

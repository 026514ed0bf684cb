package gateway

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
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
	kept  map[heldKey][]heldTurn // the newest last
	order []heldKey              // of each turn, oldest first
	size  int
	sizes map[string]int // by owner
}

// heldKey is what a turn is found by: what it answers, and the calls of the client in it. Their ids do
// not count, because some clients do not send them back.
type heldKey struct {
	owner        string
	asked, calls [sha256.Size]byte
}

// heldTurn is what became of a question up to the calls of the client.
type heldTurn struct {
	messages []llm.Message     // the last has the calls
	results  []llm.Result      // of calls in the last message that the gateway ran
	ids      []string          // of the calls of the client
	before   [sha256.Size]byte // all that the client had sent
	size     int
	until    time.Time
}

// maxAlike is how many turns are held that answer the same with the same calls, as those of several
// conversations may.
const maxAlike = 8

// callsOf returns the hash of calls, however their arguments are written, and their ids.
func callsOf(calls []llm.Call) (hash [sha256.Size]byte, ids []string) {
	h := sha256.New()
	for _, c := range calls {
		args := []byte(c.Args)
		var v any
		d := json.NewDecoder(bytes.NewReader(args))
		d.UseNumber()
		if d.Decode(&v) == nil {
			args, _ = json.Marshal(v) // which was JSON
		}
		fmt.Fprintf(h, "%q %q\n", c.Name, args)
		ids = append(ids, c.ID)
	}
	return [sha256.Size]byte(h.Sum(nil)), ids
}

// saidBefore returns the hash of all that was said to a model.
func saidBefore(messages []llm.Message) [sha256.Size]byte {
	return askedBefore(slices.DeleteFunc(slices.Clone(messages), func(m llm.Message) bool { return m.Role == llm.RoleAssistant }))
}

// hold keeps what was run for an answer that ends with calls of the client.
func (s *serving) hold(theirs []llm.Call, results []llm.Result) {
	messages := slices.Clone(s.conv.Messages[s.before:])
	if len(messages) < 2 && len(results) == 0 {
		return // nothing was run
	}
	turn := heldTurn{messages: messages, results: results, before: s.all, until: time.Now().Add(heldLife)}
	key := heldKey{owner: s.x.owner, asked: s.asked}
	key.calls, turn.ids = callsOf(theirs)
	if !s.x.held.keep(key, turn) {
		s.x.warn(llm.Warning{Code: llm.Degraded, Feature: "tools", Detail: "what the tools of the gateway returned is too long to be kept for the next request"})
	}
}

// keep keeps a turn, and reports false if it is too long.
func (h *heldTurns) keep(key heldKey, t heldTurn) bool {
	said, _ := json.Marshal(t.messages) // parts, which have all been decoded
	gave, _ := json.Marshal(t.results)
	t.size = len(said) + len(gave) + len(key.owner) + 4*sha256.Size
	if t.size > maxHeldOwner/4 {
		return false
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.kept == nil {
		h.kept, h.sizes = make(map[heldKey][]heldTurn), make(map[string]int)
	}
	h.kept[key] = append(h.kept[key], t)
	h.order = append(h.order, key)
	h.size += t.size
	h.sizes[key.owner] += t.size
	if len(h.kept[key]) > maxAlike {
		h.drop(slices.Index(h.order, key))
	}
	for len(h.order) > 0 && (len(h.order) > maxHeld || h.size > maxHeldSize || !h.kept[h.order[0]][0].until.After(time.Now())) {
		h.drop(0)
	}
	for h.sizes[key.owner] > maxHeldOwner {
		h.drop(slices.IndexFunc(h.order, func(k heldKey) bool { return k.owner == key.owner }))
	}
	return true
}

// drop forgets the turn at a place, which is the oldest of its key; it wants h.mu.
func (h *heldTurns) drop(i int) {
	key := h.order[i]
	size := h.kept[key][0].size
	if h.kept[key] = h.kept[key][1:]; len(h.kept[key]) == 0 {
		delete(h.kept, key)
	}
	h.order = slices.Delete(h.order, i, i+1)
	h.size -= size
	if h.sizes[key.owner] -= size; h.sizes[key.owner] <= 0 {
		delete(h.sizes, key.owner)
	}
}

// find returns what is held for a message of the model: of several, the one with the ids of its
// calls, then the one of the same conversation, then the newest.
func (h *heldTurns) find(owner string, before []llm.Message, m llm.Message) (heldTurn, bool) {
	calls := m.Calls()
	if m.Role != llm.RoleAssistant || len(calls) == 0 {
		return heldTurn{}, false
	}
	hash, ids := callsOf(calls)
	h.mu.Lock()
	defer h.mu.Unlock()
	turns := h.kept[heldKey{owner, askedBefore(before), hash}]
	best, most := -1, -1
	for i, t := range turns {
		score := 0
		if slices.Equal(t.ids, ids) {
			score += 2
		}
		if len(turns) > 1 && t.before == saidBefore(before) {
			score++
		}
		if score >= most && time.Now().Before(t.until) {
			best, most = i, score
		}
	}
	if best < 0 {
		return heldTurn{}, false
	}
	return turns[best].with(calls), true
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
		if k := slices.Index(t.ids, id); k >= 0 {
			return calls[k].ID
		}
		return own(id)
	}
	t.messages, t.results = slices.Clone(t.messages), slices.Clone(t.results)
	for i := range t.messages {
		id := own
		if i == len(t.messages)-1 { // the only one with calls of the client
			id = either
		}
		t.messages[i].Parts = withIDs(t.messages[i].Parts, id)
	}
	for i := range t.results {
		t.results[i].CallID = own(t.results[i].CallID)
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
	all := slices.Clone(t.results)
	for _, m := range t.messages {
		for _, p := range m.Parts {
			if r, ok := p.(llm.Result); ok {
				all = append(all, r)
			}
		}
	}
	return !slices.ContainsFunc(all, func(r llm.Result) bool { return !allowed(r.Name) })
}

// merge returns a conversation with all that is held for it, but for turns with results of tools that are not allowed: keys of one
// owner need not have the same tools. The conversation is not changed.
func (h *heldTurns) merge(owner string, messages []llm.Message, allowed func(tool string) bool) []llm.Message {
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
		if t, ok := h.find(owner, messages[:i], m); ok && t.fits(allowed) {
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

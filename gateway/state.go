package gateway

import (
	"crypto/sha256"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/provider"
)

// Vendors sign what their models think and call, and want it back. A client whose format
// is the upstream's carries it itself. For the others it is kept here, by the id of the
// call that it belongs to, and put back when the client sends the results.

// label is who signed what an upstream says, in the words of package provider and in those
// of the client's format, if that is the upstream's: then the client carries the signatures.
type label struct{ upstream, client string }

// labels returns whose signatures a model makes.
func (x *exchange) labels(m llm.Model) label {
	known, ok := m.(*provider.Model)
	if !ok {
		return label{}
	}
	l := label{upstream: known.Signer()}
	if strings.HasSuffix(l.upstream, "/"+x.Codec.Format) {
		l.client = x.Codec.Format
	}
	return l
}

// out returns an event in the client's words.
func (l label) out(ev llm.Event) llm.Event {
	if l.client == "" {
		return ev
	}
	switch ev := ev.(type) {
	case llm.TextDelta:
		if ev.Part != nil && ev.Part.State.Vendor == l.upstream {
			part := *ev.Part
			part.State.Vendor = l.client
			ev.Part = &part
		}
		return ev
	case llm.ThinkingDelta:
		if ev.Part != nil && ev.Part.State.Vendor == l.upstream {
			part := *ev.Part
			part.State.Vendor = l.client
			ev.Part = &part
		}
		return ev
	case llm.Call:
		l.sign(&ev.State)
		return ev
	case llm.HostedCall:
		l.sign(&ev.State)
		return ev
	case llm.HostedResult:
		l.sign(&ev.State)
		return ev
	case llm.PartEnd:
		if ev.Vendor == l.upstream {
			ev.Vendor = l.client
		}
		return ev
	case llm.Finish:
		l.sign(&ev.State)
		return ev
	}
	return ev
}

func (l label) sign(s *llm.State) {
	if s.Vendor == l.upstream {
		s.Vendor = l.client
	}
}

// inTermsOf returns a request with the signatures of the upstream: those that the client carries,
// or those that are kept for it. The request is not changed.
func (x *exchange) inTermsOf(l label, req *llm.Request) *llm.Request {
	switch {
	case l.upstream == "":
		return req
	case l.client == "":
		return x.states.restore(x.owner, l.upstream, req)
	}
	back := label{upstream: l.client, client: l.upstream}
	out := req.Clone()
	for i := range out.Messages {
		parts := slices.Clone(out.Messages[i].Parts)
		for k, p := range parts {
			parts[k] = back.part(p)
		}
		out.Messages[i].Parts = parts
	}
	return out
}

// part returns a part of a message in the other words.
func (l label) part(p llm.Part) llm.Part {
	switch p := p.(type) {
	case llm.Text:
		l.sign(&p.State)
		return p
	case llm.Thinking:
		l.sign(&p.State)
		return p
	case llm.Call:
		l.sign(&p.State)
		return p
	case llm.Result:
		l.sign(&p.State)
		return p
	}
	return p
}

// Bounds of what is kept for clients that cannot carry it.
const (
	maxStates     = 50_000
	maxStatesSize = 64 << 20
	stateLife     = 24 * time.Hour
)

// states are the signatures of calls whose clients cannot carry them. The oldest go first.
type states struct {
	mu    sync.Mutex
	kept  map[stateKey]signed
	order []stateKey // oldest first
	size  int
}

// stateKey is what a signature is found by. Ids of calls repeat where we number them, so what the
// call answers counts too.
type stateKey struct {
	owner, signer, call string
	asked               [sha256.Size]byte
}

// askedBefore returns the hash of what a message of the model answers: all that was said since the
// one before it.
func askedBefore(messages []llm.Message) [sha256.Size]byte {
	first := len(messages)
	for first > 0 && messages[first-1].Role != llm.RoleAssistant {
		first--
	}
	h := sha256.New()
	for _, m := range messages[first:] {
		h.Write([]byte(m.Text()))
		for _, p := range m.Parts {
			if r, ok := p.(llm.Result); ok {
				h.Write([]byte("\x00" + r.CallID + "\x00" + r.Text()))
			}
		}
		h.Write([]byte{0})
	}
	return [sha256.Size]byte(h.Sum(nil))
}

// signed is what belongs to a call.
type signed struct {
	state    llm.State
	thinking []llm.Thinking // that came before it in the same answer
	size     int
	until    time.Time
}

// notes collects what is signed in one answer.
type notes struct {
	key      stateKey // but for the call
	thinking []llm.Thinking
	text     strings.Builder
}

// notes returns the notes of an answer whose signatures have to be kept, and nil if there are none:
// the client carries them.
func (x *exchange) notes(l label, req *llm.Request) *notes {
	if l.upstream == "" || l.client != "" {
		return nil
	}
	return &notes{key: stateKey{owner: x.owner, signer: l.upstream, asked: askedBefore(req.Messages)}}
}

// note takes down an event of an answer.
func (s *states) note(n *notes, ev llm.Event) {
	if n == nil {
		return
	}
	switch ev := ev.(type) {
	case llm.ThinkingDelta:
		n.text.WriteString(ev.Text)
		if ev.Part != nil && !ev.Part.State.IsZero() {
			t := *ev.Part
			t.Text = n.text.String()
			n.thinking = append(n.thinking, t)
			n.text.Reset()
		}
	case llm.Call:
		if ev.Hosted || ev.State.IsZero() && len(n.thinking) == 0 {
			return
		}
		key := n.key
		key.call = ev.ID
		s.keep(key, signed{state: ev.State, thinking: n.thinking, until: time.Now().Add(stateLife)})
		n.thinking = nil // it stands before the first call of the answer
	}
}

func (s *states) keep(key stateKey, e signed) {
	e.size = len(key.owner) + len(key.signer) + len(key.call) + sha256.Size + len(e.state.Data)
	for _, t := range e.thinking {
		e.size += len(t.Text) + len(t.State.Data)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.kept == nil {
		s.kept = make(map[stateKey]signed)
	}
	if old, ok := s.kept[key]; ok {
		s.size -= old.size
	} else {
		s.order = append(s.order, key)
	}
	s.kept[key] = e
	s.size += e.size
	for len(s.order) > maxStates || s.size > maxStatesSize {
		s.size -= s.kept[s.order[0]].size
		delete(s.kept, s.order[0])
		s.order = s.order[1:]
	}
}

func (s *states) find(key stateKey) (signed, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e, ok := s.kept[key]
	return e, ok && time.Now().Before(e.until)
}

// restore returns a request whose calls have what belongs to them. The request is not changed.
func (s *states) restore(owner, signer string, req *llm.Request) *llm.Request {
	s.mu.Lock()
	empty := len(s.kept) == 0
	s.mu.Unlock()
	if empty {
		return req
	}
	out := req.Clone()
	for i, msg := range out.Messages {
		if msg.Role == llm.RoleAssistant && len(msg.Calls()) > 0 {
			key := stateKey{owner: owner, signer: signer, asked: askedBefore(req.Messages[:i])}
			out.Messages[i].Parts = s.restored(key, msg.Parts)
		}
	}
	return out
}

// restored returns the parts of a message with what belongs to its calls.
func (s *states) restored(key stateKey, parts []llm.Part) []llm.Part {
	parts = slices.Clone(parts)
	var thinking []llm.Thinking
	for k, p := range parts {
		c, ok := p.(llm.Call)
		if !ok {
			continue
		}
		key.call = c.ID
		e, ok := s.find(key)
		if !ok {
			continue
		}
		if !e.state.IsZero() {
			c.State = e.state // what the client's own format says of it means nothing to the upstream
			parts[k] = c
		}
		thinking = append(thinking, e.thinking...)
	}
	if len(thinking) == 0 {
		return parts
	}
	return think(parts, thinking)
}

// think returns parts that begin with signed thinking, in the place of any that is not.
func think(parts []llm.Part, thinking []llm.Thinking) []llm.Part {
	var out []llm.Part
	for _, t := range thinking {
		out = append(out, t)
	}
	for _, p := range parts {
		if _, ok := p.(llm.Thinking); !ok {
			out = append(out, p)
		}
	}
	return out
}

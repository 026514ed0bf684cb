package gateway

import (
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
// of the client's format.
type label struct{ upstream, client string }

// labels returns whose signatures a model makes. They are the client's own only where both
// have the same format.
func (x *exchange) labels(m llm.Model) label {
	known, ok := m.(*provider.Model)
	if !ok {
		return label{}
	}
	l := label{known.Signer(), x.Codec.Format}
	if !strings.HasSuffix(l.upstream, "/"+l.client) {
		return label{}
	}
	return l
}

// out returns an event in the client's words.
func (l label) out(ev llm.Event) llm.Event {
	if l.upstream == "" {
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

// inTermsOf returns a request whose signatures are the upstream's, if the client has them
// from it. The request is not changed.
func (x *exchange) inTermsOf(l label, req *llm.Request) *llm.Request {
	if l.upstream == "" {
		return req
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

type stateKey struct{ owner, call string }

// signed is what belongs to a call.
type signed struct {
	state    llm.State
	thinking []llm.Thinking // that came before it in the same answer
	size     int
	until    time.Time
}

// notes collects what is signed in one answer.
type notes struct {
	thinking []llm.Thinking
	text     strings.Builder
}

// note takes down an event of an answer.
func (s *states) note(owner, format string, n *notes, ev llm.Event) {
	switch ev := ev.(type) {
	case llm.ThinkingDelta:
		n.text.WriteString(ev.Text)
		if ev.Part != nil && foreign(ev.Part.State, format) {
			t := *ev.Part
			t.Text = n.text.String()
			n.thinking = append(n.thinking, t)
			n.text.Reset()
		}
	case llm.Call:
		if ev.Hosted || !foreign(ev.State, format) && len(n.thinking) == 0 {
			return
		}
		e := signed{thinking: n.thinking, until: time.Now().Add(stateLife)}
		if foreign(ev.State, format) {
			e.state = ev.State
		}
		n.thinking = nil // it stands before the first call of the answer
		s.keep(stateKey{owner, ev.ID}, e)
	}
}

// foreign reports whether a state is one that a client of the format cannot carry.
func foreign(s llm.State, format string) bool { return !s.IsZero() && s.Vendor != format }

func (s *states) keep(key stateKey, e signed) {
	e.size = len(key.owner) + len(key.call) + len(e.state.Data)
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

func (s *states) find(owner, call string) (signed, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e, ok := s.kept[stateKey{owner, call}]
	return e, ok && time.Now().Before(e.until)
}

// restore gives the calls of a request back what belongs to them, and reports whether there was
// anything.
func (s *states) restore(owner string, req *llm.Request) (any bool) {
	s.mu.Lock()
	empty := len(s.kept) == 0
	s.mu.Unlock()
	if empty {
		return false
	}
	for i, msg := range req.Messages {
		if msg.Role != llm.RoleAssistant {
			continue
		}
		parts, changed := slices.Clone(msg.Parts), false
		for k, p := range parts {
			c, ok := p.(llm.Call)
			if !ok || !c.State.IsZero() {
				continue
			}
			e, ok := s.find(owner, c.ID)
			if !ok {
				continue
			}
			c.State, changed = e.state, true
			parts[k] = c
			if len(e.thinking) > 0 {
				parts = think(parts, e.thinking)
				break // the calls behind it moved; only the first of an answer is signed with thinking
			}
		}
		if changed {
			req.Messages[i].Parts = parts
			any = true
		}
	}
	return any
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

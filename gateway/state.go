package gateway

import (
	"crypto/sha256"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/toolpost/toolpost/gateway/state"
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

// out returns an event in the client's words. Nearly all are as they were, and not made anew.
func (l label) out(ev llm.Event) llm.Event {
	if l.client == "" {
		return ev
	}
	switch own := ev.(type) {
	case llm.TextDelta:
		if own.Part == nil {
			return ev
		}
	case llm.Start, llm.CallStart, llm.CallDelta:
		return ev
	}
	return l.signed(ev)
}

// signed is out for an event that may be signed. It is not inlined, see asking.note.
//
//go:noinline
func (l label) signed(ev llm.Event) llm.Event {
	switch own := ev.(type) {
	case llm.TextDelta:
		if own.Part != nil && l.signs(own.Part.State) {
			part := *own.Part
			l.sign(&part.State)
			own.Part = &part
			return own
		}
	case llm.ThinkingDelta:
		if own.Part != nil && l.signs(own.Part.State) {
			part := *own.Part
			l.sign(&part.State)
			own.Part = &part
			return own
		}
	case llm.Call:
		if l.signs(own.State) {
			l.sign(&own.State)
			return own
		}
	case llm.HostedCall:
		if l.signs(own.State) {
			l.sign(&own.State)
			return own
		}
	case llm.HostedResult:
		if l.signs(own.State) {
			l.sign(&own.State)
			return own
		}
	case llm.Finish:
		if l.signs(own.State) {
			l.sign(&own.State)
			return own
		}
	case llm.PartEnd:
		if own.Vendor == l.upstream {
			own.Vendor = l.client
			return own
		}
	}
	return ev
}

// signs reports whether a state is the upstream's.
func (l label) signs(s llm.State) bool { return s.Vendor == l.upstream }

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
		return x.restore(l.upstream, req)
	}
	back := label{upstream: l.client, client: l.upstream}
	out := req
	for i := range req.Messages {
		for k, p := range req.Messages[i].Parts {
			own, changed := back.part(p)
			if !changed {
				continue
			}
			if out == req {
				out = req.Clone()
			}
			out.Messages[i].Parts[k] = own
		}
	}
	return out
}

// part returns a part of a message in the other words, and whether they are others.
func (l label) part(p llm.Part) (llm.Part, bool) {
	switch own := p.(type) {
	case llm.Text:
		if l.signs(own.State) {
			l.sign(&own.State)
			return own, true
		}
	case llm.Thinking:
		if l.signs(own.State) {
			l.sign(&own.State)
			return own, true
		}
	case llm.Call:
		if l.signs(own.State) {
			l.sign(&own.State)
			return own, true
		}
	case llm.Result:
		if l.signs(own.State) {
			l.sign(&own.State)
			return own, true
		}
	}
	return p, false
}

// stateLife is how long signatures are kept for clients that cannot carry them.
const stateLife = 24 * time.Hour

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

// signatureKey is what the signature of a call is found by. Ids of calls repeat where we number them,
// so what the call answers counts too.
func signatureKey(signer string, asked [sha256.Size]byte, call string) state.Hash {
	return state.HashOf([]byte(signer), asked[:], []byte(call))
}

// signed is what belongs to a call: the thinking that came before it in the same answer, then the call
// itself, with its signature.
type signed []llm.Part

// notes collects what is signed in one answer.
type notes struct {
	signer   string
	asked    [sha256.Size]byte
	thinking []llm.Part
	text     strings.Builder
	taken    []state.Kept
}

// notes returns the notes of an answer whose signatures have to be kept, and nil if there are none:
// the client carries them.
func (x *exchange) notes(l label, req *llm.Request) *notes {
	if l.upstream == "" || l.client != "" {
		return nil
	}
	return &notes{signer: l.upstream, asked: askedBefore(req.Messages)}
}

// note takes down an event of an answer. Before the answer ends, what it signed is kept: the client may
// send the results to another gateway at once.
func (x *exchange) note(n *notes, ev llm.Event) error {
	if n == nil {
		return nil
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
		if ev.Hosted || ev.State.IsZero() && len(n.thinking) == 0 || x.serving != nil && x.serving.owns(ev.Name) {
			return nil
		}
		s := append(signed(n.thinking), llm.Call{ID: ev.ID, Name: ev.Name, State: ev.State})
		n.thinking = nil // it stands before the first call of the answer
		value, err := json.Marshal(llm.Message{Role: llm.RoleAssistant, Parts: s})
		if err != nil {
			return err
		}
		key := state.Place{Kind: state.Signature, Owner: x.owner, Hash: signatureKey(n.signer, n.asked, ev.ID)}
		x.recalled(key.Hash, s)
		n.taken = append(n.taken, state.Kept{Place: key, Value: value, Until: time.Now().Add(stateLife)})
	case llm.Finish:
		return x.store.Put(x.ctx(), n.taken...)
	}
	return nil
}

// recalled notes what belongs to a call, so that it is looked up once in a request.
func (x *exchange) recalled(key state.Hash, s signed) {
	if x.signed == nil {
		x.signed = make(map[state.Hash]signed)
	}
	x.signed[key] = s
}

// restore returns a request whose calls have what belongs to them. The request is not changed.
func (x *exchange) restore(signer string, req *llm.Request) *llm.Request {
	if len(x.signed) == 0 && x.store.empty(state.Signature) {
		return req
	}
	keys := make(map[int][]state.Hash) // of the calls of each message
	var unknown []state.Hash
	for i, msg := range req.Messages {
		if msg.Role != llm.RoleAssistant || len(msg.Calls()) == 0 {
			continue
		}
		asked := askedBefore(req.Messages[:i])
		for _, c := range msg.Calls() {
			key := signatureKey(signer, asked, c.ID)
			keys[i] = append(keys[i], key)
			if _, known := x.signed[key]; !known {
				unknown = append(unknown, key)
			}
		}
	}
	if len(keys) == 0 {
		return req
	}
	found := x.lookUp(state.Signature, unknown)
	for _, key := range unknown {
		var m llm.Message
		if values := found[key]; len(values) > 0 && json.Unmarshal(values[0], &m) != nil {
			m = llm.Message{} // of another version
		}
		x.recalled(key, m.Parts)
	}
	out := req.Clone()
	for i, list := range keys {
		out.Messages[i].Parts = x.restored(list, req.Messages[i].Parts)
	}
	return out
}

// restored returns the parts of a message with what belongs to its calls, which is found by keys.
func (x *exchange) restored(keys []state.Hash, parts []llm.Part) []llm.Part {
	parts = slices.Clone(parts)
	var thinking []llm.Part
	n := 0
	for k, p := range parts {
		c, ok := p.(llm.Call)
		if !ok {
			continue
		}
		s := x.signed[keys[n]]
		n++
		if len(s) == 0 {
			continue
		}
		if own, ok := s[len(s)-1].(llm.Call); ok && !own.State.IsZero() {
			c.State = own.State // what the client's own format says of it means nothing to the upstream
			parts[k] = c
		}
		thinking = append(thinking, s[:len(s)-1]...)
	}
	if len(thinking) == 0 {
		return parts
	}
	return think(parts, thinking)
}

// think returns parts that begin with signed thinking, in the place of any that is not.
func think(parts, thinking []llm.Part) []llm.Part {
	out := slices.Clone(thinking)
	for _, p := range parts {
		if _, ok := p.(llm.Thinking); !ok {
			out = append(out, p)
		}
	}
	return out
}

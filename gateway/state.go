package gateway

import (
	"crypto/sha256"
	"hash"
	"slices"
	"strings"
	"time"

	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/provider"
)

// Vendors sign what their models think and call, and want it back. A client whose format
// is the upstream's carries it itself. For the others it is kept, and put back when the client
// sends the results (see signed.go).

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
	case llm.Start, llm.CallStart, llm.CallDelta, llm.TextRead, llm.Warning, llm.KeepAlive:
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
		if own.Part != nil {
			if part, changed := l.text(*own.Part); changed {
				own.Part = &part
				return own
			}
		}
	case llm.ThinkingDelta:
		if own.Part != nil && l.signs(own.Part.State) {
			part := *own.Part
			l.sign(&part.State)
			own.Part = &part
			return own
		}
	case llm.Call:
		return relabelled(ev, own, l.sign(&own.State))
	case llm.Media:
		return relabelled(ev, own, l.sign(&own.State))
	case llm.HostedCall:
		return relabelled(ev, own, l.sign(&own.State))
	case llm.HostedResult:
		result, changed := l.result(own.Result)
		return relabelled(ev, llm.HostedResult{Result: result}, changed)
	case llm.Finish:
		return relabelled(ev, own, l.sign(&own.State))
	case llm.PartEnd:
		if own.Vendor == l.upstream {
			own.Vendor = l.client
			return own
		}
	case llm.Alternative:
		own.Event = l.out(own.Event)
		return own
	}
	return ev
}

// relabelled returns an event with other labels, or the one that there was if it has none to change: it is not made anew.
func relabelled[E llm.Event](was llm.Event, own E, changed bool) llm.Event {
	if changed {
		return own
	}
	return was
}

// signs reports whether a state is the upstream's.
func (l label) signs(s llm.State) bool { return s.Vendor == l.upstream }

// sign puts a state of the upstream into the client's words, and reports whether it is one.
func (l label) sign(s *llm.State) bool {
	if !l.signs(*s) {
		return false
	}
	s.Vendor = l.client
	return true
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

// part returns a part of a message in the other words, with all that stands in it, and whether they are others.
func (l label) part(p llm.Part) (llm.Part, bool) {
	switch own := p.(type) {
	case llm.Text:
		own, changed := l.text(own)
		return relabelledPart(p, own, changed)
	case llm.Thinking:
		return relabelledPart(p, own, l.sign(&own.State))
	case llm.Media:
		return relabelledPart(p, own, l.sign(&own.State))
	case llm.Call:
		return relabelledPart(p, own, l.sign(&own.State))
	case llm.Result:
		own, changed := l.result(own)
		return relabelledPart(p, own, changed)
	}
	return p, false
}

// relabelledPart is relabelled for a part.
func relabelledPart[P llm.Part](was llm.Part, own P, changed bool) (llm.Part, bool) {
	if changed {
		return own, true
	}
	return was, false
}

// text is part for a text: its citations are a vendor's, too.
func (l label) text(t llm.Text) (llm.Text, bool) {
	changed := l.sign(&t.State)
	if slices.ContainsFunc(t.Citations, func(c llm.Citation) bool { return l.signs(c.Raw) }) {
		t.Citations, changed = slices.Clone(t.Citations), true
		for i := range t.Citations {
			l.sign(&t.Citations[i].Raw)
		}
	}
	return t, changed
}

// result is part for a result: blocks that only its format knows stand in it as they do in a message.
func (l label) result(r llm.Result) (llm.Result, bool) {
	changed := l.sign(&r.State)
	var parts []llm.Part
	for i, p := range r.Parts {
		own, other := l.part(p)
		if !other {
			continue
		}
		if parts == nil {
			parts, changed = slices.Clone(r.Parts), true
		}
		parts[i] = own
	}
	if parts != nil {
		r.Parts = parts
	}
	return r, changed
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
		addAsked(h, m)
	}
	return [sha256.Size]byte(h.Sum(nil))
}

// addAsked adds what a message asks to a hash.
func addAsked(h hash.Hash, m llm.Message) {
	h.Write([]byte(m.Text()))
	for _, p := range m.Parts {
		if r, ok := p.(llm.Result); ok {
			h.Write([]byte("\x00" + r.CallID + "\x00" + r.Text()))
		}
	}
	h.Write([]byte{0})
}

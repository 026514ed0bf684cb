package gateway

import (
	"crypto/sha256"
	"hash"
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

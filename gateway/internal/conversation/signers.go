package conversation

import (
	"slices"
	"strings"
	"time"

	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/provider"
)

// Vendors sign what their models think and call, and want it back. A client whose format
// is the upstream's carries it itself. For the others it is kept, and put back when the client
// sends the results (see signed.go).

// Signer is who signed what an upstream says, in the words of package provider and in those
// of the client's format, if that is the upstream's: then the client carries the signatures.
type Signer struct{ Upstream, Client string }

// SignerOf returns whose signatures a model makes.
func (m *Scope) SignerOf(model llm.Model) Signer {
	known, ok := model.(*provider.Model)
	if !ok {
		return Signer{}
	}
	l := Signer{Upstream: known.Signer()}
	if strings.HasSuffix(l.Upstream, "/"+m.Codec.Format) {
		l.Client = m.Codec.Format
	}
	return l
}

// Relabel returns an event with its signatures labelled for the client. Most events are returned as they are.
func (l Signer) Relabel(ev llm.Event) llm.Event {
	if l.Client == "" {
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
	return l.relabelSigned(ev)
}

// relabelSigned is out for an event that may be signed. It is not inlined, see asking.note.
//
//go:noinline
func (l Signer) relabelSigned(ev llm.Event) llm.Event {
	switch own := ev.(type) {
	case llm.TextDelta:
		if own.Part != nil {
			if part, changed := l.relabelText(*own.Part); changed {
				own.Part = &part
				return own
			}
		}
	case llm.ThinkingDelta:
		if own.Part != nil && l.isSigned(own.Part.State) {
			part := *own.Part
			l.relabelState(&part.State)
			own.Part = &part
			return own
		}
	case llm.Call:
		return relabelled(ev, own, l.relabelState(&own.State))
	case llm.Media:
		return relabelled(ev, own, l.relabelState(&own.State))
	case llm.HostedCall:
		return relabelled(ev, own, l.relabelState(&own.State))
	case llm.HostedResult:
		result, changed := l.relabelResult(own.Result)
		return relabelled(ev, llm.HostedResult{Result: result}, changed)
	case llm.Finish:
		return relabelled(ev, own, l.relabelState(&own.State))
	case llm.PartEnd:
		if own.Vendor == l.Upstream {
			own.Vendor = l.Client
			return own
		}
	case llm.Alternative:
		own.Event = l.Relabel(own.Event)
		return own
	}
	return ev
}

// relabelled returns the event with new labels, or the original event if nothing changed.
func relabelled[E llm.Event](was llm.Event, own E, changed bool) llm.Event {
	if changed {
		return own
	}
	return was
}

// isSigned reports whether a state is the upstream's.
func (l Signer) isSigned(s llm.State) bool { return s.Vendor == l.Upstream }

// relabelState puts a state of the upstream into the client's words, and reports whether it is one.
func (l Signer) relabelState(s *llm.State) bool {
	if !l.isSigned(*s) {
		return false
	}
	s.Vendor = l.Client
	return true
}

// ForUpstream returns a request with the upstream's signatures: those in the request, or those stored for the client.
// The request is not changed.
func (g *Signatures) ForUpstream(l Signer, req *llm.Request) *llm.Request {
	switch {
	case l.Upstream == "":
		return req
	case l.Client == "":
		return g.restore(l.Upstream, req)
	}
	back := Signer{Upstream: l.Client, Client: l.Upstream}
	out := req
	for i := range req.Messages {
		for k, p := range req.Messages[i].Parts {
			own, changed := back.relabelPart(p)
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

// relabelPart relabels a part of a message, and reports whether it changed.
func (l Signer) relabelPart(p llm.Part) (llm.Part, bool) {
	switch own := p.(type) {
	case llm.Text:
		own, changed := l.relabelText(own)
		return relabelledPart(p, own, changed)
	case llm.Thinking:
		return relabelledPart(p, own, l.relabelState(&own.State))
	case llm.Media:
		return relabelledPart(p, own, l.relabelState(&own.State))
	case llm.Call:
		return relabelledPart(p, own, l.relabelState(&own.State))
	case llm.Result:
		own, changed := l.relabelResult(own)
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

// relabelText is part for a text: its citations are a vendor's, too.
func (l Signer) relabelText(t llm.Text) (llm.Text, bool) {
	changed := l.relabelState(&t.State)
	if slices.ContainsFunc(t.Citations, func(c llm.Citation) bool { return l.isSigned(c.Raw) }) {
		t.Citations, changed = slices.Clone(t.Citations), true
		for i := range t.Citations {
			l.relabelState(&t.Citations[i].Raw)
		}
	}
	return t, changed
}

// relabelResult relabels a tool result and the blocks in it.
func (l Signer) relabelResult(r llm.Result) (llm.Result, bool) {
	changed := l.relabelState(&r.State)
	var parts []llm.Part
	for i, p := range r.Parts {
		own, other := l.relabelPart(p)
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

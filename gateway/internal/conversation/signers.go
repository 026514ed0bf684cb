package conversation

import (
	"slices"
	"strings"

	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/provider"
)

// Vendors sign thinking and calls of their models, and want the signatures back. A client with the upstream's format
// carries them itself. For other clients they are stored, and restored when the client sends its results (see
// signatures.go).

// Signer identifies the vendor that signs an upstream's answers, as in package provider. Client is the name in the
// client's format if both use the same format; then the client carries the signatures.
type Signer struct{ Upstream, Client string }

// SignerOf returns the signer of a model's answers.
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

// Relabel returns an event with its signatures labelled for the client. Most events are unchanged.
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

// relabelSigned implements Relabel for events that may be signed. It is not inlined; see note in package gateway.
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

// isSigned reports whether a state belongs to the upstream.
func (l Signer) isSigned(s llm.State) bool { return s.Vendor == l.Upstream }

// relabelState changes the label of an upstream's state to that of the client, and reports whether it did.
func (l Signer) relabelState(s *llm.State) bool {
	if !l.isSigned(*s) {
		return false
	}
	s.Vendor = l.Client
	return true
}

// ForUpstream returns a request with the upstream's signatures, either from the request or from the store. The argument
// is not changed.
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

// relabelledPart is relabelled for parts.
func relabelledPart[P llm.Part](was llm.Part, own P, changed bool) (llm.Part, bool) {
	if changed {
		return own, true
	}
	return was, false
}

// relabelText relabels a text and its citations.
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

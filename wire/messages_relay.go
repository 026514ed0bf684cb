package wire

import "github.com/toolpost/toolpost/llm"

// messagesPlace is how far a stream of blocks is.
type messagesPlace struct {
	next   int            // the index of the next block
	open   *messagesBlock // nil between blocks
	signed bool           // the open block has its signature
	calls  int            // that began
}

func (s *messagesStream) mark(at moment) {
	s.places.set(at, func() messagesPlace {
		p := messagesPlace{open: s.open, calls: len(s.calls)}
		if n := len(s.blocks); n > 0 {
			p.next = s.blocks[n-1].index + 1
		}
		p.signed = s.open != nil && len(s.open.signature) > 0
		return p
	})
}

func (s *messagesStream) resume(at moment, e *encoder, head Head) streamEncoder {
	place := s.places[at]
	w := &messagesWriter{e: e, head: head, begun: true, index: place.next, signed: place.signed}
	w.seq.w = w
	w.seq.begun = make(map[string]bool)
	for _, p := range s.calls[:place.calls] {
		w.seq.begun[p.id] = true
	}
	b := place.open
	if b == nil {
		return w
	}
	w.index = b.index
	switch {
	case b.kind == "text":
		w.seq.span = textSpan
	case b.kind == "thinking":
		w.seq.span = thinkingSpan
	case b.call != nil:
		w.seq.call, w.seq.open = b.call.id, true
	default:
		w.relayed, w.relayedID = true, b.id
	}
	return w
}

// endRelayed stops a block that is open since before the translation of a relay
// began, and reports whether it is the one with the id.
func (w *messagesWriter) endRelayed(id string) bool {
	if !w.relayed {
		return false
	}
	w.relayed = false
	w.stop()
	return id != "" && id == w.relayedID
}

// hostedID returns the id of a hosted call or of the call of a result.
func hostedID(ev llm.Event) string {
	switch ev := ev.(type) {
	case llm.HostedCall:
		return ev.ID
	case llm.HostedResult:
		return ev.CallID
	}
	return ""
}

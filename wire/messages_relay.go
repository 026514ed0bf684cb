package wire

import "github.com/toolpost/toolpost/llm"

func (s *messagesStream) mark(at moment) {
	s.places.set(at, func() blockPlace[messagesBlock] {
		p := blockPlace[messagesBlock]{open: s.open, calls: len(s.calls)}
		if n := len(s.blocks); n > 0 {
			p.next = s.blocks[n-1].index + 1
		}
		p.signed = s.open != nil && len(s.open.signature) > 0
		return p
	})
}

// messagesSpans are the kinds of blocks that are text or thinking.
var messagesSpans = map[string]spanKind{"text": textSpan, "thinking": thinkingSpan}

func (s *messagesStream) resume(at moment, e *encoder, head streamHead) streamEncoder {
	place := s.places[at]
	w := &messagesWriter{e: e, head: head, begun: true, args: objectArgs{begun: true}, index: place.next, signed: place.signed}
	b := place.open
	if b == nil {
		w.seq.resume(w, s.calls[:place.calls], nil, noSpan)
		return w
	}
	w.index = b.index
	if !w.seq.resume(w, s.calls[:place.calls], b.call, messagesSpans[b.kind]) {
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

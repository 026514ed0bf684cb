package wire

import "github.com/toolpost/toolpost/llm"

// conversePlace is how far a stream of blocks is.
type conversePlace struct {
	next   int            // the index of the next block
	open   *converseBlock // nil between blocks
	signed bool           // the open block has its signature
	calls  int            // that began
}

func (s *converseStream) mark(at moment) {
	s.places.set(at, func() conversePlace {
		p := conversePlace{next: s.next, calls: len(s.calls)}
		if n := len(s.blocks); n > 0 {
			p.open = s.blocks[n-1]
			p.signed = len(p.open.signature) > 0
		}
		return p
	})
}

func (s *converseStream) resume(at moment, e *encoder, _ Head) streamEncoder {
	place := s.places[at]
	w := &converseWriter{e: e, begun: true, index: place.next, signed: place.signed}
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
	case b.call != nil:
		w.seq.call, w.seq.open = b.call.id, true
	case b.span == textSpan || b.span == thinkingSpan:
		w.seq.span = b.span
	default:
		w.relayed = b
	}
	return w
}

// endRelayed stops a block that is open since before the translation of a relay
// began, and reports whether the event says what the client has of it.
func (w *converseWriter) endRelayed(ev llm.Event) bool {
	b := w.relayed
	w.relayed = nil
	w.stop()
	switch ev := ev.(type) {
	case llm.ThinkingDelta:
		return b.span == redactedSpan && ev.About().Redacted
	case llm.Media:
		return b.image != nil
	case llm.HostedCall:
		return b.hosted != nil && !b.result
	case llm.HostedResult:
		return b.hosted != nil && b.result
	}
	return false
}

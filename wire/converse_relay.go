package wire

import "github.com/toolpost/toolpost/llm"

func (s *converseStream) mark(at moment) {
	s.places.set(at, func() blockPlace[converseBlock] {
		p := blockPlace[converseBlock]{next: s.next, calls: len(s.calls)}
		if n := len(s.blocks); n > 0 {
			p.open = s.blocks[n-1]
			p.signed = len(p.open.signature) > 0
		}
		return p
	})
}

func (s *converseStream) resume(at moment, e *encoder, _ streamHead) streamEncoder {
	place := s.places[at]
	w := &converseWriter{e: e, args: objectArgs{begun: true}, begun: true, index: place.next, signed: place.signed}
	b := place.open
	if b == nil {
		w.seq.resume(w, s.calls[:place.calls], nil, noSpan)
		return w
	}
	w.index = b.index
	if !w.seq.resume(w, s.calls[:place.calls], b.call, b.span) {
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

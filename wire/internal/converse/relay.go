package converse

import (
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/wire/internal/codec"
)

func (s *converseStream) Mark(at codec.Moment) {
	s.places.Set(at, func() codec.BlockPosition[converseBlock] {
		p := codec.BlockPosition[converseBlock]{Next: s.next, Calls: len(s.Calls)}
		if n := len(s.blocks); n > 0 {
			p.Open = s.blocks[n-1]
			p.Signed = len(p.Open.signature) > 0
		}
		return p
	})
}

func (s *converseStream) Resume(at codec.Moment, e *codec.Encoder, _ codec.StreamHead) codec.StreamEncoder {
	place := s.places[at]
	w := &writer{e: e, args: codec.ObjectArgs{Begun: true}, begun: true, index: place.Next, signed: place.Signed}
	b := place.Open
	if b == nil {
		w.seq.Resume(w, s.Calls[:place.Calls], nil, codec.NoSpan)
		return w
	}
	w.index = b.index
	if !w.seq.Resume(w, s.Calls[:place.Calls], b.call, b.span) {
		w.relayed = b
	}
	return w
}

// endRelayed stops a block that a relay began before it became a translation. It reports whether the client already has
// the event.
func (w *writer) endRelayed(ev llm.Event) bool {
	b := w.relayed
	w.relayed = nil
	w.stop()
	switch ev := ev.(type) {
	case llm.ThinkingDelta:
		return b.span == codec.RedactedSpan && ev.About().Redacted
	case llm.Media:
		return b.image != nil
	case llm.HostedCall:
		return b.hosted != nil && !b.result
	case llm.HostedResult:
		return b.hosted != nil && b.result
	}
	return false
}

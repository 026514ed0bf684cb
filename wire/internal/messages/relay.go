package messages

import (
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/wire/internal/codec"
)

func (s *messagesStream) Mark(at codec.Moment) {
	s.places.Set(at, func() codec.BlockPosition[messagesBlock] {
		p := codec.BlockPosition[messagesBlock]{Open: s.open, Calls: len(s.Calls)}
		if n := len(s.blocks); n > 0 {
			p.Next = s.blocks[n-1].index + 1
		}
		p.Signed = s.open != nil && len(s.open.signature) > 0
		return p
	})
}

// spans are the kinds of blocks that are text or thinking.
var spans = map[string]codec.SpanKind{"text": codec.TextSpan, "thinking": codec.ThinkingSpan}

func (s *messagesStream) Resume(at codec.Moment, e *codec.Encoder, head codec.StreamHead) codec.StreamEncoder {
	place := s.places[at]
	w := &writer{e: e, head: head, begun: true, args: codec.ObjectArgs{Begun: true}, index: place.Next, signed: place.Signed}
	b := place.Open
	if b == nil {
		w.seq.Resume(w, s.Calls[:place.Calls], nil, codec.NoSpan)
		return w
	}
	w.index = b.index
	if !w.seq.Resume(w, s.Calls[:place.Calls], b.call, spans[b.kind]) {
		w.relayed, w.relayedID = true, b.id
	}
	return w
}

// endRelayed stops a block that is open since before the translation of a relay
// began, and reports whether it is the one with the id.
func (w *writer) endRelayed(id string) bool {
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

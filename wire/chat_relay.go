package wire

import (
	"github.com/toolpost/toolpost/internal/js"
	"github.com/toolpost/toolpost/llm"
)

// chatPlace is how far a stream of chunks is.
type chatPlace struct {
	calls   int // that began
	args    int // bytes of the arguments of the last
	details int // of the thinking, that no event has said yet
}

func (s *chatStream) mark(at moment) {
	for _, o := range s.streams {
		o.mark(at)
	}
	s.places.set(at, func() chatPlace {
		p := chatPlace{calls: len(s.calls), details: len(s.details.items)}
		if p.calls > 0 {
			p.args = s.calls[p.calls-1].args.Len()
		}
		return p
	})
}

func (s *chatStream) resume(at moment, e *encoder, head Head) streamEncoder {
	place := s.places[at]
	w := &chatWriter{e: e, head: head, started: true, calls: map[string]*chatCall{}, details: place.details > 0}
	for i, p := range s.calls[:place.calls] {
		c := &chatCall{index: i, free: p.kind == llm.FreeTool, relayed: true}
		if p.index >= 0 && !w.hasIndex(p.index) {
			c.index = p.index
		}
		if c.free && i == place.calls-1 {
			c.sent = js.Text(append([]byte(p.args.String()[:place.args]), '"'))
		}
		w.calls[p.id] = c
	}
	for i, o := range s.streams {
		sub := o.resume(at, e, head).(*chatWriter)
		sub.index = i
		w.others = w.others.with(i, sub)
	}
	return w
}

// hasIndex reports whether a call has that index.
func (w *chatWriter) hasIndex(index int) bool {
	for _, c := range w.calls {
		if c.index == index {
			return true
		}
	}
	return false
}

// nextIndex returns an index that no call has.
func (w *chatWriter) nextIndex() int {
	n := len(w.calls)
	for w.hasIndex(n) {
		n++
	}
	return n
}

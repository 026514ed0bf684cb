package codec

import (
	"github.com/toolpost/toolpost/internal/js"
	"github.com/toolpost/toolpost/llm"
)

// blockWriter writes streams in which one block is open at a time.
type blockWriter interface {
	Begin(kind SpanKind)
	Piece(kind SpanKind, text string)
	Cite(c llm.Citation)
	// end closes a block of text or thinking, signed or not.
	End(kind SpanKind, state llm.State)
	// opaque writes a block that has only state.
	Opaque(kind SpanKind, state llm.State)
	BeginCall(start llm.CallStart)
	CallPiece(args string)
	// endCall closes the call; nil means that the call cannot run.
	EndCall(call *llm.Call)
	Media(m llm.Media)
	HostedCall(c llm.Call)
	HostedResult(r llm.Result)
	Finish(f llm.Finish)
}

// BlockStream puts the events of an answer into such a stream: while a call is
// open, everything else waits until it is complete.
type BlockStream struct {
	W       blockWriter
	Span    SpanKind
	Call    string // id of the open call
	Open    bool   // a call is open
	bare    bool   // it began here, and no piece of it has come
	Begun   map[string]bool
	waiting []llm.Event
}

func (s *BlockStream) Event(ev llm.Event) {
	if s.Open && !s.belongs(ev) {
		s.waiting = append(s.waiting, ev)
		if _, last := ev.(llm.Finish); last { // a call that never ended
			s.endCall(nil)
		}
		return
	}
	switch ev := ev.(type) {
	case llm.TextDelta:
		s.text(ev)
	case llm.ThinkingDelta:
		s.thinking(ev)
	case llm.PartEnd:
		s.endPart(ev)
	case llm.CallStart:
		s.start(ev)
	case llm.CallDelta:
		if s.Open {
			s.bare = false
			s.W.CallPiece(ev.Args)
		}
	case llm.Call:
		if !s.Open && s.Begun[ev.ID] {
			return // it was relayed, and is complete
		}
		if !s.Open {
			s.close(llm.State{})
			s.known(ev.State)
			s.start(llm.CallStart{ID: ev.ID, Name: ev.Name, Kind: ev.Kind, Extra: ev.Extra})
		}
		if s.bare {
			s.W.CallPiece(string(ObjectOf(ev.Args)))
		}
		s.endCall(&ev)
	case llm.InvalidCall:
		s.invalid(ev)
	default:
		s.other(ev)
	}
}

// other writes the events that are separate blocks.
func (s *BlockStream) other(ev llm.Event) {
	switch ev := ev.(type) {
	case llm.Media:
		s.close(llm.State{})
		s.W.Media(ev)
	case llm.HostedCall:
		s.close(llm.State{})
		s.W.HostedCall(ev.Call)
	case llm.HostedResult:
		s.close(llm.State{})
		s.W.HostedResult(ev.Result)
	case llm.Finish:
		s.close(llm.State{})
		s.W.Finish(ev)
	}
}

// belongs reports whether an event is about the open call.
func (s *BlockStream) belongs(ev llm.Event) bool {
	switch ev := ev.(type) {
	case llm.CallDelta:
		return ev.ID == s.Call
	case llm.Call:
		return ev.ID == s.Call
	case llm.InvalidCall:
		return ev.ID == s.Call
	}
	return false
}

func (s *BlockStream) enter(kind SpanKind) {
	if s.Span == kind {
		return
	}
	s.close(llm.State{})
	s.Span = kind
	s.W.Begin(kind)
}

func (s *BlockStream) close(state llm.State) {
	if s.Span != NoSpan {
		s.W.End(s.Span, state)
		s.Span = NoSpan
	}
}

func (s *BlockStream) text(ev llm.TextDelta) {
	kind, about := TextSpan, ev.About()
	if about.Refusal {
		kind = RefusalSpan
	}
	if ev.Text != "" {
		s.known(about.State)
	}
	if len(about.Extra) > 0 {
		s.extra(kind, about.Extra, ev.Text == "" && !about.State.IsZero())
	}
	if ev.Text != "" || about.LogProbs != nil && s.Span == kind {
		s.enter(kind)
		s.logProbs(about.LogProbs)
	}
	if ev.Text == "" && len(about.Citations) == 0 {
		s.sign(kind, about.State)
		return
	}
	s.enter(kind)
	if ev.Text != "" {
		s.W.Piece(kind, ev.Text)
	}
	for _, c := range about.Citations {
		s.W.Cite(c)
	}
	if !about.State.IsZero() {
		s.close(about.State)
	}
}

func (s *BlockStream) thinking(ev llm.ThinkingDelta) {
	kind, about := ThinkingSpan, ev.About()
	if about.Redacted {
		kind = RedactedSpan
	}
	if ev.Text != "" {
		s.known(about.State)
	}
	if len(about.Extra) > 0 {
		s.extra(kind, about.Extra, ev.Text == "" && !about.State.IsZero())
	}
	if ev.Text == "" {
		s.sign(kind, about.State)
		return
	}
	s.enter(kind)
	s.W.Piece(kind, ev.Text)
	if !about.State.IsZero() {
		s.close(about.State)
	}
}

// itemWriter is a blockWriter whose blocks have ids that are said when they
// begin.
type itemWriter interface {
	// named sets the id of the next block and reports whether a relay has begun that block already.
	Named(id, vendor string) (open bool)
	// known sets the id of the next block if the block begins an item.
	Known(id, vendor string)
}

// extraWriter is a blockWriter that has a place for the extra fields of texts and thinking.
type extraWriter interface {
	// extra adds fields to the open block, or else to the next one.
	Extra(kind SpanKind, open bool, x llm.Extra)
}

// extra adds the extra fields of text or thinking and begins its block, unless the block has only state.
func (s *BlockStream) extra(kind SpanKind, x llm.Extra, whole bool) {
	w, ok := s.W.(extraWriter)
	if !ok {
		return
	}
	if s.Span != kind {
		s.close(llm.State{})
	}
	w.Extra(kind, s.Span == kind, x)
	if !whole && kind != RedactedSpan {
		s.enter(kind)
	}
}

// endPart ends the open block and passes on which id the next one has.
func (s *BlockStream) endPart(ev llm.PartEnd) {
	if w, ok := s.W.(itemWriter); ok && ev.Next != "" && w.Named(ev.Next, ev.Vendor) {
		return
	}
	s.close(llm.State{})
}

// known takes the id of a block that comes in one piece from its state.
func (s *BlockStream) known(state llm.State) {
	if w, ok := s.W.(itemWriter); ok && s.Span == NoSpan && !state.IsZero() {
		if id := js.Text(js.Get(state.Data, "id")); id != "" {
			w.Known(id, state.Vendor)
		}
	}
}

// logProbs passes on those of the next piece, where the format has them.
func (s *BlockStream) logProbs(p *llm.LogProbs) {
	if w, ok := s.W.(logProbsWriter); ok && p != nil {
		w.LogProbs(p)
	}
}

// sign closes the open block with its state. If no block is open, the state becomes a separate block.
func (s *BlockStream) sign(kind SpanKind, state llm.State) {
	switch {
	case state.IsZero():
	case s.Span == kind && kind != RedactedSpan:
		s.close(state)
	default:
		s.close(llm.State{})
		s.W.Opaque(kind, state)
	}
}

func (s *BlockStream) start(ev llm.CallStart) {
	s.close(llm.State{})
	s.Call, s.Open, s.bare = ev.ID, true, true
	if s.Begun == nil {
		s.Begun = make(map[string]bool)
	}
	s.Begun[ev.ID] = true
	s.W.BeginCall(ev)
}

// endCall closes the open call and lets the others go on.
func (s *BlockStream) endCall(call *llm.Call) {
	s.W.EndCall(call)
	s.Open = false
	waiting := s.waiting
	s.waiting = nil
	for _, ev := range waiting {
		s.Event(ev)
	}
}

// invalid ends a call that cannot run. Its pieces were written already, as the vendor would send them. A call without a
// start is written as text of the model.
func (s *BlockStream) invalid(ev llm.InvalidCall) {
	switch {
	case s.Open:
		s.endCall(nil)
	case !s.Begun[ev.ID]:
		s.text(llm.TextDelta{Text: ev.Raw})
	}
}

// logProbsWriter is a blockWriter whose format has log probabilities.
type logProbsWriter interface {
	LogProbs(p *llm.LogProbs)
}

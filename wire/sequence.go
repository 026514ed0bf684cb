package wire

import (
	"github.com/toolpost/toolpost/internal/js"
	"github.com/toolpost/toolpost/llm"
)

// blockWriter writes streams in which one block is open at a time.
type blockWriter interface {
	begin(kind spanKind)
	piece(kind spanKind, text string)
	cite(c llm.Citation)
	// end closes a block of text or thinking, signed or not.
	end(kind spanKind, state llm.State)
	// opaque writes a block that is nothing but state.
	opaque(kind spanKind, state llm.State)
	beginCall(start llm.CallStart)
	callPiece(args string)
	// endCall closes the call; nil says that it cannot be run.
	endCall(call *llm.Call)
	media(m llm.Media)
	hostedCall(c llm.Call)
	hostedResult(r llm.Result)
	finish(f llm.Finish)
}

// sequence puts the events of an answer into such a stream: while a call is
// open, everything else waits until it is complete.
type sequence struct {
	w       blockWriter
	span    spanKind
	call    string // id of the open call
	open    bool   // a call is open
	bare    bool   // it began here, and no piece of it has come
	begun   map[string]bool
	waiting []llm.Event
}

func (s *sequence) event(ev llm.Event) {
	if s.open && !s.belongs(ev) {
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
		if s.open {
			s.bare = false
			s.w.callPiece(ev.Args)
		}
	case llm.Call:
		if !s.open && s.begun[ev.ID] {
			return // it was relayed, and is complete
		}
		if !s.open {
			s.close(llm.State{})
			s.known(ev.State)
			s.start(llm.CallStart{ID: ev.ID, Name: ev.Name, Kind: ev.Kind, Extra: ev.Extra})
		}
		if s.bare {
			s.w.callPiece(string(objectOf(ev.Args)))
		}
		s.endCall(&ev)
	case llm.InvalidCall:
		s.invalid(ev)
	default:
		s.other(ev)
	}
}

// other writes the events that are blocks of their own.
func (s *sequence) other(ev llm.Event) {
	switch ev := ev.(type) {
	case llm.Media:
		s.close(llm.State{})
		s.w.media(ev)
	case llm.HostedCall:
		s.close(llm.State{})
		s.w.hostedCall(ev.Call)
	case llm.HostedResult:
		s.close(llm.State{})
		s.w.hostedResult(ev.Result)
	case llm.Finish:
		s.close(llm.State{})
		s.w.finish(ev)
	}
}

// belongs reports whether an event is about the open call.
func (s *sequence) belongs(ev llm.Event) bool {
	switch ev := ev.(type) {
	case llm.CallDelta:
		return ev.ID == s.call
	case llm.Call:
		return ev.ID == s.call
	case llm.InvalidCall:
		return ev.ID == s.call
	}
	return false
}

func (s *sequence) enter(kind spanKind) {
	if s.span == kind {
		return
	}
	s.close(llm.State{})
	s.span = kind
	s.w.begin(kind)
}

func (s *sequence) close(state llm.State) {
	if s.span != noSpan {
		s.w.end(s.span, state)
		s.span = noSpan
	}
}

func (s *sequence) text(ev llm.TextDelta) {
	kind, about := textSpan, ev.About()
	if about.Refusal {
		kind = refusalSpan
	}
	if ev.Text != "" {
		s.known(about.State)
	}
	if len(about.Extra) > 0 {
		s.extra(kind, about.Extra, ev.Text == "" && !about.State.IsZero())
	}
	if ev.Text != "" || about.LogProbs != nil && s.span == kind {
		s.enter(kind)
		s.logProbs(about.LogProbs)
	}
	if ev.Text == "" && len(about.Citations) == 0 {
		s.sign(kind, about.State)
		return
	}
	s.enter(kind)
	if ev.Text != "" {
		s.w.piece(kind, ev.Text)
	}
	for _, c := range about.Citations {
		s.w.cite(c)
	}
	if !about.State.IsZero() {
		s.close(about.State)
	}
}

func (s *sequence) thinking(ev llm.ThinkingDelta) {
	kind, about := thinkingSpan, ev.About()
	if about.Redacted {
		kind = redactedSpan
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
	s.w.piece(kind, ev.Text)
	if !about.State.IsZero() {
		s.close(about.State)
	}
}

// itemWriter is a blockWriter whose blocks have ids that are said when they
// begin.
type itemWriter interface {
	// named says which id the next block has, and reports whether that block is
	// open already: a relay had begun it.
	named(id, vendor string) (open bool)
	// known says which id the next block has if it begins an item.
	known(id, vendor string)
}

// extraWriter is a blockWriter that has a place for the extra fields of texts and thinking.
type extraWriter interface {
	// extra takes those of the block that is open, or of the one that is written next.
	extra(kind spanKind, open bool, x llm.Extra)
}

// extra passes on the extra fields of a text or of thinking, and begins its block, unless that is nothing but its state.
func (s *sequence) extra(kind spanKind, x llm.Extra, whole bool) {
	w, ok := s.w.(extraWriter)
	if !ok {
		return
	}
	if s.span != kind {
		s.close(llm.State{})
	}
	w.extra(kind, s.span == kind, x)
	if !whole && kind != redactedSpan {
		s.enter(kind)
	}
}

// endPart ends the open block and passes on which id the next one has.
func (s *sequence) endPart(ev llm.PartEnd) {
	if w, ok := s.w.(itemWriter); ok && ev.Next != "" && w.named(ev.Next, ev.Vendor) {
		return
	}
	s.close(llm.State{})
}

// known takes the id of a block that comes in one piece from its state.
func (s *sequence) known(state llm.State) {
	if w, ok := s.w.(itemWriter); ok && s.span == noSpan && !state.IsZero() {
		if id := js.Text(js.Get(state.Data, "id")); id != "" {
			w.known(id, state.Vendor)
		}
	}
}

// logProbs passes on those of the next piece, where the format has them.
func (s *sequence) logProbs(p *llm.LogProbs) {
	if w, ok := s.w.(interface{ logProbs(*llm.LogProbs) }); ok && p != nil {
		w.logProbs(p)
	}
}

// sign closes the open block with its state; without one, the state is a
// block of its own.
func (s *sequence) sign(kind spanKind, state llm.State) {
	switch {
	case state.IsZero():
	case s.span == kind && kind != redactedSpan:
		s.close(state)
	default:
		s.close(llm.State{})
		s.w.opaque(kind, state)
	}
}

func (s *sequence) start(ev llm.CallStart) {
	s.close(llm.State{})
	s.call, s.open, s.bare = ev.ID, true, true
	if s.begun == nil {
		s.begun = make(map[string]bool)
	}
	s.begun[ev.ID] = true
	s.w.beginCall(ev)
}

// endCall closes the open call and lets the others go on.
func (s *sequence) endCall(call *llm.Call) {
	s.w.endCall(call)
	s.open = false
	waiting := s.waiting
	s.waiting = nil
	for _, ev := range waiting {
		s.event(ev)
	}
}

// invalid ends a call that cannot be run: its pieces are out already, as the
// vendor would have sent them. One that never began is text the model wrote.
func (s *sequence) invalid(ev llm.InvalidCall) {
	switch {
	case s.open:
		s.endCall(nil)
	case !s.begun[ev.ID]:
		s.text(llm.TextDelta{Text: ev.Raw})
	}
}

package codec

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/toolpost/toolpost/internal/js"
	"github.com/toolpost/toolpost/internal/wire/document"
	"github.com/toolpost/toolpost/internal/wire/turns"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/wire/internal/sse"
)

// Bounds of one answer.
const (
	MaxCalls = 1024
	MaxArgs  = 64 << 20 // bytes of arguments of all calls
)

// Answer reads one answer (a choice of the response) and reports it as events, streamed or not. It corrects
// vendors' mistakes in ids, indexes and finish reasons.
type Answer struct {
	calls

	strings arena
	Probs   *llm.LogProbs // of the next text
	NewPart bool          // the next span is another part, even if it has the same kind
	NextID  string        // the vendor's id of the item that begins with the next piece
	hosted  turns.HostedIDs

	firstAnswer *Answer   // nil in the first answer of a response
	others      []*Answer // the answers after the first, in the first
	blank       bool      // the document has a finish reason that is empty or null
	DoneEnds    bool      // [DONE] ends streams of this format
	PlainStop   bool      // the finish reason for a normal end also ends an answer with calls
	Reported    bool      // the vendor sent an error
	IsArray     bool      // the stream is one JSON array
}

func NewAnswer(c *Host, send func(llm.Event) bool) *Answer {
	a := new(Answer)
	a.Host, a.Send, a.IDs = *c, send, llm.CallIDs{After: c.Calls}
	return a
}

// maxAnswers bounds the answers to one request.
const maxAnswers = 128

// other returns an answer after the first, or nil if there are too many.
func (a *Answer) other(index int) *Answer {
	if index < 1 || index >= maxAnswers || len(a.others) >= maxAnswers {
		a.Refuse(fmt.Errorf("an answer with the index %d; there may be %d", index, maxAnswers))
		return nil
	}
	o := NewAnswer(&a.Host, func(ev llm.Event) bool {
		a.Emit(llm.Alternative{Index: index, Event: ev})
		return !a.Stopped
	})
	o.firstAnswer, o.first = a, &a.calls
	o.Begun, o.PlainStop, o.OneDocument, o.Verbatim = true, a.PlainStop, a.OneDocument, a.Verbatim
	a.others = append(a.others, o)
	return o
}

// over reports whether all answers have said why the model stopped.
func (a *Answer) over() bool {
	for _, o := range a.others {
		if !o.Finished {
			return false
		}
	}
	return a.Finished
}

// EmptyFinish notes the word of a document for why the model stopped, if it is null or empty: some servers write none. The document is
// whole, as a stream is that ends without one.
func (a *Answer) EmptyFinish(word []byte) {
	a.blank = a.OneDocument && (js.Kind(word) == 'n' || js.Is(word, ""))
}

// blankEnds reports whether each answer of a document has a word for why the model stopped, of which some are empty.
func (a *Answer) blankEnds() bool {
	for _, o := range a.others {
		if !o.Finished && !o.blank {
			return false
		}
	}
	return a.Finished || a.blank
}

// Enter prepares for a piece of text of one kind.
func (a *Answer) Enter(kind SpanKind) {
	a.Settle()
	switch {
	case a.NextID != "":
		a.NameNext()
	case a.NewPart && a.Span == kind:
		a.Emit(llm.PartEnd{})
	}
	a.Span, a.NewPart = kind, false
}

// NameNext sends the vendor's id of the next item.
func (a *Answer) NameNext() {
	if a.NextID != "" {
		a.Emit(llm.PartEnd{Next: a.NextID, Vendor: a.Host.Vendor})
		a.NextID = ""
	}
}

// HasValue reports whether a value says something: it is neither null nor "".
func HasValue(v []byte) bool { return len(v) > 0 && v[0] != 'n' && string(v) != `""` }

// Quoted unquotes a JSON string. Short strings share an allocation.
func (a *Answer) Quoted(v []byte) string {
	if !a.Is(v, '"', "a string") || len(v) <= 2 {
		return ""
	}
	a.scratch = js.AppendText(a.scratch[:0], v)
	return a.strings.add(a.scratch)
}

func (a *Answer) Text(s string) {
	if s != "" {
		a.Enter(TextSpan)
		a.Emit(llm.TextDelta{Text: s, Part: a.About()})
	}
}

// AboutText is [Answer.TextExtra] for a text that came in one piece.
func (a *Answer) AboutText(t llm.Text) {
	if t.Text != "" {
		a.TextExtra(llm.Text{Refusal: t.Refusal, Extra: t.Extra})
	}
}

// AboutThinking does the same for thinking, before its state.
func (a *Answer) AboutThinking(t llm.Thinking) {
	if len(t.Extra) > 0 && (t.Text != "" || !t.State.IsZero() || t.Extra[a.Host.Format][References] != nil) {
		kind := ThinkingSpan
		if t.Redacted {
			kind = RedactedSpan
		}
		a.Enter(kind)
		a.Emit(llm.ThinkingDelta{Part: &llm.Thinking{Redacted: t.Redacted, Extra: t.Extra}})
	}
}

// TextExtra adds what only the format knows about the text that was streamed.
func (a *Answer) TextExtra(t llm.Text) {
	if len(t.Extra) > 0 || t.LogProbs != nil {
		a.Emit(llm.TextDelta{Part: &llm.Text{Refusal: t.Refusal, LogProbs: t.LogProbs, Extra: t.Extra}})
	}
}

// refused is the part of every piece of a refusal.
var refused = &llm.Text{Refusal: true}

func (a *Answer) Refusal(s string) {
	if s != "" {
		a.Enter(RefusalSpan)
		part := refused
		if a.Probs != nil {
			part = a.About()
			part.Refusal = true
		}
		a.Emit(llm.TextDelta{Text: s, Part: part})
	}
}

func (a *Answer) Thinking(s string) {
	if s != "" {
		a.Enter(ThinkingSpan)
		a.Emit(llm.ThinkingDelta{Text: s})
	}
}

// ThinkingState signs the preceding thinking, or represents thinking that the vendor does not show.
func (a *Answer) ThinkingState(s llm.State, redacted bool) {
	kind := ThinkingSpan
	if redacted {
		kind = RedactedSpan
	}
	a.Enter(kind)
	a.Emit(llm.ThinkingDelta{Part: &llm.Thinking{Redacted: redacted, State: s}})
	a.Span = NoSpan
}

// TextState signs the preceding text, or is a separate part.
func (a *Answer) TextState(s llm.State) {
	refusal := a.Span == RefusalSpan && !a.NewPart
	if !refusal {
		a.Enter(TextSpan)
	}
	a.Emit(llm.TextDelta{Part: &llm.Text{Refusal: refusal, State: s}})
	a.Span = NoSpan
}

// Part is a block that is not understood, kept at its place.
func (a *Answer) Part(raw []byte) {
	a.NewPart = true
	a.Enter(TextSpan)
	a.Emit(llm.TextDelta{Part: &llm.Text{State: a.State(raw)}})
	a.Span = NoSpan
}

func (a *Answer) Cite(c ...llm.Citation) {
	a.Enter(TextSpan)
	a.Emit(llm.TextDelta{Part: &llm.Text{Citations: c}})
}

func (a *Answer) Media(m llm.Media) {
	a.Settle()
	a.Span = NoSpan
	a.Emit(m)
}

func (a *Answer) HostedCall(c llm.Call) {
	a.Settle()
	a.Span = NoSpan
	c.Hosted = true
	c.ID = a.hosted.Call(c.ID)
	a.Emit(llm.HostedCall{Call: c})
}

func (a *Answer) HostedResult(r llm.Result) {
	a.Settle()
	a.Span = NoSpan
	r.Hosted = true
	r.CallID = a.hosted.Result(r.CallID)
	a.Emit(llm.HostedResult{Result: r})
}

// SetFinish notes why the model stopped, in the vendor's word and in ours.
func (a *Answer) SetFinish(raw string, reasons map[string]llm.Reason) {
	if raw == "" {
		return
	}
	reason, ok := reasons[raw]
	if !ok {
		reason = llm.OtherReason
	}
	a.Finish.Raw, a.Finish.Reason = raw, reason
	a.MarkFinished()
}

// Conclude ends an answer whose vendor said that it is whole.
func (a *Answer) Conclude() {
	for _, o := range a.others {
		o.Conclude()
	}
	for i, p := range a.Calls {
		if !p.Done {
			a.Close(p, i == len(a.Calls)-1)
		}
	}
	a.warnSurrogates()
	a.Finish.Reason = a.reason()
	a.Emit(a.Finish)
}

// reason corrects a finish reason that contradicts the answer. A reason to stop early always stays: a call cut off by
// the limit is not a call.
func (a *Answer) reason() llm.Reason {
	switch r := a.Finish.Reason; {
	case r == llm.Stop && len(a.Calls) > 0:
		if !a.PlainStop {
			a.Warn(llm.Corrected, "finish reason", "the vendor said %q, but the answer holds calls", a.Finish.Raw)
		}
		return llm.ToolCalls
	case r == llm.ToolCalls && len(a.Calls) == 0:
		a.Warn(llm.Corrected, "finish reason", "the vendor said %q, but the answer holds no call", a.Finish.Raw)
		return llm.Stop
	default:
		return r
	}
}

// CutOff ends an answer that was lost: no call that is still open may be run.
func (a *Answer) CutOff() {
	for _, o := range a.others {
		o.CutOff()
	}
	for _, p := range a.Calls {
		if !p.Done {
			a.bad(p, llm.CutOff)
		}
	}
}

// A decoded value needs far more memory than its few bytes in an answer, and decoding one event cannot be interrupted.
// So a document with too many values, such as a megabyte of "{},", is refused before it is decoded. A whole answer may
// have the log probabilities of all its tokens.
const (
	MaxEventValues = 1 << 18
	maxValues      = 1 << 20
)

// Take makes v the document that is read, if it is not too crowded.
func (a *Answer) Take(v []byte, most int) bool {
	a.Body = v
	if a.Surrogates && (!a.Relaying || a.OneDocument) && !a.hasSurrogates { // a relay encodes a document again as a stream
		a.hasSurrogates = js.Halves(v) > 0
	}
	if js.Crowded(v, most) {
		a.Err = fmt.Errorf("a document of more than %d values", most)
	}
	return a.Err == nil
}

// DecodeDocument reads an answer that is one document. Half a document counts as a lost
// connection.
func (a *Answer) DecodeDocument(body []byte) error {
	a.OneDocument = true
	v, ok := a.read(body)
	if ok && a.Take(body, maxValues) {
		a.Host.Impl.DecodeResponse(&a.Decoder, v, a)
	}
	switch {
	case a.Err != nil:
		return a.DecodeFailure()
	case !a.over() && a.blankEnds():
		_ = a.MarkDone()
	case !a.over():
		return a.Host.Fail("Decode", llm.Malformed, errors.New("the answer does not say why it ended"))
	}
	return nil
}

// DecodeWhole is whole for an answer of which nothing follows: it tells its end.
func (a *Answer) DecodeWhole(op string, body []byte) error {
	if err := a.DecodeDocument(body); err != nil {
		a.CutOff()
		return a.Host.WithKind(op, err)
	}
	a.Conclude()
	return nil
}

// WasChanged reports whether the answer is not given as the vendor wrote it.
func (a *Answer) WasChanged() bool {
	for _, o := range a.others {
		if o.Changed {
			return true
		}
	}
	return a.Changed
}

// DecodeFailure is the error of what could not be read. What the vendor said
// was an error keeps its own kind.
func (a *Answer) DecodeFailure() error {
	var vendor *llm.Error
	if errors.As(a.Err, &vendor) {
		return a.Err
	}
	return a.Host.Fail("Decode", llm.Malformed, a.Err)
}

// Fail notes an error that the vendor sent inside its answer.
func (a *Answer) Fail(body []byte) {
	a.Reported = true
	if a.Err == nil {
		a.Err = a.Host.DecodeError(0, nil, body)
	}
}

// ErrNoEnd is what a stream without its finish marker ends with.
var ErrNoEnd = errors.New("the stream ended before the answer did")

// Events reads a stream of server-sent events, or the one document that a
// server sent instead.
func (a *Answer) Events(src io.Reader, chunk func(data []byte) (more bool)) error {
	looked := Peek(src)
	if looked.First == '{' {
		body, err := document.Read(looked)
		if err != nil {
			return a.Ended(err)
		}
		return a.DecodeDocument(body)
	}
	return a.ReadEvents(sse.NewReader(looked), chunk)
}

// Peeked is a reader whose first bytes are known. It buffers only these: most streams are open and silent, and the
// readers above it have buffers.
type Peeked struct {
	io.Reader
	First byte   // that is not white space; 0 if there is none nearby
	seen  []byte // read and not yet served
	err   error  // after the bytes in seen
}

// nearby is how far a look goes.
const nearby = 64

// beforeAll are the bytes that may precede a document: white space and a byte order mark.
var beforeAll = []byte(" \t\r\n\ufeff")

// Peek looks for the first byte of a stream that is not white space.
func Peek(src io.Reader) *Peeked {
	l := &Peeked{Reader: src, seen: make([]byte, 0, nearby)}
	for range nearby {
		before := len(l.seen)
		n, err := src.Read(l.seen[before:nearby])
		l.seen, l.err = l.seen[:before+n], err
		for _, c := range l.seen[before:] {
			if bytes.IndexByte(beforeAll, c) < 0 {
				l.First = c
				return l
			}
		}
		if err != nil || len(l.seen) == nearby {
			break
		}
	}
	return l
}

// Read returns the bytes that Peek read, and then the rest.
func (l *Peeked) Read(p []byte) (int, error) {
	if len(l.seen) > 0 {
		n := copy(p, l.seen)
		if l.seen = l.seen[n:]; len(l.seen) == 0 {
			l.seen = nil
		}
		return n, nil
	}
	if l.err != nil {
		return 0, l.err
	}
	return l.Reader.Read(p)
}

// ReadEvents feeds the data of server-sent events to chunk, which reports
// whether more may come. It returns nil when the answer is whole.
func (a *Answer) ReadEvents(src *sse.Reader, chunk func(data []byte) (more bool)) error {
	a.Gap = "\n\n"
	for !a.Stopped {
		_, data, err := src.Next()
		if err != nil {
			return a.Ended(err)
		}
		a.Next(src.Offset())
		if len(data) == 0 {
			a.KeepAlive()
			continue
		}
		if bytes.Equal(js.Trim(data), []byte("[DONE]")) {
			return a.doneMarker()
		}
		if !a.Valid(data) {
			return a.Broken(data, src.Cut())
		}
		more := a.Take(data, MaxEventValues) && chunk(js.Trim(data))
		if a.Err != nil {
			return a.DecodeFailure()
		}
		if !more {
			return nil
		}
	}
	return nil
}

// Ended judges the end of the bytes: once the finish marker is there, nothing
// is missing.
func (a *Answer) Ended(err error) error {
	a.Next(a.Frame.end)
	switch {
	case a.over():
		return nil
	case errors.Is(err, document.ErrTooLong):
		return err
	case errors.Is(err, sse.ErrTooLong):
		return a.Host.Fail("DecodeStream", llm.Malformed, err)
	case sse.IsEnd(err):
		return ErrNoEnd
	}
	return fmt.Errorf("%w: %w", ErrNoEnd, err)
}

// doneMarker handles [DONE]. In a format with another end marker it only ends the bytes. Before the first chunk there
// is nothing to end.
func (a *Answer) doneMarker() error {
	if a.over() || a.DoneEnds && a.Begun {
		return a.MarkDone()
	}
	return ErrNoEnd
}

// MarkDone notes that the server called the stream complete, even if it never said
// why the model stopped.
func (a *Answer) MarkDone() error {
	for _, o := range a.others {
		_ = o.MarkDone()
	}
	if a.Finished {
		return nil
	}
	a.Finish.Reason = llm.Stop
	if len(a.Calls) > 0 {
		a.Finish.Reason = llm.ToolCalls
	}
	a.MarkFinished()
	what := "stream"
	if a.OneDocument {
		what = "answer"
	}
	a.correct("finish reason", "the %s ended without a finish reason; %s is given", what, a.Finish.Reason)
	return nil
}

// Broken judges an event that is not JSON: at the very end it was cut off.
func (a *Answer) Broken(data []byte, cut error) error {
	switch {
	case sse.IsEnd(cut):
		return ErrNoEnd
	case cut != nil:
		return fmt.Errorf("%w: %w", ErrNoEnd, cut)
	}
	return a.Host.Fail("DecodeStream", llm.Malformed, fmt.Errorf("an event is not JSON: %.200q", data))
}

// arena cuts strings from larger ones, to save an allocation for each small piece of a stream.
type arena struct{ b strings.Builder }

func (s *arena) add(p []byte) string {
	if len(p) > arenaSize/4 {
		return string(p)
	}
	if s.b.Cap()-s.b.Len() < len(p) {
		size := min(max(2*s.b.Cap(), arenaSize/8), arenaSize) // a silent stream needs little
		s.b = strings.Builder{}
		s.b.Grow(max(size, len(p)))
	}
	n := s.b.Len()
	s.b.Write(p)
	return s.b.String()[n:]
}

const arenaSize = 2048

// AddPart sends a block that arrived in one piece.
func (a *Answer) AddPart(p llm.Part) {
	switch p := p.(type) {
	case llm.Text:
		a.NewPart = true
		a.TextPart(p)
		if len(p.Citations) > 0 {
			a.Cite(p.Citations...)
		}
	case llm.Thinking:
		a.NewPart = true
		a.Thinking(p.Text)
		a.AboutThinking(p)
		if !p.State.IsZero() {
			a.NewPart = false
			a.ThinkingState(p.State, p.Redacted)
		}
	case llm.Media:
		a.Media(p)
	case llm.Call:
		if p.Hosted {
			a.HostedCall(p)
		} else {
			a.Call(p)
		}
	case llm.Result:
		a.HostedResult(p)
	}
}

// OtherStream returns the stream of the answer with an index after the first,
// which begin makes when its first piece comes; nil if there are too many.
func OtherStream[S any](streams *map[int]*S, first *Answer, index int, begin func(*Answer) *S) *S {
	if o := (*streams)[index]; o != nil {
		return o
	}
	a := first.other(index)
	if a == nil {
		return nil
	}
	if *streams == nil {
		*streams = make(map[int]*S)
	}
	o := begin(a)
	(*streams)[index] = o
	return o
}

// Same reads a string that every chunk repeats.
func (a *Answer) Same(old *string, v []byte) {
	if len(v) > 2 && !js.Is(v, *old) {
		*old = a.Str(v)
	}
}

// TextPart sends a whole part.
func (a *Answer) TextPart(t llm.Text) {
	switch {
	case !t.State.IsZero():
		a.Part(t.State.Data)
	case t.Refusal:
		a.Refusal(t.Text)
	default:
		a.Text(t.Text)
	}
	if t.State.IsZero() {
		a.AboutText(t)
	}
}

// References keeps the parts of thinking that are not text: Mistral's name the documents to which a thought refers.
const References = "references"

// About returns the metadata of the next piece of text, and nil if there are none.
func (a *Answer) About() *llm.Text {
	if a.Probs == nil {
		return nil
	}
	t := &llm.Text{LogProbs: a.Probs}
	a.Probs = nil
	return t
}

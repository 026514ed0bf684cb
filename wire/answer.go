package wire

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"strconv"
	"strings"
	"time"

	"github.com/toolpost/toolpost/internal/js"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/wire/internal/sse"
)

// Bounds of one answer.
const (
	maxCalls = 1024
	maxArgs  = 64 << 20 // bytes of arguments of all calls
)

// MaxDocument bounds an answer that is one document, in bytes. Nothing of such
// an answer is known before it is whole, and its reading cannot be interrupted,
// so it may be less than a stream may be in all. An image has its place in it.
const MaxDocument = 64 << 20

var errLongDocument = fmt.Errorf("a document of more than %d bytes", MaxDocument)

// ReadDocument reads an answer that is one document, and no more than
// [MaxDocument] bytes of it. One that is longer is an error of kind
// [llm.ByteLimit].
func ReadDocument(src io.Reader) ([]byte, error) {
	body, err := io.ReadAll(io.LimitReader(src, MaxDocument+1))
	if err == nil && len(body) > MaxDocument {
		return nil, &llm.Error{Op: "wire.ReadDocument", Kind: llm.ByteLimit, Err: errLongDocument}
	}
	return body, err
}

// spanKind is the kind of the text that is being written.
type spanKind uint8

const (
	noSpan spanKind = iota
	textSpan
	refusalSpan
	thinkingSpan
	redactedSpan
)

// answer turns what a codec reads into events, streamed or not. It corrects
// what vendors get wrong: ids, indexes and finish reasons of calls.
type answer struct {
	decoder
	send    func(llm.Event) bool
	stopped bool // the caller listens no more

	strings arena
	scratch []byte
	probs   *llm.LogProbs // of the next text
	span    spanKind
	apart   bool   // the next span is another part, even if of the same kind
	nextID  string // the vendor's id of the item that begins with the next piece

	calls   []*pending
	held    int  // calls not yet sent
	asSent  bool // arguments of calls leave as they come and are not repaired
	indexed bool // calls have an index and an id
	ofOld   bool // calls have no id, by the rules of their format
	// inPieces says that a piece of a call may hold some of its name, or none.
	inPieces bool
	adds     bool // the piece that is being read has arguments
	hosted   hostedIDs
	ids      llm.CallIDs
	size     int
	opening  llm.Extra // of the call that begins next
	strayed  []stray   // members of events that nobody reads

	// Where the answer is in its stream, for a relay.
	relaying bool
	place    placer  // nil unless relaying
	frame    stretch // that is being read
	ending   int64   // start of the frame that said why the model stopped
	gap      string  // between frames, where the stream leaves it out at its end
	late     bool    // what is sent was said by the frames since from
	from     int64
	reported bool   // the vendor sent an error
	unnamed  int    // calls of all answers whose start waits for the rest of their name
	await    func() // has a relay keep the present frame until none does; nil without one
	changed  bool   // its events are no longer what the vendor's bytes say
	list     bool   // the stream is one JSON array

	// others are the answers after the first; first is the first of an other.
	others []*answer
	first  *answer

	begun    bool      // the llm.Start was sent
	halves   bool      // a document had halves of surrogate pairs
	replaced bool      // U+FFFD was told in the place of one
	created  time.Time // what the vendor says about when the answer began

	finish   llm.Finish
	finished bool // the vendor said why the model stopped
	blank    bool // the vendor's word for that is there, in a document, and empty
	doneEnds bool // [DONE] is the format's own word for the end of a stream
	// plainStop says that the vendor's word for an ordinary end also ends an
	// answer with calls.
	plainStop bool
}

func newAnswer(c *host, send func(llm.Event) bool) *answer {
	return &answer{decoder: decoder{c: *c}, send: send, ids: llm.CallIDs{After: c.Calls}}
}

// emit sends an event, after the llm.Start.
func (a *answer) emit(ev llm.Event) {
	if !a.begun {
		a.begin()
	}
	if a.halves { // the other answers are sent by the first
		a.sawHalves(ev)
	}
	a.pass(ev)
}

// keepAlive passes on a sign that the vendor is still at work. It is not part
// of the answer and may come before it.
func (a *answer) keepAlive() { a.pass(llm.KeepAlive{}) }

func (a *answer) pass(ev llm.Event) {
	if !a.stopped && !a.send(ev) {
		a.stopped = true
	}
}

func (a *answer) warn(code llm.WarningCode, feature, format string, args ...any) {
	a.emit(llm.Warning{Code: code, Feature: feature, Detail: fmt.Sprintf(format, args...)})
}

// begin sends what is known about the answer before its first piece, once. A
// codec calls it when it has read the head of an answer.
func (a *answer) begin() {
	if a.begun {
		return
	}
	a.begun = true
	s := llm.Start{ID: a.finish.ID, Model: a.finish.Model, Created: a.created}
	if !a.entire {
		s.Usage = a.finish.Usage
		s.Usage.Hosted = maps.Clone(s.Usage.Hosted)
	}
	a.emit(s)
}

// seconds reads a time that is a number of seconds since 1970, and reports
// whether v is one.
func (a *answer) seconds(v []byte) bool {
	n, ok := js.Int(v)
	if ok && n > 0 && a.created.IsZero() {
		a.created = time.Unix(n, 0).UTC()
	}
	return ok && n > 0 && a.created.Unix() == n
}

// moment reads a time as RFC 3339 writes it. For anything else it returns the
// zero time.
func (a *answer) moment(v []byte) {
	if !a.created.IsZero() || js.Kind(v) != '"' {
		return
	}
	if t, err := time.Parse(time.RFC3339Nano, js.Text(v)); err == nil {
		a.created = t
	}
}

// keepField keeps a field of an answer that only this format knows. A stream may say
// it more than once: what it said before is an event of its own.
func (a *answer) keepField(key string, v []byte) {
	old := a.finish.Extra[a.c.Format][key]
	if js.Kind(v) == 'n' || bytes.Equal(old, v) {
		return
	}
	if old != nil && !a.entire {
		a.emit(llm.UnknownEvent{Format: a.c.Format, Type: key, Raw: old})
	}
	a.extraNamed(&a.finish.Extra, key, v)
}

// unknown passes on an event of a type that nobody knows.
func (a *answer) unknown(typ string, v []byte) {
	a.emit(llm.UnknownEvent{Format: a.c.Format, Type: typ, Raw: a.raw(v)})
}

// maxAnswers bounds the answers to one request.
const maxAnswers = 128

// other returns an answer after the first, or nil if there are too many.
func (a *answer) other(index int) *answer {
	if index < 1 || index >= maxAnswers || len(a.others) >= maxAnswers {
		a.refuse(fmt.Errorf("an answer with the index %d; there may be %d", index, maxAnswers))
		return nil
	}
	o := newAnswer(&a.c, func(ev llm.Event) bool {
		a.emit(llm.Alternative{Index: index, Event: ev})
		return !a.stopped
	})
	o.first, o.begun, o.plainStop, o.entire, o.asSent = a, true, a.plainStop, a.entire, a.asSent
	a.others = append(a.others, o)
	return o
}

// over reports whether all answers have said why the model stopped.
func (a *answer) over() bool {
	for _, o := range a.others {
		if !o.finished {
			return false
		}
	}
	return a.finished
}

// wordless notes the word of a document for why the model stopped, if it is null or empty: some servers write none. The document is
// whole, as a stream is that ends without one.
func (a *answer) wordless(word []byte) {
	a.blank = a.entire && (js.Kind(word) == 'n' || js.Is(word, ""))
}

// blankEnds reports whether each answer of a document has a word for why the model stopped, of which some are empty.
func (a *answer) blankEnds() bool {
	for _, o := range a.others {
		if !o.finished && !o.blank {
			return false
		}
	}
	return a.finished || a.blank
}

// enter prepares for a piece of text of one kind.
func (a *answer) enter(kind spanKind) {
	a.settle()
	switch {
	case a.nextID != "":
		a.named()
	case a.apart && a.span == kind:
		a.emit(llm.PartEnd{})
	}
	a.span, a.apart = kind, false
}

// named says which id the vendor gave what comes next.
func (a *answer) named() {
	if a.nextID != "" {
		a.emit(llm.PartEnd{Next: a.nextID, Vendor: a.c.Vendor})
		a.nextID = ""
	}
}

// says reports whether a value says something: it is neither null nor "".
func says(v []byte) bool { return len(v) > 0 && v[0] != 'n' && string(v) != `""` }

// quoted unquotes a JSON string without an allocation of its own.
func (a *answer) quoted(v []byte) string {
	if !a.is(v, '"', "a string") || len(v) <= 2 {
		return ""
	}
	a.scratch = js.AppendText(a.scratch[:0], v)
	return a.strings.add(a.scratch)
}

func (a *answer) text(s string) {
	if s != "" {
		a.enter(textSpan)
		a.emit(llm.TextDelta{Text: s, Part: a.about()})
	}
}

// aboutText is textExtra for a text that came in one piece.
func (a *answer) aboutText(t llm.Text) {
	if t.Text != "" {
		a.textExtra(llm.Text{Refusal: t.Refusal, Extra: t.Extra})
	}
}

// aboutThinking does the same for thinking, before its state.
func (a *answer) aboutThinking(t llm.Thinking) {
	if len(t.Extra) > 0 && (t.Text != "" || !t.State.IsZero() || t.Extra[a.c.Format][references] != nil) {
		kind := thinkingSpan
		if t.Redacted {
			kind = redactedSpan
		}
		a.enter(kind)
		a.emit(llm.ThinkingDelta{Part: &llm.Thinking{Redacted: t.Redacted, Extra: t.Extra}})
	}
}

// textExtra adds what only the format knows about the text that was streamed.
func (a *answer) textExtra(t llm.Text) {
	if len(t.Extra) > 0 || t.LogProbs != nil {
		a.emit(llm.TextDelta{Part: &llm.Text{Refusal: t.Refusal, LogProbs: t.LogProbs, Extra: t.Extra}})
	}
}

// refused is the part of every piece of a refusal.
var refused = &llm.Text{Refusal: true}

func (a *answer) refusal(s string) {
	if s != "" {
		a.enter(refusalSpan)
		part := refused
		if a.probs != nil {
			part = a.about()
			part.Refusal = true
		}
		a.emit(llm.TextDelta{Text: s, Part: part})
	}
}

func (a *answer) thinking(s string) {
	if s != "" {
		a.enter(thinkingSpan)
		a.emit(llm.ThinkingDelta{Text: s})
	}
}

// thinkingState signs the thinking that was written, or stands for thinking
// that the vendor does not show.
func (a *answer) thinkingState(s llm.State, redacted bool) {
	kind := thinkingSpan
	if redacted {
		kind = redactedSpan
	}
	a.enter(kind)
	a.emit(llm.ThinkingDelta{Part: &llm.Thinking{Redacted: redacted, State: s}})
	a.span = noSpan
}

// textState signs the text that was written, or is a part of its own.
func (a *answer) textState(s llm.State) {
	refusal := a.span == refusalSpan && !a.apart
	if !refusal {
		a.enter(textSpan)
	}
	a.emit(llm.TextDelta{Part: &llm.Text{Refusal: refusal, State: s}})
	a.span = noSpan
}

// part is a block that is not understood, kept at its place.
func (a *answer) part(raw []byte) {
	a.apart = true
	a.enter(textSpan)
	a.emit(llm.TextDelta{Part: &llm.Text{State: a.state(raw)}})
	a.span = noSpan
}

func (a *answer) cite(c ...llm.Citation) {
	a.enter(textSpan)
	a.emit(llm.TextDelta{Part: &llm.Text{Citations: c}})
}

func (a *answer) media(m llm.Media) {
	a.settle()
	a.span = noSpan
	a.emit(m)
}

func (a *answer) hostedCall(c llm.Call) {
	a.settle()
	a.span = noSpan
	c.Hosted = true
	c.ID = a.hosted.call(c.ID)
	a.emit(llm.HostedCall{Call: c})
}

func (a *answer) hostedResult(r llm.Result) {
	a.settle()
	a.span = noSpan
	r.Hosted = true
	r.CallID = a.hosted.result(r.CallID)
	a.emit(llm.HostedResult{Result: r})
}

// hostedIDs gives ids to hosted calls without one, and to their results, which
// follow them.
type hostedIDs struct{ n int }

func (h *hostedIDs) call(id string) string {
	h.n++
	if id == "" {
		return h.last()
	}
	return id
}

func (h *hostedIDs) result(id string) string {
	if id == "" {
		return h.last()
	}
	return id
}

func (h *hostedIDs) last() string { return "hosted_" + strconv.Itoa(h.n) }

// stop notes why the model stopped, in the vendor's word and in ours.
func (a *answer) stop(raw string, reasons map[string]llm.Reason) {
	if raw == "" {
		return
	}
	reason, ok := reasons[raw]
	if !ok {
		reason = llm.OtherReason
	}
	a.finish.Raw, a.finish.Reason = raw, reason
	a.end()
}

// conclude ends an answer whose vendor said that it is whole.
func (a *answer) conclude() {
	for _, o := range a.others {
		o.conclude()
	}
	for i, p := range a.calls {
		if !p.done {
			a.close(p, i == len(a.calls)-1)
		}
	}
	a.warnHalves()
	a.finish.Reason = a.reason()
	a.emit(a.finish)
}

// reason corrects a finish reason that contradicts the answer. The reason to
// stop early always stands: a call cut by the limit is no call.
func (a *answer) reason() llm.Reason {
	switch r := a.finish.Reason; {
	case r == llm.Stop && len(a.calls) > 0:
		if !a.plainStop {
			a.warn(llm.Corrected, "finish reason", "the vendor said %q, but the answer holds calls", a.finish.Raw)
		}
		return llm.ToolCalls
	case r == llm.ToolCalls && len(a.calls) == 0:
		a.warn(llm.Corrected, "finish reason", "the vendor said %q, but the answer holds no call", a.finish.Raw)
		return llm.Stop
	default:
		return r
	}
}

// cut ends an answer that was lost: no call that is still open may be run.
func (a *answer) cut() {
	for _, o := range a.others {
		o.cut()
	}
	for _, p := range a.calls {
		if !p.done {
			a.bad(p, llm.CutOff)
		}
	}
}

// What is made of a value takes far more memory than the few bytes it may take
// in an answer, and nobody can interrupt the reading of one event: a megabyte of
// "{}," is refused before it is read. A whole answer may have the likelihoods of
// all its tokens.
const (
	maxEventValues = 1 << 18
	maxValues      = 1 << 20
)

// take makes v the document that is read, if it is not too crowded.
func (a *answer) take(v []byte, most int) bool {
	a.body = v
	if a.surrogates && (!a.relaying || a.entire) && !a.halves { // a relay writes one document instead of a stream anew
		a.halves = js.Halves(v) > 0
	}
	if js.Crowded(v, most) {
		a.err = fmt.Errorf("a document of more than %d values", most)
	}
	return a.err == nil
}

// whole reads an answer that is one document. Half a document counts as a lost
// connection.
func (a *answer) whole(body []byte) error {
	a.entire = true
	v, ok := a.read(body)
	if ok && a.take(body, maxValues) {
		a.c.impl.decodeResponse(&a.decoder, v, a)
	}
	switch {
	case a.err != nil:
		return a.decodeFailure()
	case !a.over() && a.blankEnds():
		_ = a.done()
	case !a.over():
		return a.c.fail("Decode", llm.Malformed, errors.New("the answer does not say why it ended"))
	}
	return nil
}

// document is whole for an answer of which nothing follows: it tells its end.
func (a *answer) document(op string, body []byte) error {
	if err := a.whole(body); err != nil {
		a.cut()
		return a.c.withKind(op, err)
	}
	a.conclude()
	return nil
}

// mended reports whether the answer is not given as the vendor wrote it.
func (a *answer) mended() bool {
	for _, o := range a.others {
		if o.changed {
			return true
		}
	}
	return a.changed
}

// decodeFailure is the error of what could not be read. What the vendor said
// was an error keeps its own kind.
func (a *answer) decodeFailure() error {
	var vendor *llm.Error
	if errors.As(a.err, &vendor) {
		return a.err
	}
	return a.c.fail("Decode", llm.Malformed, a.err)
}

// correct warns that a part of the answer is not given as the vendor wrote it. A relay writes it anew.
func (a *answer) correct(feature, format string, args ...any) {
	a.changed = true
	a.warn(llm.Corrected, feature, format, args...)
}

// fail notes an error that the vendor sent inside its answer.
func (a *answer) fail(body []byte) {
	a.reported = true
	if a.err == nil {
		a.err = a.c.decodeError(0, nil, body)
	}
}

// errNoEnd is what a stream without its finish marker ends with.
var errNoEnd = errors.New("the stream ended before the answer did")

// events reads a stream of server-sent events, or the one document that a
// server sent instead.
func (a *answer) events(src io.Reader, chunk func(data []byte) (more bool)) error {
	looked := lookAt(src)
	if looked.first == '{' {
		body, err := ReadDocument(looked)
		if err != nil {
			return a.ended(err)
		}
		return a.whole(body)
	}
	return a.readEvents(sse.NewReader(looked), chunk)
}

// looked is a reader whose beginning is known. It keeps nothing but that: most streams are open
// and silent, and those who read from it have buffers of their own.
type looked struct {
	io.Reader
	first byte   // that is not white space; 0 if there is none nearby
	seen  []byte // read and not yet served
	err   error  // behind what was seen
}

// nearby is how far a look goes.
const nearby = 64

// beforeAll are the bytes that may stand before a document: white space, and a mark of the order of
// bytes.
var beforeAll = []byte(" \t\r\n\ufeff")

// lookAt looks for the first byte of a stream that is not white space.
func lookAt(src io.Reader) *looked {
	l := &looked{Reader: src, seen: make([]byte, 0, nearby)}
	for range nearby {
		before := len(l.seen)
		n, err := src.Read(l.seen[before:nearby])
		l.seen, l.err = l.seen[:before+n], err
		for _, c := range l.seen[before:] {
			if bytes.IndexByte(beforeAll, c) < 0 {
				l.first = c
				return l
			}
		}
		if err != nil || len(l.seen) == nearby {
			break
		}
	}
	return l
}

// Read serves what was seen, and then the rest.
func (l *looked) Read(p []byte) (int, error) {
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

// readEvents feeds the data of server-sent events to chunk, which reports
// whether more may come. It returns nil when the answer is whole.
func (a *answer) readEvents(src *sse.Reader, chunk func(data []byte) (more bool)) error {
	a.gap = "\n\n"
	for !a.stopped {
		_, data, err := src.Next()
		if err != nil {
			return a.ended(err)
		}
		a.next(src.Offset())
		if len(data) == 0 {
			a.keepAlive()
			continue
		}
		if bytes.Equal(js.Trim(data), []byte("[DONE]")) {
			return a.doneMarker()
		}
		if !a.valid(data) {
			return a.broken(data, src.Cut())
		}
		more := a.take(data, maxEventValues) && chunk(js.Trim(data))
		if a.err != nil {
			return a.decodeFailure()
		}
		if !more {
			return nil
		}
	}
	return nil
}

// ended judges the end of the bytes: once the finish marker is there, nothing
// is missing.
func (a *answer) ended(err error) error {
	a.next(a.frame.end)
	switch {
	case a.over():
		return nil
	case errors.Is(err, errLongDocument):
		return err
	case errors.Is(err, sse.ErrTooLong):
		return a.c.fail("DecodeStream", llm.Malformed, err)
	case sse.IsEnd(err):
		return errNoEnd
	}
	return fmt.Errorf("%w: %w", errNoEnd, err)
}

// doneMarker judges a [DONE]. In a format that has another marker it only ends
// the bytes, and before the first chunk there is no answer that it could end.
func (a *answer) doneMarker() error {
	if a.over() || a.doneEnds && a.begun {
		return a.done()
	}
	return errNoEnd
}

// done notes that the server called the stream complete, even if it never said
// why the model stopped.
func (a *answer) done() error {
	for _, o := range a.others {
		_ = o.done()
	}
	if a.finished {
		return nil
	}
	a.finish.Reason = llm.Stop
	if len(a.calls) > 0 {
		a.finish.Reason = llm.ToolCalls
	}
	a.end()
	what := "stream"
	if a.entire {
		what = "answer"
	}
	a.correct("finish reason", "the %s ended without a finish reason; %s is given", what, a.finish.Reason)
	return nil
}

// broken judges an event that is not JSON: at the very end it was cut off.
func (a *answer) broken(data []byte, cut error) error {
	switch {
	case sse.IsEnd(cut):
		return errNoEnd
	case cut != nil:
		return fmt.Errorf("%w: %w", errNoEnd, cut)
	}
	return a.c.fail("DecodeStream", llm.Malformed, fmt.Errorf("an event is not JSON: %.200q", data))
}

// arena hands out strings cut from larger ones, so that a stream of small
// pieces does not cost an allocation each.
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

// wholePart sends a block that arrived in one piece.
func (a *answer) wholePart(p llm.Part) {
	switch p := p.(type) {
	case llm.Text:
		a.apart = true
		a.textPart(p)
		if len(p.Citations) > 0 {
			a.cite(p.Citations...)
		}
	case llm.Thinking:
		a.apart = true
		a.thinking(p.Text)
		a.aboutThinking(p)
		if !p.State.IsZero() {
			a.apart = false
			a.thinkingState(p.State, p.Redacted)
		}
	case llm.Media:
		a.media(p)
	case llm.Call:
		if p.Hosted {
			a.hostedCall(p)
		} else {
			a.call(p)
		}
	case llm.Result:
		a.hostedResult(p)
	}
}

// otherStream returns the stream of the answer with an index after the first,
// which begin makes when its first piece comes; nil if there are too many.
func otherStream[S any](streams *map[int]*S, first *answer, index int, begin func(*answer) *S) *S {
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

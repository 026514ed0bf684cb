package form

import (
	"encoding/json"
	"math"

	"github.com/toolpost/toolpost/dialect/internal/chars"
	"github.com/toolpost/toolpost/dialect/internal/engine"
	"github.com/toolpost/toolpost/dialect/internal/offered"
	"github.com/toolpost/toolpost/dialect/internal/scan"
	"github.com/toolpost/toolpost/dialect/internal/values"
	"github.com/toolpost/toolpost/dialect/spec"
	"github.com/toolpost/toolpost/internal/clip"
	"github.com/toolpost/toolpost/internal/jsonfix"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/schema"
)

// arguments reads the arguments of the call: an object, or a string that holds an object.
func (m valueReader) arguments() {
	m.Call.Whole = true
	switch c := m.Peek(0); {
	case c == '{':
		m.asJson().unwrapped()
	case chars.IsQuote(c):
		m.asJson().quotedArguments()
	default:
		start := m.Offset()
		v, ok := m.buffered()
		if args, rule := values.ListedArguments(v); ok && args != nil {
			m.Arg(string(args))
			m.Repair(rule, llm.Guess, start, m.Offset())
			return
		}
		if ok && string(v) != "null" {
			m.Arg(string(v))
			m.BadArgs("the arguments are %s, not an object", clip.Bytes(string(v), 40))
		}
		if !ok && m.Offset() != start {
			m.BadArgs("the arguments are no JSON object")
		} else if !ok {
			if c := m.Peek(0); (c != '}' && c != ',' || m.Shape() != nil && !offered.RequiresNothing(m.Shape())) && !m.Closer(0) && m.More() {
				m.BadArgs("the arguments are no JSON object")
			}
			m.skipUnreadable()
		}
	}
}

// stream reads a JSON value into the arguments as it arrives.
func (m valueReader) stream() { m.streamOf("") }

// streamOf is stream for the value of the parameter key. An empty key means all arguments.
func (m valueReader) streamOf(key string) {
	r := jsonfix.NewReader(jsonfix.Options{Base: m.Offset(), MaxBytes: m.MaxCall(), Patient: true})
	if m.Call.Element != "" {
		r.Stops = []string{"</" + m.Call.Element + ">"}
	}
	if m.Call.Known && len(m.Call.Args) == 0 {
		r.Types = m
	} else if m.Call.Known && key != "" {
		r.Types = typesAt{m, []string{key}}
	}
	taken := 0
	take := func() {
		v := r.Value()
		m.ArgBytes(v[taken:])
		taken = len(v)
	}
	if len(m.Call.Args) == 0 { // the value is the whole arguments, so no copy is needed
		take = func() {
			m.Call.Args = r.Value()
			m.Call.Looked, m.Call.Repeats = len(m.Call.Args), r.RepeatsKey()
			m.CheckArgs()
		}
	}
	m.finishValue(r, m.feed(r, engine.ArgsSpan, take), take)
}

// WantsText implements [jsonfix.Types] for the arguments of the call.
func (m valueReader) WantsText(path []string) bool {
	shape := offered.ShapeAt(m.Shape(), path)
	return shape != nil && offered.KindsOf(shape.Types(), true).WantsText()
}

// NotANumber implements [jsonfix.Types] for the arguments of the call.
func (m valueReader) NotANumber(path []string, word string) llm.RepairClass {
	shape := offered.ShapeAt(m.Shape(), path)
	switch {
	case shape == nil:
		return llm.Guess
	case shape.Types()&schema.Null != 0:
		return llm.Coercion
	}
	m.BadArgs(notANumber, word)
	return llm.Guess
}

// typesAt is [jsonfix.Types] for the value of one parameter of the call.
type typesAt struct {
	m   valueReader
	key []string
}

func (t typesAt) at(path []string) []string { return append(t.key[:1:1], path...) }

// WantsText implements [jsonfix.Types].
func (t typesAt) WantsText(path []string) bool { return t.m.WantsText(t.at(path)) }

// NotANumber implements [jsonfix.Types].
func (t typesAt) NotANumber(path []string, word string) llm.RepairClass {
	return t.m.NotANumber(t.at(path), word)
}

// Markdown implements [jsonfix.Types]. A list or an object in a Python call keeps its
// backslashes.
func (t typesAt) Markdown([]byte, byte) bool { return false }

// Markdown implements [jsonfix.Types] for the arguments of the call.
func (m valueReader) Markdown(value []byte, c byte) bool { return m.Call.Escapes.Drop(value, c) }

// notANumber is the problem of a word like NaN as a value.
const notANumber = "%s has no form in JSON, and the tool does not take null in its place"

// finishValue completes a value. If its end is missing (ended is false), the call was cut off or the end is repaired.
func (m valueReader) finishValue(r *jsonfix.Reader, ended bool, take func()) {
	if !ended && r.Err() == nil {
		if !m.More() && m.Truncated() {
			take()
			m.CutCall()
			return
		}
		m.endToken(r)
		if err := r.Close(); err != nil {
			m.BadArgs("%v", err)
		}
		take()
	}
	if err := r.Err(); err != nil {
		m.BadArgs("%v", err)
		m.skipUnreadable()
	}
	m.noteRepairs(r.Repairs())
}

// noteRepairs adds the repairs of a JSON value. Python literals such as True, (1, 2) and 'a' are normal in Python calls
// and need no repair.
func (m valueReader) noteRepairs(edits []llm.Repair) {
	python := m.Row().Form == spec.PyCall
	for _, e := range edits {
		if python && e.Class == llm.Syntax && (e.Rule == "literal" || e.Rule == "tuple" || e.Rule == "quotes" || e.Rule == "trailing-comma") {
			continue
		}
		m.Call.Repairs = append(m.Call.Repairs, e)
	}
}

// feed reads a JSON value of the given kind with r and reports whether it reached the end of the value. It stops at a
// marker that cannot be inside the value, at the end of the answer, and at the limit of a guess.
func (m valueReader) feed(r *jsonfix.Reader, kind engine.SpanKind, take func()) bool {
	f := m.newFeeder()
	f.r, f.take, f.kind, f.held, f.limit = r, take, kind, 0, math.MaxInt
	if m.Undecided && !m.Marked {
		f.limit = m.Offset() + scan.MaxGuess
	}
	for f.wants() && m.Flows(f.held, f.flow) {
		if f.all() {
			continue
		}
		if !f.wants() || f.heldQuote() && f.settle() || (!r.InString() || f.heldQuote()) && m.Closer(f.held) && !f.inKey() {
			break
		}
		f.feed(1)
	}
	if !r.Done() && r.Err() == nil && !f.settle() {
		m.Read(f.kind, f.held, "json")
	}
	f.r, f.take = nil, nil
	m.feeders = append(m.feeders, f)
	return r.Done()
}

// newFeeder returns an unused feeder.
func (m valueReader) newFeeder() *feeder {
	if n := len(m.feeders); n > 0 {
		f := m.feeders[n-1]
		m.feeders = m.feeders[:n-1]
		return f
	}
	f := &feeder{m: m.answer}
	f.flow = f.all
	return f
}

// feeder feeds a JSON value to its reader.
type feeder struct {
	m     *answer
	flow  func() bool // the method all
	r     *jsonfix.Reader
	take  func() // called after r has read bytes
	kind  engine.SpanKind
	held  int // bytes that r has seen but may not accept
	limit int // the offset at which a guess fails
}

// maxFeed bounds the bytes fed at once, which is the cost of a value that fails after a few bytes.
const maxFeed = 4 << 10

// wants reports whether the value may continue.
func (f *feeder) wants() bool {
	return !f.r.Done() && f.r.Err() == nil && f.m.Offset()+f.held < f.limit
}

// heldQuote reports whether r holds a quote that may end a string.
func (f *feeder) heldQuote() bool { return f.held > 0 && f.m.Buf[f.m.Pos] == '"' }

// inKey reports whether the marker after the held bytes is itself a JSON string, with a quote on both sides. The first
// of these quotes and the quote that ended the previous string are held.
func (f *feeder) inKey() bool {
	m := f.m
	if f.held < 2 || m.Buf[m.Pos+f.held-1] != '"' {
		return false
	}
	_, n := m.Match(f.held)
	return m.Peek(f.held+n) == '"'
}

// settle ends a value that is complete if no further quote follows. It reports whether the value has ended.
func (f *feeder) settle() bool {
	if f.r.Settle(); !f.r.Done() {
		return false
	}
	f.m.Read(f.kind, f.held-f.r.Unread(), "json")
	f.take()
	return true
}

// all feeds the buffer up to a byte that may begin a marker. It reports whether it fed all of it and the value may
// continue.
func (f *feeder) all() bool {
	m := f.m
	for f.wants() {
		rest := m.Buf[m.Pos+f.held:]
		if len(rest) == 0 {
			return true
		}
		rest = rest[:min(len(rest), maxFeed, f.limit-m.Offset()-f.held)]
		if n := f.content(rest); n > 0 {
			continue
		}
		n := chars.IndexEither(rest, '<', '`')
		if n == 0 {
			return false
		}
		f.feed(n)
	}
	return false
}

// content feeds the beginning of rest that only continues a string, and returns its length. Markers do not count in a
// string.
func (f *feeder) content(rest []byte) int {
	if f.held > 0 {
		return 0
	}
	n := f.r.FeedContent(rest)
	if n > 0 {
		f.m.Read(f.kind, n, "json")
		f.take()
	}
	return n
}

// feed feeds the next n bytes.
func (f *feeder) feed(n int) {
	m := f.m
	f.r.FeedBytes(m.Buf[m.Pos+f.held:][:n])
	read := f.held + n - f.r.Unread()
	f.held = f.r.Unread()
	m.Read(f.kind, read, "json")
	f.take()
}

// wholeValue reads a JSON value without emitting it.
func (m valueReader) wholeValue() (*jsonfix.Reader, bool) { return m.wholeValueAs(engine.ArgsSpan) }

// wholeValueAs is wholeValue for a value of the given kind.
func (m valueReader) wholeValueAs(kind engine.SpanKind) (*jsonfix.Reader, bool) {
	r := m.spare
	if m.spare = nil; r == nil {
		r = new(jsonfix.Reader)
	}
	r.Base, r.MaxBytes = m.Offset(), m.MaxCall()
	if m.feed(r, kind, func() {}) {
		return r, true
	}
	m.endToken(r)
	if r.Err() != nil || m.Undecided && !m.Marked || r.Close() != nil {
		return r, false
	}
	return r, !m.Interrupted() && (m.More() || !m.Truncated())
}

// endToken ends the number that r reads if the answer continues.
func (m valueReader) endToken(r *jsonfix.Reader) {
	if m.More() {
		r.EndToken()
	}
}

// buffered reads a JSON value and returns it.
func (m valueReader) buffered() (json.RawMessage, bool) {
	r, ok := m.wholeValue()
	value := r.Value()
	m.reuse(r)
	return value, ok
}

// reuse keeps r, which must not be used any more, as the reader of the next value. Values that it returned stay valid.
func (m valueReader) reuse(r *jsonfix.Reader) {
	r.Reset()
	m.spare = r
}

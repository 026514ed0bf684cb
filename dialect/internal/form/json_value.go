package form

import (
	"encoding/json"
	"math"

	"github.com/toolpost/toolpost/dialect/internal/chars"
	"github.com/toolpost/toolpost/dialect/internal/engine"
	"github.com/toolpost/toolpost/dialect/internal/loose"
	"github.com/toolpost/toolpost/dialect/internal/offered"
	"github.com/toolpost/toolpost/dialect/internal/scan"
	"github.com/toolpost/toolpost/dialect/internal/values"
	"github.com/toolpost/toolpost/dialect/spec"
	"github.com/toolpost/toolpost/internal/clip"
	"github.com/toolpost/toolpost/internal/jsonfix"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/schema"
)

// arguments reads the arguments of the call from here: an object, or a string
// that holds one.
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
		if !ok && m.Offset() == start {
			if c := m.Peek(0); c != '}' && c != ',' && !m.Closer(0) && m.More() {
				m.BadArgs("the arguments are no JSON object")
			}
			m.skipUnreadable()
		}
	}
}

// stream reads a JSON value into the arguments as it arrives.
func (m valueReader) stream() { m.streamOf("") }

// streamOf is stream for the value of the parameter key, if that is not empty.
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
	if len(m.Call.Args) == 0 { // the value is all there is: no need for a copy
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

// Arithmetic implements [jsonfix.Types] for the arguments of the call.
func (m valueReader) Arithmetic(path []string, word string) (value string, ok bool) {
	shape := offered.ShapeAt(m.Shape(), path)
	if shape == nil {
		return "", false
	}
	s := loose.Word(word, offered.KindsOf(shape.Types(), true))
	return s.JSON, s.Rule == "arithmetic"
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

// Arithmetic implements [jsonfix.Types].
func (t typesAt) Arithmetic(path []string, word string) (string, bool) {
	return t.m.Arithmetic(t.at(path), word)
}

// Markdown implements [jsonfix.Types]. A list or an object in a call of Python
// keeps its backslashes.
func (t typesAt) Markdown([]byte, byte) bool { return false }

// Markdown implements [jsonfix.Types] for the arguments of the call.
func (m valueReader) Markdown(value []byte, c byte) bool { return m.Call.Escapes.Drop(value, c) }

// notANumber tells why a word like NaN is not a value.
const notANumber = "%s has no form in JSON, and the tool does not take null in its place"

// finishValue ends a value the text has not ended.
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

// noteRepairs adds the edits of a JSON value, except those that are not edits
// in the dialect: Python writes True, (1, 2) and 'a'.
func (m valueReader) noteRepairs(edits []llm.Repair) {
	python := m.Row().Form == spec.PyCall
	for _, e := range edits {
		if python && e.Class == llm.Syntax && (e.Rule == "literal" || e.Rule == "tuple" || e.Rule == "quotes" || e.Rule == "trailing-comma") {
			continue
		}
		m.Call.Repairs = append(m.Call.Repairs, e)
	}
}

// feed reads a JSON value of the given kind with r and reports whether it came to its end. It
// stops at a marker that cannot be inside the value, at the end of the answer,
// and where a guess has gone too far.
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

// newFeeder returns a feeder that is not in use.
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
	flow  func() bool // its method all
	r     *jsonfix.Reader
	take  func() // called when r has read something
	kind  engine.SpanKind
	held  int // bytes that r has seen and may not want
	limit int // the offset at which a guess has gone too far
}

// maxFeed bounds the bytes fed at once. A value that turns out to be none after a
// few bytes costs no more.
const maxFeed = 4 << 10

// wants reports whether the value may continue.
func (f *feeder) wants() bool {
	return !f.r.Done() && f.r.Err() == nil && f.m.Offset()+f.held < f.limit
}

// heldQuote reports whether r holds a quote, which may be the end of a string.
func (f *feeder) heldQuote() bool { return f.held > 0 && f.m.Buf[f.m.Pos] == '"' }

// inKey reports whether the marker after what r holds is a separate string: a
// quote is on both sides of it, and the first one ended the string before.
func (f *feeder) inKey() bool {
	m := f.m
	if f.held < 2 || m.Buf[m.Pos+f.held-1] != '"' {
		return false
	}
	_, n := m.Match(f.held)
	return m.Peek(f.held+n) == '"'
}

// settle ends the value if it is complete, because no quote follows it. It
// reports whether it did.
func (f *feeder) settle() bool {
	if f.r.Settle(); !f.r.Done() {
		return false
	}
	f.m.Read(f.kind, f.held-f.r.Unread(), "json")
	f.take()
	return true
}

// all feeds the buffer, up to a byte that may begin a marker, and reports
// whether the value may continue after all of it.
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

// content feeds as much of rest as only continues with a string. In a string
// nothing is a marker.
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

// wholeValue reads a JSON value without passing it on.
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
	return r, !m.Truncated()
}

// endToken ends the number that r reads if the answer continues after it.
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

// reuse makes r, which no one needs any more, the reader of the next value. What
// it returned stays valid.
func (m valueReader) reuse(r *jsonfix.Reader) {
	r.Reset()
	m.spare = r
}

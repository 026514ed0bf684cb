package engine

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"math"
	"math/bits"

	"github.com/toolpost/toolpost/dialect/internal/loose"
	"github.com/toolpost/toolpost/dialect/spec"
	"github.com/toolpost/toolpost/internal/clip"
	"github.com/toolpost/toolpost/internal/jsonfix"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/schema"
)

// arguments reads the arguments of the call from here: an object, or a string
// that holds one.
func (m *machine) arguments() {
	m.call.whole = true
	switch c := m.peek(0); {
	case c == '{':
		m.unwrapped()
	case isQuote(c):
		m.quotedArguments()
	default:
		start := m.offset()
		v, ok := m.buffered()
		if args, rule := listedArguments(v); ok && args != nil {
			m.arg(string(args))
			m.repair(rule, llm.Guess, start, m.offset())
			return
		}
		if ok && string(v) != "null" {
			m.arg(string(v))
			m.badArgs("the arguments are %s, not an object", clip.Bytes(string(v), 40))
		}
		if !ok && m.offset() == start {
			if c := m.peek(0); c != '}' && c != ',' && !m.closer(0) && m.more() {
				m.badArgs("the arguments are no JSON object")
			}
			m.recover()
		}
	}
}

// listedArguments returns the object that a list means which stands in place of
// the arguments, and the rule by which it does: its only item, or one member for
// each item like {"name": "city", "value": "Rome"}. It is nil if it means none.
func listedArguments(v json.RawMessage) (args json.RawMessage, rule string) {
	var items []map[string]json.RawMessage
	if len(v) == 0 || v[0] != '[' || json.Unmarshal(v, &items) != nil || len(items) == 0 {
		return nil, ""
	}
	out := []byte{'{'}
	for i, item := range items {
		var key string
		name := item["name"]
		if name == nil {
			name = item["key"]
		}
		if len(item) != 2 || item["value"] == nil || json.Unmarshal(name, &key) != nil {
			if len(items) > 1 {
				return nil, ""
			}
			return bytes.Trim(v[1:len(v)-1], " \t\r\n,"), "list-of-arguments"
		}
		if i > 0 {
			out = append(out, ',')
		}
		out = append(append(append(out, quoteJSON(key)...), ':'), item["value"]...)
	}
	return append(out, '}'), "member-per-item"
}

// stream reads a JSON value into the arguments as it arrives.
func (m *machine) stream() { m.streamOf("") }

// streamOf is stream for the value of the parameter key, if that is not empty.
func (m *machine) streamOf(key string) {
	r := jsonfix.NewReader(jsonfix.Options{Base: m.offset(), MaxBytes: m.maxCall(), Patient: true})
	if m.call.element != "" {
		r.Stops = []string{"</" + m.call.element + ">"}
	}
	if m.call.known && len(m.call.args) == 0 {
		r.Types = m
	} else if m.call.known && key != "" {
		r.Types = typesAt{m, []string{key}}
	}
	taken := 0
	take := func() {
		v := r.Value()
		m.argBytes(v[taken:])
		taken = len(v)
	}
	if len(m.call.args) == 0 { // the value is all there is: no need for a copy
		take = func() {
			m.call.args = r.Value()
			m.call.looked, m.call.repeats = len(m.call.args), r.RepeatsKey()
			m.checkArgs()
		}
	}
	m.finishValue(r, m.feed(r, ArgsSpan, take), take)
}

// WantsText implements [jsonfix.Types] for the arguments of the call.
func (m *machine) WantsText(path []string) bool {
	shape := shapeAt(m.shape(), path)
	return shape != nil && kindsOf(shape.Types(), true).WantsText()
}

// NotANumber implements [jsonfix.Types] for the arguments of the call.
func (m *machine) NotANumber(path []string, word string) llm.RepairClass {
	shape := shapeAt(m.shape(), path)
	switch {
	case shape == nil:
		return llm.Guess
	case shape.Types()&schema.Null != 0:
		return llm.Coercion
	}
	m.badArgs(notANumber, word)
	return llm.Guess
}

// Arithmetic implements [jsonfix.Types] for the arguments of the call.
func (m *machine) Arithmetic(path []string, word string) (value string, ok bool) {
	shape := shapeAt(m.shape(), path)
	if shape == nil {
		return "", false
	}
	s := loose.Word(word, kindsOf(shape.Types(), true))
	return s.JSON, s.Rule == "arithmetic"
}

// typesAt is [jsonfix.Types] for the value of one parameter of the call.
type typesAt struct {
	m   *machine
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
func (m *machine) Markdown(value []byte, c byte) bool { return m.call.escapes.drop(value, c) }

// notANumber says why a word like NaN is no value.
const notANumber = "%s has no form in JSON, and the tool does not take null in its place"

// finishValue ends a value the text has not ended.
func (m *machine) finishValue(r *jsonfix.Reader, ended bool, take func()) {
	if !ended && r.Err() == nil {
		if !m.more() && m.truncated() {
			take()
			m.cutCall()
			return
		}
		m.endToken(r)
		if err := r.Close(); err != nil {
			m.badArgs("%v", err)
		}
		take()
	}
	if err := r.Err(); err != nil {
		m.badArgs("%v", err)
		m.recover()
	}
	m.noteRepairs(r.Repairs())
}

// noteRepairs adds the edits of a JSON value, except those that are no edits
// in the dialect: Python writes True, (1, 2) and 'a'.
func (m *machine) noteRepairs(edits []llm.Repair) {
	python := m.row().Form == spec.PyCall
	for _, e := range edits {
		if python && e.Class == llm.Syntax && (e.Rule == "literal" || e.Rule == "tuple" || e.Rule == "quotes" || e.Rule == "trailing-comma") {
			continue
		}
		m.call.repairs = append(m.call.repairs, e)
	}
}

// feed reads a JSON value of the given kind with r and reports whether it came to its end. It
// stops at a marker that cannot be inside the value, at the end of the answer,
// and where a guess has gone too far.
func (m *machine) feed(r *jsonfix.Reader, kind SpanKind, take func()) bool {
	f := m.newFeeder()
	f.r, f.take, f.kind, f.held, f.limit = r, take, kind, 0, math.MaxInt
	if m.undecided && !m.marked {
		f.limit = m.offset() + maxGuess
	}
	for f.wants() && m.flows(f.held, f.flow) {
		if f.all() {
			continue
		}
		if !f.wants() || f.heldQuote() && f.settle() || (!r.InString() || f.heldQuote()) && m.closer(f.held) && !f.inKey() {
			break
		}
		f.feed(1)
	}
	if !r.Done() && r.Err() == nil && !f.settle() {
		m.read(f.kind, f.held, "json")
	}
	f.r, f.take = nil, nil
	m.feeders = append(m.feeders, f)
	return r.Done()
}

// newFeeder returns a feeder that is not in use.
func (m *machine) newFeeder() *feeder {
	if n := len(m.feeders); n > 0 {
		f := m.feeders[n-1]
		m.feeders = m.feeders[:n-1]
		return f
	}
	f := &feeder{m: m}
	f.flow = f.all
	return f
}

// feeder feeds a JSON value to its reader.
type feeder struct {
	m     *machine
	flow  func() bool // its method all
	r     *jsonfix.Reader
	take  func() // called when r has read something
	kind  SpanKind
	held  int // bytes that r has seen and may not want
	limit int // the offset at which a guess has gone too far
}

// maxFeed bounds what is fed at once. A value that turns out to be none after a
// few bytes costs no more.
const maxFeed = 4 << 10

// wants reports whether the value may go on.
func (f *feeder) wants() bool {
	return !f.r.Done() && f.r.Err() == nil && f.m.offset()+f.held < f.limit
}

// heldQuote reports whether r holds a quote, which may be the end of a string.
func (f *feeder) heldQuote() bool { return f.held > 0 && f.m.buf[f.m.pos] == '"' }

// inKey reports whether the marker behind what r holds is a string of its own: a
// quote stands on both sides of it, and the first one ended the string before.
func (f *feeder) inKey() bool {
	m := f.m
	if f.held < 2 || m.buf[m.pos+f.held-1] != '"' {
		return false
	}
	_, n := m.match(f.held)
	return m.peek(f.held+n) == '"'
}

// settle ends the value if it is complete, because no quote follows it. It
// reports whether it did.
func (f *feeder) settle() bool {
	if f.r.Settle(); !f.r.Done() {
		return false
	}
	f.m.read(f.kind, f.held-f.r.Unread(), "json")
	f.take()
	return true
}

// all feeds what is there, up to a byte that may begin a marker, and reports
// whether the value may go on after all of it.
func (f *feeder) all() bool {
	m := f.m
	for f.wants() {
		rest := m.buf[m.pos+f.held:]
		if len(rest) == 0 {
			return true
		}
		rest = rest[:min(len(rest), maxFeed, f.limit-m.offset()-f.held)]
		if n := f.content(rest); n > 0 {
			continue
		}
		n := indexEither(rest, '<', '`')
		if n == 0 {
			return false
		}
		f.feed(n)
	}
	return false
}

// content feeds as much of rest as only goes on with a string. In a string
// nothing is a marker.
func (f *feeder) content(rest []byte) int {
	if f.held > 0 {
		return 0
	}
	n := f.r.FeedContent(rest)
	if n > 0 {
		f.m.read(f.kind, n, "json")
		f.take()
	}
	return n
}

// feed feeds the next n bytes.
func (f *feeder) feed(n int) {
	m := f.m
	f.r.FeedBytes(m.buf[m.pos+f.held:][:n])
	read := f.held + n - f.r.Unread()
	f.held = f.r.Unread()
	m.read(f.kind, read, "json")
	f.take()
}

// indexEither returns the index of the first a or b in p, len(p) if there is
// none. It looks at eight bytes at once: a byte that is one of the two becomes
// zero and leaves a high bit, and the lowest of these bits is exact, because
// borrows only go up.
func indexEither(p []byte, a, b byte) int {
	const ones, high = 0x0101010101010101, 0x8080808080808080
	i := 0
	for ; i <= len(p)-8; i += 8 {
		w := binary.LittleEndian.Uint64(p[i:])
		x, y := w^ones*uint64(a), w^ones*uint64(b)
		if hit := ((x-ones)&^x | (y-ones)&^y) & high; hit != 0 {
			return i + bits.TrailingZeros64(hit)/8
		}
	}
	for i < len(p) && p[i] != a && p[i] != b {
		i++
	}
	return i
}

// closer reports whether a marker that ends or begins calls stands i bytes
// from here. A label that is an ordinary word does not count.
func (in *input) closer(i int) bool {
	t, n := in.match(i)
	return n > 0 && !(t.line && t.all.within(in.lex.labelled)) && (t.is(closes) || t.is(opens) || t.is(endCall) || t.is(drops) && t.special || t.is(heads))
}

// wholeValue reads a JSON value without passing it on.
func (m *machine) wholeValue() (*jsonfix.Reader, bool) { return m.wholeValueAs(ArgsSpan) }

// wholeValueAs is wholeValue for a value of the given kind.
func (m *machine) wholeValueAs(kind SpanKind) (*jsonfix.Reader, bool) {
	r := m.spare
	if m.spare = nil; r == nil {
		r = new(jsonfix.Reader)
	}
	r.Base, r.MaxBytes = m.offset(), m.maxCall()
	if m.feed(r, kind, func() {}) {
		return r, true
	}
	m.endToken(r)
	if r.Err() != nil || m.undecided && !m.marked || r.Close() != nil {
		return r, false
	}
	return r, !m.truncated()
}

// endToken ends the number that r reads if the answer goes on behind it.
func (m *machine) endToken(r *jsonfix.Reader) {
	if m.more() {
		r.EndToken()
	}
}

// buffered reads a JSON value and returns it.
func (m *machine) buffered() (json.RawMessage, bool) {
	r, ok := m.wholeValue()
	value := r.Value()
	m.reuse(r)
	return value, ok
}

// reuse makes r, which nobody needs any more, the reader of the next value. What
// it returned stays valid.
func (m *machine) reuse(r *jsonfix.Reader) {
	r.Reset()
	m.spare = r
}

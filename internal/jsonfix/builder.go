package jsonfix

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/toolpost/toolpost/llm"
)

// The limits of a Reader whose options are zero.
const (
	DefaultMaxDepth = 500
	DefaultMaxBytes = 64 << 20
)

// Options are what a caller knows about a value before it is read.
type Options struct {
	// Base is added to the offsets of all edits.
	Base int
	// MaxDepth bounds the nesting, MaxBytes the text; 0 means the defaults.
	MaxDepth, MaxBytes int
	// Stops are markers that end the value outside a string or right after its
	// last quote, even if closers are missing. A marker is not part of the value.
	Stops []string
	// Types reports which values a schema allows; nil means that no schema is
	// known.
	Types Types
	// Patient delays the end of a string: its quote counts only after the text
	// that follows the closers, or follows the quote of the next key, was read.
	// Then "He said "}" there" is one string. A complete value waits for one more
	// byte, or for [Reader.Settle].
	Patient bool

	whole   bool // all the text is there: look ahead freely, take back output
	bare    bool // unquoted text may be the whole value
	numbers bool // 007 is a number, not a string
}

// Types reports which values a schema allows, for text that JSON cannot
// represent or would spell in another way. A path holds the keys of objects, and
// an empty string for each list.
type Types interface {
	// WantsText reports whether the value must be a string and not a number.
	// Values like +49 or 0x10 are then kept as they are.
	WantsText(path []string) bool
	// NotANumber returns the class of null for a word like NaN or Infinity.
	NotANumber(path []string, word string) llm.RepairClass
	// Markdown reports whether the text is escaped as in Markdown. The backslash
	// of an escape that JSON does not have is then dropped. value is the part of
	// the value that was written so far, c the character that is escaped.
	Markdown(value []byte, c byte) bool
}

// builder writes one JSON value. It tracks which containers are open and what the
// syntax allows next, and adds the commas, colons and closers that are missing.
type builder struct {
	Options
	input

	out     []byte
	pend    []byte // a comma and the white space after it, not written yet
	commaAt int    // the offset of that comma
	bareKey bool   // the last key had no quotes
	equals  bool   // an equals sign was in the place of a colon

	mode  mode
	state state
	stack []frame
	keys  keys
	edits editLog
	done  bool
	err   error
}

// mode is the kind of text that the next byte belongs to.
type mode uint8

const (
	inStructure mode = iota
	inString
	inToken
	inComment
)

// state is what the structure expects next.
type state uint8

const (
	wantValue state = iota // at the start, after a colon, in a call
	wantItem               // in an array: a value or the end
	wantKey                // in an object: a key or the end
	wantColon
	wantComma // a comma or the end
)

// frame is an open container.
type frame struct {
	open  byte // '{', '[', '(' for a tuple or 'f' for a call like ObjectId(…)
	start int  // offset of the opening byte
	count int  // members begun
	mark  int  // length of out before the last member
}

var (
	closerOf = [256]byte{'{': '}', '[': ']', '(': ')', 'f': ')'}
	openerOf = [256]byte{'}': '{', ']': '[', ')': '('}
)

var errNoValue = errors.New("there is no JSON value")

// grow makes the first buffer as large as the first piece suggests, and later
// twice as large whenever a piece of n bytes may not fit: append would copy a
// long value more often.
func (b *builder) grow(n int) {
	if b.out == nil {
		b.out = make([]byte, 0, n+n/16+32)
	} else if cap(b.out)-len(b.out) < n {
		b.out = slices.Grow(b.out, len(b.out)+n)
	}
}

// stopped reports whether the value is complete or cannot be read.
func (b *builder) stopped() bool { return b.done || b.err != nil }

func (b *builder) fail(err error) {
	if b.err == nil {
		b.err = err
	}
}

// failf reports a problem at the next byte.
func (b *builder) failf(format string, args ...any) {
	b.failAt(b.at(), fmt.Sprintf(format, args...))
}

func (b *builder) failAt(offset int, problem string) {
	b.fail(&SyntaxError{b.Base + offset, problem})
}

// edit records that the next n bytes were read differently.
func (b *builder) edit(rule string, class llm.RepairClass, n int) {
	b.note(rule, class, b.at(), b.at()+n)
}

// note records an edit of the text from start to end.
func (b *builder) note(rule string, class llm.RepairClass, start, end int) {
	b.edits.add(llm.Repair{Rule: rule, Class: class, Start: b.Base + start, End: b.Base + end})
}

func (b *builder) checkSize() {
	if limit := cmp.Or(b.MaxBytes, DefaultMaxBytes); b.off > limit && !b.stopped() {
		b.fail(fmt.Errorf("the value is longer than %d bytes", limit))
	}
}

// atStop reports whether rest starts with one of the markers that end the
// value, or may do so.
func (b *builder) atStop(rest []byte, final bool) (stop, maybe bool) {
	for _, s := range b.Stops {
		n := min(len(s), len(rest))
		if s == "" || string(rest[:n]) != s[:n] {
			continue
		}
		if n == len(s) {
			return true, false
		}
		maybe = !final
	}
	return false, maybe
}

func (b *builder) top() *frame { return &b.stack[len(b.stack)-1] }

// inside reports whether the innermost container opens with c.
func (b *builder) inside(c byte) bool { return len(b.stack) > 0 && b.top().open == c }

// within reports whether a container that opens with c is open.
func (b *builder) within(c byte) bool {
	for k := len(b.stack) - 1; k >= 0; k-- {
		if b.stack[k].open == c {
			return true
		}
	}
	return false
}

// closes reports whether the bracket c closes an open container.
func (b *builder) closes(c byte) bool {
	return b.within(openerOf[c]) || c == ')' && b.within('f')
}

// path returns the path of the value being read.
func (b *builder) path() []string {
	path := make([]string, len(b.stack))
	for i, f := range b.stack {
		if f.open != '{' {
			continue
		}
		member := b.out[f.mark:]
		if from := bytes.IndexByte(member, '"'); from >= 0 {
			dec := json.NewDecoder(bytes.NewReader(member[from:]))
			if t, err := dec.Token(); err == nil {
				path[i], _ = t.(string)
			}
		}
	}
	return path
}

// space copies white space: after the first byte of the value, and after a
// comma that is not written yet.
func (b *builder) space() {
	from := b.i
	for b.i < len(b.in) && isSpace(b.in[b.i]) {
		b.i++
	}
	switch {
	case len(b.stack) == 0: // around the value
	case len(b.pend) > 0:
		b.pend = append(b.pend, b.in[from:b.i]...)
	default:
		b.out = append(b.out, b.in[from:b.i]...)
	}
}

// begin prepares for a key or value that starts at the next byte. It writes the
// comma or colon before it, and adds it if it is missing. It returns false if
// neither may start here.
func (b *builder) begin() bool {
	bareKey := b.bareKey
	b.bareKey = false
	switch b.state {
	case wantColon:
		class := llm.Syntax
		if bareKey { // without quotes and colon it may not be a key
			class = llm.Guess
		}
		b.edit("missing-colon", class, 0)
		b.endKey()
	case wantComma:
		if b.inside('f') {
			b.secondArgument()
			return false
		}
		b.nextMember(b.top())
		b.edit("missing-comma", b.commaClass(), 0)
		b.out = append(b.out, ',')
	case wantItem, wantKey:
		if len(b.pend) > 0 {
			b.out = append(b.out, b.pend...)
			b.pend = b.pend[:0]
		}
	}
	if len(b.stack) > 0 && b.state != wantValue {
		b.top().count++
	}
	return true
}

// nextMember begins the next member of the innermost container, f, after a comma
// or in its place.
func (b *builder) nextMember(f *frame) {
	f.mark = len(b.out)
	b.state = wantItem
	if f.open == '{' {
		b.state = wantKey
	}
}

// secondArgument fails, because a call is replaced by its only argument.
func (b *builder) secondArgument() {
	b.failf("a call with more than one argument is not a value")
}

// commaClass returns the class of a missing comma. Two adjacent strings in a list
// are one string in Python.
func (b *builder) commaClass() llm.RepairClass {
	before := bytes.TrimRight(b.out, " \t\r")
	if c := b.in[b.i]; b.top().open != '{' && before[len(before)-1] == '"' && (c == '"' || c == '\'') {
		return llm.Guess
	}
	return llm.Syntax
}

// ended continues after a complete key or value.
func (b *builder) ended() {
	b.mode = inStructure
	switch {
	case len(b.stack) == 0:
		b.done = true
	case b.state == wantKey:
		b.state = wantColon
	default:
		b.state = wantComma
	}
}

// write writes a complete key or value.
func (b *builder) write(json string) {
	b.out = append(b.out, json...)
	b.ended()
}

// endString writes the quote that ends a string.
func (b *builder) endString() {
	b.out = append(b.out, '"')
	b.ended()
}

// endKey writes the colon after a key.
func (b *builder) endKey() {
	if b.outermost() && !b.keys.repeated {
		mark := b.top().mark
		member := b.out[mark:]
		from, to := bytes.IndexByte(member, '"'), bytes.LastIndexByte(member, '"')
		if from >= 0 && to > from {
			b.keys.add(b.out, span{mark + from, mark + to + 1})
		}
	}
	b.out = append(b.out, ':')
	b.state = wantValue
}

// outermost reports whether the innermost container is the whole value, or the
// only argument of calls around it.
func (b *builder) outermost() bool {
	for _, f := range b.stack[:len(b.stack)-1] {
		if f.open != 'f' {
			return false
		}
	}
	return true
}

// open reads an opening bracket.
func (b *builder) open(c byte) {
	if b.state == wantKey || b.state == wantComma && b.inside('{') {
		if c != '{' || len(b.stack) < 2 || b.stack[len(b.stack)-2].open != '[' {
			b.failf("a key cannot start with %q", c)
			return
		}
		b.pop("missing-closer", llm.Guess) // [{"a":1,{"b":2}]
	}
	if !b.begin() || !b.push(frame{open: c, start: b.at()}) {
		return
	}
	b.state = wantItem
	switch c {
	case '{':
		b.state = wantKey
	case '(':
		b.edit("tuple", llm.Syntax, 1)
		c = '['
	}
	b.out = append(b.out, c)
	b.top().mark = len(b.out)
	b.i++
}

// push opens a container unless the nesting is too deep.
func (b *builder) push(f frame) bool {
	if limit := cmp.Or(b.MaxDepth, DefaultMaxDepth); len(b.stack) >= limit {
		b.failf("more than %d levels of nesting", limit)
		return false
	}
	if b.stack == nil {
		b.stack = make([]frame, 0, 8)
	}
	b.stack = append(b.stack, f)
	return true
}

// close reads a closing bracket. A bracket that fits an outer container closes
// the inner ones too. A bracket that fits none closes the innermost.
func (b *builder) close(c byte) {
	if len(b.stack) == 0 {
		b.failf("nothing is open that %q could close", c)
		return
	}
	if closerOf[b.top().open] != c {
		fits := b.closes(c)
		for fits && b.err == nil && closerOf[b.top().open] != c {
			b.pop("missing-closer", llm.Guess) // it may have been meant elsewhere
		}
		if !fits {
			b.edit("wrong-closer", llm.Guess, 1)
		}
	}
	if b.err == nil {
		b.pop("", 0)
		b.i++
	}
}

// pop closes the innermost container here.
func (b *builder) pop(rule string, class llm.RepairClass) {
	if !b.finishMember() {
		return
	}
	f := *b.top()
	comma := f.open == '(' && b.edits.last() == "trailing-comma"
	b.stack = b.stack[:len(b.stack)-1]
	if rule != "" {
		b.edit(rule, class, 0)
	}
	if f.open == '(' && f.count == 1 && !comma {
		b.note("tuple", llm.Guess, f.start, f.start+1) // (1) is a tuple only with a comma
	}
	b.out = f.appendCloser(b.out)
	b.state = wantValue
	b.ended()
}

// appendCloser appends the bracket that closes f in JSON. A call has none: its
// argument replaces it.
func (f frame) appendCloser(out []byte) []byte {
	switch f.open {
	case '{':
		return append(out, '}')
	case '[', '(':
		return append(out, ']')
	}
	return out
}

// finishMember completes the member of the innermost container that was begun.
func (b *builder) finishMember() bool {
	switch b.state {
	case wantItem, wantKey:
		if len(b.pend) > 0 {
			b.note("trailing-comma", llm.Syntax, b.commaAt, b.commaAt+1)
			b.out = append(b.out, b.pend[1:]...)
			b.pend = b.pend[:0]
		}
	case wantValue:
		if b.inside('f') {
			b.failf("a call without an argument is not a value")
			return false
		}
		b.missingValue(llm.Guess)
	case wantColon:
		b.failf("a key has no value")
		return false
	}
	return true
}

// missingValue writes null for a value that is missing.
func (b *builder) missingValue(class llm.RepairClass) {
	b.edit("missing-value", class, 0)
	b.out = append(b.out, "null"...)
	b.state = wantComma
}

// finishContainers closes all that is open. A missing value becomes null, with
// the given class.
func (b *builder) finishContainers(missing llm.RepairClass) {
	if len(b.stack) == 0 && !b.done {
		b.fail(errNoValue)
	}
	for !b.stopped() {
		if b.state == wantColon {
			b.endKey()
		}
		if b.state == wantValue && b.top().open != 'f' {
			b.missingValue(missing)
		}
		b.pop("missing-closer", llm.Completion)
	}
}

// completes reports whether rest, after a string, closes all that is open.
func (b *builder) completes(rest []byte) bool {
	open := len(b.stack)
	for _, c := range rest {
		switch {
		case isSpace(c):
		case open == 0 || closerOf[b.stack[open-1].open] != c:
			return open == 0
		default:
			open--
		}
	}
	return open == 0
}

// comma reads a comma.
func (b *builder) comma() {
	switch b.state {
	case wantComma:
		if b.inside('f') {
			b.secondArgument()
			return
		}
		b.nextMember(b.top())
		if n := b.sureComma(); n > 0 {
			b.out = append(b.out, b.in[b.i:b.i+n]...)
			b.i += n
			return
		}
		b.pend = append(b.pend[:0], ',')
		b.commaAt = b.at()
	case wantItem:
		b.edit("extra-comma", llm.Guess, 1) // a value may be missing
	case wantKey:
		b.edit("extra-comma", llm.Syntax, 1)
	case wantValue:
		if !b.inside('{') {
			b.failf("a value cannot start with a comma")
			return
		}
		b.missingValue(llm.Guess)
		return
	case wantColon:
		b.failf("a key has no value")
		return
	}
	b.i++
}

// sureComma returns the length of a comma and the white space after it, if a
// key or value certainly follows, else 0.
func (b *builder) sureComma() int {
	rest, n := b.in[b.i:], 1
	for n < len(rest) && isSpace(rest[n]) {
		n++
	}
	if n < len(rest) {
		switch c := rest[n]; {
		case c == '"', isDigit(c), isWord(c):
			return n
		case c == '{', c == '[':
			if !b.inside('{') {
				return n
			}
		}
	}
	return 0
}

// colon reads n bytes in the place of a colon.
func (b *builder) colon(n int) {
	switch {
	case b.state == wantColon:
		b.endKey()
	case b.state == wantValue && b.inside('{'):
		b.edit("colon", llm.Syntax, n) // one too many
	default:
		b.failf("a colon without a key")
		return
	}
	b.i += n
}

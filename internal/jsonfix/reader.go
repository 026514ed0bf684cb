// Package jsonfix reads JSON as language models write it: with trailing
// commas, single quotes, Python literals, code fences, text around it, missing
// closers. It writes valid JSON and lists every edit with its rule, its byte
// range and its class, so that the caller can decide what an edit is worth.
//
// [Reader] works on text that arrives in pieces: what it has written never
// changes, whatever follows, and nothing depends on where the pieces were cut.
// [Fix] works on a whole text and may therefore look ahead. Both take time
// linear in the text.
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

// The limits of a Reader whose fields are zero.
const (
	DefaultMaxDepth = 500
	DefaultMaxBytes = 64 << 20
)

// maxEdits bounds how many edits are listed one by one. Later ones widen the
// last edit of the same rule and class.
const maxEdits = 4096

// Reader reads one JSON value from text that arrives in pieces and writes it
// again as valid JSON. White space outside strings is kept inside the value
// and dropped around it; valid JSON comes out byte for byte.
//
// A Reader holds back only what is not certain: a comma (it may be a trailing
// one), the end of a string (the quote may belong to the text), a number or a
// literal that may go on, a partial escape, surrogate pair or rune.
//
// The zero value is ready. A Reader is not safe for concurrent use.
type Reader struct {
	// Base is added to the offsets of all edits.
	Base int
	// MaxDepth bounds the nesting, MaxBytes the text; 0 means the defaults.
	MaxDepth, MaxBytes int
	// Stops are markers that end the value wherever they stand outside a
	// string or right behind its last quote, even if closers are missing. A
	// marker is not part of the value.
	Stops []string
	// Types says which values a schema allows; nil means that nothing is known.
	Types Types
	// Patient says that a quote is taken for the end of a string only when the
	// text behind the closers after it, or behind the quote of the next key, has
	// been seen: "He said "}" there" is one string. A complete value then waits
	// for the byte behind it, or for [Reader.Settle].
	Patient bool

	whole   bool // all the text is there: look ahead freely, take back what was written
	bare    bool // unquoted text may be the whole value
	numbers bool // 007 is a number, not a string
	bareKey bool // the last thing read is a key without quotes

	in      []byte // text not consumed yet
	i       int    // next byte of in
	off     int    // offset of in[0] in the text
	escaped bool   // the text is escaped once more than it should be
	slash   bool   // escaped: a backslash waits for its second half
	raw     []byte // escaped: in as it was written, and a backslash that waits
	sizes   []byte // escaped: how many bytes of raw each byte of in was

	out     []byte
	taken   int    // out[:taken] has left through Take
	pend    []byte // a comma and the white space after it
	commaAt int    // its offset

	mode    mode
	state   state
	stack   []frame
	keys    keys
	str     text // the string being read
	tok     token
	edits   []llm.Repair
	done    bool
	err     error
	comment byte // the kind of comment being skipped: '*' or '\n'
	star    bool // the comment's last byte was a star
}

// Types says which values are allowed where what was written has no form in
// JSON, or loses its spelling in it. A path holds the keys of objects, and an
// empty string for each list.
type Types interface {
	// WantsText reports whether the value must be a string and no number, so
	// that +49 or 0x10 are kept as they are.
	WantsText(path []string) bool
	// NotANumber returns the class of null for a word like NaN or Infinity.
	NotANumber(path []string, word string) llm.RepairClass
	// Arithmetic returns the value of an expression like 2*3, as JSON, where a
	// number must stand. It reports false for anything else.
	Arithmetic(path []string, word string) (value string, ok bool)
	// Markdown reports whether the text is escaped as in Markdown, so that the
	// backslash of an escape that JSON does not have is none of the string.
	// value is what was written of the value so far, c what is escaped.
	Markdown(value []byte, c byte) bool
}

// path returns where the value being read stands.
func (r *Reader) path() []string {
	path := make([]string, len(r.stack))
	for i, f := range r.stack {
		if f.open != '{' {
			continue
		}
		member := r.out[f.mark:]
		if from := bytes.IndexByte(member, '"'); from >= 0 {
			dec := json.NewDecoder(bytes.NewReader(member[from:]))
			if t, err := dec.Token(); err == nil {
				path[i], _ = t.(string)
			}
		}
	}
	return path
}

// mode says which kind of text the next byte belongs to.
type mode uint8

const (
	inStructure mode = iota
	inString
	inToken
	inComment
)

// state says what the structure expects next.
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

// Reset makes r ready for the next value. It keeps the fields of the caller;
// what Take, Value and Repairs returned stays valid.
func (r *Reader) Reset() {
	*r = Reader{
		Base: r.Base, MaxDepth: r.MaxDepth, MaxBytes: r.MaxBytes, Stops: r.Stops, Types: r.Types, Patient: r.Patient,
		in: r.in[:0], pend: r.pend[:0], stack: r.stack[:0], tok: token{text: r.tok.text[:0]},
	}
}

// Feed reads the next piece. It returns how many bytes of it belong to the
// value: fewer than all mean that the value ended there. Once Err reports an
// error the count means nothing.
func (r *Reader) Feed(piece string) int {
	if r.done || r.err != nil {
		return 0
	}
	if r.escaped {
		return r.feedEscaped([]byte(piece))
	}
	before := len(r.in)
	r.grow(len(piece))
	r.in = append(r.in, piece...)
	return r.feed(before)
}

// grow makes the first buffers as large as the first piece suggests, and later
// twice as large whenever a piece of n bytes may not fit: append would copy a
// long value more often.
func (r *Reader) grow(n int) {
	if r.out == nil {
		r.out = make([]byte, 0, n+n/16+32)
	} else if cap(r.out)-len(r.out) < n {
		r.out = slices.Grow(r.out, len(r.out)+n)
	}
}

// FeedBytes is Feed for bytes. It does not keep them.
func (r *Reader) FeedBytes(piece []byte) int {
	if r.done || r.err != nil {
		return 0
	}
	if r.escaped {
		return r.feedEscaped(piece)
	}
	before := len(r.in)
	r.grow(len(piece))
	r.in = append(r.in, piece...)
	return r.feed(before)
}

// FeedContent is FeedBytes for as much of piece as is content of the string
// that is being read and stands in JSON as it is. It returns how much that is:
// nothing outside a string, and nothing while something is held back.
func (r *Reader) FeedContent(piece []byte) int {
	if r.mode != inString || len(r.in) > 0 || r.done || r.err != nil || r.escaped {
		return 0
	}
	n := r.content(piece)
	if n == len(piece) {
		n -= r.closersAtEnd(piece)
	}
	r.grow(n)
	r.out = append(r.out, piece[:n]...)
	r.off += n
	r.checkSize()
	return n
}

// feed reads in, of which all but the first held bytes are new.
func (r *Reader) feed(held int) int {
	size := len(r.in) - held
	r.run(false)
	n := r.i - held
	if r.escaped { // found just now: the rest has one layer of escapes too many
		return max(n+r.takeOver(), 0)
	}
	if !r.done && r.err == nil {
		n = size
	}
	r.compact()
	return max(n, 0)
}

// takeOver reads the rest of in again as escaped text and returns how much of
// it belongs to the value.
func (r *Reader) takeOver() int {
	rest := r.in[r.i:]
	r.off += r.i
	r.in, r.i = nil, 0 // rest is still in use
	return r.feedEscaped(rest)
}

// feedEscaped takes one layer of backslashes off and reads what is left.
func (r *Reader) feedEscaped(piece []byte) int {
	for k, c := range piece {
		r.raw = append(r.raw, c)
		switch {
		case r.slash:
			r.slash = false
			r.in, r.sizes = append(r.in, unescape(c)), append(r.sizes, 2)
		case c == '\\':
			r.slash = true
			r.off++
			continue
		default:
			r.in, r.sizes = append(r.in, c), append(r.sizes, 1)
		}
		r.run(false)
		if r.done || r.err != nil {
			r.forget()
			n := max(k+1-len(r.raw), 0)
			if r.in, r.i = r.in[:0], 0; !r.whole {
				r.in = append(append(r.in, r.raw...), piece[k+1:]...)
			}
			return n
		}
		r.forget()
		r.compact()
	}
	return len(piece)
}

// forget drops what was consumed of the text as it was written.
func (r *Reader) forget() {
	n := 0
	for _, size := range r.sizes[:r.i] {
		n += int(size)
	}
	r.raw = r.raw[:copy(r.raw, r.raw[n:])]
	r.sizes = r.sizes[:copy(r.sizes, r.sizes[r.i:])]
}

func unescape(c byte) byte {
	switch c {
	case 'n':
		return '\n'
	case 't':
		return '\t'
	case 'r':
		return '\r'
	}
	return c
}

// compact forgets what was consumed.
func (r *Reader) compact() {
	r.off += r.i
	r.in = r.in[:copy(r.in, r.in[r.i:])]
	r.i = 0
	r.checkSize()
}

func (r *Reader) checkSize() {
	if limit := cmp.Or(r.MaxBytes, DefaultMaxBytes); r.off > limit && r.err == nil && !r.done {
		r.fail(fmt.Errorf("the value is longer than %d bytes", limit))
	}
}

// run reads until more text is needed. With final there is no more.
func (r *Reader) run(final bool) {
	for r.i < len(r.in) && !r.done && r.err == nil {
		var more bool
		switch r.mode {
		case inStructure:
			more = r.structure(final)
		case inString:
			more = r.text(final)
		case inToken:
			more = r.token(final)
		case inComment:
			r.skipComment()
		}
		if more {
			return
		}
	}
}

// Done reports whether the value is complete.
func (r *Reader) Done() bool { return r.done }

// Err returns why the value cannot be read, nil if it can so far.
func (r *Reader) Err() error { return r.err }

// InString reports whether the next byte belongs to a string, or may do so.
func (r *Reader) InString() bool { return r.mode == inString }

// Take returns the JSON text that became certain since the last Take.
func (r *Reader) Take() string {
	s := string(r.out[r.taken:])
	r.taken = len(r.out)
	return s
}

// Value returns all the JSON text written so far: the whole value once Done
// reports true. The caller must not change it.
func (r *Reader) Value() []byte { return r.out }

// Rest returns the text that was fed but does not belong to the value, once
// that is complete. It begins before the last piece if that was needed to see
// that the value had ended: a number on its own, or one of Stops that was cut.
func (r *Reader) Rest() string {
	if !r.done {
		return ""
	}
	return string(r.in)
}

// Unread returns how many of the bytes that were fed are not part of what was
// read: those behind the value or, if it cannot be read, from the place that is
// wrong; before that, those that are held back.
func (r *Reader) Unread() int {
	if r.escaped && !r.done && r.err == nil {
		return len(r.raw)
	}
	return len(r.in)
}

// Repairs returns the edits made so far, in the order of the text once the
// value is complete. Until then the class of an edit may still grow. The
// caller must not change it.
func (r *Reader) Repairs() []llm.Repair {
	if r.done {
		slices.SortStableFunc(r.edits, func(a, b llm.Repair) int { return cmp.Compare(a.Start, b.Start) })
	}
	return r.edits
}

var errNoValue = errors.New("there is no JSON value")

// SyntaxError says where and why a text cannot be read as JSON.
type SyntaxError struct {
	Offset  int // in the text, plus Base
	Problem string
}

// Error returns the problem and its place.
func (e *SyntaxError) Error() string { return fmt.Sprintf("%s at byte %d", e.Problem, e.Offset) }

func (r *Reader) fail(err error) {
	if r.err == nil {
		r.err = err
	}
}

func (r *Reader) failf(at int, format string, args ...any) {
	r.fail(&SyntaxError{r.Base + r.off + at, fmt.Sprintf(format, args...)})
}

// edit notes that in[from:to] was read differently.
func (r *Reader) edit(rule string, class llm.RepairClass, from, to int) {
	r.note(rule, class, r.off+from, r.off+to)
}

// note is edit with offsets in the text.
func (r *Reader) note(rule string, class llm.RepairClass, start, end int) {
	e := llm.Repair{Rule: rule, Class: class, Start: r.Base + start, End: r.Base + end}
	if len(r.edits) >= maxEdits { // one more per rule and class, at most
		for k := maxEdits; k < len(r.edits); k++ {
			if last := &r.edits[k]; last.Rule == rule && last.Class == class {
				last.End = e.End
				return
			}
		}
	}
	if r.edits == nil {
		r.edits = make([]llm.Repair, 0, 8)
	}
	r.edits = append(r.edits, e)
}

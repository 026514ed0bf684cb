// Package jsonfix reads JSON as language models write it: with trailing
// commas, single quotes, Python literals, code fences, text around it, missing
// closers. It writes valid JSON and lists every edit with its rule, its byte
// range and its class. The caller decides which edits to accept.
//
// [Reader] works on text that arrives in pieces. The output it has written never
// changes, and nothing depends on where the pieces were cut. [Fix] works on a
// whole text and may therefore look ahead. Both take time linear in the text.
//
// The parts, from the bottom up: input and editLog; builder, which writes the
// value; lookahead, which decides what a quote is; stringReader and tokenReader;
// parser, which reads the structure; Reader; scanner, which finds values in a
// whole text for Fix.
package jsonfix

import (
	"unicode/utf8"

	"github.com/toolpost/toolpost/llm"
)

// Reader reads one JSON value from text that arrives in pieces and writes it
// again as valid JSON. White space outside strings is kept inside the value
// and dropped around it; valid JSON is written unchanged.
//
// A Reader holds back only uncertain text: a comma (it may be a trailing
// one), the end of a string (the quote may belong to the text), a number or a
// literal that may continue, a partial escape, surrogate pair or rune.
//
// The zero value is ready. A Reader is not safe for concurrent use.
type Reader struct {
	parser
	taken int // out[:taken] was returned by Take
}

// NewReader returns a Reader with the given options.
func NewReader(o Options) *Reader {
	r := new(Reader)
	r.Options = o
	return r
}

// Reset makes r ready for the next value. It keeps the options; the results of
// Take, Value and Repairs stay valid.
func (r *Reader) Reset() {
	in, pend, stack, text := r.in[:0], r.pend[:0], r.stack[:0], r.tok.text[:0]
	*r = Reader{parser: parser{builder: builder{Options: r.Options}}}
	r.in, r.pend, r.stack, r.tok.text = in, pend, stack, text
}

// Feed reads the next piece. It returns how many bytes of it belong to the
// value: fewer than all mean that the value ended there. After an error, see Err,
// the count is meaningless.
func (r *Reader) Feed(piece string) int { return readPiece(r, piece) }

// FeedBytes is Feed for bytes. It does not keep them.
func (r *Reader) FeedBytes(piece []byte) int { return readPiece(r, piece) }

func readPiece[T string | []byte](r *Reader, piece T) int {
	if r.stopped() {
		return 0
	}
	if r.layer.on {
		return r.feedEscaped([]byte(piece))
	}
	held := len(r.in)
	r.grow(len(piece))
	r.in = append(r.in, piece...)
	r.run(false)
	n := r.i - held
	if r.layer.on { // found just now: the rest has one layer of escapes too many
		return max(n+r.restartEscaped(), 0)
	}
	if !r.stopped() {
		n = len(piece)
	}
	r.compact()
	r.checkSize()
	return max(n, 0)
}

// FeedContent is FeedBytes for the beginning of piece that is content of the
// string being read and valid without a change. It returns the length of that
// beginning: 0 outside a string and while something is held back.
func (r *Reader) FeedContent(piece []byte) int {
	if r.mode != inString || len(r.in) > 0 || r.stopped() || r.layer.on {
		return 0
	}
	n := r.str.content(&r.builder, piece)
	if n == len(piece) {
		n -= r.str.closersAtEnd(&r.builder, piece)
	}
	r.grow(n)
	r.out = append(r.out, piece[:n]...)
	r.off += n
	r.checkSize()
	return n
}

// readWhole reads a value from a text that is all there, without a copy. It
// returns how much of the text belongs to the value.
func (r *Reader) readWhole(text []byte) (int, error) {
	r.grow(min(len(text), 1<<8)) // the text may hold more than the value
	r.whole, r.in = true, text
	r.run(false)
	n := r.i
	if r.layer.on {
		n += r.restartEscaped()
	}
	if !r.stopped() {
		n = len(text)
		r.Close()
	}
	return n, r.err
}

// Done reports whether the value is complete.
func (r *Reader) Done() bool { return r.done }

// Err returns why the value cannot be read, nil if it can so far.
func (r *Reader) Err() error { return r.err }

// InString reports whether the next byte belongs to a string, or may do so.
func (r *Reader) InString() bool { return r.mode == inString }

// RepeatsKey reports whether the value is an object that has a key twice so far,
// in any spelling. Keys of objects inside it do not count; see [DuplicateKeys]
// for those.
func (r *Reader) RepeatsKey() bool { return r.keys.repeated }

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

// Unread returns how many of the bytes that were fed are not part of the output:
// the bytes after the value or after an error, and before that the bytes that are
// held back.
func (r *Reader) Unread() int {
	if r.layer.on && !r.stopped() {
		return len(r.layer.origin)
	}
	return len(r.in)
}

// Repairs returns the edits made so far, in the order of the text once the
// value is complete. Until then the class of an edit may still grow. The
// caller must not change it.
func (r *Reader) Repairs() []llm.Repair {
	if r.done {
		r.edits.sort()
	}
	return r.edits
}

// Close tells r that the text has ended. It adds the closers that are missing
// (class completion), and ends a string, key, escape or number that was cut off
// (class truncated). It returns an error if the text cannot be
// read as a value. After a Close without error, Done reports true.
func (r *Reader) Close() error {
	if r.stopped() {
		return r.err
	}
	r.run(true)
	if r.layer.on && !r.stopped() && r.i < len(r.in) {
		r.restartEscaped()
		r.run(true)
	}
	if r.stopped() {
		return r.err
	}
	if len(r.stack) == 0 && r.mode == inStructure {
		r.fail(errNoValue)
		return r.err
	}
	if r.mode == inString && r.whole && r.str.endedInClosers(&r.builder) {
		r.run(true)
	}
	switch r.mode {
	case inString:
		r.edit("missing-quote", llm.Truncation, 0)
		r.endString()
	case inToken:
		r.tok.end(&r.builder, true)
	case inComment:
		r.mode = inStructure
	}
	r.finishContainers(llm.Truncation)
	return r.err
}

// Settle tells r that no more text will come for it to wait for. If the value is
// complete but for that, it is done.
func (r *Reader) Settle() {
	if !r.Patient || r.stopped() || r.mode != inString || r.i >= len(r.in) || r.in[r.i] >= utf8.RuneSelf {
		return
	}
	if c := r.in[r.i]; (c == '"' || c == '\'' || c == '`') && r.completes(r.in[r.i+1:]) {
		r.run(true)
		r.compact()
		r.checkSize()
	}
}

// EndToken ends the number or word that is being read, if there is one: the text
// after it is not part of the value, so it was not cut off.
func (r *Reader) EndToken() {
	if r.mode == inToken && r.i == len(r.in) && r.err == nil {
		r.tok.end(&r.builder, false)
	}
}

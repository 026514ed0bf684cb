// Package scan looks ahead in an answer that arrives in chunks: at bytes, markers and words. If the input has not
// arrived yet, it waits for the next chunk.
//
// Indexes count from the current position, "here". Offsets count from the beginning of the answer.
package scan

import (
	"github.com/toolpost/toolpost/dialect/internal/chars"
	"github.com/toolpost/toolpost/dialect/internal/lexicon"
	"github.com/toolpost/toolpost/llm"
)

// Input is the part of the answer that has arrived. Readers may look ahead any distance; they wait if the input has not
// arrived.
type Input struct {
	Lex   *lexicon.Lexicon
	Buf   []byte
	Pos   int    // index in Buf of the next byte to read
	Base  int    // offset of Buf[0] in the answer
	Chunk string // the last chunk; Buf ends with it
	Eof   bool   // no more chunks follow
	// Broken reports whether Eof means the end of a stretch of text and not of the answer, see Feed.Break.
	Broken  bool
	Err     error // the error of the source, or from Fail
	Stopped bool  // the consumer stopped, or Fail was called

	Starved bool                // a reader asked for input after the end
	LetGo   func()              // called before waiting, to release certain events
	Wait    func(struct{}) bool // suspends the readers until the next chunk; reports false if the consumer stopped
	Flow    func() bool         // if set, reads the next chunk without waking the readers
	Direct  bool                // events from Flow can be passed on at once
	Prose   bool                // Direct is set, and Flow reads text that only markers end
}

// More reports whether there is another byte to read. It waits if necessary.
func (in *Input) More() bool { return in.Pos < len(in.Buf) || in.Fill() }

// Peek returns the i-th byte from here, or 0 after the end.
func (in *Input) Peek(i int) byte {
	for in.Pos+i >= len(in.Buf) {
		if !in.Fill() {
			return 0
		}
	}
	return in.Buf[in.Pos+i]
}

// At reports whether there is an i-th byte from here.
func (in *Input) At(i int) bool {
	for in.Pos+i >= len(in.Buf) {
		if !in.Fill() {
			return false
		}
	}
	return true
}

// Offset returns the offset of the next byte in the answer.
func (in *Input) Offset() int { return in.Base + in.Pos }

// Fill releases certain events and waits for the next chunk. It reports whether there is one.
func (in *Input) Fill() bool {
	if !in.Eof && !in.Stopped {
		in.LetGo()
		if !in.Wait(struct{}{}) {
			in.Stopped = true
		}
	}
	in.Starved = in.Eof || in.Stopped
	return !in.Starved
}

// MaxGuess limits how far the engine reads ahead to find out whether text without a marker is a call. The cost of a
// failed guess is therefore bounded, and the work linear.
const MaxGuess = 8 << 10

// Fail ends the stream with err. Only the first error counts.
func (in *Input) Fail(err error) {
	if !in.Stopped {
		in.Stopped = true
		in.Err = &llm.Error{Op: "dialect.Parse", Kind: llm.Malformed, Err: err}
	}
}

// MaxTail is the number of bytes before the current position that stay in the buffer.
const MaxTail = 160

// MaxAbove is the number of bytes before a call that are searched for evidence against it. They stay in the buffer too.
const MaxAbove = 320

// MaxBlock is the number of bytes at the end of an answer without calls that may be a call in a form that no reader
// knows. They stay in the buffer.
const MaxBlock = 4 << 10

// Spaces returns the index of the first byte from i that is not white space.
func (in *Input) Spaces(i int) int {
	for in.At(i) && chars.IsSpace(in.Buf[in.Pos+i]) {
		i++
	}
	return i
}

// Addressee returns the length of the recipient of a message i bytes from here: a word that a marker of one of the
// given dialects follows. If several is set, it may be more than one word. It returns 0 if there is no recipient.
func (in *Input) Addressee(i int, rows lexicon.RowSet, several bool) int {
	j := in.Word(i, "")
	for several && j > i && j-i < lexicon.MaxName && in.Peek(j) == ' ' && chars.IsNameStart(in.Peek(j+1)) {
		j = in.Word(j+1, "")
	}
	if j == i || in.Peek(j) != '<' {
		return 0
	}
	if t, _ := in.Match(j); t == nil || !t.All.Meets(rows) || t.Is(lexicon.Closes) {
		return 0
	}
	return j - i
}

// HasAt reports whether s is i bytes from here. It waits for input only while the bytes match.
func (in *Input) HasAt(i int, s string) bool {
	for j := range len(s) {
		if !in.At(i+j) || in.Buf[in.Pos+i+j] != s[j] {
			return false
		}
	}
	return true
}

// AnyOf returns the length of the first string of list that is i bytes from here, in any spelling, 0 if there is none.
func (in *Input) AnyOf(i int, list []string) int {
	for _, s := range list {
		if n := in.Literal(i, s); n > 0 {
			return n
		}
	}
	return 0
}

// Literal is HasAt for markers, with all spellings of bars. It returns the length of the text that matches s, 0 if it
// does not match.
func (in *Input) Literal(i int, s string) int {
	j := i
	for k := range len(s) {
		if !in.At(j) {
			return 0
		}
		c, width := in.Folded(j)
		if c != s[k] {
			return 0
		}
		j += width
	}
	return j - i
}

// Closer reports whether a marker that ends or begins calls is i bytes from here. A label that is an ordinary word does
// not count.
func (in *Input) Closer(i int) bool {
	t, n := in.Match(i)
	return n > 0 && !(t.Line && t.All.Within(in.Lex.Labelled)) && (t.Is(lexicon.Closes) || t.Is(lexicon.Opens) || t.Is(lexicon.EndCall) || t.Is(lexicon.Drops) && t.Special || t.Is(lexicon.Heads))
}

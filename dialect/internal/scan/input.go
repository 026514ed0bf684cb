// Package scan looks ahead in an answer that arrives in chunks: at bytes, markers and
// words. Where nothing has arrived yet, it waits.
package scan

import (
	"github.com/toolpost/toolpost/dialect/internal/chars"
	"github.com/toolpost/toolpost/dialect/internal/lexicon"
	"github.com/toolpost/toolpost/llm"
)

// Input is the answer as far as it has arrived. Readers look ahead in it as far
// as they like: where there is nothing yet, they wait.
type Input struct {
	Lex   *lexicon.Lexicon
	Buf   []byte
	Pos   int    // the next byte to read
	Base  int    // offset of buf[0] in the answer
	Chunk string // the last one, and buf ends with it; see prosaic
	Eof   bool
	// Broken says that what ends is not the answer, but a stretch of its text; see Feed.Break.
	Broken  bool
	Err     error // of the chunks, or our own
	Stopped bool  // the consumer has gone, or a limit was passed

	Starved bool                // a reader has asked for more than there is
	LetGo   func()              // called before waiting, to release certain events
	Wait    func(struct{}) bool // lets the pump continue; reports whether the consumer is still there
	Flow    func() bool         // what to do with the next chunk before waking the readers
	Direct  bool                // what the flow reads can go at once
	Prose   bool                // it can, and is text that only markers end
}

// More reports whether there is another byte to read, waiting for it if need
// be.
func (in *Input) More() bool { return in.Pos < len(in.Buf) || in.Fill() }

// Peek returns the i-th byte from here, or 0 at the end.
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

// Offset is where the next byte is in the answer.
func (in *Input) Offset() int { return in.Base + in.Pos }

// Fill releases certain events and waits for the next chunk. It reports
// whether there is one.
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

// MaxGuess bounds how far the engine reads ahead to find out whether text
// without a marker is a call. It keeps the work linear: a guess that fails
// costs no more than this.
const MaxGuess = 8 << 10

// Fail ends the stream with an error of our own.
func (in *Input) Fail(err error) {
	if !in.Stopped {
		in.Stopped = true
		in.Err = &llm.Error{Op: "dialect.Parse", Kind: llm.Malformed, Err: err}
	}
}

// MaxTail is how much of the text before is remembered.
const MaxTail = 160

// Spaces returns the index of the first byte from i that is not white space.
func (in *Input) Spaces(i int) int {
	for in.At(i) && chars.IsSpace(in.Buf[in.Pos+i]) {
		i++
	}
	return i
}

// Addressee returns the length of the word i bytes from here that a marker of
// one of the given dialects follows: it says whom the message is for.
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

// HasAt reports whether s stands i bytes from here. It waits for input only
// while it may.
func (in *Input) HasAt(i int, s string) bool {
	for j := range len(s) {
		if !in.At(i+j) || in.Buf[in.Pos+i+j] != s[j] {
			return false
		}
	}
	return true
}

// AnyOf returns the length of the one of list that stands i bytes from here, in
// any spelling; 0 if there is none.
func (in *Input) AnyOf(i int, list []string) int {
	for _, s := range list {
		if n := in.Literal(i, s); n > 0 {
			return n
		}
	}
	return 0
}

// Literal is hasAt for markers: bars of any spelling count. It returns how
// many bytes mean s, 0 if it is not there.
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

// Closer reports whether a marker that ends or begins calls stands i bytes
// from here. A label that is an ordinary word does not count.
func (in *Input) Closer(i int) bool {
	t, n := in.Match(i)
	return n > 0 && !(t.Line && t.All.Within(in.Lex.Labelled)) && (t.Is(lexicon.Closes) || t.Is(lexicon.Opens) || t.Is(lexicon.EndCall) || t.Is(lexicon.Drops) && t.Special || t.Is(lexicon.Heads))
}

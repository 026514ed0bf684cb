// Package judge decides whether text is a call. [Decide] weighs the evidence about
// calls that were read: their marker, the text around them, fences, quotes, and what
// encloses them. [Check] finds what looks like a call and was not read as one.
package judge

import (
	"bytes"
	"strconv"
	"strings"

	"github.com/toolpost/toolpost/dialect/internal/chars"
	"github.com/toolpost/toolpost/dialect/internal/lexicon"
	"github.com/toolpost/toolpost/dialect/internal/loose"
	"github.com/toolpost/toolpost/dialect/internal/offered"
	"github.com/toolpost/toolpost/dialect/internal/scan"
)

// Evidence holds the facts for deciding whether text is a call: the
// text itself, the offered tools, and everything read before.
type Evidence struct {
	scan.Input
	Names *offered.Names
	Hint  lexicon.RowSet // the row of the dialect that is expected
	Situation
	findings
}

// NewEvidence returns the evidence at the beginning of an answer.
func NewEvidence(x *lexicon.Lexicon, n *offered.Names, hint lexicon.RowSet) Evidence {
	return Evidence{Input: scan.Input{Lex: x}, Names: n, Hint: hint, findings: findings{showing: showing{at: -1}}}
}

// Situation is where in the answer we are and what calls were read. A guess that
// fails changes it back: it is copied when a guess begins and restored as a whole.
type Situation struct {
	passage
	Region
	Calls  int     // read so far
	Covers extents // of calls, valid or not, and of what a warning tells of
}

// passage is where in the answer we are.
type passage struct {
	Mode     mode
	ThinkBy  *lexicon.Token // what opened the thinking we are in; nil if the prompt did
	ByHeader bool           // the thinking we are in was opened by a message header
	Held     bool           // a try holds calls in thinking
	Thought  bool           // thinking has ended before here

	Since   int  // offset of the text or thinking since the last markup
	Origin  int  // offset of what counts as the beginning of the answer
	First   int  // offset of the first byte of text that is not white space
	Message int  // offset of the message we are in
	Started bool // something other than white space has been read as text
	Muted   bool // the message is addressed to the user: nothing in it is a call
	Cites   bool // a marker says that text may hold tags of citations
	Coded   bool // a fence with code is open: nothing in it is a call without a marker
	Block   CodeFence
}

// Region is the calls we are in and the markers around them.
type Region struct {
	Rows      lexicon.RowSet // the dialects that this call fits so far
	Marked    bool           // a marker says that calls follow
	Loose     bool           // a call follows another after its marker, and only its name tells it
	Depth     int            // how many markers around calls are open
	Outer     lexicon.RowSet // the dialects that the last of these markers fits
	OpenAt    int            // offset of the last of these markers
	OpenTok   *lexicon.Token // the last of these markers
	Escaped   bool           // it is escaped as in Markdown
	Code      bool           // it may be followed by code
	AfterCall bool           // no marker stands between the last call and here
	Listed    bool           // the call we read is an element of a list
	// Presented says that a label is on the line above the last marker.
	Presented bool
	Printed   bool // the Python call we read is the argument of print
	Keyword   bool // the Python value we read has a key
	// EndOfMessage says that the last calls were followed by the end of their
	// message.
	EndOfMessage bool
}

// findings are kept even if the guess that found them fails; see state for what
// is not.
type findings struct {
	Lost         Suspects
	Wasted       int  // bytes read by guesses that failed
	NoCallBefore int  // offset up to which nothing in thinking is a call
	Quoting      bool // we are in a code fence that is not a call
	document     bool // the last element stood in a document of elements
	Progress     Progress
	MessageAt    int // offset of the calls of a message that is written as JSON
	ShownTo      int // offset up to which nothing is a call, because it is shown
	showing      showing
}

type mode uint8

const (
	InText mode = iota
	InThinking
)

// Prev is the byte before the next one. The answer begins like a line.
func (e *Evidence) Prev() byte {
	if e.Pos == 0 || e.Offset() == e.Origin {
		return '\n'
	}
	return e.Buf[e.Pos-1]
}

// AtLine reports whether a line begins here.
func (e *Evidence) AtLine() bool {
	return e.Prev() == '\n' || !e.Started || e.Offset() == e.First
}

// NamedAt reports whether the word i bytes from here is an offered name, or
// any word if every name will do. It waits only as long as it may be one.
func (e *Evidence) NamedAt(i int) bool {
	if e.Names.Any {
		return true
	}
	if !e.At(i) || !e.Names.First.Has(e.Buf[e.Pos+i]) {
		return false // most first words
	}
	n := 0
	for n < lexicon.MaxName && e.At(i+n) && chars.IsNameByte(e.Buf[e.Pos+i+n]) {
		if n++; !e.Names.MayBecome(string(e.Buf[e.Pos+i : e.Pos+i+n])) {
			return false
		}
	}
	return n > 0
}

// NameBefore returns the offered name with which the text before here ends,
// after other words or glued to them, and its length.
func (e *Evidence) NameBefore(text []byte) (name string, n int) {
	for n < min(len(text), lexicon.MaxName) && (chars.IsWordByte(text[len(text)-1-n]) || text[len(text)-1-n] == '\\') {
		n++
	}
	written := text[len(text)-n:]
	for {
		if name, ok := e.Names.Resolve(string(written)); ok && len(written) > 0 {
			return name, len(written)
		}
		i := bytes.IndexAny(written, ".:/")
		if i < 0 {
			return "", 0
		}
		written = written[i+1:]
	}
}

// Declares reports whether a tool has a parameter of that name.
func (e *Evidence) Declares(name, key string) bool {
	shape := e.Names.Shape(name)
	return shape != nil && key != "" && shape.Declares(loose.Unescape(key))
}

// CallAt reports whether the name of a tool and a parenthesis are at i.
func (e *Evidence) CallAt(i int) bool {
	name, j := e.EscapedWord(i)
	return e.Names.Offered(name) && e.Peek(j) == '('
}

// NeedsNothing reports whether a tool lacks parameters, so a call of it
// need not say anything of arguments.
func (e *Evidence) NeedsNothing(name string) bool {
	shape := e.Names.Shape(name)
	return !e.Names.Any && (shape == nil || len(shape.Properties()) == 0)
}

// Exampled reports whether the prose just before says that an example
// follows.
func (e *Evidence) Exampled() bool {
	line := e.Lately()
	var low [80]byte // no allocation: this is asked of every bracket
	n := copy(low[:], chars.LastLine(line[max(0, len(line)-len(low)):]))
	for i, c := range low[:n] {
		if 'A' <= c && c <= 'Z' {
			low[i] = c + 'a' - 'A'
		}
	}
	s := low[:n]
	return bytes.Contains(s, []byte("e.g.")) || bytes.Contains(s, []byte("for example")) || bytes.Contains(s, []byte("for instance")) ||
		bytes.HasPrefix(bytes.TrimSpace(s), []byte("example"))
}

func suspicion(n, at int, name string) string {
	times := "once"
	if n > 1 {
		times = strconv.Itoa(n) + " times"
	}
	return "text looks like a call in " + name + ", " + times + ", first at byte " + strconv.Itoa(at) + "; it was not read as one"
}

// Suspect counts what stands here if it looks like the beginning of a call.
func (e *Evidence) Suspect() {
	if t, n := e.Match(0); n > 0 && (t.Is(lexicon.Opens) && !t.Line || t.Is(lexicon.TagCall)) {
		e.Lost.Add(t.In(lexicon.Opens).Or(t.In(lexicon.TagCall)), e.Offset())
	}
}

// Lately returns the last bytes of the text, or thinking, before here.
func (e *Evidence) Lately() []byte {
	return e.Buf[max(0, e.Since-e.Base, e.Pos-scan.MaxTail):e.Pos]
}

// InDocument reports whether the element here is part of a document: its parent is
// an element that no dialect has, or it stands next to an element of which that is
// true. If its name is not an ordinary word, the parent has such a parent, too.
func (e *Evidence) InDocument(word string) bool {
	if e.Marked {
		return false
	}
	before := bytes.TrimRight(e.Lately(), " \t\r\n")
	if !chars.IsPlainTag("<" + word + ">") {
		parent, ok := tagAtEnd(before)
		if !ok {
			return false
		}
		_, ok = tagAtEnd(bytes.TrimRight(before[:len(before)-len(parent)], " \t\r\n"))
		return ok
	}
	open := bytes.LastIndexByte(before, '<')
	if open < 0 || before[len(before)-1] != '>' || bytes.IndexByte(before[open:len(before)-1], '>') >= 0 {
		e.document = false
		return false
	}
	tag := string(before[open:])
	opens := chars.IsNameStart(tag[1]) && !strings.HasSuffix(tag, "/>") && !answerTags[tag]
	e.document = e.document || opens
	return e.document
}

// tagAtEnd returns the tag that begins an element, and none around an answer, with
// which the text before ends.
func tagAtEnd(before []byte) (tag []byte, ok bool) {
	open := bytes.LastIndexByte(before, '<')
	if open < 0 || before[len(before)-1] != '>' {
		return nil, false
	}
	tag = before[open:]
	return tag, chars.IsNameStart(tag[1]) && bytes.IndexByte(tag, '>') == len(tag)-1 && tag[len(tag)-2] != '/' && !answerTags[string(tag)]
}

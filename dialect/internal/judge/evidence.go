// Package judge decides whether text is a call. [Decide] weighs the evidence about calls that were read: their marker,
// the surrounding text, code fences, quotes and enclosing elements. [Check] finds text that looks like a call but was
// not read as one.
//
// Some words have a special meaning here. A marker is a string of a dialect that begins or ends calls. A candidate is
// one or more calls that were read and may still turn out to be text. A held candidate has not been passed on yet. A
// call is shown if the text quotes it or gives it as an example: it is then text, because the model does not want to
// run it.
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

// Evidence holds the facts for deciding whether text is a call: the text itself, the offered tools, and the state after
// everything read before.
type Evidence struct {
	scan.Input
	Names *offered.Names
	Hint  lexicon.RowSet // the expected dialect; empty if unknown
	// OnlyMarked is the policy of the route that calls need a marker of the expected dialect.
	OnlyMarked bool
	Mentions   bool // calls count that the text only talks about
	Situation
	findings
}

// NewEvidence returns the evidence at the beginning of an answer.
func NewEvidence(x *lexicon.Lexicon, n *offered.Names, hint lexicon.RowSet, onlyMarked bool) Evidence {
	return Evidence{Input: scan.Input{Lex: x}, Names: n, Hint: hint, OnlyMarked: onlyMarked, findings: findings{showing: showing{at: -1}}}
}

// Situation is the position in the answer and the calls read so far. It is copied when a guess begins and restored as a
// whole when the guess fails.
type Situation struct {
	passage
	Region
	surroundings
	Calls  int     // number of calls read so far
	Covers extents // calls, refused calls and data, which Check must not report again
}

// passage is the position in the answer.
type passage struct {
	Mode     mode
	ThinkBy  *lexicon.Token // the marker that opened the current thinking; nil if the prompt opened it
	ByHeader bool           // a message header opened the current thinking
	Held     bool           // a try holds calls that were read in thinking
	Thought  bool           // some thinking has ended

	Since   int  // offset after the last markup: text or thinking begins there
	Origin  int  // offset that counts as the beginning of the answer
	First   int  // offset of the first byte of text that is not white space
	Message int  // offset of the current message
	Started bool // something other than white space has been read as text
	Muted   bool // the message is addressed to the user: nothing in it is a call
	Cites   bool // a marker announced that the text may contain citation tags
	Coded   bool // a fence with code is open: only a marker begins a call in it
	Block   CodeFence
}

// Region is the current group of calls and the markers around them.
type Region struct {
	Rows      lexicon.RowSet // the dialects that match the call so far
	Marked    bool           // a marker announced the calls
	Loose     bool           // the call follows another call without a marker: only an offered name makes it a call
	Depth     int            // number of open markers around the calls
	Outer     lexicon.RowSet // the dialects of the last open marker
	OpenAt    int            // offset of the last open marker
	OpenTok   *lexicon.Token // the last open marker
	Escaped   bool           // that marker has Markdown escapes
	Code      bool           // code may follow that marker
	AfterCall bool           // no marker has followed the last call
	Listed    bool           // the current call is an element of a list
	// Presented reports whether the line above the last marker is a label.
	Presented bool
	Printed   bool // the current Python call is the argument of print
	Keyword   bool // the current Python value has a key
	// EndOfMessage reports whether the end of the message followed the last calls.
	EndOfMessage bool
}

// findings are kept even if the guess that found them fails. [Situation] is restored instead.
type findings struct {
	Lost         Suspects
	Wasted       int  // bytes read by failed guesses
	NoCallBefore int  // offset up to which thinking contains no calls
	Quoting      bool // the current code fence does not hold a call
	document     bool // the last element belonged to a document of elements
	Progress     Progress
	MessageAt    int // offset of the calls in a message written as JSON
	ShownTo      int // offset up to which text is shown, so it contains no calls
	showing      showing
	judged       int // number of sentences read by talksAbove
}

type mode uint8

const (
	InText mode = iota
	InThinking
)

// Prev returns the byte before the next one. At the beginning of the answer it is a newline.
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

// NamedAt reports whether the word i bytes from here is an offered name or the beginning of one. If any name is
// allowed, it is always true. It waits for input only while the word may still become a name.
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

// NameBefore returns the offered tool whose name ends the text, and the length of the name as written. Other words may
// precede the name directly or with a separator.
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

// Declares reports whether the tool name has a parameter key.
func (e *Evidence) Declares(name, key string) bool {
	shape := e.Names.Shape(name)
	return shape != nil && key != "" && shape.Declares(loose.Unescape(key))
}

// CallAt reports whether the name of an offered tool and a parenthesis are at i.
func (e *Evidence) CallAt(i int) bool {
	name, j := e.EscapedWord(i)
	return e.Names.Offered(name) && e.Peek(j) == '('
}

// NeedsNothing reports whether a tool has no parameters, so a call of it may omit the arguments.
func (e *Evidence) NeedsNothing(name string) bool {
	shape := e.Names.Shape(name)
	return !e.Names.Any && (shape == nil || len(shape.Properties()) == 0)
}

// Exampled reports whether the text just before announces an example.
func (e *Evidence) Exampled() bool {
	line := e.Lately()
	var low [80]byte // no allocation: Exampled is called for every bracket
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

func suspicion(s suspected, name string) string {
	more := ""
	if s.count > 1 {
		more = ", and " + strconv.Itoa(s.count-1) + " more,"
	}
	return "text at byte " + strconv.Itoa(s.first) + more + " looks like a call in " + name + ", but " + s.why
}

// Suspect counts the marker at the current position if it begins a call. why is why it is not read as one.
func (e *Evidence) Suspect(why string) {
	if t, n := e.Match(0); n > 0 && (t.Is(lexicon.Opens) && !t.Line || t.Is(lexicon.TagCall)) {
		e.Lost.Add(t.In(lexicon.Opens).Or(t.In(lexicon.TagCall)), e.Offset(), why)
	}
}

// Lately returns the last bytes of the text or thinking before the current position, at most scan.MaxTail.
func (e *Evidence) Lately() []byte {
	return e.Buf[max(0, e.Since-e.Base, e.Pos-scan.MaxTail):e.Pos]
}

// inDocument reports whether the element word belongs to a document and is not a call. For an ordinary word, the text
// must end in a start tag, or in the end tag of a sibling that was in a document. For any other name, the text must end
// in two start tags: both its parent and its grandparent are then elements of the document.
func (e *Evidence) inDocument(word string) bool {
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

// tagAtEnd returns the start tag that ends the text before. Tags around an answer, such as <answer>, do not count.
func tagAtEnd(before []byte) (tag []byte, ok bool) {
	open := bytes.LastIndexByte(before, '<')
	if open < 0 || before[len(before)-1] != '>' {
		return nil, false
	}
	tag = before[open:]
	return tag, chars.IsNameStart(tag[1]) && bytes.IndexByte(tag, '>') == len(tag)-1 && tag[len(tag)-2] != '/' && !answerTags[string(tag)]
}

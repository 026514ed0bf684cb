// Package form reads the calls of an answer. There is one reader for each form of call, such as JSON, elements, Python
// or message headers. The readers are in lists and are asked in order. To support a new form, add a reader to a list.
package form

import (
	"iter"
	"strings"

	"github.com/toolpost/toolpost/dialect/internal/chars"
	"github.com/toolpost/toolpost/dialect/internal/engine"
	"github.com/toolpost/toolpost/dialect/internal/judge"
	"github.com/toolpost/toolpost/dialect/internal/lexicon"
	"github.com/toolpost/toolpost/dialect/internal/scan"
	"github.com/toolpost/toolpost/internal/jsonfix"
	"github.com/toolpost/toolpost/llm"
)

// answer is an answer that is being read, with the scratch values of the form readers.
type answer struct {
	engine.Feed
	lists     *readers
	envelopes []*envelope     // free, for the next objects
	feeders   []*feeder       // free, for the next values
	spare     *jsonfix.Reader // free, for the next value that is read whole
	data      *judge.Data     // reused for each value
}

// Parse reads an answer that arrives in chunks; see dialect.Parser.Parse.
func Parse(x *Table, o *engine.Options, chunks iter.Seq2[string, error]) iter.Seq2[llm.Event, error] {
	return func(yield func(llm.Event, error) bool) {
		f := Open(x, o, yield)
		defer f.Stop()
		for chunk, err := range chunks {
			if err != nil {
				f.End(err)
				return
			}
			if !f.Add(chunk) {
				return
			}
		}
		f.End(nil)
	}
}

// Open begins to read an answer. Events are passed to yield.
func Open(x *Table, o *engine.Options, yield func(llm.Event, error) bool) *engine.Feed {
	a := &answer{lists: &x.readers}
	a.Start(x.Lexicon, o, a, yield)
	return &a.Feed
}

// The readers of the forms of calls. Each adds its own methods to those of the answer.
type (
	markerReader   struct{ *answer } // calls after a marker
	bareReader     struct{ *answer } // calls without a marker
	nameReader     struct{ *answer } // calls that begin with their name
	lineReader     struct{ *answer } // arguments on separate lines
	headerReader   struct{ *answer } // headers of messages
	jsonReader     struct{ *answer } // JSON objects that hold calls
	valueReader    struct{ *answer } // JSON values
	tagReader      struct{ *answer } // elements with the tags of a dialect
	elementReader  struct{ *answer } // elements named after tools
	pythonReader   struct{ *answer } // Python calls
	braceReader    struct{ *answer } // calls in braces
	codeReader     struct{ *answer } // code as the argument of a tool that runs it
	fenceReader    struct{ *answer } // code fences
	looseReader    struct{ *answer } // blocks that only package loose can read
	envelopeReader struct{ *answer } // answers and data in JSON that are not calls
	cutReader      struct{ *answer } // calls that were cut off
)

func (m *answer) asMarker() markerReader { return markerReader{m} }

func (m *answer) asBare() bareReader { return bareReader{m} }

func (m *answer) asName() nameReader { return nameReader{m} }

func (m *answer) asLine() lineReader { return lineReader{m} }

func (m *answer) asHeader() headerReader { return headerReader{m} }

func (m *answer) asJson() jsonReader { return jsonReader{m} }

func (m *answer) asValue() valueReader { return valueReader{m} }

func (m *answer) asTag() tagReader { return tagReader{m} }

func (m *answer) asElement() elementReader { return elementReader{m} }

func (m *answer) asPython() pythonReader { return pythonReader{m} }

func (m *answer) asBrace() braceReader { return braceReader{m} }

func (m *answer) asCode() codeReader { return codeReader{m} }

func (m *answer) asFence() fenceReader { return fenceReader{m} }

func (m *answer) asLoose() looseReader { return looseReader{m} }

func (m *answer) asEnvelope() envelopeReader { return envelopeReader{m} }

func (m *answer) asCut() cutReader { return cutReader{m} }

// BeginsInThinking reports whether a whole answer closes a thinking block that it never opened. The prompt then held
// the marker that opens it.
func (x *Table) BeginsInThinking(text string) bool {
	const ahead = 4 << 10 // longer than any marker
	m := scan.Input{Lex: x.Lexicon, Eof: true}
	open, called := 0, -1 // called is where the last call ended
	for pos := 0; pos < len(text); {
		if c := text[pos]; chars.IsLetter(c) || x.Tree.Child(c) == nil && x.Triggers[c] != lexicon.Anywhere {
			pos++
			continue
		}
		if m.Pos = pos - m.Base; m.Pos+ahead > len(m.Buf) && m.Base+len(m.Buf) < len(text) { // match only a part of the text at a time
			m.Base, m.Pos = pos, 0
			m.Buf = append(m.Buf[:0], text[pos:min(len(text), pos+16*ahead)]...)
		}
		t, n := m.Match(0)
		switch {
		case t.Is(lexicon.Heads) && strings.TrimSpace(text[:pos]) == "":
			return false // message headers mark the thinking
		case t.Is(lexicon.Thinks) && !t.Line && !t.AtStart:
			open++
		case t.Is(lexicon.Unthinks) && !t.Is(lexicon.Drops) && !t.Line:
			if called < 0 || strings.TrimSpace(text[called:pos]) != "" || strings.TrimSpace(text[pos+n:]) != "" {
				open-- // otherwise it only follows the last call
			}
		case t.Is(lexicon.Closes) || t.Is(lexicon.EndCall):
			called = pos + n
		}
		pos += max(n, 1)
	}
	return open < 0
}

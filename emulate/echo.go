package emulate

import (
	"bytes"
	"fmt"
	"math/bits"
	"strings"
	"unicode/utf8"

	"github.com/toolpost/toolpost/dialect"
	"github.com/toolpost/toolpost/llm"
)

// maxSearches bounds how often the conversation is searched for one answer.
// After that, what the set of grams says counts: it errs on the side of an
// echo, and almost never.
const maxSearches = 8

// passage is a piece of the conversation that the model did not write.
type passage struct {
	text  string
	place string
	user  bool // a person wrote it; else it comes from a tool or a document
}

// echoes finds calls whose text stands in a conversation already. It goes once
// over the conversation, when the first call is looked for, and keeps no copy
// of it: a set of bits, of bounded size, says which sequences of eight bytes
// occur. Only a call whose sequences all occur is then searched for.
type echoes struct {
	passages []passage
	grams    []uint64
	shift    int
	searches int
}

// newEchoes prepares the search of a conversation: the results of tools,
// documents, and what the user wrote. What the model said, the system prompt
// and texts of our own are not searched.
func newEchoes(messages []llm.Message) *echoes {
	e := &echoes{}
	for i, m := range messages {
		for _, p := range m.Parts {
			e.add(m.Role, i+1, p)
		}
	}
	size := 0
	for _, p := range e.passages {
		size += len(p.text)
	}
	const least, most = 10, 23 // bits, as powers of two: 128 bytes to 1 MiB
	width := min(max(bits.Len(uint(size))+4, least), most)
	e.grams, e.shift = make([]uint64, 1<<(width-6)), 64-width
	var w window
	for _, p := range e.passages {
		squeeze(p.text, func(c byte) bool {
			if w.add(c) {
				at := e.slot(w)
				e.grams[at>>6] |= 1 << (at & 63)
			}
			return true
		})
	}
	return e
}

// add takes a part of the n-th message.
func (e *echoes) add(role llm.Role, n int, p llm.Part) {
	switch p := p.(type) {
	case llm.Result:
		for _, inner := range p.Parts {
			e.addResult(n, p.Name, inner)
		}
	case llm.Media:
		e.addDocument(n, p)
	case llm.Text:
		switch {
		case p.Ours:
		case role == llm.RoleUser:
			e.passages = append(e.passages, passage{p.Text, fmt.Sprintf("message %d, of the user", n), true})
		case role == llm.RoleTool:
			e.addResult(n, "", p)
		}
	}
}

// addResult takes a part of a result of the tool called name.
func (e *echoes) addResult(n int, name string, p llm.Part) {
	switch p := p.(type) {
	case llm.Text:
		if p.Ours {
			return
		}
		place := fmt.Sprintf("message %d, a tool result", n)
		if name != "" {
			place = fmt.Sprintf("message %d, the result of %s", n, name)
		}
		e.passages = append(e.passages, passage{p.Text, place, false})
	case llm.Media:
		e.addDocument(n, p)
	}
}

// addDocument takes a document that is text.
func (e *echoes) addDocument(n int, m llm.Media) {
	if m.Kind != llm.Document || len(m.Data) == 0 || !utf8.Valid(m.Data) {
		return
	}
	e.passages = append(e.passages, passage{string(m.Data), strings.TrimSpace(fmt.Sprintf("message %d, the document %s", n, m.Name)), false})
}

// slot returns the bit of the sequence in w.
func (e *echoes) slot(w window) uint64 { return w.last * 0x9E3779B97F4A7C15 >> e.shift }

// find returns where the conversation holds the text of a call. A result or
// document counts before what the user wrote.
func (e *echoes) find(m dialect.Markup, c llm.Call) (p passage, found bool) {
	if len(e.passages) == 0 {
		return passage{}, false
	}
	needle := e.needle(m, c)
	if len(needle) == 0 || !e.mayHold(needle) {
		return passage{}, false
	}
	if e.searches++; e.searches > maxSearches {
		return passage{place: "the conversation"}, true
	}
	return e.search(needle, squeezed(m.Opener))
}

// needle returns what is searched for: the call as the model wrote it, less
// white space, quotes and what closes it. A call without arguments is searched
// for with its markers or not at all: its name alone says nothing.
func (e *echoes) needle(m dialect.Markup, c llm.Call) []byte {
	text := strings.TrimLeft(m.Text, " \t\r\n;,")
	if !c.Provenance.Marked {
		if args := squeezed(string(c.Args)); len(args) <= len("{}") {
			return nil
		}
		text = unfenced(strings.TrimLeft(text, " \t\r\n;,["))
	}
	return unclosed(squeezed(text))
}

// unfenced returns text without the opening of a code fence before it.
func unfenced(text string) string {
	rest, ok := strings.CutPrefix(text, "```")
	if !ok {
		return text
	}
	if i := strings.IndexAny(rest, "\n{["); i >= 0 {
		rest = rest[i:]
	}
	return rest
}

// unclosed returns text without the brackets and end tags at its end: whether
// the model or the text it copied forgot them changes nothing.
func unclosed(text []byte) []byte {
	for len(text) > 0 {
		last := len(text) - 1
		switch text[last] {
		case '}', ']', ')':
			text = text[:last]
			continue
		case '>':
			if open := bytes.LastIndexByte(text, '<'); open >= 0 && open+1 < last && text[open+1] == '/' {
				text = text[:open]
				continue
			}
		}
		break
	}
	return text
}

// mayHold reports whether all sequences of the text occur in the conversation.
func (e *echoes) mayHold(text []byte) bool {
	var w window
	for _, c := range text {
		if !w.add(c) {
			continue
		}
		if at := e.slot(w); e.grams[at>>6]&(1<<(at&63)) == 0 {
			return false
		}
	}
	return true
}

// search goes through the conversation as one text, so that a call divided
// between two results is found, too.
func (e *echoes) search(needle, opener []byte) (p passage, found bool) {
	s := searcher{needle: needle, back: failures(needle)}
	starts := make([]int, 0, len(e.passages))
	var best *passage
	hit := func(i int) bool { // in the i-th passage, and perhaps some before it
		first := i
		for first > 0 && starts[first] > s.matched {
			first--
		}
		for k := first; k <= i; k++ {
			if at := &e.passages[k]; (best == nil || best.user && !at.user) && contains(at.text, opener) {
				best = at
			}
		}
		return best != nil && !best.user
	}
	for i, at := range e.passages {
		starts = append(starts, s.offset)
		over := !squeeze(at.text, func(c byte) bool {
			if s.settle(c) && hit(i) {
				return false
			}
			s.add(c)
			return true
		})
		if over || s.ended && hit(i) {
			break
		}
		s.ended = false
	}
	if best == nil {
		return passage{}, false
	}
	return *best, true
}

// contains reports whether a text, squeezed, holds the needle.
func contains(text string, needle []byte) bool {
	if len(needle) == 0 {
		return true
	}
	s := searcher{needle: needle, back: failures(needle)}
	return !squeeze(text, func(c byte) bool {
		s.add(c)
		return !s.ended
	})
}

// searcher finds a text in bytes that come one by one, in linear time.
type searcher struct {
	needle  []byte
	back    []int // how much of the needle still fits after a byte that does not
	fits    int   // how much of it the last bytes are
	offset  int
	ended   bool // the needle has just ended
	matched int  // where it began
}

func (s *searcher) add(c byte) {
	for s.fits > 0 && s.needle[s.fits] != c {
		s.fits = s.back[s.fits-1]
	}
	if s.needle[s.fits] == c {
		s.fits++
	}
	s.offset++
	if s.fits == len(s.needle) {
		s.ended, s.matched = true, s.offset-s.fits
		s.fits = s.back[s.fits-1]
	}
}

// settle reports whether the needle has ended before c: c neither continues the
// last word nor adds an argument.
func (s *searcher) settle(c byte) bool {
	ended := s.ended
	s.ended = false
	return ended && c != ',' && c != '_' && c != '-' && c != '.' && c != '/' && !(c >= '0' && c <= '9') && !(c >= 'a' && c <= 'z') && c < utf8.RuneSelf
}

// failures returns for each beginning of the needle how long the longest
// beginning is that it also ends with.
func failures(needle []byte) []int {
	back := make([]int, len(needle))
	for i, k := 1, 0; i < len(needle); i++ {
		for k > 0 && needle[k] != needle[i] {
			k = back[k-1]
		}
		if needle[k] == needle[i] {
			k++
		}
		back[i] = k
	}
	return back
}

// window holds the last eight bytes of a text.
type window struct {
	last uint64
	n    int
}

// add takes the next byte and reports whether there are eight.
func (w *window) add(c byte) bool {
	w.last = w.last<<8 | uint64(c)
	w.n++
	return w.n >= 8
}

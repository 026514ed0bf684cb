package emulate

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"iter"
	"math/bits"
	"slices"
	"strings"
	"unicode"
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
	text  string // without its escapes
	raw   string // as written in the conversation
	place string
	user  bool   // a person wrote it, or the model that gave the task; else it is outside text
	tool  string // whose definition it is
}

// mayMean reports whether a call that repeats the passage may be meant: the user may have asked
// for it, and a tool's own definition may show how it is called.
func (p passage) mayMean(name string) bool { return p.user || p.tool != "" && p.tool == name }

// outside reports whether the passage comes from neither the program, the user nor the model.
func (p passage) outside() bool { return !p.user }

// echoes finds calls whose text is already in a conversation. It reads the
// conversation once, when the first call is found, and copies only the escaped parts.
// A set of bits of limited size has the sequences of eight bytes that occur. Only a
// call whose sequences all occur is then searched for.
type echoes struct {
	passages []passage
	unknown  bool // text of the user without an origin may come from a document
	grams    []uint64
	shift    int
	searches int
	quotes   *quotes // what the calls in it say, once that is asked
}

// newEchoes prepares the search of a request: all text of outside origin, tool definitions
// that did not come with the program, and the user's text. The model's text, the system
// prompt and our own texts are not searched.
func newEchoes(req *llm.Request) *echoes {
	e := &echoes{unknown: req.Echoes != nil && req.Echoes.Unknown}
	e.addMessages(req.Messages)
	for _, t := range req.Tools {
		if t.Origin.Outside() {
			e.addDefinition(t)
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
		normalize(p.text, true, func(c byte) bool {
			if w.add(c) {
				at := e.slot(w)
				e.grams[at>>6] |= 1 << (at & 63)
			}
			return true
		})
	}
	return e
}

// addMessages takes the parts of a conversation.
func (e *echoes) addMessages(messages []llm.Message) {
	for i, m := range messages {
		for _, p := range m.Parts {
			e.add(m, i+1, p)
		}
	}
}

// add takes a part of m, the n-th message.
func (e *echoes) add(m llm.Message, n int, p llm.Part) {
	switch p := p.(type) {
	case llm.Result:
		for _, inner := range p.Parts {
			e.addResult(n, p.Name, inner)
		}
	case llm.Media:
		e.addDocument(n, p)
	case llm.Text:
		for _, c := range p.Citations {
			e.addText(c.Quote, fmt.Sprintf("message %d, a quotation", n), false)
		}
		origin := m.OriginOf(p)
		if e.unknown && m.Role == llm.RoleUser && origin == llm.OriginUser {
			origin = llm.OriginUnknown
		}
		switch {
		case p.Ours:
		case origin == llm.OriginResult:
			e.addResult(n, "", p)
		case origin == llm.OriginUser:
			e.addText(p.Text, fmt.Sprintf("message %d, of the user", n), true)
		case origin.Outside():
			e.addText(p.Text, fmt.Sprintf("message %d, %s", n, placeOf(origin)), false)
		case m.Role == llm.RoleUser || origin == llm.OriginUser.Summary():
			e.addText(p.Text, fmt.Sprintf("message %d, %s", n, placeOf(origin)), true)
		}
	}
}

// placeOf describes text by its origin.
func placeOf(o llm.TextOrigin) string {
	switch o {
	case llm.OriginDocument:
		return "a document"
	case llm.OriginUnknown:
		return "text of unknown origin"
	case llm.OriginModel:
		return "text of a model"
	case llm.OriginDescription:
		return "the definition of a tool"
	}
	return "a " + string(o)
}

// addDefinition takes the description of a tool and its schema, which has descriptions as well.
func (e *echoes) addDefinition(t llm.ToolDef) {
	for _, text := range []string{t.Description, string(t.Schema)} {
		first := len(e.passages)
		e.addText(text, "the definition of "+t.Name, false)
		for i := range e.passages[first:] {
			e.passages[first+i].tool = t.Name
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
		e.addText(p.Text, place, false)
	case llm.Media:
		e.addDocument(n, p)
	}
}

// addDocument takes a document that is text, or that its address holds.
func (e *echoes) addDocument(n int, m llm.Media) {
	place := strings.TrimSpace(fmt.Sprintf("message %d, the document %s", n, m.Name))
	for _, text := range []string{m.URL, m.Name} {
		if strings.HasPrefix(m.URL, "data:") || len(text) > 0 && strings.ContainsAny(text, "{(<[") {
			e.addText(text, place, false)
		}
	}
	if m.Kind == llm.Document && len(m.Data) > 0 && utf8.Valid(m.Data) {
		e.addText(string(m.Data), place, false)
	}
}

// addText takes a text as it reads without its escapes, and what the addresses
// in it hold.
func (e *echoes) addText(text, place string, user bool) {
	if text == "" {
		return
	}
	raw := text
	text = uncoloured(unescaped(text))
	if mail, is := quotedPrintable(text); is {
		e.passages = append(e.passages, passage{text: uncoloured(unescaped(mail)), raw: mail, place: place, user: user})
	}
	e.passages = append(e.passages, passage{text: text, raw: raw, place: place, user: user})
	const start = ";base64,"
	for rest := text; ; {
		i := strings.Index(rest, start)
		if i < 0 {
			return
		}
		rest = rest[i+len(start):]
		held := rest[:base64Length(rest)]
		if data, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(held, "=")); err == nil && utf8.Valid(data) {
			e.passages = append(e.passages, passage{text: unescaped(string(data)), raw: string(data), place: place, user: user})
		}
		rest = rest[len(held):]
	}
}

// base64Length returns how much of the start of a text is base64.
func base64Length(text string) int {
	for i, c := range []byte(text) {
		if !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '+' || c == '/' || c == '=') {
			return i
		}
	}
	return len(text)
}

// slot returns the bit of the sequence in w.
func (e *echoes) slot(w window) uint64 { return w.last * 0x9E3779B97F4A7C15 >> e.shift }

// find returns where the conversation holds the text of a call. Outside text counts
// before what the user wrote.
func (e *echoes) find(m dialect.Markup, c llm.Call) (p passage, found bool) {
	if len(e.passages) == 0 {
		return passage{}, false
	}
	needle, closers := e.needle(m, c)
	if len(needle) == 0 || !e.mayHold(needle) {
		return passage{}, false
	}
	if e.searches++; e.searches > maxSearches {
		return passage{place: "the conversation"}, true
	}
	return e.search(c.Name, needle, closers, normalized(m.Opener))
}

// needle returns the text to search for: the call as the model wrote it, without white
// space, quotes and its closing markup, which is returned as well. A call without
// arguments is searched for with its markers or not at all, because its name alone is
// not significant.
func (e *echoes) needle(m dialect.Markup, c llm.Call) (text []byte, closers [][]byte) {
	written := strings.TrimLeft(m.Text, " \t\r\n;,")
	if !c.Provenance.Marked {
		if args := normalized(string(c.Args)); len(args) <= len("{}") {
			return nil, nil
		}
		written = unfenced(strings.TrimLeft(written, " \t\r\n;,["))
	}
	return unclosed(normalized(written))
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

// unclosed returns text without the brackets and end tags at its end, and the
// tags, in their order: whether the model or the text it copied forgot them
// changes nothing.
func unclosed(text []byte) (open []byte, closers [][]byte) {
	for len(text) > 0 {
		last := len(text) - 1
		switch text[last] {
		case '}', ']', ')':
			text = text[:last]
			continue
		case '>':
			if at := bytes.LastIndexByte(text, '<'); at >= 0 && at+1 < last && text[at+1] == '/' {
				closers = append(closers, text[at:])
				text = text[:at]
				continue
			}
		}
		break
	}
	slices.Reverse(closers)
	return text, closers
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

// search searches the conversation as one text, which also finds a call that is split
// between two results.
func (e *echoes) search(name string, needle []byte, closers [][]byte, opener []byte) (p passage, found bool) {
	s := searcher{needle: needle, back: failures(needle), closers: closers}
	starts := make([]int, 0, len(e.passages))
	var best *passage
	hit := func(i int) bool { // in the i-th passage, and perhaps some before it
		first := i
		for first > 0 && starts[first] > s.matched {
			first--
		}
		for k := first; k <= i; k++ {
			if at := &e.passages[k]; (best == nil || best.mayMean(name) && !at.mayMean(name)) && contains(at.text, opener) {
				best = at
			}
		}
		return best != nil && !best.mayMean(name)
	}
	for i, at := range e.passages {
		starts = append(starts, s.offset)
		over := !normalize(at.text, true, func(c byte) bool {
			if s.settle(c) && hit(i) {
				return false
			}
			s.add(c)
			return true
		})
		if over || s.ended && hit(i) {
			break
		}
		s.ended, s.after = false, nil
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
	return !normalize(text, true, func(c byte) bool {
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
	ended   bool // the needle has ended; whether the call has, what follows says
	matched int  // where it began
	closers [][]byte
	after   []byte // what followed since
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
		s.ended, s.matched, s.after = true, s.offset-s.fits, s.after[:0]
		s.fits = s.back[s.fits-1]
	}
}

// longestTail limits the text that is kept after a needle.
const longestTail = 400

// settle takes the byte after the text so far and reports whether the needle is a
// complete call there: the following text neither continues its last word nor adds an
// argument. It may need several bytes.
func (s *searcher) settle(c byte) bool {
	if !s.ended {
		return false
	}
	s.after = append(s.after, c)
	if s.after[0] != '<' || len(s.closers) == 0 {
		if !utf8.FullRune(s.after) {
			return false
		}
		s.ended = false
		r, _ := utf8.DecodeRune(s.after)
		return !strings.ContainsRune(",_-./", r) && !unicode.In(r, unicode.Letter, unicode.Mark, unicode.Digit)
	}
	whole, known := s.closed()
	if !known && len(s.after) < longestTail {
		return false
	}
	s.ended = false
	return whole || !known
}

// closed reports whether the call ends after the needle. It does not if an element
// opens before all end tags of the call have come, or an element like those of the
// call's arguments: then there is one more argument.
func (s *searcher) closed() (whole, known bool) {
	text, n := s.after, 0
	for ; n < len(s.closers) && bytes.HasPrefix(text, s.closers[n]); n++ {
		text = text[len(s.closers[n]):]
	}
	switch {
	case len(text) < 2 || n < len(s.closers) && bytes.HasPrefix(s.closers[n], text):
		return false, false
	case text[0] != '<' || text[1] == '/':
		return true, true
	case n > 0 && n < len(s.closers), n == 0 && bytes.ContainsRune([]byte(">["), rune(s.needle[len(s.needle)-1])):
		return false, true
	}
	for name := range s.arguments() {
		switch {
		case bytes.HasPrefix(text[1:], name):
			return false, true
		case bytes.HasPrefix(name, text[1:]):
			return false, false
		}
	}
	return true, true
}

// arguments yields the names of the elements that contain arguments: elements that end
// within the call, and the element of its last argument.
func (s *searcher) arguments() iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		const open = "</"
		text := append(slices.Clip(s.needle), s.closers[0]...)
		for {
			_, rest, ok := bytes.Cut(text, []byte(open))
			if !ok {
				return
			}
			end := bytes.IndexByte(rest, '>')
			if end <= 0 {
				return
			}
			if !yield(rest[:end]) {
				return
			}
			text = rest[end:]
		}
	}
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

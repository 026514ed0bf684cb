package engine

import (
	"bytes"
	"encoding/json"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/toolpost/toolpost/dialect/internal/loose"
	"github.com/toolpost/toolpost/llm"
)

// codeFence is the code fence we are in.
type codeFence struct {
	open  bool
	prose bool // text stands before it
	shows bool // its word says that it shows a document
	// called says that what follows the fence makes it no document.
	called bool
	// shown says that prose goes on behind the fence: nothing in it is a call.
	shown bool
	start int // offset of what it holds
	ticks int // how many backticks begin it
}

// mayShow reports whether the fence is a document if prose follows it.
func (b *codeFence) mayShow() bool { return b.open && !b.called && (b.prose || b.shows) }

// maxGap bounds the white space behind a call, or a fence, in which we look for
// what follows.
const maxGap = 64

// noteFence notes that a code fence begins or ends here.
func (m *machine) noteFence() {
	if m.mode != inText || len(m.tries) > 0 || m.prev() == '`' || !m.hasAt(0, "```") {
		return
	}
	if m.block.open {
		if !m.inLongerFence() {
			m.block = codeFence{}
		}
		return
	}
	n := m.fenceLength() // it may wait, and the buffer move
	if rows := m.lex.fences[string(m.buf[m.pos:m.pos+n])]; !rows.empty() && rows.within(m.lex.fenced) {
		return // its word is a marker: nothing but calls stands in it
	}
	word := strings.ToLower(strings.TrimLeft(string(m.buf[m.pos:m.pos+n]), "`"))
	if callWords[word] {
		return
	}
	m.block = codeFence{open: true, prose: !m.begins(), shows: languages[word] || documents[word], start: m.offset() + n, ticks: m.ticks()}
}

// inLongerFence reports whether the fence that stands here has fewer backticks
// than the one we are in, which shows it.
func (m *machine) inLongerFence() bool {
	return m.block.open && m.block.ticks > 3 && m.ticks() < m.block.ticks
}

// ticks returns how many backticks stand here, up to maxFence.
func (in *input) ticks() int {
	n := 0
	for n < maxFence && in.peek(n) == '`' {
		n++
	}
	return n
}

// documents are the words of fences, besides languages, that show something.
var documents = map[string]bool{
	"xml": true, "text": true, "txt": true, "plaintext": true, "plain": true, "log": true, "logs": true, "output": true,
	"http": true, "mdx": true, "eml": true, "jsonl": true, "ndjson": true,
}

// callWords are the words of fences that say by themselves that a call stands in
// them.
var callWords = map[string]bool{
	"tool_call": true, "tool_calls": true, "toolcall": true, "function_call": true, "function_calls": true, "tool_use": true, "tool": true,
}

// begins reports whether what stands here begins the answer, or follows
// thinking or a call directly.
func (m *machine) begins() bool {
	if !m.said() {
		return true
	}
	if m.since <= m.first || m.offset()-m.since > maxTail {
		return false
	}
	for i := m.pos - 1; i >= m.since-m.base; i-- {
		if !isSpace(m.buf[i]) {
			return false
		}
	}
	return true
}

// placed reads a call with f if it stands at a place for calls. The text before
// and after it decides that: if there may be text, the call is held until the
// line after it has been seen. A call with a marker is held in a fence, and where
// a sentence or a heading before it may go on. The marker is t, nil if there is
// none.
func (m *machine) placed(t *token, marked bool, f func() bool) bool {
	if m.buf[m.pos] == '`' && !m.block.open {
		marked = true // a fence for calls
	}
	if m.mode != inText || len(m.tries) > 0 {
		return f()
	}
	m.presented = marked && !m.block.open && t.isWritten() && endsLabel(labelAbove(m.lately()))
	switch {
	case m.block.open && (m.block.shown || m.block.shows && m.behindText()):
		m.suspect()
		return false
	case m.placeIsCertain(t, marked):
		return f()
	}
	m.holding = true
	ok := f()
	m.holding = false
	if len(m.tries) == 0 {
		return ok
	}
	if held := &m.tries[0]; marked && !held.block.open {
		m.settleMarked(held, t != nil && t.special)
		return true
	}
	return m.settle()
}

// placeIsCertain reports whether nothing behind a call that stands here can show
// it, so that it need not be held.
func (m *machine) placeIsCertain(t *token, marked bool) bool {
	if m.block.open {
		return !m.block.mayShow()
	}
	return marked && !m.midSentence(t) && !m.opensEnclosure() || m.begins() || m.messageAt == m.offset()
}

// isWritten reports whether t is a marker of ordinary text: no special token and
// no label.
func (t *token) isWritten() bool { return t != nil && !t.special && !t.line }

// settleMarked is settle for calls behind a marker: a sentence that goes through
// them, or a heading above them or the label of an item before them with prose
// below. A special token stands in a sentence, too, but is in doubt there.
func (m *machine) settleMarked(t *try, special bool) {
	goesOn := m.sentenceGoesOn(t)
	as, end := m.enclosed(t)
	if (goesOn || as == shown || m.inDiff(t)) && !special {
		m.refuse()
		m.shownTo = max(m.shownTo, m.offset()+end)
		return
	}
	if goesOn || as != notEnclosed || isSign(lastLine(m.textBefore(t))) || m.endsSentenceAt(t) || m.presentedAbove(t) || m.insertedAt(t) {
		m.doubt(t)
	}
	m.commit()
}

// insertedAt reports whether the try t, which has its lines for itself, may stand
// in the middle of a sentence of a script without capitals: the text above does not
// end one, and words follow below.
func (m *machine) insertedAt(t *try) bool {
	before := m.textBefore(t)
	words := bytes.TrimRight(before, " \t\r\n")
	last, _ := utf8.DecodeLastRune(words)
	if bytes.IndexByte(before[len(words):], '\n') < 0 || !unicode.Is(unicode.Lo, last) {
		return false
	}
	i := m.gap(0)
	return m.at(i) && !m.markupBehind(i) && !m.nameAt(i) && unicode.Is(unicode.Lo, m.letter(i))
}

// endsSentenceAt reports whether the sentence that stands on the line before the
// try t ends right behind it, or with it behind an abbreviation.
func (m *machine) endsSentenceAt(t *try) bool {
	c := m.peek(0)
	line := lastLine(m.textBefore(t))
	words := bytes.TrimRight(line, " \t")
	if c == '.' || c == '?' || c == '!' {
		return inLine(line) || endsLabel(words)
	}
	return abbreviates(words)
}

// presentedAbove reports whether prose, or another item, stands below the try t,
// and a heading above it or the label of an item of a list before it, or it is
// indented as code. Any label will do if the line below has one, too.
func (m *machine) presentedAbove(t *try) bool {
	i := m.gap(0)
	if !m.at(i) || m.markupBehind(i) {
		return false
	}
	before := m.textBefore(t)
	line := bytes.TrimRight(lastLine(before), " \t")
	below := bytes.IndexByte(m.buf[m.pos:m.pos+i], '\n') >= 0
	return isHeading(labelAbove(before)) || below && (indented(before) || isItem(line) || endsLabel(line) && m.labelAt(i))
}

// behindText reports whether other text stands before here in the code fence we
// are in.
func (m *machine) behindText() bool {
	text := m.buf[min(m.pos, max(0, m.block.start-m.base, m.pos-maxTail)):m.pos]
	return !m.block.called && m.since <= m.block.start && len(bytes.TrimSpace(text)) > 0
}

// checkTypes makes a call without a marker invalid if each of its arguments, of
// which there are several, is the name of a type: it describes the tool.
func (m *machine) checkTypes() {
	if m.marked || !m.call.open || len(m.call.args) > maxTag {
		return
	}
	var args map[string]string
	if json.Unmarshal(m.call.args, &args) != nil || len(args) < 2 {
		return
	}
	for _, v := range args {
		if !loose.TypeNames[strings.ToLower(v)] {
			return
		}
	}
	m.badArgs("each argument is the name of a type: the call describes the tool")
}

// settle decides about the calls that were read since the try that is open
// began: they stand, or are text.
func (m *machine) settle() bool {
	t := &m.tries[0]
	if t.block.open {
		return m.settleFenced(t)
	}
	as, end := m.enclosed(t)
	if as == shown || m.inDiff(t) {
		m.refuse()
		m.shownTo = max(m.shownTo, m.offset()+end)
		return true
	}
	switch stands, doubtful := m.standsAlone(t, as == setApart); {
	case !stands:
		m.refuse()
	case doubtful:
		m.doubt(t)
		fallthrough
	default:
		m.commit()
	}
	return true
}

// standsAlone reports whether the calls of the try t are a block of their own, or
// end the answer, and whether what stands around them, or encloses them, leaves a
// doubt.
func (m *machine) standsAlone(t *try, setApart bool) (stands, doubtful bool) {
	before := m.lead(t)
	after := m.trail()
	if before == ownLine && after < nextSentence {
		return m.ownBlock(t, after, setApart)
	}
	switch {
	case after == nextSentence && (before == ownLine || before == afterSentence && m.buf[t.at-m.base] == '<'):
	case after == endsAnswer && (before == afterSentence || !m.hint.empty()):
	default:
		return false, false
	}
	return true, true
}

// ownBlock is standsAlone for calls that have their lines for themselves.
func (m *machine) ownBlock(t *try, after trail, setApart bool) (stands, doubtful bool) {
	switch {
	case setApart || isSign(lastLine(m.textBefore(t))):
		return true, true
	case after == endsLine && m.describedBelow(0):
		return false, false
	case after == endsLine && m.presents(t):
		return !m.showsBlock(t), true
	case after == endsLine && m.insertedAt(t):
		return true, true
	}
	return true, false
}

// settleFenced is settle for calls in a code fence: prose that goes on behind
// it makes it a document.
func (m *machine) settleFenced(t *try) bool {
	closed := !m.block.open
	shown := m.proseBehindFence(closed)
	if !shown {
		m.block.called = m.block.open
		m.commit()
		return true
	}
	m.refuse()
	m.quoting = !closed
	if m.block.shown = true; closed {
		m.block = codeFence{}
	}
	return true
}

// refuse makes text of the calls that were held.
func (m *machine) refuse() {
	end, rows := m.offset(), m.rows
	m.undo()
	if rows.empty() {
		rows = m.lex.bare
	}
	m.lost.add(rows, m.offset())
	m.covers = append(m.covers, extent{m.offset(), end})
	m.pos = end - m.base
}

// inSentenceRule is the repair of a call that stands where it may be talked
// about.
const inSentenceRule = "call-in-sentence"

// doubt adds to the calls that were held that they were taken for calls
// although they stand in a line of text.
func (m *machine) doubt(t *try) {
	r := llm.Repair{Rule: inSentenceRule, Class: llm.Guess, Start: t.at, End: m.offset()}
	for i := t.events; i < len(m.queue); i++ {
		if c, ok := m.queue[i].(llm.Call); ok {
			c.Provenance.Repairs = append(c.Provenance.Repairs[:len(c.Provenance.Repairs):len(c.Provenance.Repairs)], r)
			m.queue[i] = c
		}
	}
}

// lead is what stands before a call on its line.
type lead uint8

const (
	ownLine       lead = iota // nothing, or the sign of a list
	afterSentence             // a finished sentence, or a label with a colon
	inSentence
)

// lead returns what stands on the line before the try t.
func (m *machine) lead(t *try) lead {
	line, begun, cut := m.lineBefore(t)
	called := m.buf[t.at-m.base] == '(' && len(line) > 0 && isNameByte(line[len(line)-1])
	if m.buf[t.at-m.base] == '=' || called { // the variable that a call is assigned to, or its name
		line = bytes.TrimSpace(bytes.TrimRightFunc(line, isNameRune))
	}
	if !begun && !cut && t.calls > 0 && len(line) > 0 && (line[0] == '{' || line[0] == ',') {
		return ownLine // another element of the list in which the last call stands
	}
	if s := string(line); !cut && (s == bold || !begun && answerTags[s]) {
		return ownLine
	}
	if !cut && len(bytes.Trim(line, "-*+•#0123456789.)")) == 0 {
		if called {
			return inSentence // an item of a list of calls: they may be a plan
		}
		return ownLine
	}
	line = bytes.TrimRight(line, " \t*_\"'”’)")
	if endsSentence(line) && !unfinished(line) {
		return afterSentence
	}
	return inSentence
}

// isNameRune reports whether r may be part of a name, or escapes a part of one.
func isNameRune(r rune) bool { return r < utf8.RuneSelf && isNameByte(byte(r)) || r == '\\' }

// lineBefore returns the line before the try t without the white space around
// it, whether a newline begins it, and whether it may be longer than that.
func (m *machine) lineBefore(t *try) (line []byte, begun, cut bool) {
	at := t.at - m.base
	line = m.buf[max(0, t.since-m.base, at-maxTail):at]
	cut = t.at-t.since > maxTail
	if i := bytes.LastIndexByte(line, '\n'); i >= 0 {
		line, begun, cut = line[i+1:], true, false
	}
	return bytes.TrimSpace(line), begun, cut
}

// endsSentence reports whether a line ends like a sentence or a label.
func endsSentence(line []byte) bool {
	for _, end := range [...]string{":", ".", "!", "?", "…", "。", "！", "？", "："} {
		if bytes.HasSuffix(line, []byte(end)) {
			return true
		}
	}
	return false
}

// answerTags are tags and signs that models put around an answer.
var answerTags = map[string]bool{
	"<answer>": true, "<final_answer>": true, "<final>": true, "<response>": true, "<output>": true,
	"$": true, "$$": true, `\boxed{`: true, `$\boxed{`: true, `$$\boxed{`: true, // of TeX
}

// trail is what stands behind a call.
type trail uint8

const (
	endsAnswer   trail = iota // nothing, or markers
	endsLine                  // a new sentence on a new line
	nextSentence              // a new sentence on the same line
	goesOn                    // more of a sentence
)

// trail returns what stands behind the call that ends here.
func (m *machine) trail() trail {
	i := 0
	for n := 0; n < maxGap && m.at(i) && strings.IndexByte(" \t])}*$", m.buf[m.pos+i]) >= 0; n++ {
		i++
	}
	if j := m.gap(i); m.hasAt(j, "</") {
		if word, end := m.closingWord(j); answerTags["<"+word+">"] {
			i = end
		}
	}
	if c := m.peek(i); c == '.' || c == ';' {
		if !m.at(i+1) || isSpace(m.buf[m.pos+i+1]) {
			i++
		}
	}
	j := m.gap(i)
	if m.hasAt(j, tildes) {
		j = m.gap(j + len(tildes))
	}
	switch {
	case !m.at(j):
		return endsAnswer
	case m.markupBehind(j):
		return endsAnswer
	case j == 0 && unicode.IsUpper(m.letter(0)):
		return endsLine // another text, glued to the call
	case bytes.IndexByte(m.buf[m.pos+i:m.pos+j], '\n') < 0:
		return m.trailInLine(j)
	case m.buf[m.pos+j] == ',' || unicode.IsLower(m.letter(j)) && !m.nameAt(j) && !m.assignsAt(j):
		return goesOn
	}
	return endsLine
}

// trailInLine is trail for text that stands at j on the line of the call.
func (m *machine) trailInLine(j int) trail {
	if j > 0 && unicode.IsUpper(m.letter(j)) {
		return nextSentence
	}
	return goesOn
}

// closingWord returns the word of the end tag at i, and the index behind it.
func (in *input) closingWord(i int) (word string, end int) {
	j := in.word(i+2, "/")
	if in.peek(j) != '>' {
		return "", i
	}
	return string(in.buf[in.pos+i+2 : in.pos+j]), j + 1
}

// gap returns the index behind the white space i bytes from here.
func (in *input) gap(i int) int {
	for end := i + maxGap; i < end && in.at(i) && isSpace(in.buf[in.pos+i]); i++ {
	}
	return i
}

// markupBehind reports whether a marker, a fence or a bracket stands at i: no
// prose.
func (m *machine) markupBehind(i int) bool {
	if c := m.buf[m.pos+i]; c == '{' || c == '[' {
		return true
	}
	t, n := m.match(i)
	return n > 0 && !t.line || m.hasAt(i, "```")
}

// nameAt reports whether the name of an offered tool stands at i.
func (m *machine) nameAt(i int) bool {
	if m.names.any || !m.namedAt(i) {
		return false
	}
	end := m.word(i, ":")
	return m.names.offered(string(m.buf[m.pos+i : m.pos+end]))
}

// assignsAt reports whether a variable stands at i to which a call is assigned.
func (m *machine) assignsAt(i int) bool {
	i = m.spaces(m.word(i, ""))
	return m.peek(i) == '=' && m.callAt(m.spaces(i+1))
}

// letter returns the character at i.
func (in *input) letter(i int) rune {
	for n := 1; n < utf8.UTFMax && !utf8.FullRune(in.buf[in.pos+i:in.pos+i+n]) && in.at(i+n); n++ {
	}
	r, _ := utf8.DecodeRune(in.buf[in.pos+i:])
	return r
}

// proseBehindFence reports whether prose goes on behind the code fence we are
// in, or the one that has just been closed. A fence of which no end is in sight
// is a document, too, unless the answer ends in it.
func (m *machine) proseBehindFence(closed bool) bool {
	i := 0
	for ; !closed && !m.hasAt(i, "```"); i++ {
		if !m.at(i) {
			return false
		}
		if i > maxGuess {
			return true
		}
	}
	return m.proseBehind(i)
}

// proseBelow reports whether prose stands below the end of a code fence at i.
func (m *machine) proseBelow(i int) bool {
	j := i
	for m.peek(j) == '`' || m.peek(j) == ' ' {
		j++
	}
	return isSpace(m.peek(j)) && m.proseBehind(i)
}

// proseBehind reports whether prose stands behind the end of a code fence at i,
// or at i.
func (m *machine) proseBehind(i int) bool {
	for m.peek(i) == '`' {
		i++
	}
	i = m.gap(i)
	return m.at(i) && !m.markupBehind(i) && !m.nameAt(i)
}

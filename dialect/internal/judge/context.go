package judge

import (
	"bytes"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/toolpost/toolpost/dialect/internal/chars"
	"github.com/toolpost/toolpost/dialect/internal/lexicon"
	"github.com/toolpost/toolpost/dialect/internal/scan"
)

// Doubt is the reason why a call is doubtful: what the text around it says. The zero value is no reason.
type Doubt uint8

const (
	NoDoubt Doubt = iota
	InSentence
	AfterQuestion
	AfterRefusal
	AfterCondition
	AfterExample
	AfterReport
	BeforeQuestion
	BeforeRefusal
	BeforeExplanation
	InThought
)

// Rule returns the repair rule that records the doubt.
func (d Doubt) Rule() string {
	return [...]string{
		"", "call-in-sentence", "call-after-question", "call-after-refusal", "call-after-condition", "call-after-example",
		"call-after-report", "call-before-question", "call-before-refusal", "call-before-explanation", "call-in-thinking",
	}[d]
}

// Why returns a sentence about the doubt with the given repair rule, and an empty string for any other rule.
func Why(rule string) string {
	for d := InSentence; d <= InThought; d++ {
		if d.Rule() == rule {
			return [...]string{
				"", "the words around it may only talk about it", "a question stands before it", "the sentence before it refuses or forbids something",
				"the sentence before it waits for a condition or an approval", "the sentence before it announces an example",
				"the sentence before it is about text, a format or another speaker", "the text after it asks something", "the text after it refuses or denies something",
				"a paragraph after it explains it", "the thinking around it never ends",
			}[d]
		}
	}
	return ""
}

// surroundings is what the text before the current calls says about them.
type surroundings struct {
	begin      int   // offset of the candidate
	since      int   // offset of the text before it
	byLine     bool  // its marker is a word that begins a line
	noted      bool  // the other fields are set
	Above      Doubt // what the text says against the calls
	Introduced bool  // it ends in a label
	Announced  bool  // its last sentence announces an action of the speaker
	Reported   bool  // its last sentence is about text, a format or another speaker
}

// Approach records that a candidate may begin at the current position, with the marker t if there is one.
func (e *Evidence) Approach(t *lexicon.Token) {
	around := surroundings{begin: e.Offset(), since: e.Since, byLine: t != nil && t.Line}
	if e.Calls > 0 && len(bytes.TrimSpace(e.Lately())) == 0 { // it follows another call
		around.noted, around.Above, around.Introduced, around.Announced = true, e.Above, e.Introduced, e.Announced
		around.Reported = e.Reported
	}
	e.surroundings = around
}

// Revisit makes the text from an offset up to here the candidate.
func (e *Evidence) Revisit(at int) {
	e.surroundings = surroundings{begin: at, since: e.Since}
	e.NoteAbove()
}

// NoteAbove finds out what the text before the candidate says about it. It is called once the candidate is a call.
func (e *Evidence) NoteAbove() {
	if e.noted {
		return
	}
	e.noted = true
	before := e.Buf[max(0, max(e.since, e.begin-scan.MaxAbove)-e.Base):max(0, e.begin-e.Base)]
	e.Introduced = EndsLabel(LabelAbove(paragraph(before)))
	if line := lastSentence(before); len(line) > 0 {
		thought := e.byLine && isThought(before)
		switch e.Above = doubtIn(line); {
		case e.Above == NoDoubt && isRecord(lastLine(before)):
			e.Above = AfterReport
		case thought && (e.Above == AfterCondition || e.Above == AfterReport):
			e.Above = NoDoubt
		case e.Above == AfterQuestion && (thought || isBlockQuote(before)): // the model asks itself, or repeats a question
			e.Above = NoDoubt
		case e.byLine && !bytes.HasSuffix(before, []byte("\n\n")): // a thought without its label
		case e.Above == NoDoubt && !thought && states(line) && !isShort(lastLine(before)):
			e.Above = InSentence
		}
		found := saidIn(line)
		e.Announced = e.Above <= InSentence && found.has(intends)
		e.Reported = found.has(reports) && !found.has(intends)
	}
}

// states reports whether a sentence ends, and its last clause announces no action. Neither a label nor an ellipsis ends it.
func states(sentence []byte) bool {
	clause := lastClause(sentence)
	if first, _, _ := bytes.Cut(clause, []byte{' '}); joins[string(first)] {
		clause = sentence
	}
	opens := EndsLabel(sentence) || bytes.HasSuffix(sentence, []byte("…")) || bytes.HasSuffix(sentence, []byte("..."))
	return endsSentence(sentence) && !opens && !saidIn(clause).has(intends)
}

// isShort reports whether a line has fewer than five words, such as "One moment, please." Three characters of a script
// without spaces count as a word. The number of an item does not.
func isShort(line []byte) bool {
	words := 0
	for word := range bytes.FieldsFuncSeq(line, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsDigit(r) || r == '.' }) {
		words++
		if r, _ := utf8.DecodeRune(word); unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai) {
			words += utf8.RuneCount(word)/3 - 1
		}
	}
	return words < 5
}

// lastLine returns the last line of the text before a call.
func lastLine(before []byte) []byte {
	return chars.LastLine(bytes.TrimRight(paragraph(before), " \t\r\n"))
}

// isThought reports whether the last line of the text before begins with a label such as "Thought:".
func isThought(before []byte) bool {
	line := chars.LastLine(bytes.TrimRight(before, " \t\r\n"))
	i := bytes.IndexByte(line, ':')
	return i > 0 && chars.WordLength(bytes.TrimSpace(line[:i])) > 0 && !bytes.ContainsAny(bytes.TrimSpace(line[:i]), " ")
}

// isRecord reports whether a line is an entry of a log: it begins with a date or a time, maybe in brackets, and ends in a
// label.
func isRecord(line []byte) bool {
	line = bytes.TrimLeft(bytes.TrimSpace(line), "[(<*")
	digits, signs := 0, 0
	for _, c := range line[:min(len(line), len("2006-01-02T15:04:05"))] {
		switch {
		case c >= '0' && c <= '9':
			digits++
		case strings.IndexByte("-:/.T ", c) >= 0 && digits > 0:
			signs++
		default:
			return false
		}
	}
	return digits >= 4 && signs >= 2 && EndsLabel(line)
}

// isBlockQuote reports whether the last line of the text before is a quotation of Markdown.
func isBlockQuote(before []byte) bool {
	line := bytes.TrimSpace(chars.LastLine(bytes.TrimRight(before, " \t\r\n")))
	return len(line) > 0 && line[0] == '>'
}

// paragraph returns text without the white space and the opening lines of fences and blocks at its end. One newline
// stays if there was one.
func paragraph(before []byte) []byte {
	for {
		text := bytes.TrimRight(before, " \t\r\n")
		line := chars.LastLine(text)
		if bare := bytes.TrimSpace(line); len(bare) > 0 && (bytes.HasPrefix(bare, []byte("```")) || isTildes(bare) || isRule(bare) || isTag(bare)) {
			before = before[:len(text)-len(line)]
			continue
		}
		if i := bytes.IndexByte(before[len(text):], '\n'); i >= 0 {
			return before[:len(text)+i+1]
		}
		return before
	}
}

// isTag reports whether a line is only a tag.
func isTag(line []byte) bool {
	return line[0] == '<' && bytes.IndexByte(line, '>') == len(line)-1
}

// isRule reports whether a line is four or more of the same sign, which begins or ends a block of AsciiDoc.
func isRule(line []byte) bool {
	line = bytes.TrimSpace(line)
	return len(line) >= 4 && strings.IndexByte("-.=_+*/", line[0]) >= 0 && len(bytes.Trim(line, string(line[:1]))) == 0
}

// lastSentence returns the last sentence of the text before a call, with its end.
func lastSentence(before []byte) []byte {
	text := bytes.TrimRight(paragraph(before), " \t\r\n*_\"'”’»」`")
	if i := bytes.LastIndex(text, []byte("\n\n")); i >= 0 {
		text = text[i+2:]
	}
	end := len(text)
	if end == 0 {
		return nil
	}
	_, size := utf8.DecodeLastRune(text)
	for i := end - size; i > 0; {
		r, n := utf8.DecodeLastRune(text[:i])
		if endsClause(r) && (r >= utf8.RuneSelf || i < end && chars.IsSpace(text[i])) && !abbreviates(text[:i]) {
			return bytes.TrimSpace(text[i:])
		}
		i -= n
	}
	return bytes.TrimSpace(text)
}

// endsClause reports whether r ends a sentence or a label.
func endsClause(r rune) bool { return strings.ContainsRune(".!?:。！？：؟।…", r) }

// isQuestion reports whether r is a question mark of any script.
func isQuestion(r rune) bool { return strings.ContainsRune("?？؟;՞፧⁇", r) && r != ';' }

// doubtIn returns what the last sentence before a call says against it. If another clause announces the call, as in
// "I don't know, let me look:" or "I try a room, for example:", the rest of the sentence may not be about the call.
func doubtIn(sentence []byte) Doubt {
	found := saidIn(sentence)
	doubt := found.doubt()
	clause := sentence
	switch {
	case doubt == AfterReport: // of what the last clause announces
		return saidIn(lastClause(sentence)).doubt()
	case !found.has(intends) || found.has(hedges):
		return doubt
	case doubt == AfterCondition && !saidIn(bytes.TrimSuffix(sentence, lastClause(sentence))).has(intends): // on somebody else
		return doubt
	case doubt == AfterRefusal || doubt == AfterCondition:
		clause = lastClause(sentence)
	case doubt == AfterExample:
		clause = bytes.TrimSuffix(sentence, lastClause(sentence))
	}
	if said := saidIn(clause); doubt != NoDoubt && said.doubt() == NoDoubt && said.has(intends) {
		return InSentence
	}
	return doubt
}

// doubtBelow returns what the prose after the call that ends i bytes from here says against it. It asks or refuses
// something or speaks of examples, formats or parts of a call; it is the next item of a list; or a label that announces
// no action introduced the call.
func (e *Evidence) doubtBelow(i int) Doubt {
	lines, fenced, later := 0, false, false
	for n := 0; n < 4*scan.MaxGap; n++ {
		if !e.At(i) {
			return NoDoubt
		}
		switch c := e.Buf[e.Pos+i]; {
		case c == '\n':
			lines++
			i++
		case c == ' ' || c == '\t' || c == '\r':
			i++
		case lines == 0 && strings.IndexByte(`])}"';`, c) >= 0:
			i++
		case e.HasAt(i, "```"):
			if lines > 1 || fenced {
				return NoDoubt
			}
			i, lines, fenced = i+e.fenceMarks(i), 0, true
		default:
			if t, k := e.Match(i); k > 0 {
				if t.Line || t.Is(lexicon.Opens) && !t.Is(lexicon.Closes) || t.Is(lexicon.TagCall) || t.Is(lexicon.Thinks) || t.Is(lexicon.Heads) {
					return NoDoubt
				}
				later = later || t.Is(lexicon.Drops) || t.Is(lexicon.Unthinks)
				i, lines = i+k, 0
				continue
			}
			if word, end := e.ClosingWord(i); word != "" && e.HasAt(i, "</") {
				i, lines = end, 0
				continue
			}
			if strings.IndexByte("{[<,", c) >= 0 || !e.proseBegins(i) {
				return NoDoubt
			}
			return e.doubtInBelow(i, lines, later)
		}
	}
	return NoDoubt
}

// fenceMarks returns the number of backticks at i.
func (e *Evidence) fenceMarks(i int) (n int) {
	for e.Peek(i+n) == '`' {
		n++
	}
	return n
}

// proseBegins reports whether a paragraph of words begins at i: letters, or the number or sign of an item before them.
func (e *Evidence) proseBegins(i int) bool {
	i = e.pastSigns(i)
	for _, s := range e.Lex.Results {
		if e.HasAt(i, s) {
			return false
		}
	}
	return e.At(i) && unicode.IsLetter(e.Letter(i)) && !e.NameAt(i) && !e.AssignsAt(i) && !e.CallAt(i) && e.twoWords(i)
}

// pastSigns returns the index after the signs before a word at i: the number of an item, a bracket or a quote.
func (e *Evidence) pastSigns(i int) int {
	for n := 0; n < 8 && e.At(i); n++ {
		r := e.Letter(i)
		if !unicode.IsDigit(r) && !unicode.IsPunct(r) && !strings.ContainsRune(" +`^↑", r) {
			break
		}
		i += utf8.RuneLen(r)
	}
	return i
}

// doubtInBelow returns what the paragraph at i says against the call above it. It looks at most maxBelow bytes ahead. later
// reports whether the paragraph belongs to a later message.
func (e *Evidence) doubtInBelow(i, lines int, later bool) Doubt {
	end := i
	for end < i+maxBelow && e.At(end) && strings.IndexByte("{[<", e.Buf[e.Pos+end]) < 0 && !(e.Buf[e.Pos+end] == '\n' && e.Peek(end+1) == '\n') {
		end++
	}
	text := bytes.TrimSpace(e.Buf[e.Pos+i : e.Pos+end])
	intent, weak := false, NoDoubt
	glued := lines == 0 && e.Pos+i > 0 && strings.IndexByte("])}", e.Buf[e.Pos+i-1]) >= 0 // people put a space or a line there
	for rest := text; len(rest) > 0; {
		sentence := firstSentence(rest)
		rest = bytes.TrimSpace(rest[len(sentence):])
		found := saidIn(sentence)
		intent = intent || found.has(intends) && !found.has(refuses|recounts|notices)
		switch doubt := doubtIn(sentence); {
		case doubt == AfterQuestion && bytes.IndexByte(sentence, ' ') < 0 && sentence[0] < utf8.RuneSelf: // "See?"
		case doubt == AfterQuestion:
			return BeforeQuestion
		case doubt == AfterRefusal && !found.has(waits|approves):
			return BeforeRefusal
		case found.has(hedges|presents) || found.has(reports|recounts) && !found.has(intends):
			if !glued {
				return BeforeExplanation
			}
			weak = InSentence
		case doubt == InSentence:
			weak = InSentence
		}
	}
	own := e.Hint.Meets(e.Rows)
	switch described := e.Introduced || e.Reported || lines > 1 && !own; {
	case isListed(text) || lines > 0 && described && !intent && !e.Announced:
		return BeforeExplanation
	case own && !later && !intent && !e.Announced: // text that announces nothing
		return InSentence
	}
	return weak
}

// firstSentence returns the first sentence of text, with its end.
func firstSentence(text []byte) []byte {
	for i := 0; i < len(text); {
		r, n := utf8.DecodeRune(text[i:])
		i += n
		if endsClause(r) && !EndsLabel(text[:i]) && i < len(text) && (r >= utf8.RuneSelf || chars.IsSpace(text[i])) && !abbreviates(text[:i]) {
			return text[:i]
		}
	}
	return text
}

// isListed reports whether a line begins with the number of an item.
func isListed(line []byte) bool {
	digits := 0
	for digits < len(line) && line[digits] >= '0' && line[digits] <= '9' {
		digits++
	}
	return digits > 0 && digits+1 < len(line) && (line[digits] == '.' || line[digits] == ')') && line[digits+1] == ' '
}

// maxBelow bounds how much of the paragraph after a call is read.
const maxBelow = 256

// twoWords reports whether two words, or a word of a script without spaces, follow at i on a line.
func (e *Evidence) twoWords(i int) bool {
	letters, gap := 0, false
	for n := 0; n < 2*scan.MaxGap && e.At(i) && e.Buf[e.Pos+i] != '\n'; n++ {
		c := e.Buf[e.Pos+i]
		switch {
		case c == ' ':
			gap = letters > 0
		case c >= utf8.RuneSelf || chars.IsLetter(c):
			if gap {
				return true
			}
			letters++
		case c == '=' || c == '{' || c == '<' || c == '[':
			return false
		}
		i++
	}
	return letters >= 6
}

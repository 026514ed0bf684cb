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

// CodeFence is the current code fence.
type CodeFence struct {
	Open  bool
	Prose bool // text precedes it
	Shows bool // its info string marks it as a document
	// Called reports whether a call in the fence was accepted, so the fence is not a document.
	Called bool
	// Shown reports whether prose continues after the fence, so nothing in it is a call.
	Shown bool
	Start int // offset of its content
	Ticks int // number of backticks that begin it
}

// mayShow reports whether prose after the fence would make it a document.
func (b *CodeFence) mayShow() bool { return b.Open && !b.Called && (b.Prose || b.Shows) }

// InLongerFence reports whether the fence at the current position has fewer backticks than the open fence, so it is
// only content of it.
func (e *Evidence) InLongerFence() bool {
	return e.Block.Open && e.Block.Ticks > 3 && e.Ticks() < e.Block.Ticks
}

// Documents are the info strings, besides languages, of fences that show something and hold no calls.
var Documents = map[string]bool{
	"xml": true, "text": true, "txt": true, "plaintext": true, "plain": true, "log": true, "logs": true, "output": true,
	"http": true, "mdx": true, "eml": true, "jsonl": true, "ndjson": true,
}

// CallWords are the info strings that announce a call in the fence.
var CallWords = map[string]bool{
	"tool_call": true, "tool_calls": true, "toolcall": true, "function_call": true, "function_calls": true, "tool_use": true, "tool": true,
}

// Begins reports whether the current position begins the answer, or directly follows thinking or a call.
func (e *Evidence) Begins() bool {
	if !e.Said() {
		return true
	}
	if e.Since <= e.First || e.Offset()-e.Since > scan.MaxTail {
		return false
	}
	for i := e.Pos - 1; i >= e.Since-e.Base; i-- {
		if !chars.IsSpace(e.Buf[i]) {
			return false
		}
	}
	return true
}

// isCertain reports whether a call at the current position need not be held: no text after it can make it a shown call.
func (e *Evidence) isCertain(t *lexicon.Token, marked bool) bool {
	if e.Block.Open {
		return !e.Block.mayShow()
	}
	return marked && !e.midSentence(t) && !e.opensEnclosure() || e.Begins() || e.MessageAt == e.Offset()
}

// insertedAt reports whether a candidate on separate lines may interrupt a sentence in a script without capitals: the
// text above does not end a sentence, and words follow below.
func (d decision) insertedAt() bool {
	before := d.textBefore()
	words := bytes.TrimRight(before, " \t\r\n")
	last, _ := utf8.DecodeLastRune(words)
	if bytes.IndexByte(before[len(words):], '\n') < 0 || !unicode.Is(unicode.Lo, last) {
		return false
	}
	i := d.Gap(0)
	return d.At(i) && !d.IsMarkup(i) && !d.NameAt(i) && unicode.Is(unicode.Lo, d.Letter(i))
}

// endsSentenceAt reports whether the sentence before the candidate on its line ends right after the candidate, or with
// the candidate after an abbreviation.
func (d decision) endsSentenceAt() bool {
	c := d.Peek(0)
	line := chars.LastLine(d.textBefore())
	words := bytes.TrimRight(line, " \t")
	if c == '.' || c == '?' || c == '!' {
		return inLine(line) || EndsLabel(words)
	}
	return abbreviates(words)
}

// presentedAbove reports whether the candidate is presented as an example: text follows it, and a heading is above it,
// a list item's label precedes it, or it is indented as code. Any other label counts only if the line below has a label
// too.
func (d decision) presentedAbove() bool {
	i := d.Gap(0)
	if !d.At(i) || d.IsMarkup(i) {
		return false
	}
	before := d.textBefore()
	line := bytes.TrimRight(chars.LastLine(before), " \t")
	below := bytes.IndexByte(d.Buf[d.Pos:d.Pos+i], '\n') >= 0
	return isHeading(LabelAbove(before)) || below && (indented(before) || isItem(line) || EndsLabel(line) && d.labelAt(i))
}

// afterText reports whether other text precedes the current position in the open code fence.
func (e *Evidence) afterText() bool {
	text := e.Buf[min(e.Pos, max(0, e.Block.Start-e.Base, e.Pos-scan.MaxTail)):e.Pos]
	return !e.Block.Called && e.Since <= e.Block.Start && len(bytes.TrimSpace(text)) > 0
}

// standsAlone reports whether the calls are a separate block or end the answer. It also reports whether the surrounding
// text or an enclosure makes that doubtful.
func (d decision) standsAlone(setApart bool) (stands, doubtful bool) {
	before := d.lead()
	after := d.trail()
	if before == ownLine && after < nextSentence {
		return d.ownBlock(after, setApart)
	}
	switch {
	case after == nextSentence && (before == ownLine || before == afterSentence && d.Buf[d.c.From-d.Base] == '<'):
	case after == endsAnswer && (before == afterSentence || !d.Hint.Empty()):
	default:
		return false, false
	}
	return true, true
}

// ownBlock is standsAlone for calls on separate lines.
func (d decision) ownBlock(after trail, setApart bool) (stands, doubtful bool) {
	switch {
	case setApart || isSign(chars.LastLine(d.textBefore())):
		return true, true
	case after == endsLine && d.describedBelow(0):
		return false, false
	case after == endsLine && d.presents():
		return !d.showsBlock(), true
	case after == endsLine && d.insertedAt():
		return true, true
	}
	return true, false
}

// lead classifies the text before a call on its line.
type lead uint8

const (
	ownLine       lead = iota // nothing, or a list marker
	afterSentence             // a finished sentence, or a label with a colon
	inSentence
)

// lead classifies the text on the line before the candidate.
func (d decision) lead() lead {
	line, begun, cut := d.lineBefore()
	called := d.Buf[d.c.From-d.Base] == '(' && len(line) > 0 && chars.IsNameByte(line[len(line)-1])
	if d.Buf[d.c.From-d.Base] == '=' || called { // the variable that a call is assigned to, or its name
		line = bytes.TrimSpace(bytes.TrimRightFunc(line, chars.IsNameRune))
	}
	if !begun && !cut && d.c.Before > 0 && len(line) > 0 && (line[0] == '{' || line[0] == ',') {
		return ownLine // another element of the list that holds the last call
	}
	if s := string(line); !cut && (s == lexicon.Bold || !begun && answerTags[s]) {
		return ownLine
	}
	if !cut && len(bytes.Trim(line, "-*+•#0123456789.)")) == 0 {
		if called {
			return inSentence // a list item with a call: the list may be a plan
		}
		return ownLine
	}
	line = bytes.TrimRight(line, " \t*_\"'”’)")
	if endsSentence(line) && !unfinished(line) {
		return afterSentence
	}
	return inSentence
}

// lineBefore returns the text before the candidate on its line, without surrounding white space. begun reports whether
// the beginning of the line was found, cut whether the line may be longer than that text.
func (d decision) lineBefore() (line []byte, begun, cut bool) {
	at := d.c.From - d.Base
	line = d.Buf[max(0, d.c.TextFrom-d.Base, at-scan.MaxTail):at]
	cut = d.c.From-d.c.TextFrom > scan.MaxTail
	if i := bytes.LastIndexByte(line, '\n'); i >= 0 {
		line, begun, cut = line[i+1:], true, false
	}
	return bytes.TrimSpace(line), begun, cut
}

// endsSentence reports whether a line ends like a sentence or a label.
func endsSentence(line []byte) bool {
	last, _ := utf8.DecodeLastRune(line)
	return endsClause(last)
}

// answerTags are tags and signs that models put around an answer.
var answerTags = map[string]bool{
	"<answer>": true, "<final_answer>": true, "<final>": true, "<response>": true, "<output>": true,
	"$": true, "$$": true, `\boxed{`: true, `$\boxed{`: true, `$$\boxed{`: true, // TeX
}

// trail classifies the text after a call.
type trail uint8

const (
	endsAnswer   trail = iota // no text, or only markers
	endsLine                  // a new sentence on a new line
	nextSentence              // a new sentence on the same line
	goesOn                    // the sentence continues
)

// trail classifies the text after the call that ends at the current position.
func (e *Evidence) trail() trail {
	i := 0
	for n := 0; n < scan.MaxGap && e.At(i) && strings.IndexByte(" \t])}*$", e.Buf[e.Pos+i]) >= 0; n++ {
		i++
	}
	if j := e.Gap(i); e.HasAt(j, "</") {
		if word, end := e.ClosingWord(j); answerTags["<"+word+">"] {
			i = end
		}
	}
	if c := e.Peek(i); c == '.' || c == ';' {
		if !e.At(i+1) || chars.IsSpace(e.Buf[e.Pos+i+1]) {
			i++
		}
	}
	j := e.Gap(i)
	if e.HasAt(j, tildes) {
		j = e.Gap(j + len(tildes))
	}
	switch {
	case !e.At(j):
		return endsAnswer
	case e.IsMarkup(j):
		return endsAnswer
	case j == 0 && unicode.IsUpper(e.Letter(0)):
		return endsLine // new text directly after the call
	case bytes.IndexByte(e.Buf[e.Pos+i:e.Pos+j], '\n') < 0:
		return e.trailInLine(j)
	case e.Buf[e.Pos+j] == ',' || unicode.IsLower(e.Letter(j)) && !e.NameAt(j) && !e.AssignsAt(j):
		return goesOn
	}
	return endsLine
}

// trailInLine is trail for text at j on the line of the call.
func (e *Evidence) trailInLine(j int) trail {
	if j > 0 && unicode.IsUpper(e.Letter(j)) {
		return nextSentence
	}
	return goesOn
}

// IsMarkup reports whether a marker, a fence or a bracket is at i, and not prose.
func (e *Evidence) IsMarkup(i int) bool {
	if c := e.Buf[e.Pos+i]; c == '{' || c == '[' {
		return true
	}
	t, n := e.Match(i)
	return n > 0 && !t.Line || e.HasAt(i, "```")
}

// NameAt reports whether the name of an offered tool is at i. It is false if any name is allowed.
func (e *Evidence) NameAt(i int) bool {
	if e.Names.Any || !e.NamedAt(i) {
		return false
	}
	end := e.Word(i, ":")
	return e.Names.Offered(string(e.Buf[e.Pos+i : e.Pos+end]))
}

// AssignsAt reports whether an assignment of a call to a variable is at i.
func (e *Evidence) AssignsAt(i int) bool {
	i = e.Spaces(e.Word(i, ""))
	return e.Peek(i) == '=' && e.CallAt(e.Spaces(i+1))
}

// proseAfterFence reports whether prose follows the open code fence or, if closed is set, the fence that was just
// closed. It is true if the fence does not end within scan.MaxGuess bytes, and false if the answer ends in the fence.
func (e *Evidence) proseAfterFence(closed bool) bool {
	i := 0
	for ; !closed && !e.HasAt(i, "```"); i++ {
		if !e.At(i) {
			return false
		}
		if i > scan.MaxGuess {
			return true
		}
	}
	return e.proseAt(i)
}

// proseBelow reports whether prose is below the end of a code fence at i.
func (e *Evidence) proseBelow(i int) bool {
	j := i
	for e.Peek(j) == '`' || e.Peek(j) == ' ' {
		j++
	}
	return chars.IsSpace(e.Peek(j)) && e.proseAt(i)
}

// proseAt reports whether prose follows at i, after the end of a code fence if there is one.
func (e *Evidence) proseAt(i int) bool {
	for e.Peek(i) == '`' {
		i++
	}
	i = e.Gap(i)
	return e.At(i) && !e.IsMarkup(i) && !e.NameAt(i)
}

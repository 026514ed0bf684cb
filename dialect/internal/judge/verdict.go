package judge

import (
	"bytes"
	"cmp"
	"encoding/json"
	"strings"

	"github.com/toolpost/toolpost/dialect/internal/chars"
	"github.com/toolpost/toolpost/dialect/internal/lexicon"
	"github.com/toolpost/toolpost/dialect/internal/loose"
	"github.com/toolpost/toolpost/dialect/internal/scan"
)

// Stage is how much of a candidate was read.
type Stage uint8

const (
	Ended Stage = iota // all of it
	Seen               // its first byte, which may begin a marker
	Begun              // its marker, or that it may begin without one
	Named              // the name of its tool, or its element
)

// Candidate is one or more calls that are being read and may be text. At the stages before its end, it begins at the
// current position.
type Candidate struct {
	Stage   Stage
	Token   *lexicon.Token // the marker at the current position; nil if there is none
	Element string         // the element that is the call, at the stage Named
	Rows    lexicon.RowSet // the dialects that it fits, at the stage Named

	// The other fields describe a candidate at its end. Marked also counts before.
	From     int  // offset of the first byte of the calls
	TextFrom int  // offset of the text before them
	Before   int  // number of calls read before them
	Marked   bool // they follow a marker
	Special  bool // the marker is a special token
	Held     bool // they wait for the decision and were not passed on
	Fenced   bool // a code fence was open before them
}

// Result is the kind of decision about a candidate.
type Result uint8

const (
	IsCall     Result = iota
	IsDoubtful        // a call with a repair note: the text may only talk about it
	IsText            // not a call
	IsInvalid         // a call that must not run
	IsOpen            // undecided: the call must be held until the text after it is known
)

// Verdict is the decision about a candidate.
type Verdict struct {
	Result  Result
	Doubt   Doubt  // why a call is doubtful
	ShownTo int    // offset up to which text is shown, so it contains no calls
	Place   string // where text is that is not a call
	Problem string // why a call is invalid
}

// Why returns why a candidate is text or a doubtful call, in words for people: what the text around it says, or where it
// is.
func (v Verdict) Why() string { return cmp.Or(Why(v.Doubt.Rule()), v.Place) }

// talkedAbout is the problem of a call in the middle of a sentence.
const talkedAbout = "a sentence goes on behind the call: it is talked about"

// Decide decides about a candidate: whether its text may be a call while it is being read, and whether it is one at its
// end. No other function decides this. At the end, a held candidate may become text. A candidate that is not held was
// already passed on, so it can only become doubtful or invalid.
func Decide(e *Evidence, c Candidate) Verdict {
	d := decision{e, c}
	switch {
	case c.Stage == Seen:
		return textIf(e.quoted() || c.Token != nil && e.inQuotes(), Quoted)
	case c.Stage == Begun:
		return d.begun()
	case c.Stage == Named:
		if c.Element != "" {
			return textIf(e.inDocument(c.Element), enclosedBy)
		}
		return textIf(!e.promotes(c.Rows, c.Marked), notPromoted)
	}
	return d.weighed()
}

// weighed decides about a candidate at its end. Its place comes first, then what the text around it says. Against the
// model's own dialect, that makes it at most doubtful unless both the text above and the text below speak against it.
func (d decision) weighed() (v Verdict) {
	switch {
	case !d.c.Held:
		v = d.unheld()
	case d.c.Fenced:
		v = d.inFence()
	case d.c.Marked:
		v = d.behindMarker()
	default:
		v = d.withoutMarker()
	}
	if v.Result != IsCall && v.Result != IsDoubtful {
		return v
	}
	var above, below Doubt
	if !d.Mentions {
		above, below = d.Above, d.doubtBelow(0)
	}
	switch {
	case above > InSentence:
		v.Doubt = above
	case below > InSentence:
		v.Doubt = below
	case v.Result == IsDoubtful || above == InSentence || below == InSentence:
		v.Doubt = InSentence
	default:
		return v
	}
	v.Result = IsDoubtful
	switch own := d.ownDialect() || d.c.Special && d.inLineOfText() || d.Announced; {
	case v.Doubt == InSentence, own && (above <= InSentence || below <= InSentence):
	case d.c.Held:
		return Verdict{Result: IsText, Doubt: v.Doubt, ShownTo: d.Offset()}
	case !own:
		return Verdict{Result: IsInvalid, Problem: Why(v.Doubt.Rule()) + ": it is talked about"}
	}
	return v
}

// inLineOfText reports whether text precedes the candidate on its line. Models that write special tokens do so, and
// people who explain them do not.
func (d decision) inLineOfText() bool {
	return len(bytes.TrimSpace(chars.LastLine(d.textBefore()))) > 0
}

// decision is a candidate with the evidence about it.
type decision struct {
	*Evidence
	c Candidate
}

// shown returns the verdict that the text at a place is shown up to the index end.
func (d decision) shown(end int, place string) Verdict {
	return Verdict{Result: IsText, ShownTo: d.Offset() + end, Place: place}
}

// textIf returns the verdict that the candidate is text because of its place, or that nothing speaks against it yet.
func textIf(text bool, place string) Verdict {
	if text {
		return Verdict{Result: IsText, Place: place}
	}
	return Verdict{}
}

// begun decides whether a call that begins here can be passed on while it is read.
func (d decision) begun() Verdict {
	switch {
	case d.Block.Open && (d.Block.Shown || d.Block.Shows && d.afterText()):
		return Verdict{Result: IsText, Place: inDocumentFence}
	case d.isCertain(d.c.Token, d.c.Marked) && (d.ownMarker() || !d.talksAbove()):
		return Verdict{}
	}
	return Verdict{Result: IsOpen}
}

// maxJudged and perJudged bound the sentences that are read before it is known whether a marker begins a call: so many,
// and one more for each number of bytes.
const maxJudged, perJudged = 64, 4096

// talksAbove reports whether the text before the candidate speaks against it.
func (d decision) talksAbove() bool {
	if d.Mentions || d.Mode != InText || d.Block.Open || d.Begins() {
		return false
	}
	if d.judged > maxJudged+d.Offset()/perJudged { // many markers that begin no call
		return false
	}
	d.judged++
	d.NoteAbove()
	return d.Above > InSentence || (d.Introduced || d.Reported) && !d.Announced
}

// promotes reports whether text of the given dialects may be a call. marked reports whether it follows a marker. With
// OnlyMarked, calls need a marker and, if a dialect is expected, must be of that dialect. Without a marker they count
// only if the expected dialect writes them so.
func (e *Evidence) promotes(rows lexicon.RowSet, marked bool) bool {
	switch {
	case !e.OnlyMarked:
		return true
	case e.Hint.Empty():
		return marked
	}
	return rows.Meets(e.Hint) && (marked || e.Hint.Meets(e.Lex.Unmarked))
}

// behindMarker decides about calls after a marker. They are text in the middle of a sentence, in an enclosure with text
// around it, and in a line of a diff. They are doubtful after weaker signs, such as a heading above them and prose
// below. After a special token they are always calls, at worst doubtful.
func (d decision) behindMarker() Verdict {
	own := d.ownDialect()
	goesOn := d.sentenceGoesOn() && !own
	as, end := d.enclosed()
	switch {
	case goesOn && !d.c.Special:
		return d.shown(end, midSentence)
	case as == shown && !d.c.Special:
		return d.shown(end, enclosedBy)
	case d.inDiff() && !d.c.Special:
		return d.shown(end, diffLine)
	case goesOn || as != notEnclosed || !own && (d.endsSentenceAt() || d.insertedAt()) || isSign(chars.LastLine(d.textBefore())) || d.presentedAbove():
		return Verdict{Result: IsDoubtful}
	}
	return Verdict{}
}

// ownDialect reports whether the calls are in the expected dialect, which is the model's own.
func (d decision) ownDialect() bool { return d.Rows.Meets(d.Hint) }

// ownMarker reports whether the marker at the current position belongs to the expected dialect.
func (d decision) ownMarker() bool {
	t := d.c.Token
	return t != nil && t.In(lexicon.Opens).Or(t.In(lexicon.TagCall)).Meets(d.Hint)
}

// withoutMarker decides about calls without a marker. They must be a separate block or end the answer.
func (d decision) withoutMarker() Verdict {
	as, end := d.enclosed()
	switch {
	case as == shown:
		return d.shown(end, enclosedBy)
	case d.inDiff():
		return d.shown(end, diffLine)
	}
	switch stands, doubtful := d.standsAlone(as == setApart); {
	case !stands:
		return Verdict{Result: IsText, Place: notApart}
	case doubtful:
		return Verdict{Result: IsDoubtful}
	}
	return Verdict{}
}

// inFence decides about calls in a code fence. If prose follows the fence, the fence is part of a document and they are
// text.
func (d decision) inFence() Verdict {
	if d.proseAfterFence(!d.Block.Open) {
		return Verdict{Result: IsText, Place: inDocumentFence}
	}
	return Verdict{}
}

// unheld decides about a call that was not held. A call after a marker stays a call unless the marker begins the
// answer, follows a label, or is in a fence at the beginning of the answer. Other calls are invalid if a sentence
// continues after them or an indented description is below them. They are doubtful if prose follows their fence, or if
// a word such as "and" begins a new clause.
func (d decision) unheld() Verdict {
	if d.Marked && !d.beginsMarked() && !d.Presented && !(d.Block.Open && !d.Block.Prose) {
		return Verdict{}
	}
	i := 0
	if d.Marked && d.OpenTok != nil {
		if i = d.closerAfter(); i == 0 {
			return Verdict{}
		}
	}
	i = d.Past(i, " \t])}")
	switch {
	case d.Block.Open:
		if i = d.Gap(i); d.HasAt(i, "```") && d.proseBelow(i) {
			return Verdict{Result: IsDoubtful}
		}
	case !d.At(i):
	case d.Presented:
		if j := d.Gap(i); d.Peek(i) == '\n' && d.At(j) && d.wordsGoOn(j) {
			return Verdict{Result: IsInvalid, Problem: talkedAbout}
		}
	case d.runsOn(i) && d.joinsAt(i):
		return Verdict{Result: IsDoubtful}
	case d.runsOn(i):
		return Verdict{Result: IsInvalid, Problem: talkedAbout}
	case !d.Marked && d.describedBelow(i):
		return Verdict{Result: IsInvalid, Problem: "a description stands below the call: it is talked about"}
	}
	return Verdict{}
}

// DescribesTool reports whether args describe the tool instead of calling it: at least two arguments, and the value of
// each is the name of a type.
func DescribesTool(args []byte) bool {
	if len(args) > scan.MaxTag {
		return false
	}
	var named map[string]string
	if json.Unmarshal(args, &named) != nil || len(named) < 2 {
		return false
	}
	for _, v := range named {
		if !loose.TypeNames[strings.ToLower(v)] {
			return false
		}
	}
	return true
}

// IsSchema reports whether args are the JSON schema of an object.
func IsSchema(args []byte) bool {
	var object struct {
		Type       json.RawMessage
		Properties map[string]json.RawMessage
	}
	if len(args) > scan.MaxGuess || !bytes.Contains(args, []byte(`"type"`)) || json.Unmarshal(args, &object) != nil {
		return false
	}
	return string(object.Type) == `"object"`
}

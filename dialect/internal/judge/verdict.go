package judge

import (
	"encoding/json"
	"strings"

	"github.com/toolpost/toolpost/dialect/internal/chars"
	"github.com/toolpost/toolpost/dialect/internal/loose"
	"github.com/toolpost/toolpost/dialect/internal/scan"
)

// Candidate is calls that were read and may still be text.
type Candidate struct {
	From     int  // offset of their first byte
	TextFrom int  // offset of the text before them
	Before   int  // how many calls were read before them
	Marked   bool // a marker is before them
	Special  bool // the marker is a special token
	Held     bool // they wait for the decision
	Fenced   bool // a code fence was open before them
}

// Result tells what a candidate is.
type Result uint8

const (
	IsCall     Result = iota
	IsDoubtful        // a call, and a note that it may be talked about
	IsText            // no call
	IsInvalid         // a call that must not run
)

// Verdict is the decision about a candidate.
type Verdict struct {
	Result  Result
	ShownTo int    // offset up to which everything is shown and nothing is a call
	Problem string // of an invalid call
}

// talkedAbout is the problem of a call in the middle of a sentence.
const talkedAbout = "a sentence goes on behind the call: it is talked about"

// Decide tells what a candidate is, which ends at the next byte. A candidate that is
// held may become text. One that is not held has left already, so it can only
// become doubtful or invalid.
func Decide(e *Evidence, c Candidate) Verdict {
	d := decision{e, c}
	switch {
	case !c.Held:
		return d.unheld()
	case c.Fenced:
		return d.inFence()
	case c.Marked:
		return d.behindMarker()
	}
	return d.withoutMarker()
}

// decision is a candidate with the evidence about it.
type decision struct {
	*Evidence
	c Candidate
}

// shown is the verdict about a candidate that is shown up to the index end.
func (d decision) shown(end int) Verdict { return Verdict{Result: IsText, ShownTo: d.Offset() + end} }

// behindMarker decides about calls after a marker. They are text if a sentence goes
// through them, or a heading or the label of an item is above them and prose
// below. A special token makes them calls even there, with a doubt.
func (d decision) behindMarker() Verdict {
	goesOn := d.sentenceGoesOn()
	as, end := d.enclosed()
	switch {
	case (goesOn || as == shown || d.inDiff()) && !d.c.Special:
		return d.shown(end)
	case goesOn || as != notEnclosed || isSign(chars.LastLine(d.textBefore())) || d.endsSentenceAt() || d.presentedAbove() || d.insertedAt():
		return Verdict{Result: IsDoubtful}
	}
	return Verdict{}
}

// withoutMarker decides about calls without a marker. They must be a block of their
// own or end the answer.
func (d decision) withoutMarker() Verdict {
	as, end := d.enclosed()
	if as == shown || d.inDiff() {
		return d.shown(end)
	}
	switch stands, doubtful := d.standsAlone(as == setApart); {
	case !stands:
		return Verdict{Result: IsText}
	case doubtful:
		return Verdict{Result: IsDoubtful}
	}
	return Verdict{}
}

// inFence decides about calls in a code fence. Prose after the fence makes a
// document of it.
func (d decision) inFence() Verdict {
	if d.proseAfterFence(!d.Block.Open) {
		return Verdict{Result: IsText}
	}
	return Verdict{}
}

// unheld decides about a call that was not held: it begins the answer, or its marker
// is below a label. If a sentence continues after it, it is talked about and
// invalid. If prose follows the fence it is in, it is doubtful.
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

// DescribesTool reports whether arguments describe the tool instead of calling it:
// there are several, and each is the name of a type.
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

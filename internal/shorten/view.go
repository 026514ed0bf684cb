package shorten

import (
	"fmt"
	"sort"
	"strings"

	"github.com/toolpost/toolpost/llm"
)

// line is a line of a view, or of a page.
type line struct {
	text  string
	units int   // how many of the counted units it represents
	head  *head // of the table that it is a row of
}

// head is where the lines are that head a table.
type head struct{ from, to int }

func textIn(lines []line) string {
	var b strings.Builder
	for i, l := range lines {
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(l.text)
	}
	return b.String()
}

func tokensOf(lines []line) int {
	n := 0
	for _, l := range lines {
		n += llm.EstimateText(l.text) + 1
	}
	return n
}

func unitsOf(lines []line) int {
	n := 0
	for _, l := range lines {
		n += l.units
	}
	return n
}

// loss is what a view lacks.
type loss uint8

const (
	cutValues  loss = 1 << iota // a part of a long value
	lostFields                  // rows, columns, entries or lines
	lostIDs                     // ids that say nothing
	lostMarkup                  // attributes of tags, targets of images
	brokenOff                   // the end, which the result itself lacks
	tooLarge                    // the structure
)

// notes are the omissions of a view. Some are left out if units are missing, because
// that note means as much.
var notes = []struct {
	lost    loss
	text    string
	implied bool
}{
	{cutValues, "long values are cut", true},
	{lostFields, "some parts are left out", true},
	{lostIDs, "ids that no tool takes are left out", false},
	{lostMarkup, "attributes of tags and targets of images are left out", false},
	{tooLarge, "too large to be shown by its structure", false},
}

// breaksOff ends the view of a result whose JSON is cut off. The result is then not
// taken for the whole.
const breaksOff = "[The result breaks off here, in the middle of a value]"

// shown is the content of a view: lines that represent some of its units, and the
// omissions.
type shown struct {
	lines []line
	lost  loss
	of    int
	unit  string
	most  int // tokens that it was made for
}

// view returns the view, of at most so many tokens: lines without room are left out,
// the last first.
func (s shown) view(most int) View {
	if v := s.noted(); llm.EstimateText(v.Text) <= most {
		return v
	}
	s.lost |= lostFields
	lines := s.lines
	less := sort.Search(len(lines), func(less int) bool {
		s.lines = lines[:len(lines)-less]
		return llm.EstimateText(s.noted().Text) <= most
	})
	s.lines = lines[:len(lines)-less]
	return s.noted()
}

// noted returns the lines with their notes.
func (s shown) noted() View {
	v := View{Text: textIn(s.lines), Whole: s.lost == 0, Shown: unitsOf(s.lines), Of: s.of, Unit: s.unit}
	if s.lost&brokenOff != 0 {
		v.Text += "\n" + breaksOff
	}
	var said []string
	if v.Shown < v.Of && !v.Whole {
		said = append(said, fmt.Sprintf("showing %d of %d %s", v.Shown, v.Of, v.Unit))
	}
	counted := len(said) > 0
	for _, n := range notes {
		if s.lost&n.lost != 0 && !(n.implied && counted) {
			said = append(said, n.text)
		}
	}
	if len(said) > 0 {
		text := strings.Join(said, "; ")
		v.Text += "\n[" + strings.ToUpper(text[:1]) + text[1:] + "]"
	}
	return v
}

// plural returns a number of things in words, such as "1 line" and "2 lines".
func plural(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

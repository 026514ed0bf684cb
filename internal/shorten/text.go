package shorten

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/toolpost/toolpost/llm"
)

// showText returns a view of text by lines.
func showText(text string, o Options, budget int) shown {
	lines, lost := textLines(text)
	s := shown{unit: "lines", of: unitsOf(lines)}
	a := aimOf(o.Task)
	joined := joinIDs(lines)
	if o.Tokens == 0 {
		budget += budget / 5 // lines say less in as many tokens than tables do
	}
	if s.most, a.ids = o.withIDs(budget, llm.EstimateText(text), lineTokens(joined)); a.ids {
		lines = joined
	}
	a.weigh(lines)
	s.lines, s.lost = showLines(lines, a, s.most)
	s.lost |= lost
	return s
}

// textLines returns the lines that say something, without tags, targets of images and
// runs of space. A line that repeats the one before is counted there.
func textLines(text string) ([]line, loss) {
	var lost loss
	text, tags := unmarked(text)
	if tags {
		lost = lostMarkup
	}
	var out []line
	for _, raw := range keepColumns(strings.Split(text, "\n")) {
		l, targets := tidy(raw)
		if targets {
			lost |= lostMarkup
		}
		switch last := len(out) - 1; {
		case l == "":
		case last >= 0 && out[last].text == l:
			out[last].units++
		default:
			out = append(out, line{text: l, units: 1})
		}
	}
	for i, l := range out {
		if l.units > 1 {
			out[i].text += fmt.Sprintf(" (%d times)", l.units)
		}
	}
	return out, lost
}

// tidy returns a line without what only lays it out, and whether the target of a link
// or an image is left out.
func tidy(l string) (string, bool) {
	depth := len(l) - len(strings.TrimLeft(l, " \t"))
	l = strings.Join(strings.Fields(l), " ")
	if rule(l) {
		return "", false
	}
	lost := false
	if strings.Contains(l, "](") {
		l, lost = untarget(l)
	}
	if strings.HasPrefix(l, "| ") { // a row of a table
		l = strings.ReplaceAll(strings.TrimSuffix(l[2:], " |"), " | ", "|")
	}
	return strings.Repeat(" ", min((depth+1)/2, 3)) + l, lost
}

// rule reports whether a line is drawn, such as the line below the head of a table.
func rule(l string) bool {
	if strings.Trim(l, "-=_*|:+~ ") != "" {
		return false
	}
	for _, c := range []string{"--", "==", "__", "**", "~~"} {
		if strings.Contains(l, c) {
			return true
		}
	}
	return l == ""
}

// untarget leaves out where images are, and what a link asks of a server.
func untarget(l string) (string, bool) {
	lost := false
	var b strings.Builder
	for {
		i := strings.Index(l, "](")
		if i < 0 {
			break
		}
		end := strings.IndexByte(l[i:], ')')
		if end < 0 {
			break
		}
		open := strings.LastIndexByte(l[:i], '[')
		target := l[i+2 : i+end]
		b.WriteString(l[:i+1])
		if open <= 0 || l[open-1] != '!' {
			before, _, part := strings.Cut(target, "#")
			if lost = lost || part; before != "" {
				b.WriteString("(" + before + ")")
			}
		} else {
			lost = true
		}
		l = l[i+end+1:]
	}
	b.WriteString(l)
	return b.String(), lost
}

// caps are how long a line may be, from all to little, before lines are left out.
var caps = []int{all, 3200, 2400, 1600, 1200, 900, 600, 400, 280, 200, 150}

// showLines shows all lines if there is room, the long ones cut, and otherwise the
// lines that matter most, in order.
func showLines(lines []line, a *aim, budget int) ([]line, loss) {
	for _, most := range caps {
		out, tokens, lost := slices.Clone(lines), 0, loss(0)
		for i, l := range lines {
			s, cut := a.cut(l.text, most, nil)
			if out[i].text = s; cut {
				lost = cutValues
			}
			if tokens += llm.EstimateText(s) + 1; tokens > budget {
				break
			}
		}
		if tokens <= budget {
			return out, lost
		}
	}
	return pick(lines, a, budget), cutValues | lostFields
}

// scoredLine is a line and how much it matters.
type scoredLine struct {
	line
	at, tokens int
	score      float64
}

// pick shows the lines that matter most: the first, the last, lines that fit the task,
// that head a section or report a failure, and that name things.
func pick(lines []line, a *aim, budget int) []line {
	marks := make([]scoredLine, len(lines))
	for i, l := range lines {
		fit := a.fits(l.text)
		most := 110
		if fit > 0 || i < 2 {
			most = 200
		}
		s, _ := a.cut(l.text, most, nil)
		n := llm.EstimateText(s) + 1
		if i+1 < len(lines) && below(l.text, lines[i+1].text) {
			fit += 2
		}
		marks[i] = scoredLine{line{text: s, units: l.units}, i, n, (weight(l.text) + fit + place(i, len(lines))) / float64(24+n)}
	}
	slices.SortStableFunc(marks, func(x, y scoredLine) int {
		return cmp.Or(cmp.Compare(y.score, x.score), x.at-y.at)
	})
	names := budget / 5 // for names in lines that are left out
	room := budget - names
	var kept []scoredLine
	for _, m := range marks {
		if m.tokens+1 <= room {
			room -= m.tokens + 1
			kept = append(kept, m)
		}
	}
	slices.SortFunc(kept, func(x, y scoredLine) int { return x.at - y.at })
	return gaps(lines, kept, names+room)
}

// below reports whether a line is the first one that belongs to the line before: it is
// indented more, or an entry of a list below its title.
func below(title, l string) bool {
	in := func(s string) int { return len(s) - len(strings.TrimLeft(s, " ")) }
	entry := func(s string) bool { return strings.HasPrefix(s, "- ") || strings.HasPrefix(s, "* ") }
	return in(l) > in(title) || in(l) == in(title) && entry(l[in(l):]) && !entry(title[in(title):])
}

// gaps returns the kept lines, with a mark for the lines between them and the names in
// these, in up to so many tokens.
func gaps(lines []line, kept []scoredLine, tokens int) []line {
	var out []line
	next := 0
	var left strings.Builder
	for _, k := range kept {
		if k.at > next {
			out = append(out, line{text: "…"})
			leave(&left, lines[next:k.at])
		}
		out = append(out, k.line)
		next = k.at + 1
	}
	leave(&left, lines[next:])
	text := textIn(out)
	names := mentions(left.String(), tokens*7/2, func(w string) bool { return strings.Contains(text, w) })
	if names = within(names, tokens-alsoTokens); len(names) > 0 {
		out = append(out, line{text: "(also: " + strings.Join(names, ", ") + ")"})
	}
	return out
}

// alsoTokens is what "(also: )" has.
const alsoTokens = 4

// within returns the first names that have room in so many tokens.
func within(names []string, tokens int) []string {
	for i, w := range names {
		if tokens -= llm.EstimateText(w) + 1; tokens < 0 {
			return names[:i]
		}
	}
	return names
}

// mostLeft bounds the text that is searched for names.
const mostLeft = 1 << 20

func leave(b *strings.Builder, lines []line) {
	for _, l := range lines {
		if b.Len() > mostLeft {
			return
		}
		b.WriteString(l.text)
		b.WriteByte('\n')
	}
}

// place is what the place of a line adds to its weight.
func place(i, n int) float64 {
	switch left := n - 1 - i; {
	case i == 0:
		return 6
	case left == 0:
		return 4
	case i < 3:
		return 2
	case left < 3:
		return 1
	}
	return 0.5 * (1 - float64(i)/float64(n))
}

var alarms = []string{"error", "fail", "panic", "fatal", "warning", "exception", "denied", "not found", "total", "summary", "traceback"}

// alarming reports whether a text, its capitals aside, reports a failure or a sum.
func alarming(s string) bool {
	s = strings.ToLower(s)
	for _, a := range alarms {
		if strings.Contains(s, a) {
			return true
		}
	}
	return false
}

// weight is how much a line matters by itself.
func weight(l string) float64 {
	w := 0.0
	t := strings.TrimSpace(l)
	low := strings.ToLower(t[:cutAt(t, 200)])
	if strings.HasPrefix(t, "#") || strings.HasPrefix(t, "==") || strings.HasPrefix(t, "commit ") || strings.HasPrefix(t, "diff ") {
		w += 2.5
	}
	if alarming(low) {
		w += 1.5
	}
	if strings.HasSuffix(t, ":") && l == t && !strings.Contains(t, " ") { // the name of a file above what it holds
		w += 2.5
	}
	if r, _ := utf8.DecodeRuneInString(t); unicode.IsDigit(r) || strings.HasPrefix(t, "- ") || strings.HasPrefix(t, "* ") {
		w += 0.8
	}
	if i := strings.Index(t, ": "); i > 0 && i < 30 {
		w += 0.8
	}
	if strings.Count(t, "|") > 1 { // a row of a table
		w += 2
	}
	names := 0
	for f := range strings.FieldsSeq(t) {
		if names < 4 && len(f) < 80 && isName(f) {
			names++
		}
	}
	return w + 0.2*float64(names)
}

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
func showText(text string, o Options, budget int) View {
	lines := textLines(text)
	a := aimOf(o.Task)
	joined := joinIDs(lines)
	if budget, a.ids = o.withIDs(budget, llm.EstimateText(text), lineTokens(joined)); a.ids {
		lines = joined
	}
	a.weigh(lines)
	v := showLines(lines, a, budget)
	v.Text += v.note()
	return v
}

// textLines returns the lines that say something, without tags, targets of images and
// runs of space. Lines that repeat the one before are left out.
func textLines(text string) []string {
	if strings.Count(text, "</") > 4 {
		text = tagless(text)
	}
	var out []string
	for l := range strings.Lines(text) {
		l = tidy(l)
		if l == "" || len(out) > 0 && out[len(out)-1] == l {
			continue
		}
		out = append(out, l)
	}
	return out
}

// tidy returns a line without what only lays it out.
func tidy(l string) string {
	depth := len(l) - len(strings.TrimLeft(l, " \t"))
	l = strings.Join(strings.Fields(l), " ")
	if strings.Trim(l, "-=_*|:+~ ") == "" { // a rule, or the line below the head of a table
		return ""
	}
	if strings.Contains(l, "](") {
		l = untarget(l)
	}
	if strings.HasPrefix(l, "| ") { // a row of a table
		l = strings.ReplaceAll(strings.TrimSuffix(l[2:], " |"), " | ", "|")
	}
	return strings.Repeat(" ", min((depth+1)/2, 3)) + l
}

// untarget leaves out where images are, and what a link asks of a server.
func untarget(l string) string {
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
			target, _, _ = strings.Cut(target, "#")
			if len(target) > 0 {
				b.WriteString("(" + target + ")")
			}
		}
		l = l[i+end+1:]
	}
	b.WriteString(l)
	return b.String()
}

// caps are how long a line may be, from all to little, before lines are left out.
var caps = []int{all, 3200, 2400, 1600, 1200, 900, 600, 400, 280, 200, 150}

// showLines shows all lines if there is room, the long ones cut, and else those that
// matter most, in order.
func showLines(lines []string, a *aim, budget int) View {
	for _, most := range caps {
		out, tokens, cut := make([]string, len(lines)), 0, false
		for i, l := range lines {
			s, is := a.cut(l, most, nil)
			out[i], cut = s, cut || is
			if tokens += llm.EstimateText(s) + 1; tokens > budget {
				break
			}
		}
		if tokens <= budget {
			return View{Text: strings.Join(out, "\n"), Whole: !cut, Shown: len(lines), Of: len(lines), Unit: "lines"}
		}
	}
	return pick(lines, a, budget)
}

// scoredLine is a line and how much it matters.
type scoredLine struct {
	at, tokens int
	text       string
	score      float64
}

// pick shows the lines that matter most: the first, the last, those that fit the
// task, that head a section or report a failure, and that name things.
func pick(lines []string, a *aim, budget int) View {
	marks := make([]scoredLine, len(lines))
	for i, l := range lines {
		fit := a.fits(l)
		most := 110
		if fit > 0 || i < 2 {
			most = 200
		}
		s, _ := a.cut(l, most, nil)
		n := llm.EstimateText(s) + 1
		if i+1 < len(lines) && below(l, lines[i+1]) {
			fit += 2
		}
		marks[i] = scoredLine{i, n, s, (weight(l) + fit + place(i, len(lines))) / float64(24+n)}
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
	return View{Text: gaps(lines, kept, (names+room)*7/2), Shown: len(kept), Of: len(lines), Unit: "lines"}
}

// below reports whether a line is the first of those that belong to the one before: it
// is further in, or an entry of a list below its title.
func below(title, l string) bool {
	in := func(s string) int { return len(s) - len(strings.TrimLeft(s, " ")) }
	entry := func(s string) bool { return strings.HasPrefix(s, "- ") || strings.HasPrefix(s, "* ") }
	return in(l) > in(title) || in(l) == in(title) && entry(l[in(l):]) && !entry(title[in(title):])
}

// gaps writes the lines that are kept, with a mark for what is between them, and what
// that names, in up to most bytes.
func gaps(lines []string, kept []scoredLine, most int) string {
	var b strings.Builder
	next := 0
	var left strings.Builder
	for _, k := range kept {
		if k.at > next {
			b.WriteString("…\n")
			leave(&left, lines[next:k.at])
		}
		b.WriteString(k.text)
		b.WriteByte('\n')
		next = k.at + 1
	}
	leave(&left, lines[next:])
	text := strings.TrimSuffix(b.String(), "\n")
	if said := mentions(left.String(), most, func(w string) bool { return strings.Contains(text, w) }); said != "" {
		text += fmt.Sprintf("\n(also: %s)", said)
	}
	return text
}

// mostLeft bounds the text that is searched for names.
const mostLeft = 1 << 20

func leave(b *strings.Builder, lines []string) {
	for _, l := range lines {
		if b.Len() > mostLeft {
			return
		}
		b.WriteString(l)
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

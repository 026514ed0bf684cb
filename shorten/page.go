package shorten

import (
	"strings"
	"unicode/utf8"
)

// Query asks for a part of a result.
type Query struct {
	// From is the number of the first line; 0 means 1.
	From int
	// Lines is how many lines to return at most; 0 means 200.
	Lines int
	// Bytes is how many bytes they may have together; 0 means 8,000. There is always
	// one line, of at most 1,000.
	Bytes int
	// Match, if it is not empty, are words: only lines that hold all of them are
	// returned, with any capitals.
	Match string
}

// Excerpt is a part of a result.
type Excerpt struct {
	Lines []string
	// Numbers are the numbers of the lines, from 1.
	Numbers []int
	// Of is how many lines the result has, and Matching how many fit the query, from
	// its first line on.
	Of, Matching int
}

// The bounds of a page.
const (
	pageLines = 200
	pageBytes = 8_000
	lineBytes = 1_000 // of one line; longer ones become several
)

// Page returns a part of a result, whole and by lines. A result that has structure
// has one line for each value or row, as in a view of it that leaves nothing out. All
// of the result can be had, page after page.
func Page(text string, q Query) Excerpt {
	lines := Lines(text)
	words := strings.Fields(strings.ToLower(q.Match))
	most := q.Lines
	if most <= 0 || most > pageLines {
		most = pageLines
	}
	p := Excerpt{Of: len(lines)}
	room := q.Bytes
	if room <= 0 {
		room = pageBytes
	}
	for i := max(q.From-1, 0); i < len(lines); i++ {
		if !holds(lines[i], words) {
			continue
		}
		p.Matching++
		room -= len(lines[i]) + 1
		if len(p.Lines) < most && (room >= 0 || len(p.Lines) == 0) {
			p.Lines = append(p.Lines, lines[i])
			p.Numbers = append(p.Numbers, i+1)
		} else {
			room = -1
		}
	}
	return p
}

func holds(line string, words []string) bool {
	if len(words) == 0 {
		return true
	}
	line = strings.ToLower(line)
	for _, w := range words {
		if !strings.Contains(line, w) {
			return false
		}
	}
	return true
}

// Lines returns a result by lines, with nothing left out.
func Lines(text string) []string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	var lines []string
	if root, ok := read(text); ok && !textual(root) {
		p := &plan{aim: aimOf(""), same: make(map[*node]string)}
		p.study(root)
		d := &drawing{plan: p, lim: steps[0], whole: true}
		d.value("", root, 0)
		lines = d.lines
		if root.cut {
			lines = append(lines, breaksOff)
		}
	} else {
		if ok {
			text = textOf(root)
		}
		lines = strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	}
	var out []string
	for _, l := range lines {
		for len(l) > lineBytes {
			n := lineBytes
			for n > 0 && !utf8.RuneStart(l[n]) {
				n--
			}
			out, l = append(out, l[:n]), l[n:]
		}
		out = append(out, l)
	}
	return out
}

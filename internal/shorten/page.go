package shorten

import (
	"slices"
	"strings"
)

// Query asks for a part of a result.
type Query struct {
	// From is the number of the first line; 0 means 1.
	From int
	// Lines is how many lines to return at most; 0 means 200.
	Lines int
	// Bytes is how many bytes they may have together; 0 means 8,000. There is always
	// one line, of at most 1,000, and the head of its table if it is a row.
	Bytes int
	// Match, if it is not empty, are words: only lines in which each of them occurs are
	// returned, with any capitals, and also as a part of a longer word.
	Match string
}

// Excerpt is a part of a result.
type Excerpt struct {
	// Lines are the requested lines. Before the rows of a table that begins further up
	// come the lines that head it.
	Lines []string
	// Numbers are the numbers of the lines, from 1.
	Numbers []int
	// Heads is how many of Lines are there only because they head others.
	Heads int
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

// Page returns a part of a result, whole and by lines. A result that has structure has
// one line for each value or row, as in a view of it that leaves nothing out. All of
// the result can be had, page after page.
//
// A line of more than 1,000 bytes is divided into several, with separate numbers. They
// match a query if the whole line does: lines with all of the words, or if there are
// none, lines with some. A word that is cut in two is in both.
func Page(text string, q Query) Excerpt {
	lines := listing(text)
	words := strings.Fields(strings.ToLower(q.Match))
	p := &pages{lines: lines, most: q.Lines, room: q.Bytes, in: make(map[int]bool)}
	if p.most <= 0 || p.most > pageLines {
		p.most = pageLines
	}
	if p.room <= 0 {
		p.room = pageBytes
	}
	p.full = p.room
	for i := range lines {
		pieces := lines[i].pieces
		at := lines[i].number
		p.Of += len(pieces)
		if at+len(pieces) <= q.From {
			continue
		}
		for k, fits := range fitting(pieces, words) {
			if fits && at+k >= q.From {
				p.take(i, k)
			}
		}
	}
	return p.Excerpt
}

// pages collects the lines of a page.
type pages struct {
	Excerpt
	lines            []listed
	most, room, full int
	in               map[int]bool // numbers of the lines that are there
}

// take adds a piece of a line, if there is room.
func (p *pages) take(i, k int) {
	p.Matching++
	if p.Matching-1 > len(p.Lines)-p.Heads { // one before had no room
		return
	}
	l := p.lines[i]
	cost := len(l.pieces[k]) + 1
	var heads []int
	if l.head != nil {
		for h := l.head.from; h < l.head.to; h++ {
			if at := p.lines[h]; !p.in[at.number] && len(at.pieces) == 1 {
				heads = append(heads, h)
				cost += len(at.pieces[0]) + 1
			}
		}
	}
	if cost > p.full/2 && len(heads) > 0 { // a head that leaves no room for rows
		heads, cost = nil, len(l.pieces[k])+1
	}
	if len(p.Lines) > 0 && (cost > p.room || len(p.Lines)+len(heads) >= p.most) {
		return
	}
	for _, h := range heads {
		p.Heads++
		p.put(p.lines[h].pieces[0], p.lines[h].number)
	}
	p.put(l.pieces[k], l.number+k)
	p.room -= cost
}

func (p *pages) put(text string, number int) {
	p.in[number] = true
	p.Lines, p.Numbers = append(p.Lines, text), append(p.Numbers, number)
}

// fitting returns which pieces of a line fit a query.
func fitting(pieces, words []string) []bool {
	fits := make([]bool, len(pieces))
	if len(words) == 0 {
		for k := range fits {
			fits[k] = true
		}
		return fits
	}
	held := make([]int, len(pieces)) // of the words
	for _, w := range words {
		in, found := holding(pieces, w)
		if !found {
			return fits
		}
		for k := range in {
			if in[k] {
				held[k]++
			}
		}
	}
	most := slices.Max(held)
	for k := range fits {
		fits[k] = held[k] == len(words) || most < len(words) && held[k] > 0
	}
	return fits
}

// holding returns which pieces of a line contain a word or a part of one that is cut.
func holding(pieces []string, w string) (in []bool, found bool) {
	in = make([]bool, len(pieces))
	for k, piece := range pieces {
		low := strings.ToLower(piece)
		if strings.Contains(low, w) {
			in[k], found = true, true
		}
		if k+1 == len(pieces) {
			break
		}
		next := strings.ToLower(pieces[k+1])
		seam := low[max(len(low)-len(w)+1, 0):] + next[:min(len(next), len(w)-1)]
		if strings.Contains(seam, w) {
			in[k], in[k+1], found = true, true, true
		}
	}
	return in, found
}

// listed is a line of a result, in pieces if it is long.
type listed struct {
	pieces []string
	number int // of the first piece
	head   *head
}

// listing returns a result by lines, with nothing left out.
func listing(text string) []listed {
	text = strings.ToValidUTF8(text, "\uFFFD")
	var lines []line
	if root, ok := read(text); ok && !textual(root) {
		if lines = newPlan(root, Options{}).draw(steps[0]).lines; root.cut {
			lines = append(lines, line{text: breaksOff})
		}
	} else {
		if ok {
			text = textOf(root)
		}
		for l := range strings.SplitSeq(strings.TrimSuffix(text, "\n"), "\n") {
			lines = append(lines, line{text: l})
		}
	}
	out := make([]listed, len(lines))
	number := 1
	for i, l := range lines {
		out[i] = listed{pieces: inPieces(l.text), number: number, head: l.head}
		number += len(out[i].pieces)
	}
	return out
}

// inPieces cuts a line that is too long, between words where there are some.
func inPieces(l string) []string {
	var out []string
	for len(l) > lineBytes {
		n := cutAt(l, lineBytes)
		out, l = append(out, l[:n]), l[n:]
	}
	return append(out, l)
}

// Lines returns a result by lines, with nothing left out.
func Lines(text string) []string {
	var out []string
	for _, l := range listing(text) {
		out = append(out, l.pieces...)
	}
	return out
}

package main

import (
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"
)

// redraw is how long what was drawn is left alone while more comes in.
const redraw = 40 * time.Millisecond

// page is a window on lines.
type page struct {
	lines       []string
	top, height int
}

// show replaces the lines of the page. With bottom, it stays scrolled to its end.
func (p *page) show(lines []string, height int, bottom bool) {
	p.lines, p.height = lines, height
	if bottom {
		p.top = len(lines)
	}
	p.move(0)
}

// move goes up or down, as far as there are lines.
func (p *page) move(by int) { p.top = max(0, min(p.top+by, len(p.lines)-p.height)) }

func (p *page) atBottom() bool { return p.top+p.height >= len(p.lines) }

// view draws the window, with empty lines below a short text.
func (p *page) view() string {
	shown := p.lines[p.top:min(len(p.lines), p.top+p.height)]
	return strings.Join(shown, "\n") + strings.Repeat("\n", max(0, p.height-max(1, len(shown))))
}

// flow is a text that grows at its end. Its rows are made as it grows: a row
// that is full does not change any more, so only the text behind it is looked at
// again, however long the paragraph becomes.
type flow struct {
	text strings.Builder // as it is shown, without control characters
	held string          // half a character at the end
	full []string        // the rows that do not change
	used int             // the bytes of text that are in them
	room int             // the width they were made for
}

func (f *flow) empty() bool { return f.text.Len() == 0 && f.held == "" }

func (f *flow) write(piece string) {
	piece = f.held + piece
	cut := wholeRunes(piece)
	f.held = piece[cut:]
	f.text.WriteString(strings.ReplaceAll(printable(piece[:cut]), "\t", "    "))
}

// maxTail bounds the text that is looked at again.
const maxTail = 8 << 10

// draw returns the rows for a width.
func (f *flow) draw(width int) []string {
	room := max(4, width)
	if f.room != room {
		f.full, f.used, f.room = nil, 0, room
	}
	tail := f.text.String()[f.used:]
	rows := strings.Split(ansi.Wrap(tail, room, ""), "\n")
	last := len(rows) - 1
	switch {
	case last > 0 && strings.HasSuffix(tail, rows[last]):
		f.full = append(f.full, rows[:last]...)
		f.used += len(tail) - len(rows[last])
	case len(tail) > maxTail:
		f.full = append(f.full, rows...)
		f.used += len(tail)
		return f.full
	default:
		return append(f.full[:len(f.full):len(f.full)], rows...)
	}
	return append(f.full[:len(f.full):len(f.full)], rows[last])
}

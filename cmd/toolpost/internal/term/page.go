// Package term draws text on a terminal: Markdown, code, differences and scrolling pages.
package term

import (
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"

	"github.com/toolpost/toolpost/cmd/toolpost/internal/cli"
)

// Redraw is the minimum time between two drawings while more text arrives.
const Redraw = 40 * time.Millisecond

// Page is a window on lines.
type Page struct {
	Lines       []string
	top, Height int
}

// Show replaces the lines of the page. With bottom, it stays scrolled to the end.
func (p *Page) Show(lines []string, height int, bottom bool) {
	p.Lines, p.Height = lines, height
	if bottom {
		p.top = len(lines)
	}
	p.Move(0)
}

// Move scrolls up or down, within the lines.
func (p *Page) Move(by int) { p.top = max(0, min(p.top+by, len(p.Lines)-p.Height)) }

func (p *Page) AtBottom() bool { return p.top+p.Height >= len(p.Lines) }

// View draws the window, with empty lines below a short text.
func (p *Page) View() string {
	shown := p.Lines[p.top:min(len(p.Lines), p.top+p.Height)]
	return strings.Join(shown, "\n") + strings.Repeat("\n", max(0, p.Height-max(1, len(shown))))
}

// Flow is a growing text, wrapped into rows. Full rows never change. Only the text after them is wrapped again, however
// long the paragraph becomes.
type Flow struct {
	text strings.Builder // as shown, without control characters
	held string          // an incomplete character at the end
	full []string        // the rows that do not change
	used int             // the bytes of text in full
	room int             // the width of full
}

func (f *Flow) Empty() bool { return f.text.Len() == 0 && f.held == "" }

func (f *Flow) Write(piece string) {
	piece = f.held + piece
	cut := cli.WholeRunes(piece)
	f.held = piece[cut:]
	f.text.WriteString(strings.ReplaceAll(cli.Printable(piece[:cut]), "\t", "    "))
}

// maxTail limits the text that is wrapped again.
const maxTail = 8 << 10

// Draw returns the rows for a width.
func (f *Flow) Draw(width int) []string {
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

// LastLines returns the last n lines of a text, for temporary output.
func LastLines(text string, n int) string {
	lines := strings.Split(strings.TrimSpace(cli.Printable(text)), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}

// Wrap breaks text into lines of at most width cells. The first line has a mark; the others are indented by its width.
func Wrap(text string, width int, mark string, style func(string) string) []string {
	room := max(4, width-ansi.StringWidth(mark))
	indent := strings.Repeat(" ", ansi.StringWidth(mark))
	var out []string
	for _, line := range strings.Split(ansi.Wrap(strings.ReplaceAll(text, "\t", "    "), room, ""), "\n") {
		out = append(out, mark+style(line))
		mark = indent
	}
	return out
}

func Plainly(s string) string { return s }

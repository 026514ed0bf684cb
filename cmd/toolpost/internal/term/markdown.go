package term

import (
	"strings"

	"github.com/toolpost/toolpost/cmd/toolpost/internal/cli"
)

// Markdown shows a growing answer as Markdown. It splits the text into blocks while it arrives. A finished block is
// drawn once per width. Only the last block is drawn repeatedly, however long the answer becomes.
type Markdown struct {
	P     cli.Palette
	held  string // an incomplete character at the end
	line  strings.Builder
	last  mdBlock // the block that may still grow, without line
	blank bool    // an empty line follows last
	again mdBlock // the block of code that continues after a long line
	done  []mdBlock
	rows  []string // the rows of done
	room  int      // the width of rows
	Drawn int      // the number of blocks of done that are in rows
}

// mdBlock is a part of an answer that is drawn separately.
type mdBlock struct {
	lines  []string
	size   int
	fence  string // the closing fence of a block of code
	lang   string // the language of a block of code
	shut   bool   // the fence of a block of code was closed
	long   *Flow  // a line that is too long for Markdown, shown unchanged
	joined bool   // the block continues the one before it, which was cut
}

// maxBlock is the size at which a block or a line is cut. It limits how much is drawn repeatedly.
const maxBlock = 16 << 10

func (b *mdBlock) empty() bool { return len(b.lines) == 0 && b.fence == "" && b.long == nil }

// Write adds text.
func (m *Markdown) Write(piece string) {
	piece = m.held + piece
	cut := cli.WholeRunes(piece)
	m.held = piece[cut:]
	for text := cli.Printable(piece[:cut]); text != ""; {
		i := strings.IndexByte(text, '\n')
		if i < 0 {
			m.more(text)
			return
		}
		m.more(text[:i])
		m.endLine()
		text = text[i+1:]
	}
}

// more adds to the last line. A line that is too long is not parsed as Markdown.
func (m *Markdown) more(text string) {
	if m.last.long != nil {
		m.last.long.Write(text)
		return
	}
	m.line.WriteString(text)
	if m.line.Len() <= maxBlock {
		return
	}
	long := new(Flow)
	long.Write(m.line.String())
	m.line.Reset()
	again := mdBlock{fence: m.last.fence, lang: m.last.lang, joined: true}
	m.finish()
	m.last, m.again = mdBlock{long: long, joined: again.fence != ""}, again
}

// endLine handles a complete line.
func (m *Markdown) endLine() {
	line := strings.TrimRight(strings.ReplaceAll(m.line.String(), "\t", "    "), " ")
	m.line.Reset()
	switch {
	case m.last.long != nil:
		m.finish()
		m.last = m.again
	case m.last.fence != "":
		m.inFence(line)
	case line == "":
		m.blank = m.blank || !m.last.empty()
	default:
		m.begin(line)
	}
}

// inFence handles a line of a block of code.
func (m *Markdown) inFence(line string) {
	if closes(line, m.last.fence) {
		m.last.shut = true
		m.finish()
		return
	}
	if m.last.size > maxBlock {
		next := mdBlock{fence: m.last.fence, lang: m.last.lang, joined: true}
		m.finish()
		m.last = next
	}
	m.last.add(line)
}

// begin handles a line outside of code. The line continues the last block or begins another one.
func (m *Markdown) begin(line string) {
	if fence, lang, ok := opensFence(line); ok {
		m.finish()
		m.last = mdBlock{fence: fence, lang: lang}
		return
	}
	apart := m.blank && !(m.last.list() && (strings.HasPrefix(line, "  ") || isItem(line)))
	switch {
	case apart || isHeading(line) || len(m.last.lines) > 0 && isHeading(m.last.lines[len(m.last.lines)-1]):
		m.finish()
	case m.last.size > maxBlock:
		m.finish()
		m.last.joined = true
	case m.blank:
		m.last.add("")
	}
	m.blank = false
	m.last.add(line)
}

func (b *mdBlock) add(line string) {
	b.lines = append(b.lines, line)
	b.size += len(line) + 1
}

// finish ends the last block.
func (m *Markdown) finish() {
	if !m.last.empty() {
		m.done = append(m.done, m.last)
	}
	m.last, m.blank = mdBlock{}, false
}

// Take returns the rows of the blocks that cannot grow any more and removes these blocks. With all, it ends and returns
// everything.
func (m *Markdown) Take(width int, all bool) []string {
	if all {
		if m.line.Len() > 0 {
			m.endLine()
		}
		m.finish()
		m.again = mdBlock{}
	}
	var rows []string
	for i := range m.done {
		rows = m.append(rows, &m.done[i], i > 0 || m.Drawn > 0, width)
	}
	m.Drawn += len(m.done)
	m.done = m.done[:0]
	return rows
}

// Draw returns the rows for a width.
func (m *Markdown) Draw(width int) []string {
	if m.room != width {
		m.rows, m.Drawn, m.room = nil, 0, width
	}
	for ; m.Drawn < len(m.done); m.Drawn++ {
		m.rows = m.append(m.rows, &m.done[m.Drawn], m.Drawn > 0, width)
	}
	return m.Pending(m.rows[:len(m.rows):len(m.rows)], width)
}

// Pending adds the rows of the text that may still grow.
func (m *Markdown) Pending(rows []string, width int) []string {
	last := m.last
	if rest := strings.ReplaceAll(m.line.String(), "\t", "    "); rest != "" {
		last.lines = last.lines[:len(last.lines):len(last.lines)]
		if m.blank {
			last.lines = append(last.lines, "")
		}
		last.lines = append(last.lines, rest)
	}
	if last.empty() {
		return rows
	}
	return m.append(rows, &last, len(m.done) > 0, width)
}

// append adds the rows of a block.
func (m *Markdown) append(rows []string, b *mdBlock, second bool, width int) []string {
	if second && !b.joined {
		rows = append(rows, "")
	}
	switch {
	case b.long != nil:
		return append(rows, b.long.Draw(width)...)
	case b.fence != "":
		if b.lang != "" && !b.joined {
			rows = append(rows, "  "+m.P.Dim(b.lang))
		}
		return append(rows, codeRows(m.P, b.lang, b.lines, width)...)
	}
	return append(rows, renderMarkdown(m.P, strings.Join(b.lines, "\n"), width)...)
}

// opensFence reports whether a line begins a block of code. It returns the fence and the language.
func opensFence(line string) (fence, lang string, ok bool) {
	text := strings.TrimLeft(line, " ")
	if len(line)-len(text) > 3 || len(text) < 3 || text[0] != '`' && text[0] != '~' {
		return "", "", false
	}
	n := len(text) - len(strings.TrimLeft(text, text[:1]))
	info := strings.TrimSpace(text[n:])
	if n < 3 || text[0] == '`' && strings.Contains(info, "`") {
		return "", "", false
	}
	lang, _, _ = strings.Cut(info, " ")
	return text[:n], lang, true
}

func closes(line, fence string) bool {
	text := strings.TrimSpace(line)
	return len(text) >= len(fence) && strings.Trim(text, fence[:1]) == ""
}

func isHeading(line string) bool {
	text := strings.TrimLeft(line, "#")
	n := len(line) - len(text)
	return n >= 1 && n <= 6 && strings.HasPrefix(text, " ")
}

// isItem reports whether a line begins an item of a list.
func isItem(line string) bool {
	text := strings.TrimLeft(line, " ")
	digits := len(text) - len(strings.TrimLeft(text, "0123456789"))
	if digits > 0 && digits < 10 {
		return strings.HasPrefix(text[digits:], ". ") || strings.HasPrefix(text[digits:], ") ")
	}
	return strings.HasPrefix(text, "- ") || strings.HasPrefix(text, "* ") || strings.HasPrefix(text, "+ ")
}

func (b *mdBlock) list() bool { return len(b.lines) > 0 && isItem(b.lines[0]) }

// PlainUsage is the help text of every --plain flag.
const PlainUsage = "show answers as plain text, not as Markdown"

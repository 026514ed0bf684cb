package form

import (
	"bytes"

	"github.com/toolpost/toolpost/dialect/internal/judge"
	"github.com/toolpost/toolpost/dialect/internal/scan"
	"github.com/toolpost/toolpost/dialect/internal/whole"
	"github.com/toolpost/toolpost/llm"
)

// maxBlocks bounds the paragraphs at the end of an answer that the last block may have.
const maxBlocks = 6

// LastBlock reads the end of an answer without calls as a call if it is plainly one, in whatever notation. The text has
// already left, so the call is a guess. What the sentence before it says against it keeps it text.
func (m *answer) LastBlock() {
	if m.Calls > 0 || m.Names.Any || m.Names.None || m.OnlyMarked || m.Muted || m.Mode != judge.InText || m.Interrupted() || m.Stopped {
		return
	}
	from := max(0, m.Since-m.Base, m.Pos-scan.MaxBlock)
	text := m.Buf[from:m.Pos]
	if !m.Names.Mentioned(text) {
		return
	}
	complete := m.Base+from == max(m.Since, 0) || from == 0 && m.Base == 0
	for n, at := range blockStarts(text, complete) {
		if n == maxBlocks {
			return
		}
		block := text[at:]
		if at == 0 && m.Base+from == 0 { // the answer is a command line
			block = bytes.TrimPrefix(block, []byte("$ "))
		}
		if c, ok := whole.Read(string(block), m.Names); ok {
			m.lastCall(c, m.Base+from+at)
			return
		}
	}
}

// lastCall emits the call c of the block that begins at the offset start.
func (m *answer) lastCall(c whole.Call, start int) {
	m.Revisit(start)
	if !m.Mentions && m.Above != judge.NoDoubt && m.Above != judge.InSentence {
		return
	}
	m.Marked, m.Depth, m.Rows = false, 1, m.Lex.Labelled
	if !m.StartCall(c.Name, "", start) {
		return
	}
	m.Lost.Forget(start)
	m.Repair("unknown-form", llm.Guess, start, m.Offset())
	if c.Open {
		m.Missing("end-of-call")
	}
	m.ArgBytes(c.Args)
	m.EndCall()
}

// blockStarts returns where the last paragraphs of text begin, the first one first. If complete is set, the beginning of
// text is one of them.
func blockStarts(text []byte, complete bool) (starts []int) {
	for i := len(bytes.TrimRight(text, " \t\r\n")); len(starts) < maxBlocks; {
		i = bytes.LastIndex(text[:i], []byte("\n\n"))
		if i < 0 {
			break
		}
		if bytes.Count(text[i:], []byte("```"))%2 == 0 { // not inside of a code fence
			starts = append([]int{i + 2}, starts...)
		}
	}
	if complete && len(starts) < maxBlocks {
		starts = append([]int{0}, starts...)
	}
	for i, at := range starts {
		starts[i] = len(text) - len(bytes.TrimLeft(text[at:], " \t\r\n"))
	}
	return starts
}

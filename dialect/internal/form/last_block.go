package form

import (
	"github.com/toolpost/toolpost/dialect/internal/judge"
	"github.com/toolpost/toolpost/dialect/internal/scan"
	"github.com/toolpost/toolpost/dialect/internal/whole"
	"github.com/toolpost/toolpost/dialect/spec"
	"github.com/toolpost/toolpost/llm"
)

// LastBlock reads the end of an answer without calls as a call if it is plainly one, in whatever notation. The text has
// already left, so the call is a guess. What the sentence before it says against it keeps it text.
func (m *answer) LastBlock() {
	text, from, starts := m.lastBlocks()
	inline := -1 // inline code is a call only after a sentence that announces it
	if len(starts) > 0 {
		if inline = whole.InlineCode(text); inline >= 0 {
			starts = append(starts, inline)
		}
	}
	for _, at := range starts {
		m.Revisit(m.Base + from + at)
		if at == inline && !m.Announced {
			continue
		}
		begins := at == 0 && m.Base+from == 0
		code := begins || m.Announced || m.Above == judge.NoDoubt && !m.Introduced
		block := text[at:]
		if code {
			block = whole.Command(block)
		}
		if calls, ok := whole.Read(string(block), m.Names, whole.Place{Code: code, Announces: judge.Announces}); ok {
			m.lastCalls(calls, m.Base+from+at)
			return
		}
	}
}

// lastBlocks returns the end of an answer without calls that mentions a tool, its index in the buffer, and where the blocks
// at its end begin.
func (m *answer) lastBlocks() (text []byte, from int, starts []int) {
	if m.Calls > 0 || m.Names.Any || m.Names.None || m.OnlyMarked || m.Muted || m.Mode != judge.InText || m.Interrupted() || m.Stopped {
		return nil, 0, nil
	}
	from = max(0, m.Since-m.Base, m.Pos-scan.MaxBlock)
	if text = m.Buf[from:m.Pos]; !m.Names.Mentioned(text) {
		return nil, 0, nil
	}
	complete := m.Base+from == max(m.Since, 0) || from == 0 && m.Base == 0
	return text, from, whole.Blocks(text, complete)
}

// Unread reports the last block of an answer, or a whole answer, that names a tool and gives all required arguments but was
// neither read as a call nor suspected.
func (m *answer) Unread() {
	text, from, starts := m.lastBlocks()
	if m.Lost.Any() {
		return
	}
	for i, at := range starts {
		if at > 0 && i < len(starts)-1 {
			continue
		}
		if name, ok := whole.Resembles(string(text[at:]), m.Names); ok {
			m.Lost.Add(m.Lex.Bare.And(m.Lex.Form[spec.JSONCall]), m.Base+from+at+name, judge.Unreadable)
			return
		}
	}
}

// lastCalls emits the calls of the block that begins at the offset start.
func (m *answer) lastCalls(calls []whole.Call, start int) {
	if !m.Mentions && m.Above != judge.NoDoubt && m.Above != judge.InSentence {
		return
	}
	for _, c := range calls {
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
}

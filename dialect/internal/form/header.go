package form

import (
	"bytes"
	"strings"

	"github.com/toolpost/toolpost/dialect/internal/engine"
	"github.com/toolpost/toolpost/dialect/internal/judge"
	"github.com/toolpost/toolpost/dialect/internal/lexicon"
	"github.com/toolpost/toolpost/dialect/internal/offered"
	"github.com/toolpost/toolpost/dialect/internal/scan"
)

// header reads a message header: the sender, the recipient and the channel. They determine whether the message is
// thinking, text or a call. t is the token that begins the header. It is nil at the beginning of an answer if the
// prompt held it.
func (m headerReader) header(t *lexicon.Token, n int) bool {
	i, ok := m.HeaderEnd(n)
	if !ok && m.Peek(i) != '{' {
		return m.cutHeader(t, n)
	}
	words := &m.Lex.Head
	to, channel := words.Recipient(lexicon.FoldAll(string(m.Buf[m.Pos : m.Pos+i])))
	if !ok && !strings.HasPrefix(to, offered.PrefixesOfNames[0]) {
		return false
	}
	for n := m.AnyOf(i, words.Ends); n > 0; n = m.AnyOf(m.Spaces(i), words.Ends) { // a repeated end of the header
		i = m.Spaces(i) + n
	}
	start := m.Offset()
	m.PlainText().KeepHeld()
	m.Rows = m.Lex.Header
	if t.Is(lexicon.Heads) && channel != "" {
		m.Rows = t.In(lexicon.Heads)
	}
	m.Muted, m.Started = false, true
	switch {
	case words.Thinkers[to] || to == "" && words.ThinkChannels[channel]:
		m.Skip(i, "header")
		m.Mode, m.ThinkBy, m.ByHeader = judge.InThinking, nil, true
	case to == "" || words.Users[to] || words.Speakers[to]:
		m.Skip(i, "header")
		m.Muted, m.Message, m.Around.Headed = words.Users[to], m.Offset(), m.Offset()
	default:
		return m.headerCall(to, i, start)
	}
	return true
}

// cutHeader handles a header in which the answer was cut off, after n bytes of it. If it names a tool, it is a call
// that was cut off; otherwise it is skipped. Without a marker before it, the header may be text, so it must be one word
// that names a recipient.
func (m headerReader) cutHeader(t *lexicon.Token, n int) bool {
	if !m.Eof || m.Broken || len(m.Buf)-m.Pos > scan.MaxHeader || !m.Truncated() {
		return false
	}
	rest := m.Buf[m.Pos+n:]
	if bytes.ContainsAny(rest, "`{\"\n") || t == nil && len(bytes.Fields(rest)) != 1 {
		return false
	}
	words := &m.Lex.Head
	to, _ := words.Recipient(lexicon.FoldAll(string(m.Buf[m.Pos:])))
	to, _, _ = strings.Cut(to, "<")
	if t == nil && !words.Thinkers[to] && !words.Users[to] && !m.Names.MayBecome(to) {
		return false
	}
	if to == "" || words.Thinkers[to] || words.Users[to] || words.Speakers[to] || m.Names.None || !m.mayCall(m.Lex.Header) {
		m.Skip(len(m.Buf)-m.Pos, "cut header")
		return true
	}
	m.asCut().cutOff(to, m.Lex.Header)
	return true
}

// misaddressed reads calls in a message to the user. They count only if the message contains nothing else: the model
// then chose the wrong recipient.
func (m headerReader) misaddressed(t *lexicon.Token, n int) bool {
	if t.Is(lexicon.Opens) && m.Offset() == m.Message {
		m.Begin()
		before := m.Calls
		m.Muted = false
		if m.asMarker().region(t, n) && m.Calls > before && (!m.More() || m.EndOfMessage) {
			m.Commit()
			return true
		}
		m.Undo()
	}
	m.Suspect(judge.ToUser)
	return false
}

// headerCall reads the call of the tool to, which the header of n bytes names.
func (m headerReader) headerCall(to string, n, start int) bool {
	if to != "" && m.Lex.Head.Unused(lexicon.FoldAll(string(m.Buf[m.Pos:m.Pos+n]))) || m.Peek(m.Spaces(n)) == '<' && !m.Names.Any && !m.Names.Offered(to) {
		m.Unused = unusedText
	}
	if m.Names.None || m.Peek(m.Spaces(n)) == '<' && m.AnyOf(m.Spaces(n), m.Lex.Head.Calls) == 0 {
		if t, _ := m.Match(m.Spaces(n)); m.Names.Offered(to) && !t.Is(lexicon.Opens) && !t.Is(lexicon.TagCall) {
			m.Lost.Add(m.Lex.Header, start, judge.Unreadable)
		}
		m.Skip(n, "header")
		m.Around.Headed = m.Offset()
		return true
	}
	m.Marked = true
	ok := m.Guess(func() bool {
		if !m.StartCall(to, "", start) {
			return false
		}
		m.Read(engine.NameSpan, n, "header")
		m.asName().jsonBody()
		return true
	})
	m.Marked = false
	if ok {
		m.asMarker().units()
	}
	return ok
}

package dialect

import (
	"bytes"
	"strings"
)

// maxHeader bounds a message header.
const maxHeader = 512

const (
	endOfHeader = "<|message|>"
	endOfCall   = "<|call|>"
)

// header reads a message header: who speaks to whom, on which channel. It
// decides what the message is: thinking, text, or a call. t is the token that
// begins it, nil at the beginning of an answer, where the prompt held it.
func (m *machine) header(t *token, n int) bool {
	i, ok := m.headerEnd(n)
	if !ok && m.peek(i) != '{' {
		return m.cutHeader(t, n)
	}
	to, channel := recipient(foldAll(string(m.buf[m.pos : m.pos+i])))
	if !ok && !strings.HasPrefix(to, prefixesOfNames[0]) {
		return false
	}
	i += m.literal(i, endOfHeader)
	start := m.offset()
	m.keepHeld()
	m.rows = headerRows
	if t.is(heads) && channel != "" {
		m.rows = t.rows[heads]
	}
	m.muted, m.started = false, true
	switch {
	case to == "self" || to == "" && channel == "analysis":
		m.skip(i, "header")
		m.mode, m.thinkBy, m.byHeader = inThinking, nil, true
	case to == "" || to == "user" || to == "assistant" || to == "all":
		m.skip(i, "header")
		m.muted, m.message = to == "user", m.offset()
	default:
		return m.headerCall(to, i, start)
	}
	return true
}

// cutHeader handles a header of which n bytes have been seen and that the
// answer was cut off in: a call if it names a tool, else nothing.
// Without a marker before it, it may be text: it must be one word that names
// somebody.
func (m *machine) cutHeader(t *token, n int) bool {
	if !m.eof || len(m.buf)-m.pos > maxHeader || !m.truncated() {
		return false
	}
	rest := m.buf[m.pos+n:]
	if bytes.ContainsAny(rest, "`{\"\n") || t == nil && len(bytes.Fields(rest)) != 1 {
		return false
	}
	to, _ := recipient(foldAll(string(m.buf[m.pos:])))
	to, _, _ = strings.Cut(to, "<")
	if t == nil && to != "self" && to != "user" && !m.names.mayBecome(to) {
		return false
	}
	if to == "" || to == "self" || to == "user" || to == "assistant" || to == "all" || m.names.none || !m.promotes(headerRows) {
		m.skip(len(m.buf)-m.pos, "cut header")
		return true
	}
	m.cutOff(to, headerRows)
	return true
}

// misaddressed reads calls in a message to the user. They count only if the
// message is nothing but calls: then the model got the recipient wrong.
func (m *machine) misaddressed(t *token, n int) bool {
	if t.is(opens) && m.offset() == m.message {
		m.begin()
		before := m.calls
		m.muted = false
		if m.region(t, n) && m.calls > before && (!m.more() || m.endOfMessage) {
			m.commit()
			return true
		}
		m.undo()
		m.muted = true
	}
	m.suspect()
	return false
}

// headerEnd returns where the header of which n bytes have been seen ends, and
// whether its marker stands there; if not, what else does. A header holds words
// and markers of its own, nothing else.
func (m *machine) headerEnd(n int) (end int, ok bool) {
	for i := n; i-n < maxHeader && m.at(i); i++ {
		switch c := m.buf[m.pos+i]; {
		case c == '<':
			if m.literal(i, endOfHeader) > 0 {
				return i, true
			}
			if t, _ := m.match(i); t.is(drops) || t.is(opens) {
				return i, false
			}
		case c == '`' || c == '{' || c == '"':
			return i, false
		}
	}
	return 0, false
}

// headerCall reads the call that the header of n bytes is about.
func (m *machine) headerCall(to string, n, start int) bool {
	if m.names.none || m.peek(m.spaces(n)) == '<' && m.literal(m.spaces(n), endOfCall) == 0 {
		m.skip(n, "header")
		return true
	}
	m.marked = true
	ok := m.guess(func() bool {
		if !m.startCall(to, "", start) {
			return false
		}
		m.read(NameSpan, n, "header")
		m.jsonBody()
		return true
	})
	m.marked = false
	if ok {
		m.units()
	}
	return ok
}

// recipient returns whom a header addresses, and its channel.
func recipient(header string) (to, channel string) {
	for _, tok := range []string{"<|start|>", "<|constrain|>", "<|end|>"} {
		header = strings.ReplaceAll(header, tok, " ")
	}
	header = strings.ReplaceAll(header, "<|channel|>", " <|channel|>")
	header = strings.ReplaceAll(header, "?to=", " to=")
	for _, word := range strings.Fields(header) {
		if c, ok := strings.CutPrefix(word, "<|channel|>"); ok {
			channel = strings.Trim(c, "?–-")
		}
		if r, ok := strings.CutPrefix(word, "to="); ok {
			to = r
		}
	}
	return to, channel
}

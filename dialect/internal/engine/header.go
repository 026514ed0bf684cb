package engine

import (
	"bytes"
	"strings"
)

// maxHeader bounds a message header.
const maxHeader = 512

// header reads a message header: who speaks to whom, on which channel. It
// decides what the message is: thinking, text, or a call. t is the token that
// begins it, nil at the beginning of an answer, where the prompt held it.
func (m *machine) header(t *token, n int) bool {
	i, ok := m.headerEnd(n)
	if !ok && m.peek(i) != '{' {
		return m.cutHeader(t, n)
	}
	words := &m.lex.head
	to, channel := words.recipient(foldAll(string(m.buf[m.pos : m.pos+i])))
	if !ok && !strings.HasPrefix(to, prefixesOfNames[0]) {
		return false
	}
	for n := m.anyOf(i, words.ends); n > 0; n = m.anyOf(m.spaces(i), words.ends) { // once more, by mistake
		i = m.spaces(i) + n
	}
	start := m.offset()
	m.keepHeld()
	m.rows = m.lex.header
	if t.is(heads) && channel != "" {
		m.rows = t.in(heads)
	}
	m.muted, m.started = false, true
	switch {
	case words.thinkers[to] || to == "" && words.thinkChannels[channel]:
		m.skip(i, "header")
		m.mode, m.thinkBy, m.byHeader = inThinking, nil, true
	case to == "" || words.users[to] || words.speakers[to]:
		m.skip(i, "header")
		m.muted, m.message, m.around.headed = words.users[to], m.offset(), m.offset()
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
	if !m.eof || m.broken || len(m.buf)-m.pos > maxHeader || !m.truncated() {
		return false
	}
	rest := m.buf[m.pos+n:]
	if bytes.ContainsAny(rest, "`{\"\n") || t == nil && len(bytes.Fields(rest)) != 1 {
		return false
	}
	words := &m.lex.head
	to, _ := words.recipient(foldAll(string(m.buf[m.pos:])))
	to, _, _ = strings.Cut(to, "<")
	if t == nil && !words.thinkers[to] && !words.users[to] && !m.names.mayBecome(to) {
		return false
	}
	if to == "" || words.thinkers[to] || words.users[to] || words.speakers[to] || m.names.none || !m.promotes(m.lex.header, m.marked || m.loose) {
		m.skip(len(m.buf)-m.pos, "cut header")
		return true
	}
	m.cutOff(to, m.lex.header)
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
	}
	m.suspect()
	return false
}

// headerEnd returns where the header of which n bytes have been seen ends, and
// whether its marker stands there; if not, what else does. A header holds words
// and markers of its own, nothing else.
func (in *input) headerEnd(n int) (end int, ok bool) {
	for i := n; i-n < maxHeader && in.at(i); i++ {
		switch c := in.buf[in.pos+i]; {
		case c == '<':
			if in.anyOf(i, in.lex.head.ends) > 0 {
				return i, true
			}
			if t, _ := in.match(i); t.is(drops) || t.is(opens) {
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
	if m.names.none || m.peek(m.spaces(n)) == '<' && m.anyOf(m.spaces(n), m.lex.head.calls) == 0 {
		if t, _ := m.match(m.spaces(n)); m.names.offered(to) && !t.is(opens) && !t.is(tagCall) {
			m.lost.add(m.lex.header, start)
		}
		m.skip(n, "header")
		m.around.headed = m.offset()
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
func (h *headWords) recipient(header string) (to, channel string) {
	for _, s := range h.skip {
		header = strings.ReplaceAll(header, s, " ")
	}
	for _, s := range h.channels {
		header = strings.ReplaceAll(header, s, " "+s)
	}
	for _, s := range h.to { // a question mark is what some tokenizers leave of a space
		header = strings.ReplaceAll(header, "?"+s, " "+s)
	}
	for _, word := range strings.Fields(header) {
		if c, ok := cutAny(word, h.channels); ok {
			channel = strings.Trim(c, "?–-")
		}
		if r, ok := cutAny(word, h.to); ok {
			to = r
		}
	}
	return to, channel
}

// cutAny returns word without the one of list it begins with.
func cutAny(word string, list []string) (rest string, ok bool) {
	for _, s := range list {
		if rest, ok = strings.CutPrefix(word, s); ok {
			return rest, true
		}
	}
	return "", false
}

// endsHeader reports whether s ends with what ends a header.
func (x *Lexicon) endsHeader(s string) bool {
	for _, end := range x.head.ends {
		if strings.HasSuffix(s, end) {
			return true
		}
	}
	return false
}

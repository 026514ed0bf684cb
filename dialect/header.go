package dialect

import "strings"

// maxHeader bounds a message header.
const maxHeader = 512

const endOfHeader = "<|message|>"

// header reads a message header: who speaks to whom, on which channel. It
// decides what the message is: thinking, text, or a call. t is the token that
// begins it, nil at the beginning of an answer, where the prompt held it.
func (m *machine) header(t *token, n int) bool {
	i := n
	for !m.hasAt(i, endOfHeader) {
		if i-n > maxHeader || !m.at(i) || i > n && m.buf[m.pos+i] == '\n' {
			return false
		}
		if k, _ := m.match(i); k.is(drops) {
			return false
		}
		i++
	}
	text := string(m.buf[m.pos:m.pos+n]) + string(m.buf[m.pos+n:m.pos+i])
	to, channel := recipient(text)
	start := m.offset()
	m.keepHeld()
	m.rows = row("harmony") | row("muse_glimmer")
	if t.is(heads) || channel != "" {
		m.rows = row("harmony")
	}
	m.muted, m.started = false, true
	switch {
	case to == "self" || to == "" && channel == "analysis":
		m.skip(i+len(endOfHeader), "header")
		m.mode, m.thinkBy = inThinking, headerToken()
	case to == "" || to == "user" || to == "assistant" || to == "all":
		m.skip(i+len(endOfHeader), "header")
		m.muted = to == "user"
	default:
		return m.headerCall(to, i+len(endOfHeader), start)
	}
	return true
}

// headerCall reads the call that the header of n bytes is about.
func (m *machine) headerCall(to string, n, start int) bool {
	if m.names.none || m.peek(m.spaces(n)) == '<' {
		m.skip(n, "header")
		return true
	}
	m.marked = true
	ok := m.guess(func() bool {
		if !m.startCall(to, "", start) {
			return false
		}
		m.mark(NameSpan, n, "header")
		m.take(n)
		m.jsonBody()
		return true
	})
	m.marked = false
	if ok {
		m.units()
	}
	return ok
}

// headerToken is the token that begins harmony's headers.
func headerToken() *token {
	at := markers()
	for _, c := range []byte("<|start|>") {
		at = at.child(c)
	}
	return at.token
}

// recipient returns whom a header addresses, and its channel.
func recipient(header string) (to, channel string) {
	for _, tok := range []string{"<|start|>", "<|constrain|>", "<|end|>"} {
		header = strings.ReplaceAll(header, tok, " ")
	}
	header = strings.ReplaceAll(header, "<|channel|>", " <|channel|>")
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

package engine

import (
	"bytes"
	"slices"
	"strings"

	"github.com/toolpost/toolpost/llm"
)

// keyLine returns the length of the line at k if it gives a value to a parameter
// of the tool that is written so, behind a label for tools: "city: Rome", with
// the sign of a list before it or not. It is 0 if it does not.
func (m *machine) keyLine(k int, written string) int {
	if m.names.any || !m.rows.within(m.lex.labelled) {
		return 0
	}
	name, known := m.names.resolve(written)
	shape := m.names.shape(name)
	if !known || shape == nil {
		return 0
	}
	word := k
	for n := 0; n < maxNested && m.at(word) && strings.IndexByte("-*+ `\"'", m.buf[m.pos+word]) >= 0; n++ {
		word++
	}
	end := m.word(word, ":") // it may wait, and the buffer move
	if !shape.Declares(string(m.buf[m.pos+word : m.pos+end])) {
		return 0
	}
	end = word
	for end < k+maxGuess && m.at(end) && m.buf[m.pos+end] != '\n' {
		end++
	}
	key, _, ok := splitLine(m.buf[m.pos+k : m.pos+end])
	if !ok || !shape.Declares(key) {
		return 0
	}
	return end - k
}

// splitLine splits "- **city**: Rome" into key and value, without the signs that
// Markdown puts around them.
func splitLine(line []byte) (key string, value []byte, ok bool) {
	line = bytes.TrimSpace(line)
	if len(line) > 1 && strings.IndexByte("-*+", line[0]) >= 0 && line[1] == ' ' {
		line = bytes.TrimLeft(line[1:], " ")
	}
	word, value, ok := bytes.Cut(line, []byte{':'})
	value, closed := bytes.CutPrefix(value, []byte(bold)) // **city:** Rome
	word = bytes.Trim(word, "*`\"' ")
	if !ok || !closed && len(value) > 0 && value[0] != ' ' {
		return "", nil, false
	}
	value = bytes.TrimSpace(value)
	if n := len(value); n > 1 && value[0] == '`' && value[n-1] == '`' {
		value = value[1 : n-1]
	}
	return string(word), value, len(word) > 0
}

// keyLines reads a call whose name has i bytes and whose arguments are lines from
// k on, up to the first that gives no value to a parameter. Nothing says where
// the last value ends, so that it is a guess.
func (m *machine) keyLines(written string, i, k, start int) bool {
	var yaml []byte
	end := k
	for {
		n := m.keyLine(end, written)
		if n == 0 {
			break
		}
		key, value, _ := splitLine(m.buf[m.pos+end : m.pos+end+n])
		yaml = append(append(append(append(yaml, key...), ": "...), value...), '\n')
		if end += n; !m.at(end) {
			break
		}
		if next := end + 1; m.keyLine(next, written) == 0 {
			break
		}
		end++
	}
	if !m.callNamed(written, i, start) {
		return false
	}
	m.skip(k-i, "separator")
	m.read(ArgsSpan, end-k, "lines")
	if m.cutInLines() {
		m.cutCall()
		return true
	}
	args, err := readYAML(string(yaml), m.shape())
	if err != nil {
		m.badArgs("the lines of arguments cannot be read: %v", err)
	} else {
		m.argBytes(args)
		m.repair("line-per-argument", llm.Guess, start, m.offset())
	}
	m.endCall()
	return true
}

// cutInLines reports whether the answer was cut off behind the lines of
// arguments of the call, or in what may be the key of another one.
func (m *machine) cutInLines() bool {
	i := m.past(0, "\r\n-*+ `\"'")
	end := m.word(i, ":")
	if m.at(end) || !m.truncated() {
		return false
	}
	begun := string(m.buf[m.pos+i : m.pos+end])
	return begun == "" || slices.ContainsFunc(m.shape().Properties(), func(key string) bool { return strings.HasPrefix(key, begun) })
}

// saysNothing reports whether a word at k, behind the label of arguments, says
// that there are none, and the tool needs none.
func (m *machine) saysNothing(k int, written string) bool {
	name, known := m.names.resolve(written)
	if !known || m.names.any || !m.rows.within(m.lex.labelled) || !m.needsNothing(name) {
		return false
	}
	end := m.word(k, "")
	switch strings.ToLower(string(m.buf[m.pos+k : m.pos+end])) {
	case "none", "null", "n/a":
		return !m.at(end) || m.peek(end) == '\n'
	}
	return false
}

// noArgumentsAt reads a call without arguments, whose name has i bytes, up to
// the word at k that says so.
func (m *machine) noArgumentsAt(written string, i, k, start int) bool {
	if !m.callNamed(written, i, start) {
		return false
	}
	m.skip(k-i, "separator")
	m.read(ArgsSpan, m.word(0, ""), "none")
	m.endCall()
	return true
}

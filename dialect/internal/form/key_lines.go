package form

import (
	"slices"
	"strings"

	"github.com/toolpost/toolpost/dialect/internal/engine"
	"github.com/toolpost/toolpost/dialect/internal/scan"
	"github.com/toolpost/toolpost/dialect/internal/values"
	"github.com/toolpost/toolpost/llm"
)

// keyLine returns the length of the line at k if it is an argument of the tool written, as in "city: Rome" or "- city:
// Rome". Otherwise it returns 0. Only calls after a label have such arguments.
func (m lineReader) keyLine(k int, written string) int {
	if m.Names.Any || !m.Rows.Within(m.Lex.Labelled) {
		return 0
	}
	name, known := m.Names.Resolve(written)
	shape := m.Names.Shape(name)
	if !known || shape == nil {
		return 0
	}
	word := k
	for n := 0; n < scan.MaxNested && m.At(word) && strings.IndexByte("-*+ `\"'", m.Buf[m.Pos+word]) >= 0; n++ {
		word++
	}
	end := m.Word(word, ":") // it may wait for input and move the buffer
	if !shape.Declares(string(m.Buf[m.Pos+word : m.Pos+end])) {
		return 0
	}
	end = word
	for end < k+scan.MaxGuess && m.At(end) && m.Buf[m.Pos+end] != '\n' {
		end++
	}
	key, _, ok := values.SplitLine(m.Buf[m.Pos+k : m.Pos+end])
	if !ok || !shape.Declares(key) {
		return 0
	}
	return end - k
}

// keyLines reads a call whose name has i bytes and whose arguments are lines from k on, up to the first line that is
// not an argument. Nothing marks the end of the last value, so the call is a guess.
func (m lineReader) keyLines(written string, i, k, start int) bool {
	var yaml []byte
	end := k
	for {
		n := m.keyLine(end, written)
		if n > 0 && m.HasAt(end+n, "\n```") && m.Buf[m.Pos+end+n-1] == ':' {
			return false // the fence is the value
		}
		if n == 0 {
			break
		}
		key, value, _ := values.SplitLine(m.Buf[m.Pos+end : m.Pos+end+n])
		yaml = append(append(append(append(yaml, key...), ": "...), value...), '\n')
		if end += n; !m.At(end) {
			break
		}
		if next := end + 1; m.keyLine(next, written) == 0 {
			break
		}
		end++
	}
	if !m.asName().callNamed(written, i, start) {
		return false
	}
	m.Skip(k-i, "separator")
	m.Read(engine.ArgsSpan, end-k, "lines")
	if m.cutInLines() {
		m.CutCall()
		return true
	}
	args, _, err := values.ReadYAML(string(yaml), m.Shape())
	if err != nil {
		m.BadArgs("the lines of arguments cannot be read: %v", err)
	} else {
		m.ArgBytes(args)
		m.Repair("line-per-argument", llm.Guess, start, m.Offset())
	}
	m.EndCall()
	return true
}

// cutInLines reports whether the answer was cut off directly after the arguments, or in the possible key of another
// one.
func (m lineReader) cutInLines() bool {
	i := m.Past(0, "\r\n-*+ `\"'")
	end := m.Word(i, ":")
	if m.At(m.Past(end, ":*`\"' ")) || !m.Truncated() {
		return false
	}
	begun := strings.TrimRight(string(m.Buf[m.Pos+i:m.Pos+end]), ":")
	return begun == "" || slices.ContainsFunc(m.Shape().Properties(), func(key string) bool { return strings.HasPrefix(key, begun) })
}

// saysNothing reports whether the word at k, after a label for arguments, is "none" or similar, and the tool needs no
// arguments.
func (m lineReader) saysNothing(k int, written string) bool {
	name, known := m.Names.Resolve(written)
	if !known || m.Names.Any || !m.Rows.Within(m.Lex.Labelled) || !m.NeedsNothing(name) {
		return false
	}
	end := m.Word(k, "")
	switch strings.ToLower(string(m.Buf[m.Pos+k : m.Pos+end])) {
	case "none", "null", "n/a":
		return !m.At(end) || m.Peek(end) == '\n'
	}
	return false
}

// noArgumentsAt reads a call whose name has i bytes and whose arguments are the word "none" at k.
func (m lineReader) noArgumentsAt(written string, i, k, start int) bool {
	if !m.asName().callNamed(written, i, start) {
		return false
	}
	m.Skip(k-i, "separator")
	m.Read(engine.ArgsSpan, m.Word(0, ""), "none")
	m.EndCall()
	return true
}

package engine

import "bytes"

// watchFirst is the check where every name will do: only an answer that begins
// with a bracket, and with a name and arguments in it, looks like a call.
func (m *machine) watchFirst() {
	head := m.buf[:min(len(m.buf), maxFirst)]
	text := bytes.TrimLeft(head, " \t\r\n")
	if bytes.HasPrefix(text, []byte("```")) {
		i := bytes.IndexByte(text, '\n')
		text = bytes.TrimLeft(text[max(i, 0):], " \t\r\n")
	}
	if len(text) == 0 || text[0] != '[' && text[0] != '{' || m.calls > 0 {
		return
	}
	at := m.base + len(head) - len(text)
	if !m.accounted(at) && (namesCall(text) || namesFlat(text)) {
		m.unread(at, nil)
	}
}

// maxFirst bounds how much of an answer watchFirst looks at. It is less than
// what is in the buffer when that is first made smaller.
const maxFirst = 256

// namesCall reports whether a name like get_weather or math.sum stands in text
// before a parenthesis, or in quotes before an equals sign or a brace, and a key
// behind it.
func namesCall(text []byte) bool {
	for i := 0; i < len(text); i++ {
		n := wordLength(text[i:])
		if n == 0 {
			continue
		}
		if word := text[i : i+n]; bytes.ContainsAny(word, "_.") && isLetter(word[0]) {
			rest := bytes.TrimLeft(text[i+n:], "\"' ")
			if bytes.HasPrefix(rest, []byte("(")) && keyed(rest[1:]) || bytes.HasPrefix(rest, []byte(",")) && keyed(rest[1:]) && i > 0 && isQuote(text[i-1]) {
				return true
			}
		}
		i += n
	}
	return false
}

// keyed reports whether p begins with a key and an equals sign.
func keyed(p []byte) bool {
	p = bytes.TrimLeft(p, " ")
	n := wordLength(p)
	return n > 0 && bytes.HasPrefix(bytes.TrimLeft(p[n:], " "), []byte("="))
}

// namesFlat reports whether text is an object, or a list of such, whose first
// member is the name of a tool, and which has others.
func namesFlat(text []byte) bool {
	text = bytes.TrimLeft(text, "[{ \t\r\n")
	rest, ok := bytes.CutPrefix(text, []byte(`"name"`))
	if !ok {
		return false
	}
	rest = bytes.TrimLeft(rest, " :\"")
	n := wordLength(rest)
	return n > 0 && bytes.ContainsAny(rest[:n], "_.") && bytes.HasPrefix(rest[n:], []byte(`",`))
}

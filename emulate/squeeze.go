package emulate

import (
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// squeezed returns what squeeze leaves of a text.
func squeezed(text string) []byte {
	out := make([]byte, 0, len(text))
	squeeze(text, func(c byte) bool {
		out = append(out, c)
		return true
	})
	return out
}

// squeeze passes on what is left of a text without white space and quoting, in
// lower case, until yield reports false; then it reports false. Escapes of
// JSON, HTML and addresses are read: text that was quoted in one of them is the
// same text. So are the wide bars and underscores of some markers, and lines
// with the mark of a quotation before them.
func squeeze(text string, yield func(byte) bool) bool {
	for i := 0; i < len(text); {
		if i == 0 || text[i-1] == '\n' {
			for strings.HasPrefix(text[i:], "> ") {
				i += len("> ")
			}
			if i == len(text) {
				break
			}
		}
		if c := text[i]; c >= 'a' && c <= 'z' || c == ' ' { // most of most texts
			if i++; c != ' ' && !yield(c) {
				return false
			}
			continue
		}
		r, n := unescape(text[i:])
		i += n
		if !plain(r, yield) {
			return false
		}
	}
	return true
}

// plain passes on a character unless it is white space, a quote or the mark in a
// token that was blunted.
func plain(r rune, yield func(byte) bool) bool {
	switch {
	case r >= 0xFF01 && r <= 0xFF5E: // the wide forms of ASCII
		r -= 0xFF01 - '!'
	case r == '▁':
		r = '_'
	}
	if r < utf8.RuneSelf {
		switch {
		case r <= ' ' || r == 0x7F || r == '"' || r == '\'' || r == '`' || r == '\\':
			return true
		case r >= 'A' && r <= 'Z':
			r += 'a' - 'A'
		}
		return yield(byte(r))
	}
	if strings.ContainsRune("“”‘’„‚«»‹›′″"+mark, r) || unicode.IsSpace(r) || unicode.Is(unicode.Cf, r) {
		return true
	}
	var b [utf8.UTFMax]byte
	for _, c := range b[:utf8.EncodeRune(b[:], unicode.ToLower(r))] {
		if !yield(c) {
			return false
		}
	}
	return true
}

// unescape returns the first character of a text, with its escape read, and
// how many bytes that took.
func unescape(text string) (r rune, n int) {
	switch text[0] {
	case '\\':
		return backslash(text)
	case '&':
		return entity(text)
	case '%':
		if v, ok := hexadecimal(text, 1, 2); ok && v < utf8.RuneSelf {
			return v, 3
		}
	}
	return utf8.DecodeRuneInString(text)
}

// backslash reads backslashes, as many as quoting again has made of one, and
// what they escape.
func backslash(text string) (r rune, n int) {
	for n < len(text) && text[n] == '\\' {
		n++
	}
	if n == len(text) {
		return ' ', n
	}
	switch text[n] {
	case 'n', 't', 'r':
		return ' ', n + 1
	case 'u':
		v, ok := hexadecimal(text, n+1, 4)
		if !ok {
			break
		}
		if utf16.IsSurrogate(v) && n+5 < len(text) && text[n+5] == '\\' {
			if low, m := backslash(text[n+5:]); utf16.DecodeRune(v, low) != utf8.RuneError {
				return utf16.DecodeRune(v, low), n + 5 + m
			}
		}
		return v, n + 5
	case 'x':
		if v, ok := hexadecimal(text, n+1, 2); ok {
			return v, n + 3
		}
	}
	return ' ', n
}

// entities are the characters of markup and quoting that HTML has names for.
var entities = map[string]rune{"lt": '<', "gt": '>', "quot": '"', "apos": '\'', "nbsp": ' ', "lcub": '{', "rcub": '}', "lbrace": '{', "rbrace": '}',
	"lbrack": '[', "rbrack": ']', "lsqb": '[', "rsqb": ']', "lpar": '(', "rpar": ')', "colon": ':', "comma": ',', "vert": '|', "verbar": '|', "lowbar": '_', "equals": '=', "sol": '/', "newline": ' ', "tab": ' '}

// entity reads a character reference of HTML, however often it was escaped.
func entity(text string) (r rune, n int) {
	n = 1
	for strings.HasPrefix(text[n:], "amp;") {
		n += len("amp;")
	}
	end := strings.IndexByte(text[n:min(len(text), n+10)], ';')
	if end < 1 {
		return '&', n
	}
	name := strings.ToLower(text[n : n+end])
	if known, ok := entities[name]; ok {
		return known, n + end + 1
	}
	if name[0] != '#' {
		return '&', n
	}
	v, digits := rune(0), name[1:]
	if hex, ok := strings.CutPrefix(digits, "x"); ok {
		if v, ok = hexadecimal(hex, 0, len(hex)); !ok {
			return '&', n
		}
		return v, n + end + 1
	}
	for _, c := range digits {
		if c < '0' || c > '9' {
			return '&', n
		}
		v = v*10 + c - '0'
	}
	return v, n + end + 1
}

// hexadecimal reads the n digits of text from i.
func hexadecimal(text string, i, n int) (v rune, ok bool) {
	if n == 0 || n > 6 || i+n > len(text) {
		return 0, false
	}
	for _, c := range []byte(text[i : i+n]) {
		switch {
		case c >= '0' && c <= '9':
			v = v<<4 | rune(c-'0')
		case c >= 'a' && c <= 'f':
			v = v<<4 | rune(c-'a'+10)
		case c >= 'A' && c <= 'F':
			v = v<<4 | rune(c-'A'+10)
		default:
			return 0, false
		}
	}
	return v, true
}

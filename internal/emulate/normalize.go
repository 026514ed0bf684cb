package emulate

import (
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// normalized returns what squeeze leaves of a text that a model wrote.
func normalized(text string) []byte {
	out := make([]byte, 0, len(text))
	normalize(unescaped(text), false, func(c byte) bool {
		out = append(out, c)
		return true
	})
	return out
}

// normalize passes on a text without white space and quoting, in lower case, until
// yield reports false; then it reports false. The wide bars and underscores of some
// markers become narrow. The line prefixes that programs print are skipped; begins is
// set if the text begins with a line.
func normalize(text string, begins bool, yield func(byte) bool) bool {
	for i := 0; i < len(text); {
		if i == 0 && begins || i > 0 && text[i-1] == '\n' {
			if i += linePrefix(text[i:]); i == len(text) {
				break
			}
		}
		c := text[i]
		switch {
		case c >= 'a' && c <= 'z': // most of most texts
			i++
			if !yield(c) {
				return false
			}
			continue
		case c == ' ':
			i++
			continue
		}
		r, n := utf8.DecodeRuneInString(text[i:])
		i += n
		if !addNormalized(r, yield) {
			return false
		}
	}
	return true
}

// linePrefix returns the length of the prefix of a line that is quoted, numbered,
// found by a search, commented out or part of a diff: "> ", "| ", "12:",
// "notes.txt:12: ", "# ", "+". It takes as many as there are.
func linePrefix(text string) int {
	n := 0
	if strings.HasPrefix(text, "-") && commentSign(text) == 0 { // of a difference; elsewhere it is part of the line
		n = 1
	}
	for {
		i := n + blanks(text[n:])
		rest := text[i:]
		switch more := oneSign(rest); {
		case more > 0:
			n = i + more
		case numbered(rest) > 0:
			n = i + numbered(rest)
		case searchPrefix(rest) > 0:
			n = i + searchPrefix(rest)
		default:
			return n
		}
	}
}

// blanks counts the spaces and tabs at the start of a text.
func blanks(text string) int { return len(text) - len(strings.TrimLeft(text, " \t")) }

// oneSign returns the length of a sign of quotation or of a comment at the start
// of a line; 0 if there is none.
func oneSign(text string) int {
	for _, sign := range []string{"> ", "| ", "|\t", "* ", "+", ":: ", "<!--", "/*", "(*", "{-", "REM ", "Rem ", "rem ", "dnl "} {
		if strings.HasPrefix(text, sign) {
			return len(sign)
		}
	}
	return commentSign(text)
}

// commentSign returns the length of the sign that begins a line comment, in any number: "//", "///", "//!", "#", "--",
// ";;", "%", "!", "'". Without a blank after it, markup or a word has to follow.
func commentSign(text string) int {
	if text == "" || !strings.ContainsRune("/-;%#!'>", rune(text[0])) {
		return 0
	}
	n := 1
	for n < len(text) && text[n] == text[0] {
		n++
	}
	if n < 2 && (text[0] == '/' || text[0] == '-') {
		return 0
	}
	if n < len(text) && text[n] == '!' {
		n++
	}
	switch {
	case n == len(text), strings.IndexByte(" \t\r\n", text[n]) >= 0:
		return n
	case text[0] == '!' || text[0] == '>' || text[0] == '\'': // part of a word
		return 0
	case strings.IndexByte("<[{(`\"", text[n]) >= 0 || text[n] >= utf8.RuneSelf || text[n]|0x20 >= 'a' && text[n]|0x20 <= 'z':
		return n
	}
	return 0
}

// longestNumber bounds the digits of the number of a line, and longestFile the
// name of a file before it.
const (
	longestNumber = 9
	longestFile   = 200
)

// numbered returns the length of the number of a line, with what divides it
// from the line.
func numbered(text string) int {
	n := 0
	for n < len(text) && n <= longestNumber && text[n] >= '0' && text[n] <= '9' {
		n++
	}
	if n == 0 || n > longestNumber {
		return 0
	}
	for _, sep := range []string{":", "|", "\t", "-", "→", " - ", " ", ") ", ". "} {
		if strings.HasPrefix(text[n:], sep) {
			return n + len(sep)
		}
	}
	return 0
}

// searchPrefix returns the length of the name of a file and the number of a line, as
// programs that search put them before a line.
func searchPrefix(text string) int {
	for i, c := range []byte(text[:min(len(text), longestFile)]) {
		switch {
		case c == ':' || c == '-':
			if n := numbered(text[i+1:]); i > 0 && n > 0 && text[i+n] == c {
				return i + 1 + n
			}
			if c == ':' {
				return 0
			}
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '.', c == '/', c == '_', c == '~', c >= utf8.RuneSelf:
		default:
			return 0
		}
	}
	return 0
}

// addNormalized passes on a character unless it is white space, a quote or the mark in a
// token that was neutralised.
func addNormalized(r rune, yield func(byte) bool) bool {
	if r = shownAs(r); r == '▁' {
		r = '_'
	}
	if r < utf8.RuneSelf {
		switch {
		case r <= ' ' || r == 0x7F || r == '"' || r == '\'' || r == '`' || r == '\\' || r == '+': // + is a space in forms
			return true
		case r >= 'A' && r <= 'Z':
			r += 'a' - 'A'
		}
		return yield(byte(r))
	}
	if straightened(r) != r {
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

// ignorable are characters without a shape of their own that are not format characters.
var ignorable = &unicode.RangeTable{R16: []unicode.Range16{
	{Lo: 0x0080, Hi: 0x009F, Stride: 1}, {Lo: 0x034F, Hi: 0x034F, Stride: 1}, {Lo: 0x115F, Hi: 0x1160, Stride: 1}, {Lo: 0x17B4, Hi: 0x17B5, Stride: 1},
	{Lo: 0x180B, Hi: 0x180F, Stride: 1}, {Lo: 0x2800, Hi: 0x2800, Stride: 1}, {Lo: 0x3164, Hi: 0x3164, Stride: 1}, {Lo: 0xFE00, Hi: 0xFE0F, Stride: 1},
	{Lo: 0xFFA0, Hi: 0xFFA0, Stride: 1}, {Lo: 0xFFFC, Hi: 0xFFFC, Stride: 1},
}, R32: []unicode.Range32{{Lo: 0xE0100, Hi: 0xE01EF, Stride: 1}}}

// invisible reports whether a character does not show: the mark in a token that was neutralised, joiners, direction
// marks, variation selectors, fillers.
func invisible(r rune) bool {
	return strings.ContainsRune(mark, r) || unicode.Is(unicode.Cf, r) || unicode.Is(ignorable, r)
}

// shownAs returns what a character looks like: the ASCII form of a wide one, a space for every
// space, and a negative number for an invisible one. The search in the conversation and the memory
// of calls see every text through it.
func shownAs(r rune) rune {
	switch {
	case r < utf8.RuneSelf:
	case r >= 0xFF01 && r <= 0xFF5E:
		return r - 0xFF01 + '!'
	case invisible(r):
		return -1
	case unicode.IsSpace(r):
		return ' '
	}
	return r
}

// visible returns a text as it looks.
func visible(text string) string { return strings.Map(shownAs, text) }

// straightened returns the ASCII form of a curly quotation mark, and any other character unchanged.
func straightened(r rune) rune {
	switch {
	case r < utf8.RuneSelf:
	case strings.ContainsRune("“”„″«»", r):
		return '"'
	case strings.ContainsRune("‘’‚‹›′", r):
		return '\''
	}
	return r
}

// uncoloured returns a text without the control sequences of terminals.
func uncoloured(text string) string {
	text = strings.ReplaceAll(text, "^[[", "\x1b[")
	text = strings.ReplaceAll(text, "\u009b", "\x1b[")
	var b strings.Builder
	for {
		i := strings.IndexByte(text, '\x1b')
		if i < 0 {
			if b.Len() == 0 {
				return text
			}
			b.WriteString(text)
			return b.String()
		}
		b.WriteString(text[:i])
		text = text[i+controlLength(text[i:]):]
	}
}

// controlLength returns the length of the control sequence that begins a text.
func controlLength(text string) int {
	if len(text) < 2 {
		return len(text)
	}
	switch text[1] {
	case '[':
		for i := 2; i < len(text); i++ {
			switch c := text[i]; {
			case c >= 0x40 && c <= 0x7E:
				return i + 1
			case c < 0x20 || c > 0x7E:
				return i
			}
		}
		return len(text)
	case ']', 'P', '_', '^': // a title or a link, which ends with a bell or ESC \
		for i := 2; i < len(text) && text[i] != '\n'; i++ {
			if text[i] == '\a' {
				return i + 1
			}
			if text[i] == '\x1b' {
				return min(i+2, len(text))
			}
		}
	}
	return 2
}

// quotedPrintable returns the text that mail has in quoted-printable form. It reports false if a text does not look
// like that: its signs of markup are escaped, or lines are continued.
func quotedPrintable(text string) (string, bool) {
	looks := strings.Contains(text, "=\n") || strings.Contains(text, "=\r\n")
	for _, sign := range []string{"=3C", "=3c", "=7B", "=7b", "=5B", "=5b", "=22", "=3D", "=3d", "=5F", "=5f", "=E2=9C", "=28"} {
		looks = looks || strings.Contains(text, sign)
	}
	if !looks {
		return "", false
	}
	var b strings.Builder
	for {
		i := strings.IndexByte(text, '=')
		if i < 0 {
			b.WriteString(text)
			return b.String(), true
		}
		b.WriteString(text[:i])
		text = text[i:]
		n := 1
		if v, ok := hexadecimal(text, 1, 2); ok {
			b.WriteByte(byte(v))
			n = 3
		} else if end := strings.TrimLeft(text[1:], " \t\r"); strings.HasPrefix(end, "\n") {
			n = len(text) - len(end) + 1
		} else {
			b.WriteByte('=')
		}
		text = text[n:]
	}
}

// mostEscapes is in how many ways, one within the other, a text may have been
// escaped.
const mostEscapes = 4

// unescaped returns a text with the escapes of JSON, HTML and URLs decoded, also if
// they are nested. Text without escapes is returned unchanged.
func unescaped(text string) string {
	for range mostEscapes {
		if !strings.ContainsAny(text, `\&%`) {
			break
		}
		next := unescapedOnce(text)
		if len(next) == len(text) {
			break
		}
		text = next
	}
	return text
}

// unescapedOnce reads the escapes of one kind or the other.
func unescapedOnce(text string) string {
	var b strings.Builder
	b.Grow(len(text))
	for {
		i := strings.IndexAny(text, `\&%`)
		if i < 0 {
			b.WriteString(text)
			return b.String()
		}
		b.WriteString(text[:i])
		text = text[i:]
		n := 1
		switch text[0] {
		case '\\':
			var r rune
			r, n = backslash(text)
			b.WriteRune(r)
		case '&':
			var r rune
			r, n = entity(text)
			b.WriteRune(r)
		case '%':
			v, ok := hexadecimal(text, 1, 2)
			if !ok {
				v = '%'
			} else {
				n = 3
			}
			b.WriteByte(byte(v))
		}
		text = text[n:]
	}
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
	case '&', '%': // of a sign that is escaped once more
		return '\\', n
	case 'n':
		return '\n', n + 1
	case 't':
		return '\t', n + 1
	case 'r':
		return ' ', n + 1
	case '"':
		return '"', n + 1
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
	case 'e', '0': // of a terminal's control sequence
		for _, escape := range []string{"e[", "033[", "0[33"} {
			if strings.HasPrefix(text[n:], escape) {
				return '\x1b', n + len(escape) - 1
			}
		}
	}
	return ' ', n
}

// entities are the characters of markup and quoting that HTML has names for.
var entities = map[string]rune{"lt": '<', "gt": '>', "quot": '"', "apos": '\'', "nbsp": ' ', "lcub": '{', "rcub": '}', "lbrace": '{', "rbrace": '}',
	"lbrack": '[', "rbrack": ']', "lsqb": '[', "rsqb": ']', "lpar": '(', "rpar": ')', "colon": ':', "comma": ',', "vert": '|', "verbar": '|', "lowbar": '_', "equals": '=', "sol": '/', "newline": '\n', "tab": '\t', "percnt": '%', "bsol": '\\', "plus": '+'}

// entity reads a character reference of HTML, however often it was escaped.
func entity(text string) (r rune, n int) {
	n = 1
	for strings.HasPrefix(text[n:], "amp;") {
		n += len("amp;")
	}
	end := strings.IndexByte(text[n:min(len(text), n+10)], ';')
	if end < 1 || !wordOf(text[n:n+end]) {
		return openEntity(text, n)
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

// wordOf reports whether a text can be the name or number of an entity.
func wordOf(text string) bool {
	for i, c := range []byte(text) {
		if !(c|0x20 >= 'a' && c|0x20 <= 'z' || c >= '0' && c <= '9' || c == '#' && i == 0) {
			return false
		}
	}
	return true
}

// openEntity reads a character reference without the semicolon, as browsers do: a number, or one of the oldest names.
func openEntity(text string, n int) (r rune, length int) {
	if !strings.HasPrefix(text[n:], "#") {
		for _, name := range []string{"lt", "gt", "quot", "nbsp"} {
			if len(text) >= n+len(name) && strings.EqualFold(text[n:n+len(name)], name) {
				return entities[name], n + len(name)
			}
		}
		return '&', n
	}
	base, i := rune(10), n+1
	if i < len(text) && text[i]|0x20 == 'x' {
		base, i = 16, i+1
	}
	first := i
	for i < len(text) && i-first < 6 {
		v, ok := hexadecimal(text, i, 1)
		if !ok || v >= base {
			break
		}
		r = r*base + v
		i++
	}
	if i == first {
		return '&', n
	}
	if i < len(text) && text[i] == ' ' { // which ends the number
		i++
	}
	return r, i
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

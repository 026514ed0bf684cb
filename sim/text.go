package sim

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// kind is the kind of a stretch of text, by its form.
type kind uint8

const (
	word   kind = iota
	name        // capitalised words in a row: "San Francisco"
	number      // digits, with sign, point and exponent
	quoted      // the text between quotes
	path        // a file name or path
	glob        // a pattern for file names: *.go
	url
	email
	date // 2024-05-01, 12/31/2023
	mark // punctuation
)

// token is a stretch of text with its kind.
type token struct {
	text string
	kind kind
	// at is the position among the tokens.
	at int
}

// lower returns the text in lower case.
func (t token) lower() string { return strings.ToLower(t.text) }

// tokenize splits text into tokens, with capitalised words in a row joined.
func tokenize(text string) []token {
	var out []token
	for text = strings.TrimLeftFunc(text, unicode.IsSpace); text != ""; text = strings.TrimLeftFunc(text, unicode.IsSpace) {
		t, n := next(text)
		text = text[n:]
		out = append(out, t)
	}
	out = joinNames(out)
	for i := range out {
		out[i].at = i
	}
	return out
}

// next returns the first token of text, which does not start with space, and
// its length in bytes.
func next(text string) (token, int) {
	if t, n := nextQuoted(text); n > 0 {
		return t, n
	}
	end := strings.IndexFunc(text, unicode.IsSpace)
	if end < 0 {
		end = len(text)
	}
	chunk := strings.TrimRight(text[:end], ".,;:!?)]}'\"’”")
	if chunk == "" || strings.ContainsRune("([{", rune(text[0])) {
		_, n := utf8.DecodeRuneInString(text)
		return token{text: text[:n], kind: mark}, n
	}
	if bare := cutPossessive(chunk); bare != "" {
		chunk = bare
	}
	chunk = cutLine(chunk)
	if k := chunkKind(chunk); k != word {
		return token{text: chunk, kind: k}, len(chunk)
	}
	// A word ends at the first rune that no word has.
	n := strings.IndexFunc(chunk, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("_-'’.&+#", r)
	})
	switch {
	case n < 0:
		n = len(chunk)
	case n == 0:
		_, n = utf8.DecodeRuneInString(chunk)
		return token{text: chunk[:n], kind: mark}, n
	}
	return token{text: chunk[:n], kind: chunkKind(chunk[:n])}, n
}

func cutPossessive(s string) string {
	for _, tail := range []string{"'s", "’s"} {
		if rest, ok := strings.CutSuffix(s, tail); ok {
			return rest
		}
	}
	return s
}

// cutLine returns the file of a place in a file, like docs/a.md:12.
func cutLine(s string) string {
	i := strings.LastIndexByte(s, ':')
	if i > 0 && i < len(s)-1 && strings.Trim(s[i+1:], "0123456789") == "" && isPath(s[:i]) && !strings.Contains(s, "://") {
		return s[:i]
	}
	return s
}

// quotes pairs opening and closing quotes.
var quotes = map[rune]rune{'"': '"', '\'': '\'', '`': '`', '“': '”', '‘': '’', '«': '»'}

// nextQuoted returns the quoted text that text starts with; length 0 if it
// does not.
func nextQuoted(text string) (token, int) {
	open, n := utf8.DecodeRuneInString(text)
	closer, ok := quotes[open]
	if !ok {
		return token{}, 0
	}
	rest := text[n:]
	end := strings.IndexRune(rest, closer)
	for end >= 0 && closer == '\'' && insideWord(rest, end) {
		more := strings.IndexRune(rest[end+1:], closer)
		if more < 0 {
			return token{}, 0
		}
		end += 1 + more
	}
	if end <= 0 || end > 4096 {
		return token{}, 0
	}
	return token{text: rest[:end], kind: quoted}, n + end + utf8.RuneLen(closer)
}

// insideWord reports whether the apostrophe at i is between letters.
func insideWord(s string, i int) bool {
	after, _ := utf8.DecodeRuneInString(s[i+1:])
	before, _ := utf8.DecodeLastRuneInString(s[:i])
	return unicode.IsLetter(before) && unicode.IsLetter(after)
}

// chunkKind returns the kind of a run of text without spaces.
func chunkKind(s string) kind {
	switch {
	case strings.Contains(s, "://") || strings.HasPrefix(s, "www."):
		return url
	case strings.Count(s, "@") == 1 && strings.Contains(s[strings.IndexByte(s, '@'):], "."):
		return email
	case isDate(s):
		return date
	case parseNumber(s) != "":
		return number
	case isGlob(s):
		return glob
	case isPath(s):
		return path
	}
	return word
}

// isDate accepts digits in three groups: 2024-05-01, 31/12/2023.
func isDate(s string) bool {
	groups := strings.FieldsFunc(s, func(r rune) bool { return r == '-' || r == '/' })
	if len(groups) != 3 || len(s) < 6 {
		return false
	}
	for _, g := range groups {
		if g == "" || len(g) > 4 || strings.Trim(g, "0123456789") != "" {
			return false
		}
	}
	return true
}

// isGlob accepts a pattern for file names, and not words that are emphasised
// with stars.
func isGlob(s string) bool {
	bare := strings.Trim(s, "*")
	return strings.Contains(s, "*") && bare != "" && !strings.HasPrefix(s, "**") && !strings.HasSuffix(s, "**") &&
		(strings.HasPrefix(s, "*") != strings.HasSuffix(s, "*") || strings.Contains(bare, "*") || strings.Contains(bare, ".")) &&
		strings.IndexFunc(bare, func(r rune) bool {
			return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("._-*?/", r)
		}) < 0
}

// isPath accepts text that has a slash or ends like a file name.
func isPath(s string) bool {
	if s == "." || s == ".." || strings.ContainsAny(s, "/\\") && len(s) > 1 && !strings.ContainsAny(s, "()") {
		return true
	}
	dot := strings.LastIndexByte(s, '.')
	if dot < 0 || dot == len(s)-1 {
		return false
	}
	ext := s[dot+1:]
	return len(ext) <= 5 && strings.IndexFunc(ext, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) < 0 &&
		strings.IndexFunc(s[:dot], unicode.IsLetter) >= 0 || dot == 0
}

// parseNumber returns the number at the start of s in JSON's form, without
// currency, thousands separators, unit and percent sign; "" if s is none.
func parseNumber(s string) string {
	sign := ""
	if rest, ok := strings.CutPrefix(s, "-"); ok {
		s, sign = rest, "-"
	}
	s = strings.TrimLeft(s, "$€£¥+")
	end := 0
	for end < len(s) && (s[end] >= '0' && s[end] <= '9' || (s[end] == '.' || s[end] == ',') && end+1 < len(s) && s[end+1] >= '0' && s[end+1] <= '9') {
		end++
	}
	digits, unit := s[:end], s[end:]
	if digits == "" || len(unit) > 4 || strings.ContainsAny(unit, "0123456789/-_@") || strings.Count(digits, ".") > 1 {
		return ""
	}
	whole, frac, _ := strings.Cut(strings.ReplaceAll(digits, ",", ""), ".")
	whole = strings.TrimLeft(whole, "0")
	if whole == "" {
		whole = "0"
	}
	if frac != "" {
		frac = "." + frac
	}
	return sign + whole + frac
}

// joinNames joins capitalised words in a row, except at the start of a
// sentence, where every word is capitalised.
func joinNames(in []token) []token {
	var out []token
	for i, t := range in {
		first := i == 0 || in[i-1].kind == mark && strings.ContainsAny(in[i-1].text, ".!?:")
		if t.kind != word || !capitalised(t.text) || first && common[t.lower()] {
			out = append(out, t)
			continue
		}
		last := len(out) - 1
		if last >= 0 && out[last].kind == name && in[i-1].kind != mark {
			out[last].text += " " + t.text
			continue
		}
		t.kind = name
		out = append(out, t)
	}
	return out
}

func capitalised(s string) bool {
	r, _ := utf8.DecodeRuneInString(s)
	return unicode.IsUpper(r)
}

// common are words that start a request or join its parts: never a value.
var common = set(`a an the of in on at to for from by with and or then also please can could would you i me my we us our
is are was be do does did what which who where when how why find get show give tell list read search calculate compute
determine retrieve check look fetch create make book order send write set turn play convert translate estimate generate
identify analyze predict schedule buy use using given if that this these those it its as than into about between after before
need want know like there any all some have has help let what's i'd i'm next first second last new value following shows shown found says it them they`)

func set(words string) map[string]bool {
	m := make(map[string]bool)
	for _, w := range strings.Fields(words) {
		m[w] = true
	}
	return m
}

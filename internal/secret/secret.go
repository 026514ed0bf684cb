// Package secret decides what counts as a secret and redacts text. A [Set] finds
// known values in every spelling, RedactForms finds published forms of keys and
// values of fields like password, and IsCredential judges names of variables and
// headers. Head and Tail truncate text without leaving half a secret.
package secret

import (
	"bytes"
	"encoding/base32"
	"encoding/base64"
	"fmt"
	"net/url"
	"slices"
	"strings"
)

// Least is the length from which on a value is taken for a secret:
// placeholders like "none", for servers that need no key, are shorter.
const Least = 8

// leastForm is the least length of an encoded form: a shorter piece of base64 may
// be there by chance.
const leastForm = 8

// Forms returns the spellings of a secret, itself first: escaped for addresses
// and for JSON, as hexadecimal digits with the usual separators, and in base64
// and base32 at any offset within three or five bytes, without the characters
// that its neighbours share. A [Set] also finds mixed escapes and wrapped
// lines.
func Forms(value string) []string {
	forms := []string{value}
	add := func(s string) {
		if len(s) >= leastForm && !slices.Contains(forms, s) {
			forms = append(forms, s)
		}
	}
	for _, escaped := range []string{url.QueryEscape(value), url.PathEscape(value)} {
		add(escaped)
		add(lowerEscapes(escaped))
	}
	add(strings.ReplaceAll(value, "/", `\/`))
	add(strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(value))
	add(strings.NewReplacer("&", `\u0026`, "<", `\u003c`, ">", `\u003e`, `\`, `\\`, `"`, `\"`).Replace(value))
	for _, digit := range []string{"%02x", "%02X", "%02x:", "%02X:", "%02x ", "%%%02x", "%%%02X", `\x%02x`, `\u%04x`, "0x%02x, ", "0x%02X, ", "0x%02x,", "%d, ", "%d,", "%d "} {
		add(eachByte(digit, value))
	}
	for before := range 3 {
		bits := append(make([]byte, before), value...)
		from := (before*8 + 5) / 6 // characters that bytes before it share
		for _, enc := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
			add(enc.EncodeToString(bits)[from : len(bits)*8/6])
		}
	}
	for before := range 5 {
		bits := append(make([]byte, before), value...)
		digits := base32.StdEncoding.EncodeToString(bits)[(before*8+4)/5 : len(bits)*8/5]
		add(digits)
		add(strings.ToLower(digits))
	}
	return forms
}

// eachByte writes every byte of a value in one form, without the separator
// after the last one.
func eachByte(digit, value string) string {
	var b strings.Builder
	for i := range len(value) {
		fmt.Fprintf(&b, digit, value[i])
	}
	return strings.TrimRight(b.String(), ":, ")
}

// lowerEscapes writes %2F as %2f.
func lowerEscapes(s string) string {
	b := []byte(s)
	for i := 0; i+2 < len(b); i++ {
		if b[i] == '%' {
			copy(b[i+1:i+3], bytes.ToLower(b[i+1:i+3]))
		}
	}
	return string(b)
}

// Set is secrets to look for. The zero Set and nil have none.
type Set struct {
	forms [][]byte        // longest first
	by    [256][][]byte   // by their first byte
	start [1 << 10]uint64 // bits for the three bytes they begin with: nearly all text is passed over by a look at it
}

// NewSet returns the set of values; values shorter than Least are left out.
func NewSet(values ...string) *Set { return newSet(Least, values) }

func newSet(least int, values []string) *Set {
	s := new(Set)
	for _, v := range values {
		if len(v) < least {
			continue
		}
		for _, f := range Forms(v) {
			s.forms = append(s.forms, []byte(f))
		}
	}
	slices.SortStableFunc(s.forms, func(a, b []byte) int { return len(b) - len(a) })
	for _, f := range s.forms {
		s.by[f[0]] = append(s.by[f[0]], f)
		bit := startBit(f, 0)
		s.start[bit>>6] |= 1 << (bit & 63)
	}
	return s
}

// Empty reports whether the set is empty.
func (s *Set) Empty() bool { return len(s.forms) == 0 }

// startBit is the place of the three bytes at i in Set.start.
func startBit(text []byte, i int) uint32 {
	return (uint32(text[i]) | uint32(text[i+1])<<8 | uint32(text[i+2])<<16) * 2654435761 >> 16
}

// next returns the position of the first secret at or after from, and false if
// there is none.
func (s *Set) next(text []byte, from int) (part stretch, ok bool) {
	for i := from; i+2 < len(text); i++ {
		if bit := startBit(text, i); s.start[bit>>6]&(1<<(bit&63)) == 0 {
			continue
		}
		for _, f := range s.by[text[i]] {
			if bytes.HasPrefix(text[i:], f) {
				return stretch{i, i + len(f)}, true
			}
		}
	}
	return stretch{}, false
}

// all returns the places of secrets in text. They may overlap.
func (s *Set) all(text []byte) []stretch {
	var found []stretch
	for from := 0; ; {
		part, ok := s.next(text, from)
		if !ok {
			return found
		}
		found = append(found, part)
		from = part.from + 1
	}
}

// Redact returns text with each secret replaced by a mark, and the number of
// secrets.
func (s *Set) Redact(text []byte) ([]byte, int) {
	if s == nil || len(s.forms) == 0 {
		return text, 0
	}
	text, seen := replace(text, s.all(text))
	text, hidden := replace(text, s.hidden(text))
	return text, seen + hidden
}

// leastInMessage is the length from which a value is redacted in an error message.
// Messages are short, so a shorter value than Least is rarely there by chance.
const leastInMessage = 4

// Redact returns an error message, or another short text for people, without values.
func Redact(text string, values ...string) string {
	out, _ := newSet(leastInMessage, values).Redact([]byte(text))
	return string(out)
}

// credentialWords are parts of names whose values are secret, in lower case.
var credentialWords = []string{"key", "token", "secret", "pass", "pwd", "auth", "credential", "cookie", "session", "bearer", "private", "signature", "dsn"}

// IsCredential reports whether the value of a variable or header of that name is a
// secret, whatever it looks like.
func IsCredential(name string) bool {
	name = strings.ToLower(name)
	return slices.ContainsFunc(credentialWords, func(word string) bool { return strings.Contains(name, word) })
}

// OfHeader returns the value of a header and, if it has a scheme like Bearer,
// the token after it.
func OfHeader(value string) []string {
	if _, token, ok := strings.Cut(value, " "); ok {
		return []string{value, token}
	}
	return []string{value}
}

// Values returns the values that are long enough to be secrets.
func Values(list []string) []string {
	return slices.DeleteFunc(list, func(v string) bool { return len(v) < Least })
}

// stretch is a part of a text.
type stretch struct{ from, to int }

// replace replaces the sorted parts with a mark, and returns the number of
// marks. Overlapping parts get one mark.
func replace(text []byte, parts []stretch) ([]byte, int) {
	if len(parts) == 0 {
		return text, 0
	}
	var out []byte
	done, n := 0, 0
	for i, p := range parts {
		if i > 0 && p.from < done {
			done = max(done, p.to)
			continue
		}
		out = append(append(out, text[done:p.from]...), valueMark...)
		done = p.to
		n++
	}
	return append(out, text[done:]...), n
}

// In reports whether text may hold a secret: if not, Redact finds none.
func (s *Set) In(text []byte) bool {
	if s == nil || len(s.forms) == 0 {
		return false
	}
	_, seen := s.next(text, 0)
	return seen || s.inPlain(text)
}

// Held returns the number of bytes at the end of text that may be the beginning
// of a secret.
func (s *Set) Held(text []byte) int {
	most := 0
	if s == nil {
		return 0
	}
	for _, f := range s.forms {
		for n := min(len(f)-1, len(text)); n > most; n-- {
			if bytes.Equal(text[len(text)-n:], f[:n]) {
				most = n
			}
		}
	}
	return most
}

// longestWord limits the text that is dropped to avoid half a word.
const longestWord = 16 << 10

const blanks = " \t\r\n"

// Head returns at most n bytes of the beginning of text, with no word cut in two:
// half a key would not be recognised as one.
func Head(text string, n int) string {
	if n >= len(text) {
		return text
	}
	n = max(n, 0)
	from := max(0, n-longestWord)
	return text[:from+max(0, strings.LastIndexAny(text[from:n], blanks))]
}

// Tail is Head for the end of text.
func Tail(text string, n int) string {
	if n >= len(text) {
		return text
	}
	from := len(text) - max(n, 0)
	to := min(len(text), from+longestWord)
	if i := strings.IndexAny(text[from:to], blanks); i >= 0 {
		return text[from+i:]
	}
	return text[to:]
}

package journal

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strconv"
	"sync"
	"unicode/utf16"
	"unicode/utf8"
)

// maxDepth bounds the nesting of a value that is hashed or recorded.
const maxDepth = 500

// CanonicalError says why a text has no canonical form.
type CanonicalError struct {
	Offset  int // in the text given
	Problem string
}

// Error returns the problem and where it is.
func (e *CanonicalError) Error() string {
	return fmt.Sprintf("journal: no canonical form: %s at byte %d", e.Problem, e.Offset)
}

// Canonical returns the one spelling of a JSON value that is hashed: no white
// space, keys in the order of RFC 8785 (by UTF-16 units), strings and numbers
// as RFC 8785, except that a number written as an integer keeps all its digits.
//
// What could be read in two ways has no canonical form and is a
// *[CanonicalError]: two equal keys in an object, a lone surrogate, text that
// is not UTF-8, a number beyond float64 that is not an integer, more than 500
// levels. The canonical form of a canonical form is itself.
func Canonical(raw []byte) ([]byte, error) {
	return AppendCanonical(make([]byte, 0, len(raw)), raw)
}

// AppendCanonical appends the canonical form of raw to dst.
func AppendCanonical(dst, raw []byte) ([]byte, error) { return appendCanonical(dst, raw, false) }

func appendCanonical(dst, raw []byte, loose bool) ([]byte, error) {
	c := canons.Get().(*canon)
	defer c.release()
	c.src, c.dst, c.loose = raw, dst, loose
	if err := c.whole(); err != nil {
		return nil, err
	}
	return c.dst, nil
}

// whole reads src, which is one value.
func (c *canon) whole() error {
	c.space()
	if err := c.value(0); err != nil {
		return err
	}
	c.space()
	if c.pos != len(c.src) {
		return c.fail("more than one value")
	}
	return nil
}

// canons keeps the working space of encoders: an entry is encoded several
// times a call.
var canons = sync.Pool{New: func() any { return new(canon) }}

func (c *canon) release() {
	const worthKeeping = 64 << 10
	if cap(c.scratch) > worthKeeping || cap(c.hashed) > worthKeeping || cap(c.members) > 1024 {
		return
	}
	clear(c.members[:c.most]) // keys keep the text alive
	*c = canon{members: c.members[:0], scratch: c.scratch[:0], hashed: c.hashed[:0]}
	canons.Put(c)
}

// canon reads src and appends its canonical form to dst in one pass. The
// members of an object are put in order afterwards, where they stand.
type canon struct {
	src     []byte
	pos     int
	dst     []byte
	members []member // of all objects that are open
	most    int      // members there were at once
	scratch []byte
	hashed  []byte // space for a form that is hashed and not kept
	loose   bool   // mend what has no canonical form, see loosen
}

// member is a key with its value in dst, from the key's quote to the value's
// end.
type member struct {
	key               []byte // decoded
	start, colon, end int
}

func (c *canon) fail(problem string) error { return &CanonicalError{c.pos, problem} }

func (c *canon) space() {
	for c.pos < len(c.src) {
		switch c.src[c.pos] {
		case ' ', '\t', '\n', '\r':
			c.pos++
		default:
			return
		}
	}
}

func (c *canon) peek() byte {
	if c.pos < len(c.src) {
		return c.src[c.pos]
	}
	return 0
}

func (c *canon) value(depth int) error {
	if depth > maxDepth {
		return c.fail(fmt.Sprintf("more than %d levels", maxDepth))
	}
	switch b := c.peek(); {
	case b == '{':
		return c.object(depth)
	case b == '[':
		return c.array(depth)
	case b == '"':
		_, err := c.text(false)
		return err
	case b == '-' || b >= '0' && b <= '9':
		return c.number()
	}
	for _, word := range [...]string{"true", "false", "null"} {
		if bytes.HasPrefix(c.src[c.pos:], []byte(word)) {
			c.pos += len(word)
			c.dst = append(c.dst, word...)
			return nil
		}
	}
	if c.pos == len(c.src) {
		return c.fail("the value ends too early")
	}
	return c.fail("not a JSON value")
}

func (c *canon) array(depth int) error {
	c.pos++
	c.dst = append(c.dst, '[')
	for first := true; ; first = false {
		c.space()
		if c.peek() == ']' && first {
			break
		}
		if err := c.value(depth + 1); err != nil {
			return err
		}
		c.space()
		if c.peek() != ',' {
			break
		}
		c.pos++
		c.dst = append(c.dst, ',')
	}
	if c.peek() != ']' {
		return c.fail("an array needs , or ]")
	}
	c.pos++
	c.dst = append(c.dst, ']')
	return nil
}

func (c *canon) object(depth int) error {
	c.pos++
	c.dst = append(c.dst, '{')
	open := len(c.members)
	for first := true; ; first = false {
		c.space()
		if c.peek() == '}' && first {
			break
		}
		if err := c.member(depth); err != nil {
			return err
		}
		c.space()
		if c.peek() != ',' {
			break
		}
		c.pos++
		c.dst = append(c.dst, ',')
	}
	if c.peek() != '}' {
		return c.fail("an object needs , or }")
	}
	c.pos++
	err := c.sort(c.members[open:])
	c.members = c.members[:open]
	c.dst = append(c.dst, '}')
	return err
}

func (c *canon) member(depth int) error {
	if c.peek() != '"' {
		return c.fail("a key must be a string")
	}
	start := len(c.dst)
	key, err := c.text(true)
	if err != nil {
		return err
	}
	c.space()
	if c.peek() != ':' {
		return c.fail("a key needs a :")
	}
	c.pos++
	colon := len(c.dst)
	c.dst = append(c.dst, ':')
	c.space()
	if err := c.value(depth + 1); err != nil {
		return err
	}
	c.members = append(c.members, member{key, start, colon, len(c.dst)})
	c.most = max(c.most, len(c.members))
	return nil
}

// sort puts the members, which stand in dst one after the other with commas
// between them, in order. Two equal keys are an error.
func (c *canon) sort(members []member) error {
	if len(members) < 2 {
		return nil
	}
	first := members[0].start
	sorted := slices.IsSortedFunc(members, compareMembers)
	if !sorted {
		slices.SortFunc(members, compareMembers)
	}
	twice := false
	for i := range members[1:] {
		if bytes.Equal(members[i].key, members[i+1].key) {
			twice = true
			if !c.loose {
				return c.fail(fmt.Sprintf("the key %.40q stands twice in the object that ends", members[i].key))
			}
		}
	}
	if !sorted || twice {
		c.scratch = append(c.scratch[:0], c.dst[first:]...)
		c.rewrite(members, first)
	}
	return nil
}

// compareMembers orders by key, and equal keys as they stand.
func compareMembers(a, b member) int {
	if n := compareUTF16(a.key, b.key); n != 0 {
		return n
	}
	return a.start - b.start
}

// rewrite puts the members, which scratch holds, into dst from first on. A key
// that comes again gets a number.
func (c *canon) rewrite(members []member, first int) {
	c.dst = c.dst[:first]
	again := 1
	for i, m := range members {
		if i > 0 {
			c.dst = append(c.dst, ',')
		}
		if i > 0 && bytes.Equal(m.key, members[i-1].key) {
			again++
			c.dst = appendQuoted(c.dst, string(m.key)+"#"+strconv.Itoa(again))
			m.start = m.colon
		} else {
			again = 1
		}
		c.dst = append(c.dst, c.scratch[m.start-first:m.end-first]...)
	}
}

// loosen returns a canonical value that says as nearly as possible what raw
// says, which is JSON but has no canonical form: a key that comes again becomes
// key#2, half a surrogate pair and bytes that are not UTF-8 become U+FFFD, a
// number too great for a float64 becomes a string. Models and vendors do write
// such things, and a record must not fail for it.
func loosen(raw []byte) ([]byte, error) {
	b, err := appendCanonical(nil, raw, true)
	for range 3 { // a#2 may have been there already, or not stand in order
		if err != nil {
			return nil, err
		}
		if once, strict := Canonical(b); strict == nil {
			return once, nil
		}
		b, err = appendCanonical(nil, b, true)
	}
	return Canonical(b)
}

// compareUTF16 orders two valid UTF-8 strings by their UTF-16 units. That is
// the order of the bytes, except that what UTF-16 writes with surrogates
// (U+D800 to U+DFFF) stands before U+E000 to U+FFFF.
func compareUTF16(a, b []byte) int {
	n := min(len(a), len(b))
	i := 0
	for i < n && a[i] == b[i] {
		i++
	}
	if i == n {
		return len(a) - len(b)
	}
	x, y := a[i], b[i]
	if x >= 0xEE && y >= 0xEE && (x >= 0xF0) != (y >= 0xF0) {
		return int(y) - int(x)
	}
	return int(x) - int(y)
}

// text reads a string and appends its canonical form. With keep it returns
// what the string says, which the caller may hold as long as src.
func (c *canon) text(keep bool) ([]byte, error) {
	start := c.pos + 1
	end := start
	for end < len(c.src) && c.src[end] != '"' && c.src[end] != '\\' && c.src[end] >= ' ' {
		end++
	}
	if end < len(c.src) && c.src[end] == '"' { // no escapes: its own canonical form
		said := c.src[start:end]
		c.pos = end + 1
		if !utf8.Valid(said) {
			return c.mendText(said)
		}
		c.dst = append(c.dst, c.src[start-1:end+1]...)
		return said, nil
	}
	said, err := c.unquote(start)
	if err != nil {
		return nil, err
	}
	if !utf8.Valid(said) {
		return c.mendText(said)
	}
	c.dst = appendQuoted(c.dst, said)
	if keep {
		return bytes.Clone(said), nil
	}
	return nil, nil
}

// mendText appends what can be read of a string that is not UTF-8.
func (c *canon) mendText(said []byte) ([]byte, error) {
	if !c.loose {
		return nil, c.fail("a string is not UTF-8")
	}
	said = bytes.ToValidUTF8(said, []byte("\uFFFD"))
	c.dst = appendQuoted(c.dst, said)
	return said, nil
}

// unquote decodes the string whose first byte is at i, into scratch.
func (c *canon) unquote(i int) ([]byte, error) {
	out := c.scratch[:0]
	for i < len(c.src) {
		b := c.src[i]
		switch {
		case b == '"':
			c.pos = i + 1
			c.scratch = out
			return out, nil
		case b < ' ':
			c.pos = i
			return nil, c.fail("a control character in a string")
		case b != '\\':
			out = append(out, b)
			i++
		default:
			r, n := unescape(c.src[i:])
			if n == 0 && c.loose && len(c.src) >= i+6 && hex4(c.src[i+2:]) >= 0 {
				r, n = utf8.RuneError, 6
			}
			if n == 0 {
				c.pos = i
				return nil, c.fail("an escape that means nothing")
			}
			out = utf8.AppendRune(out, r)
			i += n
		}
	}
	c.pos = i
	return nil, c.fail("the string does not end")
}

var escapes = [256]rune{'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}

// unescape reads the escape at the start of b and returns its length, 0 if it
// is none or half of a surrogate pair.
func unescape(b []byte) (rune, int) {
	if len(b) < 2 {
		return 0, 0
	}
	if b[1] != 'u' {
		if r := escapes[b[1]]; r != 0 {
			return r, 2
		}
		return 0, 0
	}
	r := hex4(b[2:])
	if !utf16.IsSurrogate(r) {
		if r < 0 {
			return 0, 0
		}
		return r, 6
	}
	if len(b) < 12 || b[6] != '\\' || b[7] != 'u' {
		return 0, 0
	}
	if r = utf16.DecodeRune(r, hex4(b[8:])); r == utf8.RuneError {
		return 0, 0
	}
	return r, 12
}

// hex4 reads four hexadecimal digits, or returns -1.
func hex4(b []byte) rune {
	if len(b) < 4 {
		return -1
	}
	var r rune
	for _, d := range b[:4] {
		switch {
		case d >= '0' && d <= '9':
			d -= '0'
		case d >= 'a' && d <= 'f':
			d -= 'a' - 10
		case d >= 'A' && d <= 'F':
			d -= 'A' - 10
		default:
			return -1
		}
		r = r<<4 | rune(d)
	}
	return r
}

// escaped are the bytes that cannot stand in a string as they are.
var escaped = func() (set [256]bool) {
	for b := range ' ' {
		set[b] = true
	}
	set['"'], set['\\'] = true, true
	return set
}()

// shortEscapes are the control characters RFC 8785 writes with a letter.
var shortEscapes = [' ']byte{'\b': 'b', '\t': 't', '\n': 'n', '\f': 'f', '\r': 'r'}

// appendQuoted appends valid UTF-8 as a JSON string, escaping no more than it
// must.
func appendQuoted[S string | []byte](dst []byte, s S) []byte {
	const hexdigits = "0123456789abcdef"
	dst = append(dst, '"')
	plain := 0
	for i := 0; i < len(s); i++ {
		b := s[i]
		if !escaped[b] {
			continue
		}
		dst = append(dst, s[plain:i]...)
		plain = i + 1
		switch {
		case b >= ' ':
			dst = append(dst, '\\', b)
		case shortEscapes[b] != 0:
			dst = append(dst, '\\', shortEscapes[b])
		default:
			dst = append(dst, '\\', 'u', '0', '0', hexdigits[b>>4], hexdigits[b&15])
		}
	}
	dst = append(dst, s[plain:]...)
	return append(dst, '"')
}

// number reads a number and appends it: an integer digit by digit, anything
// else as the shortest decimal that reads back as the same float64.
func (c *canon) number() error {
	start := c.pos
	if c.peek() == '-' {
		c.pos++
	}
	whole := c.digits()
	if whole == 0 || whole > 1 && c.src[c.pos-whole] == '0' {
		return c.fail("not a JSON number")
	}
	integer := true
	if c.peek() == '.' {
		integer = false
		c.pos++
		if c.digits() == 0 {
			return c.fail("not a JSON number")
		}
	}
	if c.peek()|0x20 == 'e' {
		integer = false
		c.pos++
		if b := c.peek(); b == '+' || b == '-' {
			c.pos++
		}
		if c.digits() == 0 {
			return c.fail("not a JSON number")
		}
	}
	literal := c.src[start:c.pos]
	switch {
	case string(literal) == "-0":
		c.dst = append(c.dst, '0')
	case integer:
		c.dst = append(c.dst, literal...)
	default:
		f, err := strconv.ParseFloat(string(literal), 64)
		switch {
		case err == nil:
			c.dst = appendFloat(c.dst, f)
		case c.loose:
			c.dst = appendQuoted(c.dst, literal)
		default:
			return c.fail("a number too great for a float64")
		}
	}
	return nil
}

// digits passes over digits and returns how many there were.
func (c *canon) digits() int {
	start := c.pos
	for b := c.peek(); b >= '0' && b <= '9'; b = c.peek() {
		c.pos++
	}
	return c.pos - start
}

// appendFloat writes f as ECMAScript does.
func appendFloat(dst []byte, f float64) []byte {
	if f == 0 {
		return append(dst, '0') // also for -0
	}
	if abs := math.Abs(f); abs >= 1e-6 && abs < 1e21 {
		return strconv.AppendFloat(dst, f, 'f', -1, 64)
	}
	dst = strconv.AppendFloat(dst, f, 'e', -1, 64)
	if n := len(dst); dst[n-2] == '0' && (dst[n-3] == '-' || dst[n-3] == '+') { // e-07 is written e-7
		dst[n-2] = dst[n-1]
		dst = dst[:n-1]
	}
	return dst
}

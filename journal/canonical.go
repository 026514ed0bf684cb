package journal

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"sync"
	"unicode/utf8"

	"github.com/toolpost/toolpost/internal/js"
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
	c.Text, c.Max, c.dst, c.loose = raw, maxDepth, dst, loose
	if err := c.whole(); err != nil {
		return nil, canonicalError(err)
	}
	return c.dst, nil
}

// canonicalError returns an error of the reader as one of this package.
func canonicalError(err error) error {
	var syntax *js.SyntaxError
	if errors.As(err, &syntax) {
		return &CanonicalError{syntax.Offset, syntax.Problem}
	}
	return err
}

// whole reads the text, which is one value.
func (c *canon) whole() error {
	if err := c.value(); err != nil {
		return err
	}
	return c.End()
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

// canon reads a text and appends its canonical form to dst in one pass. The
// members of an object are put in order afterwards, where they stand.
type canon struct {
	js.Reader[[]byte]
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

func (c *canon) value() error {
	switch c.Peek() {
	case '{':
		return c.object()
	case '[':
		return c.array()
	case '"':
		quoted, plain, err := c.String()
		if err == nil {
			_, err = c.text(quoted, plain, false)
		}
		return err
	case 't', 'f', 'n':
		word, err := c.Word()
		c.dst = append(c.dst, word...)
		return err
	}
	return c.number()
}

func (c *canon) array() error {
	if err := c.Enter(); err != nil {
		return err
	}
	c.dst = append(c.dst, '[')
	for first := true; ; first = false {
		more, err := c.Next(']', first)
		if err != nil {
			return err
		}
		if !more {
			c.dst = append(c.dst, ']')
			return nil
		}
		if !first {
			c.dst = append(c.dst, ',')
		}
		if err := c.value(); err != nil {
			return err
		}
	}
}

func (c *canon) object() error {
	if err := c.Enter(); err != nil {
		return err
	}
	c.dst = append(c.dst, '{')
	open := len(c.members)
	for first := true; ; first = false {
		more, err := c.Next('}', first)
		if err != nil {
			return err
		}
		if !more {
			err := c.sort(c.members[open:])
			c.members = c.members[:open]
			c.dst = append(c.dst, '}')
			return err
		}
		if !first {
			c.dst = append(c.dst, ',')
		}
		if err := c.member(); err != nil {
			return err
		}
	}
}

func (c *canon) member() error {
	start := len(c.dst)
	quoted, plain, err := c.Name()
	if err != nil {
		return err
	}
	key, err := c.text(quoted, plain, true)
	if err != nil {
		return err
	}
	colon := len(c.dst)
	c.dst = append(c.dst, ':')
	if err := c.value(); err != nil {
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
				return c.Fail(fmt.Sprintf("the key %.40q stands twice in the object that ends", members[i].key))
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

// text appends the canonical form of a string. With keep it returns what the
// string says, which the caller may hold as long as the text.
func (c *canon) text(quoted []byte, plain, keep bool) ([]byte, error) {
	said := quoted[1 : len(quoted)-1]
	if plain && utf8.Valid(said) { // its own canonical form
		c.dst = append(c.dst, quoted...)
		return said, nil
	}
	exact := true
	if !plain {
		said, exact = js.AppendUnquoted(c.scratch[:0], quoted)
		c.scratch = said
	}
	if !c.loose && !exact {
		return nil, c.Fail("half of a surrogate pair in the string that ends")
	}
	if !utf8.Valid(said) {
		if !c.loose {
			return nil, c.Fail("the string that ends is not UTF-8")
		}
		said = bytes.ToValidUTF8(said, []byte("\uFFFD"))
	}
	c.dst = appendQuoted(c.dst, said)
	if keep {
		return bytes.Clone(said), nil
	}
	return nil, nil
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
	literal, integer, err := c.Number()
	if err != nil {
		return err
	}
	switch {
	case string(literal) == "-0":
		c.dst = append(c.dst, '0')
		return nil
	case integer:
		c.dst = append(c.dst, literal...)
		return nil
	}
	f, err := strconv.ParseFloat(string(literal), 64)
	switch {
	case err == nil:
		c.dst = appendFloat(c.dst, f)
	case c.loose:
		c.dst = appendQuoted(c.dst, literal)
	default:
		return c.Fail("a number too great for a float64")
	}
	return nil
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

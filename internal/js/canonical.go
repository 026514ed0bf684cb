package js

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strconv"
	"sync"
	"unicode/utf8"
)

// Form is a normal form of JSON: equal values have equal text. Hashes, keys of stores and comparisons all use it.
//
// The zero Form is the canonical form that is hashed: RFC 8785, except that an integer literal keeps all its digits.
// Names are ordered by UTF-16 units. Ambiguous text is a *[SyntaxError]: a repeated name, half of a surrogate pair, bytes
// that are not UTF-8, a fraction or power beyond float64, more than [MaxDepth] levels. A canonical form is its own canonical form.
type Form struct {
	Mode Mode

	// Text replaces how names and strings are written. It gets the decoded text and appends to dst.
	Text func(dst, text []byte) []byte
	// Omit reports whether a member is left out. Depth counts the objects and arrays around the object of the member.
	Omit func(depth int, name, value []byte) bool
	// Opaque reports, by the name of a member, that Omit does not apply inside its value if that is an object.
	Opaque func(name []byte) bool
	// OmitEmpty leaves out members that are null, "", [] or {}, or empty without their own empty members. Elements
	// of arrays keep their places. An empty value appends nothing.
	OmitEmpty bool
}

// Mode is what a Form does with ambiguous text.
type Mode uint8

const (
	// Strict refuses it.
	Strict Mode = iota
	// Mended writes the nearest canonical value: a repeated name becomes name#2, half of a surrogate pair and bytes that are not UTF-8
	// become U+FFFD, and a number too great for a float64 becomes a string. Text has to write JSON.
	Mended
	// ByValue is for comparisons. Numbers are equal if their exact values are: 1, 1.0 and 10e-1 are all written 1, and
	// nothing is rounded. The last of repeated names counts, and invalid text becomes U+FFFD, as in encoding/json.
	ByValue
)

// MaxDepth is how deep the objects and arrays of a value with a canonical form may be nested.
const MaxDepth = 500

// Append appends the form of the value in text to dst.
func (f *Form) Append(dst, text []byte) ([]byte, error) {
	if f.Mode != Mended {
		return f.append(dst, text)
	}
	start := len(dst)
	b, err := f.append(dst, text)
	for range 3 { // name#2 may have been there already, or may now be out of order
		if err != nil {
			return nil, err
		}
		if once, strict := (&Form{}).append(nil, b[start:]); strict == nil {
			return append(b[:start], once...), nil
		}
		b, err = f.append(b[:start:start], b[start:])
	}
	if err != nil {
		return nil, err
	}
	return (&Form{}).append(b[:start:start], b[start:])
}

func (f *Form) append(dst, text []byte) ([]byte, error) {
	c := formWriters.Get().(*formWriter)
	defer c.release()
	c.Text, c.Max, c.dst, c.form = text, MaxDepth, dst, f
	err := c.value()
	if err == nil {
		err = c.End()
	}
	if err != nil {
		return nil, err
	}
	if f.OmitEmpty && c.empty {
		return dst, nil
	}
	return c.dst, nil
}

// Equal reports whether two texts have the same form. Text that is not JSON equals only itself.
func (f *Form) Equal(a, b []byte) bool {
	if bytes.Equal(a, b) {
		return true
	}
	x, err := f.Append(nil, a)
	if err != nil {
		return false
	}
	y, err := f.Append(nil, b)
	return err == nil && bytes.Equal(x, y)
}

// Equal reports whether two JSON texts are the same value. The order of members, white space, escapes and the way a
// number is written do not count. Text that is not JSON equals only itself.
func Equal(a, b []byte) bool { return (&Form{Mode: ByValue}).Equal(a, b) }

// formWriters keeps working space: the record writes several forms for each call.
var formWriters = sync.Pool{New: func() any { return new(formWriter) }}

func (c *formWriter) release() {
	const worthKeeping = 64 << 10
	if cap(c.scratch) > worthKeeping || cap(c.members) > 1024 {
		return
	}
	clear(c.members[:c.most]) // names keep the text alive
	*c = formWriter{members: c.members[:0], scratch: c.scratch[:0]}
	formWriters.Put(c)
}

// formWriter reads a text and appends its form to dst in one pass. When an object ends, its members are sorted in place.
type formWriter struct {
	Reader[[]byte]
	form    *Form
	dst     []byte
	members []formMember // of all open objects
	most    int          // the longest that members was
	scratch []byte
	opaque  bool // inside of an object that Omit does not apply to
	empty   bool // whether the last value was empty, see Form.OmitEmpty
}

// formMember is a member of an object: dst has its name from start to colon, and its value from there to end.
type formMember struct {
	name              []byte // decoded
	start, colon, end int
	omit              bool
}

func (c *formWriter) value() error {
	switch c.Peek() {
	case '{':
		return c.object()
	case '[':
		return c.array()
	case '"':
		quoted, plain, err := c.String()
		if err != nil {
			return err
		}
		start := len(c.dst)
		_, err = c.text(quoted, plain, false)
		c.empty = len(quoted) == 2 || len(c.dst) == start
		return err
	case 't', 'f', 'n':
		word, err := c.Word()
		c.dst = append(c.dst, word...)
		c.empty = word == "null"
		return err
	}
	c.empty = false
	return c.number()
}

func (c *formWriter) array() error {
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
			c.empty = first
			return nil
		}
		if !first {
			c.dst = append(c.dst, ',')
		}
		start := len(c.dst)
		if err := c.value(); err != nil {
			return err
		}
		if c.form.OmitEmpty && c.empty {
			c.dst = c.dst[:start]
		}
	}
}

func (c *formWriter) object() error {
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

func (c *formWriter) member() error {
	start, f := len(c.dst), c.form
	quoted, plain, err := c.Name()
	if err != nil {
		return err
	}
	name, err := c.text(quoted, plain, true)
	if err != nil {
		return err
	}
	colon := len(c.dst)
	c.dst = append(c.dst, ':')
	around := c.opaque
	if f.Opaque != nil && c.Peek() == '{' && f.Opaque(name) {
		c.opaque = true
	}
	if err := c.value(); err != nil {
		return err
	}
	c.opaque = around
	omit := f.OmitEmpty && c.empty || f.Omit != nil && !c.opaque && f.Omit(c.depth-1, name, c.dst[colon+1:])
	c.members = append(c.members, formMember{name, start, colon, len(c.dst), omit})
	c.most = max(c.most, len(c.members))
	return nil
}

// sort sorts the members of an object, which are the end of dst, and removes the omitted ones.
func (c *formWriter) sort(members []formMember) error {
	c.empty = !slices.ContainsFunc(members, func(m formMember) bool { return !m.omit })
	if len(members) == 0 {
		return nil
	}
	first := members[0].start
	changed := !slices.IsSortedFunc(members, compareMembers)
	if changed {
		slices.SortFunc(members, compareMembers)
	}
	for i, m := range members {
		repeated := i > 0 && bytes.Equal(members[i-1].name, m.name)
		if repeated && c.form.Mode == Strict {
			return c.Fail(fmt.Sprintf("the name %.40q occurs twice in the object that ends", m.name))
		}
		if repeated && c.form.Mode == ByValue {
			members[i-1].omit = true
		}
		changed = changed || repeated || m.omit
	}
	if changed {
		c.scratch = append(c.scratch[:0], c.dst[first:]...)
		c.rewrite(members, first)
	}
	return nil
}

// compareMembers orders by name, and repeated names by their position.
func compareMembers(a, b formMember) int {
	if n := compareUTF16(a.name, b.name); n != 0 {
		return n
	}
	return a.start - b.start
}

// rewrite writes the members that are not omitted, whose text is in scratch, to dst from first on. Repeated names are numbered.
func (c *formWriter) rewrite(members []formMember, first int) {
	c.dst = c.dst[:first]
	repeats := 1
	for i, m := range members {
		if m.omit {
			continue
		}
		if len(c.dst) > first {
			c.dst = append(c.dst, ',')
		}
		if c.form.Mode == Mended && i > 0 && bytes.Equal(m.name, members[i-1].name) {
			repeats++
			c.dst = AppendShortest(c.dst, string(m.name)+"#"+strconv.Itoa(repeats))
			m.start = m.colon
		} else {
			repeats = 1
		}
		c.dst = append(c.dst, c.scratch[m.start-first:m.end-first]...)
	}
}

// compareUTF16 orders two valid UTF-8 strings by their UTF-16 units. That is
// the order of the bytes, except that what UTF-16 writes with surrogates
// (U+D800 to U+DFFF) sorts before U+E000 to U+FFFF.
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

// text appends the form of a string. With keep it returns the decoded text, which is valid as long as the text that is read.
func (c *formWriter) text(quoted []byte, plain, keep bool) ([]byte, error) {
	decoded := quoted[1 : len(quoted)-1]
	if plain && utf8.Valid(decoded) { // its own canonical form
		if c.form.Text != nil {
			c.dst = c.form.Text(c.dst, decoded)
		} else {
			c.dst = append(c.dst, quoted...)
		}
		return decoded, nil
	}
	exact := true
	if !plain {
		decoded, exact = AppendUnquoted(c.scratch[:0], quoted)
		c.scratch = decoded
	}
	strict := c.form.Mode == Strict
	if strict && !exact {
		return nil, c.Fail("half of a surrogate pair in the string that ends")
	}
	if !utf8.Valid(decoded) {
		if strict {
			return nil, c.Fail("the string that ends is not UTF-8")
		}
		decoded = bytes.ToValidUTF8(decoded, []byte("\uFFFD"))
	}
	if c.form.Text != nil {
		c.dst = c.form.Text(c.dst, decoded)
	} else {
		c.dst = AppendShortest(c.dst, decoded)
	}
	if keep {
		return bytes.Clone(decoded), nil
	}
	return nil, nil
}

// escaped are the bytes that every JSON string has to escape.
var escaped = func() (set [256]bool) {
	for b := range ' ' {
		set[b] = true
	}
	set['"'], set['\\'] = true, true
	return set
}()

// shortEscapes are the control characters that RFC 8785 escapes with a letter.
var shortEscapes = [' ']byte{'\b': 'b', '\t': 't', '\n': 'n', '\f': 'f', '\r': 'r'}

// AppendShortest appends valid UTF-8 as a JSON string with as few escapes as possible, as in RFC 8785. [AppendQuoted] is for
// text that may be invalid, and for readers that need more escapes.
func AppendShortest[S string | []byte](dst []byte, s S) []byte {
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
			dst = append(dst, '\\', 'u', '0', '0', hexDigits[b>>4], hexDigits[b&15])
		}
	}
	dst = append(dst, s[plain:]...)
	return append(dst, '"')
}

// number reads a number and appends it: an integer digit by digit, anything else as the shortest decimal that reads back
// as the same float64; by value, each number exactly.
func (c *formWriter) number() error {
	literal, integer, err := c.Number()
	if err != nil {
		return err
	}
	switch {
	case c.form.Mode == ByValue:
		c.dst = bytes.TrimSuffix(AppendDecimal(c.dst, literal), []byte("e0"))
		return nil
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
	case c.form.Mode == Mended:
		c.dst = AppendShortest(c.dst, literal)
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

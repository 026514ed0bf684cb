package catalog

// The lexer cuts a model name into chunks, the parts between separators, and
// each chunk into letters, a number and more letters: "llama3.3" is the word
// "llama" with the number 3.3, "4o" the number 4 with the tail "o".

const (
	maxID     = 512 // bytes of an id that are read at all
	maxChunks = 32  // parts of a name that are looked at
)

// chunk is one part of a name. The offsets point into the folded text.
type chunk struct {
	start, end uint16
	head       uint16  // the letters before the number end here
	tail       uint16  // the letters after the number start here; end if none
	num        Version // the number, dots included
	digits     uint8   // number of digits of a number without a dot
	sep        byte    // the separator before the chunk; 0 for the first
}

// text is a name folded to lower case, cut into chunks.
type text struct {
	buf    [maxID]byte
	n      uint16 // bytes of buf in use
	chunks [maxChunks]chunk
	len    int
}

func (t *text) head(c chunk) []byte { return t.buf[c.start:c.head] }
func (t *text) rest(c chunk) []byte { return t.buf[c.tail:c.end] }
func (t *text) all(c chunk) []byte  { return t.buf[c.start:c.end] }

func (t *text) parts() []chunk { return t.chunks[:t.len] }

func isDigit(b byte) bool  { return b >= '0' && b <= '9' }
func isLetter(b byte) bool { return b >= 'a' && b <= 'z' || b >= 0x80 }

// read folds s and splits it. A separator between two digits that is often
// written for a decimal point ("3_1", "2p5") becomes one.
func (t *text) read(s string) {
	t.n, t.len = 0, 0
	for i := 0; i < len(s) && t.n < maxID; i++ {
		b := s[i]
		if b >= 'A' && b <= 'Z' {
			b += 'a' - 'A'
		}
		if (b == '_' || b == 'p') && i > 0 && i+1 < len(s) && isDigit(s[i-1]) && isDigit(s[i+1]) {
			b = '.'
		}
		if b == '_' || b == ' ' {
			b = '-'
		}
		t.buf[t.n] = b
		t.n++
	}
	sep := byte(0)
	for i := uint16(0); i < t.n && t.len < maxChunks; {
		if b := t.buf[i]; !isLetter(b) && !isDigit(b) {
			sep = b
			i++
			continue
		}
		c := t.cut(i)
		c.sep = sep
		t.chunks[t.len] = c
		t.len++
		i, sep = c.end, '-'
	}
}

// cut reads the chunk that starts at i.
func (t *text) cut(i uint16) chunk {
	c := chunk{start: i}
	for i < t.n && isLetter(t.buf[i]) {
		i++
	}
	c.head = i
	dots := 0
	for i < t.n && isDigit(t.buf[i]) {
		n := 0
		for ; i < t.n && isDigit(t.buf[i]); i++ {
			n = min(n*10+int(t.buf[i]-'0'), 1<<16-1)
			c.digits = min(c.digits+1, 99)
		}
		c.num = c.num.append(n)
		if i+1 < t.n && t.buf[i] == '.' && isDigit(t.buf[i+1]) {
			i++
			dots++
		}
	}
	if dots > 0 {
		c.digits = 0
	}
	c.tail = i
	for i < t.n && (isLetter(t.buf[i]) || isDigit(t.buf[i])) {
		i++
	}
	c.end = i
	return c
}

// integer reports whether the chunk is a plain number of at most digits digits.
func (c chunk) integer(digits uint8) bool {
	return c.head == c.start && c.tail == c.end && c.digits > 0 && c.digits <= digits
}

// number reports whether the chunk is just a number.
func (c chunk) number() bool {
	return c.head == c.start && c.tail == c.end && !c.num.IsZero()
}

// size returns the parameter count a chunk writes, such as 70b, 8x7b or 1.5b.
func (t *text) size(c chunk) int64 {
	if c.head != c.start || c.tail == c.end {
		return 0
	}
	n, unit := readSize(t.all(c))
	if unit == 'm' && n <= 1 { // "1m" is a context of a million tokens
		return 0
	}
	return int64(n * sizeUnit(unit))
}

// marked returns the parameter count after a letter: a22b (active), e4b
// (effective).
func (t *text) marked(c chunk, mark byte) int64 {
	if c.head != c.start+1 || t.buf[c.start] != mark || c.tail == c.end {
		return 0
	}
	n, unit := readSize(t.buf[c.head:c.end])
	return int64(n * sizeUnit(unit))
}

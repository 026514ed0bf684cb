package jsonfix

// input is the text that was fed and is not consumed yet.
type input struct {
	in    []byte
	i     int // the next byte of in
	off   int // the offset of in[0] in the text
	layer escapeLayer
}

// escapeLayer is the layer of backslashes that is removed from text that was
// escaped twice.
type escapeLayer struct {
	on      bool
	waiting bool   // a backslash waits for the byte after it
	origin  []byte // the original text of in, and the backslash that waits
	sizes   []byte // how many bytes of origin each byte of in was
}

// addEscaped adds the byte that c means in text that was escaped twice. It
// returns false for a backslash, which waits for the byte after it.
func (t *input) addEscaped(c byte) bool {
	t.layer.origin = append(t.layer.origin, c)
	size := byte(1)
	switch {
	case t.layer.waiting:
		t.layer.waiting = false
		c, size = unescape(c), 2
	case c == '\\':
		t.layer.waiting = true
		t.off++
		return false
	}
	t.in, t.layer.sizes = append(t.in, c), append(t.layer.sizes, size)
	return true
}

func unescape(c byte) byte {
	switch c {
	case 'n':
		return '\n'
	case 't':
		return '\t'
	case 'r':
		return '\r'
	}
	return c
}

// forgetOrigin drops the original text of the bytes that were consumed.
func (t *input) forgetOrigin() {
	n := 0
	for _, size := range t.layer.sizes[:t.i] {
		n += int(size)
	}
	t.layer.origin = t.layer.origin[:copy(t.layer.origin, t.layer.origin[n:])]
	t.layer.sizes = t.layer.sizes[:copy(t.layer.sizes, t.layer.sizes[t.i:])]
}

// compact drops the bytes that were consumed.
func (t *input) compact() {
	t.off += t.i
	t.in = t.in[:copy(t.in, t.in[t.i:])]
	t.i = 0
}

// at returns the offset of the next byte in the text.
func (t *input) at() int { return t.off + t.i }

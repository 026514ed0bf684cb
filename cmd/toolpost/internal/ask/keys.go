package ask

import (
	"bytes"
	"os"
	"sync/atomic"
	"unicode/utf8"
)

// Keys reads a terminal and counts the texts that came at once, and the line breaks in them. In a terminal that does not
// mark pasted text they show that a text was pasted, however slowly it is handled.
type Keys struct {
	*os.File
	texts, breaks atomic.Int64
}

// Read reads what was typed or pasted.
func (k *Keys) Read(b []byte) (int, error) {
	n, err := k.File.Read(b)
	k.count(b[:max(0, n)])
	return n, err
}

// count counts the texts and line breaks of one read. A key that repeats while it is held is not a text.
func (k *Keys) count(b []byte) {
	b = bytes.ReplaceAll(b, []byte("\r\n"), []byte("\n"))
	if utf8.RuneCount(b) > 1 {
		if first, n := utf8.DecodeRune(b); first != '\x1b' && bytes.Count(b, b[:n])*n < len(b) { // \x1b is of a key without a character
			k.texts.Add(1)
		}
		k.breaks.Add(int64(bytes.Count(b, []byte("\r")) + bytes.Count(b, []byte("\n"))))
	}
}

// Texts returns how many texts of more than one character came at once.
func (k *Keys) Texts() int64 {
	if k == nil {
		return 0
	}
	return k.texts.Load()
}

// Breaks returns how many line breaks came together with other input.
func (k *Keys) Breaks() int64 {
	if k == nil {
		return 0
	}
	return k.breaks.Load()
}

package js

import (
	"bytes"
	"unicode"
	"unicode/utf8"
)

// AppendFolded appends the name of a field for comparison: without case, underscores and dashes, and with an ASCII letter
// for each letter that Unicode folds to it, like s for the long ſ. Servers differ in which of these spellings they read as
// the same field.
func AppendFolded(out, name []byte) []byte {
	for len(name) > 0 {
		c, n := rune(name[0]), 1
		if c >= utf8.RuneSelf {
			c, n = utf8.DecodeRune(name)
			c = least(c)
		}
		name = name[n:]
		switch {
		case c == '_' || c == '-':
		case 'A' <= c && c <= 'Z':
			out = append(out, byte(c)+'a'-'A')
		default:
			out = utf8.AppendRune(out, c)
		}
	}
	return out
}

// longestField limits the length of a name that is folded into a room.
const longestField = 256

// FoldField writes a folded name into a room, as [AppendFolded] does. It returns nil if the name is too long for the room.
func FoldField(into, name []byte) []byte {
	if len(name) > longestField {
		return nil
	}
	if name = AppendFolded(into[:0], name); len(name) > len(into) {
		return nil
	}
	return name
}

// SameField reports whether some server reads a name as that of a known field.
func SameField(name []byte, known string) bool {
	var a, b [64]byte
	return bytes.Equal(FoldField(a[:], name), FoldField(b[:], []byte(known)))
}

// least returns the first of the letters that differ only in their case.
func least(c rune) rune {
	for {
		next := unicode.SimpleFold(c)
		if next <= c { // the orbit begins again
			return next
		}
		c = next
	}
}

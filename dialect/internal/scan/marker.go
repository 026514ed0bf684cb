package scan

import (
	"github.com/toolpost/toolpost/dialect/internal/chars"
	"github.com/toolpost/toolpost/dialect/internal/lexicon"
)

// Match returns the longest marker that begins i bytes from here, and its length. It returns nil if there is none. It
// waits for input only while the bytes may begin a marker.
func (in *Input) Match(i int) (found *lexicon.Token, n int) {
	at := in.Lex.Tree
	last := byte(0)
	for j := i; in.At(j); {
		c, width := in.Folded(j)
		next := at.Child(c)
		if next == nil || c == ' ' && at.Child('>') != nil && in.Peek(j+1) == '>' {
			next, width = in.tolerate(at, last, c, j)
		}
		if next == nil {
			break
		}
		j += width
		if next == at {
			continue
		}
		at, last = next, c
		if at.Token != nil {
			found, n = at.Token, j-i
		}
	}
	return found, n
}

// PartialMarker reports whether the answer ends in the middle of a marker that begins i bytes from here.
func (in *Input) PartialMarker(i int) bool {
	at := in.Lex.Tree
	last := byte(0)
	for j := i; ; {
		if !in.At(j) {
			return j > i+1
		}
		c, width := in.Folded(j)
		next := at.Child(c)
		switch {
		case next != nil:
			at, last = next, c
			j += width
		case at.TakesSuffix(last, c):
			j = in.suffix(j)
		case c == '\\' && j > i:
			j++
		default:
			return false
		}
	}
}

// suffix returns the index after the suffix of a tag's name, whose colon is at j.
func (in *Input) suffix(j int) int {
	const longest = 32
	k := j + 1
	for k < j+longest && in.At(k) && lexicon.IsSuffixByte(in.Buf[in.Pos+k]) {
		k++
	}
	return k
}

// foldedAt is Folded, but returns 0 after the end.
func (in *Input) foldedAt(j int) (c byte, width int) {
	if !in.At(j) {
		return 0, 0
	}
	return in.Folded(j)
}

// Folded is lexicon.Fold for the character j bytes from here.
func (in *Input) Folded(j int) (c byte, width int) {
	c = in.Buf[in.Pos+j]
	if c < 0x80 || (c != 0xEF && c != 0xE2) || !in.At(j+2) {
		return c, 1
	}
	return lexicon.Fold(string(in.Buf[in.Pos+j : in.Pos+j+3]))
}

// tolerate handles spellings that proxies and tokenizers produce: spaces around bars and before the end of a tag,
// doubled bars, spaces for underscores, Markdown escapes, and a suffix like :opensource before the end of a tag. It
// returns the node to continue from and the number of bytes to skip.
func (in *Input) tolerate(at *lexicon.Node, last, c byte, j int) (next *lexicon.Node, width int) {
	switch {
	case len(at.Next) == 0:
	case c == '|' && last == '|':
		return at, 1 + 2*chars.BoolInt(in.Buf[in.Pos+j] >= 0x80)
	case c == ' ':
		return in.tolerateSpace(at, last, j)
	case c == '\\' && at != in.Lex.Tree: // Markdown escapes punctuation
		if next, _ := in.foldedAt(j + 1); next != 0 && at.Child(next) != nil && !chars.IsLetter(next) {
			return at, 1
		}
	case at.TakesSuffix(last, c):
		k := in.suffix(j)
		if end, _ := in.foldedAt(k); k > j+1 && end != 0 && at.Child(end) != nil {
			return at, k - j
		}
	}
	return nil, 0
}

// tolerateSpace is tolerate for a space.
func (in *Input) tolerateSpace(at *lexicon.Node, last byte, j int) (next *lexicon.Node, width int) {
	switch {
	case (last == '<' || last == '|' || last == '/') && at != in.Lex.Tree:
		return at, 1
	case at.Child('|') != nil && in.barAt(j+1):
		return at, 1
	case at.Child('>') != nil && in.Peek(j+1) == '>': // <tool_call >
		return at, 1
	case at.Child('_') != nil:
		return at.Child('_'), 1
	case last != 0 && (at.Child('|') != nil || at.Child('<') != nil || last == '>'):
		return at, 1
	}
	return nil, 0
}

// barAt reports whether a bar in any spelling is at j.
func (in *Input) barAt(j int) bool {
	if !in.At(j) {
		return false
	}
	c, _ := in.Folded(j)
	return c == '|'
}

// MaxNested limits how deep calls may be nested in other text: in fences, separators and objects that hold only a call.
const MaxNested = 16

// MaxTag limits the length of a tag.
const MaxTag = 1 << 10

package lexicon

import (
	"bytes"
	"encoding/binary"
	"unicode/utf8"

	"github.com/toolpost/toolpost/dialect/internal/chars"
	"github.com/toolpost/toolpost/dialect/spec"
)

// where a byte may begin a marker, or a call without one.
type Position uint8

const (
	Nowhere  Position = iota
	Anywhere          // at any place
	WordOnly          // at the beginning of a word
	LineOnly          // at the beginning of a line
	NameOnly          // after a name
)

// byteTables tell what the next bytes of text may begin.
type byteTables struct {
	// Triggers say where each byte may begin a marker or a call.
	Triggers [256]Position
	// stops are the bytes that may begin something within a line, the end of a
	// line, and the anchors of arguments.
	stops [256]bool
	// Followers are the bytes that may follow the first one of a marker
	// or a call. Most text is recognised as text by them alone.
	Followers [256]chars.ByteSet
	// stopPairs are the pairs of which the first byte is a stop and the second
	// one of its followers, or the two make an anchor.
	stopPairs *[1 << 16]uint8 // by the pair, the first byte in the low one
}

func newByteTables(root *Node, rows []spec.Dialect) (b byteTables) {
	b.Triggers = newTriggers(root, rows)
	b.Followers = newFollowers(root)
	b.stopPairs = new([1 << 16]uint8)
	for c, p := range b.Triggers {
		b.stops[c] = p != Nowhere && p != LineOnly || c == '\n' || Anchors[c]
		for next := range 256 {
			if b.stops[c] && b.isStop(byte(c), byte(next)) {
				b.stopPairs[c|next<<8] = 1
			}
		}
	}
	return b
}

// isStop reports whether the stop c, before next, may begin something, ends a
// line or is an anchor.
func (b *byteTables) isStop(c, next byte) bool {
	return c == '\n' || b.Followers[c].Has(next) || isAnchor(c, next)
}

func newTriggers(root *Node, rows []spec.Dialect) (set [256]Position) {
	for i := range root.Next {
		c := root.Next[i].byte
		set[c] = Anywhere
		if chars.IsLetter(c) {
			set[c] = LineOnly
		}
	}
	for _, c := range []byte("{[`<\xEF\xE2") { // the last two begin full-width bars
		set[c] = Anywhere
	}
	for i := range rows {
		for _, t := range rows[i].Inline {
			set[t[0]] = WordOnly
		}
	}
	set['('] = NameOnly
	set['='] = Anywhere // a call may be assigned to a variable
	return set
}

// SpacedMarker reports whether p, an angle bracket and spaces, may begin a
// marker. The less-than sign of ordinary text looks the same.
func (x *Lexicon) SpacedMarker(p []byte) bool {
	rest := bytes.TrimLeft(p[1:], " ")
	return len(rest) == 0 || rest[0] >= utf8.RuneSelf || x.Tree.Child('<').Child(rest[0]) != nil
}

// IndexStop returns the index of the first stop in p with one of its
// followers, or at the end of p; len(p) if there is none. To look at eight
// pairs before deciding spares most branches; the last eight may be some of
// those before.
func (b *byteTables) IndexStop(p []byte) int {
	set, rest := b.stopPairs, p
	for last := false; !last; rest = rest[8:] {
		if len(rest) < 9 {
			if len(p) < 9 {
				break
			}
			rest, last = p[len(p)-9:], true
		}
		q := (*[9]byte)(rest)
		if set[pair(q[0:])]|set[pair(q[1:])]|set[pair(q[2:])]|set[pair(q[3:])]|
			set[pair(q[4:])]|set[pair(q[5:])]|set[pair(q[6:])]|set[pair(q[7:])] != 0 {
			break
		}
	}
	for ; len(rest) > 1; rest = rest[1:] {
		if set[pair(rest)] != 0 {
			return len(p) - len(rest)
		}
	}
	end := len(p) - 1
	if end >= 0 && b.stops[p[end]] && !(end > 0 && b.Triggers[p[end]] == WordOnly && chars.IsNameByte(p[end-1])) {
		return end
	}
	return len(p)
}

// pair returns the next two bytes of p as an index of stopPairs.
func pair(p []byte) uint16 { return binary.LittleEndian.Uint16(p) }

func newFollowers(root *Node) (set [256]chars.ByteSet) {
	const (
		bars   = "|\xEF\xE2"
		spaces = " \t\r\n"
		names  = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_"
	)
	for i := range root.Next {
		first := &root.Next[i]
		for j := range first.Next {
			set[first.byte].Add(string([]byte{first.Next[j].byte}))
		}
	}
	set['<'].Add(bars + names + " ")
	set['{'].Add("(\"'}\xE2" + names + spaces)
	set['['].Add("{[](\"'`*\xE2" + names + spaces)
	set['`'].Add("`")
	set['='].Add(" " + names)
	for c := range 256 {
		set['('].Add(string([]byte{byte(c)}))
		set[0xEF].Add(string([]byte{byte(c)}))
		set[0xE2].Add(string([]byte{byte(c)}))
	}
	return set
}

// Anchors are the bytes of which arguments after a name hold at least one:
// brackets, and the signs that make a word a key; a slash is one if it ends a
// tag. The check can pass over text without anchors.
var Anchors = [256]bool{'(': true, '{': true, '[': true, '<': true, ':': true, '=': true, '/': true}

// isAnchor reports whether c, before next, is an anchor.
func isAnchor(c, next byte) bool { return Anchors[c] && (c != '/' || next == '>') }

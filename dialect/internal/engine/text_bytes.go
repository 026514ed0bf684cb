package engine

import (
	"bytes"
	"encoding/binary"
	"unicode/utf8"

	"github.com/toolpost/toolpost/dialect/spec"
)

// where a byte may begin a marker, or a call without one.
type place uint8

const (
	nowhere  place = iota
	anywhere       // at any place
	wordOnly       // at the beginning of a word
	lineOnly       // at the beginning of a line
	nameOnly       // behind a name
)

// byteTables say what the next bytes of text may begin.
type byteTables struct {
	// triggers say where each byte may begin a marker or a call.
	triggers [256]place
	// stops are the bytes that may begin something within a line, the end of a
	// line, and the anchors of arguments.
	stops [256]bool
	// followers are the bytes that may stand behind the first one of a marker
	// or a call. Most text is recognised as text by them alone.
	followers [256]byteSet
	// stopPairs are the pairs of which the first byte is a stop and the second
	// one of its followers, or the two make an anchor.
	stopPairs *[1 << 16]uint8 // by the pair, the first byte in the low one
}

func newByteTables(root *node, rows []spec.Dialect) (b byteTables) {
	b.triggers = newTriggers(root, rows)
	b.followers = newFollowers(root)
	b.stopPairs = new([1 << 16]uint8)
	for c, p := range b.triggers {
		b.stops[c] = p != nowhere && p != lineOnly || c == '\n' || anchors[c]
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
	return c == '\n' || b.followers[c].has(next) || isAnchor(c, next)
}

func newTriggers(root *node, rows []spec.Dialect) (set [256]place) {
	for i := range root.next {
		c := root.next[i].byte
		set[c] = anywhere
		if isLetter(c) {
			set[c] = lineOnly
		}
	}
	for _, c := range []byte("{[`<\xEF\xE2") { // the last two begin full-width bars
		set[c] = anywhere
	}
	for i := range rows {
		for _, t := range rows[i].Inline {
			set[t[0]] = wordOnly
		}
	}
	set['('] = nameOnly
	set['='] = anywhere // a call may be assigned to a variable
	return set
}

// spacedMarker reports whether p, an angle bracket and spaces, may begin a
// marker. The less-than sign of ordinary text looks the same.
func (x *Lexicon) spacedMarker(p []byte) bool {
	rest := bytes.TrimLeft(p[1:], " ")
	return len(rest) == 0 || rest[0] >= utf8.RuneSelf || x.tree.child('<').child(rest[0]) != nil
}

// indexStop returns the index of the first stop in p with one of its
// followers, or at the end of p; len(p) if there is none. To look at eight
// pairs before deciding spares most branches; the last eight may be some of
// those before.
func (b *byteTables) indexStop(p []byte) int {
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
	if end >= 0 && b.stops[p[end]] && !(end > 0 && b.triggers[p[end]] == wordOnly && isNameByte(p[end-1])) {
		return end
	}
	return len(p)
}

// pair returns the next two bytes of p as an index of stopPairs.
func pair(p []byte) uint16 { return binary.LittleEndian.Uint16(p) }

// byteSet is a set of bytes.
type byteSet [4]uint64

func (s *byteSet) add(bytes string) {
	for i := range len(bytes) {
		s[bytes[i]>>6] |= 1 << (bytes[i] & 63)
	}
}

func byteSetOf(fits func(c byte) bool) (s byteSet) {
	s.add(bytesWhere(fits))
	return s
}

func (s *byteSet) has(c byte) bool { return s[c>>6]&(1<<(c&63)) != 0 }

func newFollowers(root *node) (set [256]byteSet) {
	const (
		bars   = "|\xEF\xE2"
		spaces = " \t\r\n"
		names  = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_"
	)
	for i := range root.next {
		first := &root.next[i]
		for j := range first.next {
			set[first.byte].add(string([]byte{first.next[j].byte}))
		}
	}
	set['<'].add(bars + names + " ")
	set['{'].add("(\"'}\xE2" + names + spaces)
	set['['].add("{[](\"'`*\xE2" + names + spaces)
	set['`'].add("`")
	set['='].add(" " + names)
	for c := range 256 {
		set['('].add(string([]byte{byte(c)}))
		set[0xEF].add(string([]byte{byte(c)}))
		set[0xE2].add(string([]byte{byte(c)}))
	}
	return set
}

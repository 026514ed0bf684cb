package offered

import (
	"bytes"
	"encoding/binary"
	"slices"
	"strings"

	"github.com/toolpost/toolpost/dialect/internal/chars"
	"github.com/toolpost/toolpost/llm"
)

// HasHead reports whether p begins like a name.
func (n *Names) HasHead(p []byte) bool {
	if n.heads == nil {
		n.heads = headsOf(n.Tools)
	}
	for _, head := range n.heads {
		if bytes.HasPrefix(p, []byte(head)) {
			return true
		}
	}
	return false
}

// headsOf returns the first two bytes of the names of tools in all their spellings, and of the text that servers may
// glue to a name.
func headsOf(tools []llm.ToolDef) []string {
	seen := map[string]bool{"fu": true}
	heads := []string{"fu"}
	add := func(head string) {
		if head != "" && !seen[head] {
			seen[head] = true
			heads = append(heads, head)
		}
	}
	for _, t := range tools {
		switch {
		case len(t.Name) < 2:
			add(t.Name)
		case chars.IsSeparator(t.Name[1]): // _, - and . are equal, and Markdown escapes them
			for _, c := range `_-.\` {
				add(t.Name[:1] + string(c))
			}
		default:
			add(t.Name[:2])
			add(strings.ToUpper(t.Name[:1]) + t.Name[1:2])
		}
	}
	return heads
}

// NamePair is a pair of neighbouring bytes of a name.
type NamePair struct{ first, second byte }

// maxPairs is the maximum number of pairs that are searched for one by one.
const maxPairs = 8

// PairsOf returns pairs of bytes such that each name of a tool contains one of them in every spelling. It returns none
// if a name has no such pair or there are too many. It appends the pairs to pairs, which must be empty.
func PairsOf(tools []llm.ToolDef, pairs []NamePair) []NamePair {
	for _, t := range tools {
		best, rarity := NamePair{}, uint8(0)
		for i := 1; i < len(t.Name); i++ {
			a, b := t.Name[i-1], t.Name[i]
			if r := rare[a] + rare[b]; chars.IsWordByte(a) && chars.IsWordByte(b) && !chars.IsSeparator(a) && !chars.IsSeparator(b) && r > rarity {
				best, rarity = NamePair{a, b}, r
			}
		}
		switch {
		case t.Name == "" || slices.Contains(pairs, best):
		case rarity == 0 || len(pairs) == maxPairs:
			return pairs[:0]
		default:
			pairs = append(pairs, best)
		}
	}
	return appendCamelPairs(tools, pairs)
}

// rare is the rarity of each byte in text, from 1 (the most frequent).
var rare = func() (rank [256]uint8) {
	const byFrequency = "etaoinshrdlcumwfgypbvkjxqz"
	for c := range rank {
		rank[c] = 1 + uint8(len(byFrequency))
	}
	for i := range len(byFrequency) {
		rank[byFrequency[i]] = 1 + uint8(i)
	}
	return rank
}()

// IndexPair returns the index of the first pair p in text, or -1. It compares eight bytes at a time.
func IndexPair(text []byte, p NamePair) int {
	if chars.IsCapital(rune(p.second)) {
		return indexCapital(text, p)
	}
	const ones, highs = 0x0101010101010101, 0x8080808080808080
	first, second := uint64(p.first)*ones, uint64(p.second)*ones
	rest := text
	for ; len(rest) > 32; rest = rest[32:] {
		q := (*[33]byte)(rest)
		// In these words, a zero byte marks the pair. The test below finds a zero byte by its high bit.
		w := (binary.LittleEndian.Uint64(q[0:]) ^ first) | (binary.LittleEndian.Uint64(q[1:]) ^ second)
		x := (binary.LittleEndian.Uint64(q[8:]) ^ first) | (binary.LittleEndian.Uint64(q[9:]) ^ second)
		y := (binary.LittleEndian.Uint64(q[16:]) ^ first) | (binary.LittleEndian.Uint64(q[17:]) ^ second)
		z := (binary.LittleEndian.Uint64(q[24:]) ^ first) | (binary.LittleEndian.Uint64(q[25:]) ^ second)
		if ((w-ones)&^w|(x-ones)&^x|(y-ones)&^y|(z-ones)&^z)&highs != 0 {
			break
		}
	}
	for ; len(rest) > 1; rest = rest[1:] {
		if rest[0] == p.first && rest[1] == p.second {
			return len(text) - len(rest)
		}
	}
	return -1
}

// exactly reports whether name is exactly the name of a tool.
func (n *Names) exactly(name []byte) bool {
	n.index()
	_, ok := n.exact[string(name)]
	return ok
}

// Mentioned reports whether text contains the name of an offered tool.
func (n *Names) Mentioned(text []byte) bool {
	for _, t := range n.Tools {
		if t.Name != "" && bytes.Contains(text, []byte(t.Name)) {
			return true
		}
	}
	return false
}

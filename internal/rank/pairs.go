package rank

import "math/bits"

// pairTerms are the terms that are two stems side by side. Texts have more of these than of all else,
// and a table that never shrinks finds them in half the time of a map.
type pairTerms struct {
	slots []pairSlot // a power of two, at most half of them taken
	taken int
}

// pairSlot is empty if after, the place of its term plus one, is zero.
type pairSlot struct {
	pair
	after int32
}

// newPairTerms returns a table with room for n pairs.
func newPairTerms(n int) pairTerms {
	return pairTerms{slots: make([]pairSlot, 2<<bits.Len(uint(n)))}
}

// slot returns where p is, or would be.
func (t *pairTerms) slot(p pair) *pairSlot {
	const spread = 0x9e3779b97f4a7c15 // 2^64 over the golden ratio
	i := (uint64(uint32(p.first))<<32 | uint64(uint32(p.second))) * spread >> (64 - bits.TrailingZeros(uint(len(t.slots))))
	for {
		s := &t.slots[i&uint64(len(t.slots)-1)]
		if s.after == 0 || s.pair == p {
			return s
		}
		i++
	}
}

// find returns the term of p, and noTerm if there is none.
func (t *pairTerms) find(p pair) int32 { return t.slot(p).after - 1 }

// put adds the term of a pair that has none.
func (t *pairTerms) put(p pair, place int32) {
	if 2*t.taken >= len(t.slots) {
		old := t.slots
		t.slots = make([]pairSlot, 2*len(old))
		for _, s := range old {
			if s.after != 0 {
				*t.slot(s.pair) = s
			}
		}
	}
	*t.slot(p) = pairSlot{p, place + 1}
	t.taken++
}

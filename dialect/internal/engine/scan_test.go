package engine

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/toolpost/toolpost/dialect/spec"
)

var builtin = New(spec.Builtin())

// The searches that look at several bytes at once find what a loop finds,
// wherever it stands.
func TestSearches(t *testing.T) {
	alphabet := []byte("abtfuo <]\n(-/>[`{\"\\\x00\x1f\x7f\x80\xe2\xef\xff")
	rng := rand.New(rand.NewPCG(1, 2))
	for range 200_000 {
		p := make([]byte, rng.IntN(40))
		for i := range p {
			p[i] = 'a'
			if rng.IntN(12) == 0 {
				p[i] = alphabet[rng.IntN(len(alphabet))]
			}
		}
		either := 0
		for either < len(p) && p[either] != '<' && p[either] != ']' {
			either++
		}
		if got := indexEither(p, '<', ']'); got != either {
			t.Fatalf("indexEither of %q: %d, want %d", p, got, either)
		}
		two := []byte{alphabet[rng.IntN(len(alphabet))], 'a'}
		if got, want := indexPair(p, namePair{two[0], two[1]}), bytes.Index(p, two); got != want {
			t.Fatalf("indexPair of %q in %q: %d, want %d", two, p, got, want)
		}
		if got, want := builtin.indexStop(p), firstStop(p); got != want {
			t.Fatalf("indexStop of %q: %d, want %d", p, got, want)
		}
	}
}

// firstStop is indexStop, one byte after the other.
func firstStop(p []byte) int {
	x := builtin
	for i, c := range p {
		switch {
		case !x.stops[c]:
		case c == '\n' || i+1 < len(p) && x.isStop(c, p[i+1]):
			return i
		case i+1 == len(p) && !(x.triggers[c] == wordOnly && i > 0 && isNameByte(p[i-1])):
			return i
		}
	}
	return len(p)
}

package offered

import (
	"bytes"
	"math/rand/v2"
	"testing"
)

// IndexPair returns the same index as [bytes.Index].
func TestIndexPair(t *testing.T) {
	alphabet := []byte("abtfuoTX <]\n(-/\x00\x7f\x80\xe2\xff")
	rng := rand.New(rand.NewPCG(1, 2))
	for range 200_000 {
		p := make([]byte, rng.IntN(80))
		for i := range p {
			p[i] = 'a'
			if rng.IntN(12) == 0 {
				p[i] = alphabet[rng.IntN(len(alphabet))]
			}
		}
		two := []byte{'a', alphabet[rng.IntN(len(alphabet))]}
		if rng.IntN(2) == 0 {
			two[0], two[1] = two[1], two[0]
		}
		if got, want := IndexPair(p, NamePair{two[0], two[1]}), bytes.Index(p, two); got != want {
			t.Fatalf("IndexPair of %q in %q: %d, want %d", two, p, got, want)
		}
	}
}

package lexicon

import (
	"math/rand/v2"
	"testing"

	"github.com/toolpost/toolpost/dialect/internal/chars"
	"github.com/toolpost/toolpost/dialect/spec"
)

var builtin = New(spec.Builtin())

// IndexStop finds what a loop over single bytes finds, wherever it stands.
func TestIndexStop(t *testing.T) {
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
		if got, want := builtin.IndexStop(p), firstStop(p); got != want {
			t.Fatalf("IndexStop of %q: %d, want %d", p, got, want)
		}
	}
}

// firstStop is IndexStop, one byte after the other.
func firstStop(p []byte) int {
	x := builtin
	for i, c := range p {
		switch {
		case !x.stops[c]:
		case c == '\n' || i+1 < len(p) && x.isStop(c, p[i+1]):
			return i
		case i+1 == len(p) && !(x.Triggers[c] == WordOnly && i > 0 && chars.IsNameByte(p[i-1])):
			return i
		}
	}
	return len(p)
}

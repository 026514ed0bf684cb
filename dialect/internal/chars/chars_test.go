package chars

import (
	"math/rand/v2"
	"testing"
)

// IndexEither finds what a loop over single bytes finds, wherever it stands.
func TestIndexEither(t *testing.T) {
	alphabet := []byte("ab<]\x00\x1f\x7f\x80\xe2\xff;=")
	rng := rand.New(rand.NewPCG(1, 2))
	for range 200_000 {
		p := make([]byte, rng.IntN(40))
		for i := range p {
			p[i] = 'a'
			if rng.IntN(12) == 0 {
				p[i] = alphabet[rng.IntN(len(alphabet))]
			}
		}
		want := 0
		for want < len(p) && p[want] != '<' && p[want] != ']' {
			want++
		}
		if got := IndexEither(p, '<', ']'); got != want {
			t.Fatalf("IndexEither of %q: %d, want %d", p, got, want)
		}
	}
}

func TestClasses(t *testing.T) {
	for _, c := range []struct {
		name string
		is   func(byte) bool
		yes  string
		no   string
	}{
		{"letter", IsLetter, "azAZ", "0_@[`{\x80"},
		{"space", IsSpace, " \t\r\n", "\v0\x00"},
		{"quote", IsQuote, `"'`, "`“"[:2]},
		{"start of a name", IsNameStart, "aZ_\x80", "0-. "},
		{"byte of a name", IsNameByte, "aZ_09.-:/\x80", " (<\n"},
	} {
		for i := range len(c.yes) {
			if !c.is(c.yes[i]) {
				t.Errorf("%q is no %s", c.yes[i], c.name)
			}
		}
		for i := range len(c.no) {
			if c.is(c.no[i]) && c.no[i] < 0x80 {
				t.Errorf("%q is a %s", c.no[i], c.name)
			}
		}
	}
}

func TestWordLength(t *testing.T) {
	for text, want := range map[string]int{
		"": 0, "get_weather(": 11, `get\_weather(`: 12, "math.sum x": 8, "name: x": 4, "a->b": 1, "(x": 0,
	} {
		if got := WordLength([]byte(text)); got != want {
			t.Errorf("WordLength of %q: %d, want %d", text, got, want)
		}
	}
}

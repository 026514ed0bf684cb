package term

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolpost/toolpost/cmd/toolpost/internal/cli"
)

// A text that is drawn while it grows looks as if drawn at once, at every width.
func TestFlowDrawsTheSame(t *testing.T) {
	words := []string{"a", "word", "漢字漢字", "🙂", "supercalifragilisticexpialidocious", "x\x1by", "é", "tab\there", " ", "  "}
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 1))
		var b strings.Builder
		for range 60 {
			b.WriteString(words[r.IntN(len(words))])
			if r.IntN(5) > 0 {
				b.WriteByte(' ')
			}
		}
		text, width := b.String(), 4+r.IntN(30)
		grown := new(Flow)
		for rest := text; rest != ""; {
			n := min(1+r.IntN(9), len(rest))
			grown.Write(rest[:n])
			rest = rest[n:]
			if r.IntN(3) == 0 {
				grown.Draw(width)
			}
			if r.IntN(40) == 0 {
				grown.Draw(width + 3)
			}
		}
		want := Wrap(cli.Printable(text), width, "", Plainly)
		if d := cmp.Diff(want, grown.Draw(width)); d != "" {
			t.Fatalf("%q at %d:\n%s", text, width, d)
		}
	}
}

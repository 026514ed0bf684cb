package wire

import (
	"strings"
	"testing"

	"github.com/toolpost/toolpost/llm"
)

// A text in very many pieces is joined in time that grows with its length alone: if each piece was added to all before it,
// this would copy a terabyte.
func TestManyPiecesAreJoined(t *testing.T) {
	const n = 400_000
	piece := strings.Repeat("x", 10)
	var parts []llm.Part
	for range n {
		parts = append(parts, llm.Text{Text: piece})
	}
	for range n {
		parts = append(parts, llm.Thinking{Text: piece})
	}
	got := Codec{Format: Gemini}.Spoken([]llm.Message{{Role: llm.RoleAssistant, Parts: parts}})[0].Parts
	if len(got) != 2 || len(got[0].(llm.Text).Text) != n*len(piece) || len(got[1].(llm.Thinking).Text) != n*len(piece) {
		t.Errorf("%d parts are left", len(got))
	}
}

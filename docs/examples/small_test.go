package examples

import (
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/internal/testkit"
	"github.com/toolpost/toolpost/sim"
)

// TestImage: the image reaches servers of all formats, with the type that its bytes have.
func TestImage(t *testing.T) {
	program := testkit.Build(t, "image")
	server := httptest.NewServer(new(sim.Server))
	defer server.Close()
	for _, vendor := range []string{"openai+", "openai+responses+", "anthropic+", "gemini+", "ollama+"} {
		out, code := output(t, program, "media", []string{"OPENAI_API_KEY=any", "ANTHROPIC_API_KEY=any", "GEMINI_API_KEY=any"}, vendor+server.URL+"#sim/echo", "red.png")
		if code != 0 || !strings.Contains(out, "image image/png 69 bytes") {
			t.Errorf("%s: exit status %d: %s", vendor, code, out)
		}
	}
	if out, code := output(t, program, "media", nil, "openai/gpt-5", "no.png"); code != 1 || !strings.Contains(out, "no.png") {
		t.Errorf("exit status %d: %s", code, out)
	}
}

package agent_test

import (
	"strings"
	"testing"

	"github.com/toolpost/toolpost/agent"
	"github.com/toolpost/toolpost/invoke"
	"github.com/toolpost/toolpost/journal"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/tool"
)

// Wherever a text is cut for the record, the cut leaves no half of a key: not of
// one known by value, nor of one with a known form.
func TestRecordsHoldNoHalfSecrets(t *testing.T) {
	attacks := 0
	defer func() { t.Logf("%d attacks", attacks) }()
	for _, key := range []string{"kA9-of_no-known-form-Zq7", "sk-ant-api03-Ab3d9xQ7zz81kLmN0pQr"} {
		for at := 1; at < len(key); at++ {
			attacks++
			text := strings.Repeat("x ", 500)[:999-at] + " " + key + strings.Repeat(" y", 300)
			m := says(text)
			store := &journal.Memory{}
			if !strings.HasPrefix(key, "sk-") {
				store.Secrets = &journal.Secrets{Values: []string{key}}
			}
			a := &agent.Agent{Model: m, ID: "m", Store: store, Tools: &invoke.Runner{Tools: tool.MustSet()}}
			done, err := a.Ask(t.Context(), llm.User(text))
			if err != nil {
				t.Fatal(err)
			}
			for e, err := range store.Read(t.Context(), done.Run, 0) {
				if err != nil {
					t.Fatal(err)
				}
				for i := range len(key) - 5 {
					if piece := key[i : i+6]; strings.Contains(string(e.Body), piece) {
						t.Fatalf("cut %d bytes into %s: %q is left in %s: %.300s", at, key, piece, e.Kind, e.Body)
					}
				}
			}
		}
	}
}

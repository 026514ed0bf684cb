package modeldb_test

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolpost/toolpost/internal/modeldb"
)

// Only models that chat count, and a saved database is read back unchanged.
func TestRead(t *testing.T) {
	for source, text := range map[string]string{
		"models.dev": `{"anthropic": {"models": {"claude-next": {"id": "claude-next", "tool_call": true, "limit": {"context": 500000, "output": 9000}}}}}`,
		"litellm": `{"sample_spec": {"litellm_provider": "one of …", "mode": "one of …"},
			"claude-next": {"litellm_provider": "anthropic", "mode": "chat", "supports_function_calling": true, "max_input_tokens": 400000.0},
			"some-embedder": {"litellm_provider": "x", "mode": "embedding"}}`,
	} {
		db, err := modeldb.Read(strings.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		if db.Source != source || len(db.Models) != 1 || db.Models["claude-next"].ContextWindow == 0 {
			t.Errorf("%s: %+v", source, db)
		}
		file, err := db.Save(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		saved, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		again, err := modeldb.Read(strings.NewReader(string(saved)))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(db, again); diff != "" {
			t.Errorf("%s: -saved +read\n%s", source, diff)
		}
	}
}

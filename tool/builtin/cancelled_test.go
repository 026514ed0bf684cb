package builtin_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/toolpost/toolpost/tool/builtin"
)

// A call that is taken back is cancelled, not failed.
func TestWalksThatAreCancelled(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "note.txt"), []byte("hello"), 0o600); err != nil {
		t.Fatal(err)
	}
	files, err := builtin.OpenFiles(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer files.Close()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, one := range files.Tools() {
		if one.Name != "search_files" {
			continue
		}
		if _, err := one.Run(ctx, json.RawMessage(`{"query":"hello"}`)); !errors.Is(err, context.Canceled) {
			t.Errorf("%s returned %v", one.Name, err)
		}
	}
}

package export_test

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/internal/export"
	"github.com/toolpost/toolpost/journal"
)

// TestNewerFormatRefused: a run in a format of the future is not exported, and is not changed.
func TestNewerFormatRefused(t *testing.T) {
	dir, err := journal.OpenDir(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	text := `{"at":"2030-01-01T00:00:00Z","body":["packed"],"hash":"b3:00","kind":"start","prev":"","run":"r","seq":1,"v":9}` + "\nhalf a li"
	if err := os.WriteFile(dir.File("r"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err = export.Run(dir.Read(t.Context(), "r", 0), export.Options{Open: true})
	var newer *journal.FormatError
	if !errors.As(err, &newer) || newer.Format != 9 || newer.Run != "r" || err.Error() != newer.Error() || strings.Contains(err.Error(), "\n") {
		t.Error(err)
	}
	if b, err := os.ReadFile(dir.File("r")); err != nil || string(b) != text {
		t.Errorf("the run was changed to %q, %v", b, err)
	}
}

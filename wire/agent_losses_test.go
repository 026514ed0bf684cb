package wire_test

import (
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/toolpost/toolpost/internal/losses"
	"github.com/toolpost/toolpost/wire"
)

// TestNothingIsLostInSilence says the requests of coding agents in every format: as they are shaped, and as large as
// theirs, with dozens of tools. Each text, tool, schema, call and result is there or is named by a warning, and each
// member of the shape changes what is sent or what is warned about.
func TestNothingIsLostInSilence(t *testing.T) {
	files, err := filepath.Glob("testdata/agents/*.txtar")
	if err != nil || len(files) < 12 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			t.Parallel()
			ar, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			from, shape := ar.Files[0].Name, ar.Files[0].Data
			tools, size, err := losses.Size(ar.Comment)
			if err != nil {
				t.Fatal(err)
			}
			for _, n := range []int{tools, 3 * tools} { // with the servers that people add
				large, err := losses.Large(from, shape, n, size*max(n, 1)/max(tools, 1))
				if err != nil {
					t.Fatal(err)
				}
				if len(large) < size {
					t.Errorf("%d bytes are too few", len(large))
				}
				nothingSilent(t, from, large)
			}
			for _, to := range wire.Formats() {
				idle, err := losses.Idle(from, to, shape)
				if err != nil {
					t.Error(err)
				}
				for _, member := range idle {
					t.Errorf("→ %s: without %s the same is sent and warned about", to, member)
				}
			}
		})
	}
}

func nothingSilent(t *testing.T, from string, body []byte) {
	t.Helper()
	for _, to := range wire.Formats() {
		tr, err := losses.Translate(from, to, body)
		if err != nil {
			t.Errorf("→ %s: %v", to, err)
			continue
		}
		for _, lost := range tr.Silent() {
			t.Errorf("→ %s: %.400s", to, lost)
		}
	}
}

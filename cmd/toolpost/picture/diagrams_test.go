package main

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"testing"
)

var update = flag.Bool("update", false, "rewrite the diagrams")

// TestDiagrams compares the diagrams of the documents with what the code draws.
func TestDiagrams(t *testing.T) {
	dir := filepath.Join("..", "..", "..", "docs", "pictures")
	if *update {
		if err := writeDiagrams(dir); err != nil {
			t.Fatal(err)
		}
	}
	for name, draw := range diagrams {
		want, err := draw()
		if err != nil {
			t.Fatal(err)
		}
		wellFormed(t, want)
		if got, err := os.ReadFile(filepath.Join(dir, name)); err != nil || !bytes.Equal(got, want) {
			t.Errorf("docs/pictures/%s is not what is drawn (%v): go test ./cmd/toolpost/picture -update", name, err)
		}
	}
}

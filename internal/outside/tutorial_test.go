//go:build unix

package outside

import (
	"go/format"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/internal/pages"
	"github.com/toolpost/toolpost/internal/testkit"
)

// TestTutorial follows the instructions of docs/tutorial.md in a folder next to this module: it writes the files, runs
// the commands, and compares their output.
func TestTutorial(t *testing.T) {
	testkit.Long(t, "it builds ten programs and needs modules that only tests of other modules import")
	page, err := os.ReadFile("../../docs/tutorial.md")
	if err != nil {
		t.Fatal(err)
	}
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	shell := &pages.Shell{Dir: t.TempDir(), Env: append(os.Environ(), "GOWORK=off", "GOFLAGS="), Replace: strings.NewReplacer("../toolpost", root)}
	files, commands := 0, 0
	for _, f := range pages.Fences(string(page)) {
		switch f.Kind {
		case "go":
			files++
			writeFile(t, shell.Dir, f)
		case "text":
			for _, c := range f.Commands() {
				commands++
				if err := shell.Check(t.Context(), c); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	if files < 5 || commands < 10 {
		t.Errorf("the page has %d files and %d commands", files, commands)
	}
}

// writeFile makes the file that a fence shows. The first line names it.
func writeFile(t *testing.T, dir string, f pages.Fence) {
	t.Helper()
	first, _, _ := strings.Cut(f.Text, "\n")
	name, ok := strings.CutPrefix(first, "// ")
	if !ok || filepath.Base(name) != name || filepath.Ext(name) != ".go" {
		t.Fatalf("line %d names no file: %s", f.Line, first)
	}
	if neat, err := format.Source([]byte(f.Text)); err != nil || string(neat) != f.Text {
		t.Errorf("line %d: %s is not formatted as gofmt does, error %v", f.Line, name, err)
	}
	write(t, filepath.Join(dir, name), []byte(f.Text))
}

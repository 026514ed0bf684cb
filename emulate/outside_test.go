package emulate_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"
)

// A program outside this module gives a model of its own tool calling, in every
// style and cut anywhere, with nothing but what is exported.
func TestFromOutsideTheModule(t *testing.T) {
	archive, err := txtar.ParseFile("testdata/outside.txtar")
	if err != nil {
		t.Fatal(err)
	}
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	goMod, err := os.ReadFile("../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	sums, err := os.ReadFile("../go.sum")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(goMod), "\n") // the versions of everything that this module needs
	archive.Files = append(archive.Files,
		txtar.File{Name: "go.mod", Data: []byte("module example.com/outside\n" + rest +
			"\nrequire github.com/toolpost/toolpost v0.0.0\n\nreplace github.com/toolpost/toolpost => " + filepath.ToSlash(root) + "\n")},
		txtar.File{Name: "go.sum", Data: sums})
	dir := t.TempDir()
	for _, f := range archive.Files {
		if err := os.WriteFile(filepath.Join(dir, f.Name), f.Data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command("go", "test", "./...")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOFLAGS=-mod=mod", "GOPROXY=off", "GOWORK=off")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

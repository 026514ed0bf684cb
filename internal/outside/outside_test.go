// Package outside holds the test that runs the recipes of docs/extend.md in a
// separate module, where only exported packages can be imported.
package outside

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/toolpost/toolpost/internal/testkit"
)

// recipes are the files that docs/extend.md tells a reader to copy. Each recipe
// becomes a folder of the outside module.
var recipes = map[string][]string{
	"dialect":   {"dialect/example_own_test.go"},
	"codec":     {"llmtest/own_codec_test.go", "llmtest/own_model_test.go"}, // the test of the codec asks that model
	"model":     {"llmtest/own_model_test.go"},
	"emulation": {"emulate/example_around_test.go"},
}

func TestRecipesWorkOutsideTheModule(t *testing.T) {
	testkit.Long(t, "it compiles and links four test programs in another module")
	page, err := os.ReadFile("../../docs/extend.md")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for recipe, files := range recipes {
		for _, file := range files {
			text, err := os.ReadFile(filepath.Join("../..", filepath.FromSlash(file)))
			if err != nil {
				t.Fatal(err)
			}
			write(t, filepath.Join(dir, recipe, filepath.Base(file)), text)
			if !strings.Contains(string(page), "../"+file) {
				t.Errorf("docs/extend.md does not name %s", file)
			}
		}
	}
	styles, err := txtar.ParseFile("testdata/styles.txtar")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range styles.Files {
		write(t, filepath.Join(dir, f.Name), f.Data)
	}
	module(t, dir)
	test := exec.Command("go", "test", "./...")
	test.Dir = dir
	test.Env = append(os.Environ(), "GOFLAGS=-mod=mod", "GOPROXY=off", "GOWORK=off")
	out, err := test.CombinedOutput()
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	for recipe := range recipes {
		if !strings.Contains(string(out), "example.com/outside/"+recipe+"\t") {
			t.Errorf("the recipe %s did not run:\n%s", recipe, out)
		}
	}
}

// module writes a go.mod that takes this module from the working tree and
// everything else in the versions that this module needs.
func module(t *testing.T, dir string) {
	t.Helper()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	own, err := os.ReadFile("../../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	sums, err := os.ReadFile("../../go.sum")
	if err != nil {
		t.Fatal(err)
	}
	_, versions, _ := strings.Cut(string(own), "\n")
	write(t, filepath.Join(dir, "go.mod"), []byte("module example.com/outside\n"+versions+
		"\nrequire github.com/toolpost/toolpost v0.0.0\n\nreplace github.com/toolpost/toolpost => "+filepath.ToSlash(root)+"\n"))
	write(t, filepath.Join(dir, "go.sum"), sums)
}

func write(t *testing.T, name string, text []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, text, 0o644); err != nil {
		t.Fatal(err)
	}
}

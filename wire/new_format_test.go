package wire_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/internal/testkit"
)

// TestNewFormat adds a format to this module as one folder and one changed line in the list of formats, by an overlay of
// the go command. Provider, simulator, gateway, the check of a configuration and models.yaml accept it without any other
// change.
func TestNewFormat(t *testing.T) {
	testkit.Long(t, "it compiles the module again")
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	source, err := os.ReadFile("wire.go")
	if err != nil {
		t.Fatal(err)
	}
	const list, last = "var all = codec.NewRegistry(", "converse.Format{})"
	line := string(source)[strings.Index(string(source), list):]
	line, _, _ = strings.Cut(line, "\n")
	if !strings.HasSuffix(line, last) {
		t.Fatalf("the list of formats is %q", line)
	}
	changed := strings.Replace(string(source), line, strings.TrimSuffix(line, ")")+", seventh.Format{})", 1)
	changed = strings.Replace(changed, "import (", "import (\n\t\"github.com/toolpost/toolpost/wire/internal/seventh\"", 1)
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	added := func(name string) string {
		path, err := filepath.Abs(filepath.Join("testdata/newformat", name))
		if err != nil {
			t.Fatal(err)
		}
		return path
	}
	overlay, err := json.Marshal(map[string]map[string]string{"Replace": {
		filepath.Join(root, "wire/wire.go"):                     write("wire.go", changed),
		filepath.Join(root, "wire/internal/seventh/seventh.go"): added("format.go.txt"),
		filepath.Join(root, "cmd/newformat/main.go"):            added("main.go.txt"),
	}})
	if err != nil {
		t.Fatal(err)
	}
	build := exec.Command("go", "build", "-overlay", write("overlay.json", string(overlay)), "-o", dir, "./cmd/newformat", "./cmd/toolpost")
	build.Dir = root
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	models := write("models.yaml", "models:\n  house-model-9b: {wire: seventh}\n")
	config := write("config.yaml", "providers:\n  up: {base_url: \"http://127.0.0.1:9/seventh\", wire: seventh}\ngateway:\n  routes: [{model: fast, to: [{model: up/house-model-9b}]}]\n")
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"newformat"}, ""},
		{[]string{"toolpost", "serve", "--check", "--config", config}, ""},
		{[]string{"toolpost", "models", "show", "--models", models, "house-model-9b"}, "seventh"},
	} {
		run := exec.Command(filepath.Join(dir, c.args[0]), c.args[1:]...)
		run.Env = append(os.Environ(), "TOOLPOST_MODELS="+models, "XDG_CONFIG_HOME="+dir)
		if out, err := run.CombinedOutput(); err != nil || !strings.Contains(string(out), c.want) {
			t.Errorf("%s: %v\n%s", strings.Join(c.args, " "), err, out)
		}
	}
}

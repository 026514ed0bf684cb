package dialect_test

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/internal/testkit"
)

// TestANewDialectIsARowAndAFile adds the example of CONTRIBUTING.md to a copy
// of the module, updates it as the guide says, and runs all tests of dialects
// there, and those of other packages that know the table.
func TestANewDialectIsARowAndAFile(t *testing.T) {
	testkit.Long(t, "it runs the tests of a copy of the module")
	guide := read(t, "../CONTRIBUTING.md")
	row, cases := fence(t, guide, "```go dialect-row"), fence(t, guide, "```text dialect-cases")
	dir := t.TempDir()
	copyModule(t, "..", dir)
	table := read(t, "spec/table.go")
	const start = "var table = []Dialect{\n"
	at := strings.Index(table, start) + strings.Index(table[strings.Index(table, start):], "\n}\n") + 1
	write(t, filepath.Join(dir, "dialect/spec/table.go"), table[:at]+row+table[at:])
	write(t, filepath.Join(dir, "dialect/testdata/cases/double_angles.txtar"), cases)

	before := contents(t, dir)
	goTest(t, dir, "./dialect", "-run", "^(TestCases|TestDocumentation|Test.*Golden)$", "-update") // the others write nothing
	for name, text := range contents(t, dir) {
		if text != before[name] && !generated[name] {
			t.Errorf("go test ./dialect -update changes %s", name)
		}
	}
	goTest(t, dir, "./dialect/...", "./sim", "./catalog")
	goTest(t, dir, "./cmd/toolpost", "-run", "^(TestExplain|TestParse)")
}

// generated are the files that -update writes anew.
var generated = map[string]bool{
	"docs/dialects.md": true, "dialect/testdata/render/turn.txtar": true, "dialect/testdata/render/results.txtar": true,
}

// goTest runs tests of the module in dir, all but the one that runs them.
func goTest(t *testing.T, dir string, args ...string) {
	t.Helper()
	test := exec.Command("go", append([]string{"test", "-trimpath", "-skip", "^TestANewDialectIsARowAndAFile$"}, args...)...)
	test.Dir = dir
	test.Env = append(os.Environ(), "TOOLPOST_LONG=") // the tests outside of the copy have run at full length
	if out, err := test.CombinedOutput(); err != nil {
		t.Fatalf("go test %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

// copyModule copies the files of the module that are no modules of their own.
func copyModule(t *testing.T, from, to string) {
	t.Helper()
	err := filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, _ := filepath.Rel(from, path)
		if d.IsDir() {
			_, err := os.Stat(filepath.Join(path, "go.mod"))
			if name != "." && (err == nil || strings.HasPrefix(d.Name(), ".")) {
				return filepath.SkipDir
			}
			return os.MkdirAll(filepath.Join(to, name), 0o755)
		}
		b, err := os.ReadFile(path)
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		return os.WriteFile(filepath.Join(to, name), b, 0o644)
	})
	if err != nil {
		t.Fatal(err)
	}
}

// contents returns the files of a module by name.
func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := make(map[string]string)
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			name, _ := filepath.Rel(dir, path)
			all[filepath.ToSlash(name)] = read(t, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// fence returns what is in a fence of a document.
func fence(t *testing.T, document, open string) string {
	t.Helper()
	_, after, ok := strings.Cut(document, open+"\n")
	inside, _, closed := strings.Cut(after, "```\n")
	if !ok || !closed {
		t.Fatalf("CONTRIBUTING.md has no fence %q", open)
	}
	return inside
}

func read(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func write(t *testing.T, name, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

package dialect_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestANewDialectIsARowAndAFile adds the example of CONTRIBUTING.md to a copy
// of the package and runs its cases there.
func TestANewDialectIsARowAndAFile(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: it builds a copy of the package")
	}
	guide := read(t, "../CONTRIBUTING.md")
	row, cases := fence(t, guide, "```go dialect-row"), fence(t, guide, "```text dialect-cases")
	dir := t.TempDir()
	for _, name := range []string{"go.mod", "go.sum"} {
		write(t, filepath.Join(dir, name), read(t, "../"+name))
	}
	for _, name := range []string{"llm", "schema", "internal/js", "internal/jsonfix", "internal/near", "dialect", "dialect/spec", "dialect/internal/engine", "dialect/internal/loose", "dialect/internal/write"} {
		copySources(t, filepath.Join("..", name), filepath.Join(dir, name))
	}
	for _, name := range []string{"testdata/cases"} {
		if err := os.CopyFS(filepath.Join(dir, "dialect", name), os.DirFS(name)); err != nil {
			t.Fatal(err)
		}
	}
	table := read(t, "spec/table.go")
	const start = "var table = []Dialect{\n"
	at := strings.Index(table, start) + strings.Index(table[strings.Index(table, start):], "\n}\n") + 1
	write(t, filepath.Join(dir, "dialect/spec/table.go"), table[:at]+row+table[at:])
	write(t, filepath.Join(dir, "dialect/testdata/cases/angles.txtar"), cases)
	write(t, filepath.Join(dir, "dialect/cases_test.go"), read(t, "cases_test.go"))

	test := exec.Command("go", "test", "-count=1", "-v", "-run", "TestCases/angles", "./dialect")
	test.Dir = dir
	out, err := test.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "--- PASS: TestCases/angles") {
		t.Errorf("%v\n%s", err, out)
	}
}

// fence returns what stands in a fence of a document.
func fence(t *testing.T, document, open string) string {
	t.Helper()
	_, after, ok := strings.Cut(document, open+"\n")
	inside, _, closed := strings.Cut(after, "```\n")
	if !ok || !closed {
		t.Fatalf("CONTRIBUTING.md has no fence %q", open)
	}
	return inside
}

// copySources copies the Go files of a package without its tests.
func copySources(t *testing.T, from, to string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(from, "*.go"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%s: %v", from, err)
	}
	for _, f := range files {
		if !strings.HasSuffix(f, "_test.go") {
			write(t, filepath.Join(to, filepath.Base(f)), read(t, f))
		}
	}
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

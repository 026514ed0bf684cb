package dialect_test

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/dialect"
	"github.com/toolpost/toolpost/llm"
)

// everyday are tools with names that ordinary text is full of.
var everyday = func() (tools []llm.ToolDef) {
	for _, name := range []string{"search", "read_file", "write_file", "get", "list", "run", "print", "open", "test", "fetch", "close", "len", "error", "format", "check"} {
		tools = append(tools, llm.ToolDef{Name: name, Schema: []byte(`{"type":"object","properties":{"query":{"type":"string"},"path":{"type":"string"}}}`)})
	}
	return tools
}()

// Programs, documents and data that call nothing: the files of Go itself. What
// is read as a call here would run in an agent that shows such text.
func TestOrdinaryTextIsNoCall(t *testing.T) {
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		t.Skipf("the sources of Go are not here: %v", err)
	}
	files, bytes := 0, 0
	err = filepath.WalkDir(filepath.Join(strings.TrimSpace(string(root)), "src"), func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if bytes > 12<<20 {
			return fs.SkipAll
		}
		if e.IsDir() || !slices.Contains([]string{".go", ".md", ".txt", ".html", ".json", ".js", ".css"}, filepath.Ext(path)) {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil || len(text) > 100_000 {
			return err
		}
		files++
		bytes += len(text)
		for _, p := range []dialect.Parser{{Tools: everyday}, {}} {
			callsNothing(t, p, path, string(text))
		}
		return nil
	})
	if err != nil || files == 0 {
		t.Fatalf("the sources of Go cannot be read: %d files, %v", files, err)
	}
	t.Logf("%d files, %d bytes", files, bytes)
}

func callsNothing(t *testing.T, p dialect.Parser, path, text string) {
	for ev, err := range p.Parse(dialect.Whole(text)) {
		if err != nil {
			t.Fatal(err)
		}
		switch ev := ev.(type) {
		case llm.Call:
			t.Errorf("%s: calls %s %.100s in %s", path, ev.Name, ev.Args, ev.Provenance.Dialect)
		case llm.InvalidCall:
			t.Errorf("%s: calls %s %.100q in %s", path, ev.Name, ev.Raw, ev.Provenance.Dialect)
		case llm.ThinkingDelta:
			t.Errorf("%s: thinks %.100q", path, ev.Text)
		}
	}
}

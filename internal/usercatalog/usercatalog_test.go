package usercatalog

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/catalog"
	"github.com/toolpost/toolpost/internal/modeldb"
)

// TestCatalogueOfTheUser: a missing file is not an error, unless it was given by name.
func TestCatalogueOfTheUser(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("HOME", dir)
	t.Setenv("XDG_CONFIG_HOME", dir)
	t.Setenv("XDG_CACHE_HOME", dir)
	t.Setenv("AppData", dir)
	t.Setenv("LocalAppData", dir)
	t.Setenv("TOOLPOST_MODELS", "")
	if _, err := Open(""); err != nil {
		t.Errorf("nothing is there: %v", err)
	}
	if _, err := Open(filepath.Join(dir, "none.yaml")); err == nil {
		t.Error("a file that was named is not there")
	}
	file := filepath.Join(dir, "mine.yaml")
	if err := os.WriteFile(file, []byte("models: {mine: {base: gpt-4o}}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("TOOLPOST_MODELS", file)
	c, err := Open("")
	if err != nil || c.Lookup("mine").ID.Family != "gpt" {
		t.Errorf("the file of TOOLPOST_MODELS: %v", err)
	}
	t.Setenv("TOOLPOST_MODELS", file+".none")
	if _, err := Open(""); err == nil {
		t.Error("a file that TOOLPOST_MODELS names is not there")
	}
}

const modelsDev = `{"anthropic": {"id": "anthropic", "name": "Anthropic", "models": {
  "claude-next": {"id": "claude-next", "tool_call": true, "limit": {"context": 500000, "output": 9000}}}}}`

func TestSavedDatabaseIsFound(t *testing.T) {
	dir := t.TempDir()
	db, err := modeldb.Read(strings.NewReader(modelsDev))
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second replaces the first
		if _, err := db.Save(dir); err != nil {
			t.Fatal(err)
		}
	}
	c, err := importDir(catalog.Default(), dir)
	if err != nil {
		t.Fatal(err)
	}
	if got := c.Lookup("claude-next").ContextWindow; got != 500000 {
		t.Errorf("context %d", got)
	}
	if entries, _ := os.ReadDir(dir); len(entries) != 1 {
		t.Errorf("left behind: %v", entries)
	}
	if err := os.WriteFile(filepath.Join(dir, "broken.json"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := importDir(catalog.Default(), dir); err == nil || !strings.Contains(err.Error(), "broken.json") {
		t.Errorf("a broken cache: %v", err)
	}
}

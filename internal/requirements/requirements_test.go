// Package requirements holds the test that keeps docs/requirements.md true.
package requirements

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var named = regexp.MustCompile("`([a-z/]+)\\.((?:Test|Fuzz)[A-Za-z0-9_]+)`")

// TestEveryNamedTestExists fails if docs/requirements.md names a test that no
// package has, or a row of it names none without saying why.
func TestEveryNamedTestExists(t *testing.T) {
	page, err := os.ReadFile("../../docs/requirements.md")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(page)) {
		tests := named.FindAllStringSubmatch(line, -1)
		row := strings.HasPrefix(line, "| ") && !strings.HasPrefix(line, "| number")
		if row && len(tests) == 0 && !strings.Contains(line, "not built yet") {
			t.Errorf("no test: %s", line)
		}
		for _, m := range tests {
			if !hasTest(t, m[1], m[2]) {
				t.Errorf("package %s has no test %s", m[1], m[2])
			}
		}
	}
}

func hasTest(t *testing.T, pkg, name string) bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("..", "..", filepath.FromSlash(pkg), "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(text), "func "+name+"(") {
			return true
		}
	}
	return false
}

package mcpbridge_test

import (
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

var testName = regexp.MustCompile("^✓ `(Test[A-Za-z0-9]+)`$")

// The table of features in docs/mcp.md has no empty cell without a reason, and each ✓ names a test that exists.
func TestFeaturesInTheDocsHaveTests(t *testing.T) {
	page, err := os.ReadFile("../docs/mcp.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, found := strings.Cut(string(page), "| feature | client | serve | relay |\n|---|---|---|---|\n")
	if !found {
		t.Fatal("the page has no table of features")
	}
	tests, err := exec.Command("grep", "-rhoE", "^func Test[A-Za-z0-9]+", "--include=*_test.go", ".", "../cmd/toolpost", "../conformance/mcp").Output()
	if err != nil {
		t.Fatal(err)
	}
	exist := make(map[string]bool)
	for name := range strings.Lines(string(tests)) {
		exist[strings.TrimPrefix(strings.TrimSpace(name), "func ")] = true
	}
	rows := 0
	for line := range strings.Lines(table) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		if len(cells) != 4 {
			break
		}
		rows++
		for _, cell := range cells[1:] {
			cell = strings.TrimSpace(cell)
			if m := testName.FindStringSubmatch(cell); m != nil && exist[m[1]] {
				continue
			}
			if strings.HasPrefix(cell, "– ") && len(cell) > len("– ")+5 {
				continue // with the reason
			}
			t.Errorf("%s: %q is neither ✓ with a test that exists nor – with a reason", strings.TrimSpace(cells[0]), cell)
		}
	}
	if rows < 25 {
		t.Errorf("the table has %d rows", rows)
	}
}

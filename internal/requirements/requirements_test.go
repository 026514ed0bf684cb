// Package requirements holds the tests that keep documents true: every test
// that a document names exists, and the design notes are complete.
package requirements

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

const root = "../.."

func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(name)))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

var named = regexp.MustCompile("`([a-z/]+)\\.((?:Test|Fuzz)[A-Za-z0-9_]+)`")

// TestEveryNamedTestExists fails if docs/reference/requirements.md names a test that no
// package has, or a row of it names none without saying why.
func TestEveryNamedTestExists(t *testing.T) {
	for line := range strings.Lines(read(t, "docs/reference/requirements.md")) {
		tests := named.FindAllStringSubmatch(line, -1)
		row := strings.HasPrefix(line, "| ") && !strings.HasPrefix(line, "| number")
		if row && len(tests) == 0 && !strings.Contains(line, "not built yet") {
			t.Errorf("no test: %s", line)
		}
		for _, m := range tests {
			mustHave(t, m[1], m[2])
		}
	}
}

// TestEveryAttackExists fails if the attack tables name a test that is not
// there; conformance/run attacks runs them.
func TestEveryAttackExists(t *testing.T) {
	rows := 0
	for line := range strings.Lines(read(t, "conformance/attacks/tables.txt")) {
		if fields := strings.Fields(line); len(fields) == 3 && !strings.HasPrefix(line, "#") {
			rows++
			mustHave(t, fields[1], fields[2])
		}
	}
	if rows < 50 {
		t.Errorf("only %d tests in the attack tables", rows)
	}
}

// maxDesignWords is the limit for all design notes together.
const maxDesignWords = 25_000

// designNotes returns the pages of docs/design.
func designNotes(t *testing.T) []string {
	t.Helper()
	pages, err := filepath.Glob(filepath.Join(root, "docs/design/*.md"))
	if err != nil || len(pages) < 10 {
		t.Fatalf("%d design notes, %v", len(pages), err)
	}
	var files []string
	for _, page := range pages {
		files = append(files, "docs/design/"+filepath.Base(page))
	}
	return files
}

var section = regexp.MustCompile(`(?m)^##? .*$`)

// TestDesignNotes fails if a design note lacks a title, does not end with the rejected alternatives or is missing from
// the index, or if the notes are too long together.
func TestDesignNotes(t *testing.T) {
	index := read(t, "docs/design/README.md")
	total := 0
	for _, file := range designNotes(t) {
		text := read(t, file)
		if strings.HasSuffix(file, "/README.md") {
			continue // the index
		}
		total += len(strings.Fields(text))
		sections := section.FindAllString(text, -1)
		if !strings.HasPrefix(text, "# ") || sections[len(sections)-1] != "## Alternatives rejected" {
			t.Errorf("%s does not begin with a title and end with the section Alternatives rejected", file)
		}
		if !strings.Contains(index, "]("+filepath.Base(file)+")") {
			t.Errorf("docs/design/README.md does not list %s", file)
		}
	}
	if total > maxDesignWords {
		t.Errorf("the design notes have %d words, at most %d are allowed", total, maxDesignWords)
	}
}

// mustHave fails if the package has no such test.
func mustHave(t *testing.T, pkg, name string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(root, filepath.FromSlash(pkg), "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(text), "func "+name+"(") {
			return
		}
	}
	t.Errorf("package %s has no test %s", pkg, name)
}

// TestEveryPromiseHasATest fails if SECURITY.md names a test that is not there,
// or promises something without naming one.
func TestEveryPromiseHasATest(t *testing.T) {
	_, promised, ok := strings.Cut(read(t, "SECURITY.md"), "## Promises")
	promised, _, end := strings.Cut(promised, "## Limits")
	if !ok || !end {
		t.Fatal("SECURITY.md does not say what is promised and what is not")
	}
	promises := 0
	for line := range strings.Lines(promised) {
		if !strings.HasPrefix(line, "| ") || strings.HasPrefix(line, "| promise") {
			continue
		}
		promises++
		tests := named.FindAllStringSubmatch(line, -1)
		if len(tests) == 0 {
			t.Errorf("no test: %s", line)
		}
		for _, m := range tests {
			mustHave(t, m[1], m[2])
		}
	}
	if promises < 30 {
		t.Errorf("only %d promises", promises)
	}
}

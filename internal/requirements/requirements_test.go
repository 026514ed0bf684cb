// Package requirements holds the tests that keep documents true: every test
// that a document names exists, and every decision says what it must.
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

// TestEveryNamedTestExists fails if docs/requirements.md names a test that no
// package has, or a row of it names none without saying why.
func TestEveryNamedTestExists(t *testing.T) {
	for line := range strings.Lines(read(t, "docs/requirements.md")) {
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

// decided are the parts that each decision has.
var decided = []*regexp.Regexp{
	regexp.MustCompile(`(?m)^# \d{4}: `),
	regexp.MustCompile(`(?m)^Status: (accepted|superseded|proposed|rejected).*\. Date: \d{4}-\d{2}-\d{2}\.`),
	regexp.MustCompile(`(?m)^## Context$`),
	regexp.MustCompile(`(?m)^## Decision$`),
	regexp.MustCompile(`(?m)^## Alternatives`),
	regexp.MustCompile(`(?m)^## Consequences$`),
}

// TestDecisionsAreWhole fails if a page of docs/adr lacks its status, date,
// context, decision, alternatives or consequences, or shares its number.
func TestDecisionsAreWhole(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(root, "docs/adr/[0-9]*.md"))
	if err != nil || len(files) < 40 {
		t.Fatalf("%d decisions, %v", len(files), err)
	}
	numbers := make(map[string]string)
	for _, file := range files {
		name := filepath.Base(file)
		text := read(t, "docs/adr/"+name)
		for _, part := range decided {
			if !part.MatchString(text) {
				t.Errorf("%s: nothing matches %s", name, part)
			}
		}
		if other := numbers[name[:4]]; other != "" {
			t.Errorf("%s and %s have the same number", name, other)
		}
		numbers[name[:4]] = name
		if !strings.HasPrefix(text, "# "+name[:4]+":") {
			t.Errorf("%s has another number in its title", name)
		}
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
	_, promised, ok := strings.Cut(read(t, "SECURITY.md"), "## What is promised")
	promised, _, end := strings.Cut(promised, "## What is not promised")
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

package main

import (
	_ "embed"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const root = "../.."

//go:embed waiting.txt
var waitingText string

// paths are the ways to the runtime, and the modes of a run, on which a promise may matter. client, server and relay are
// those of MCP.
var paths = strings.Fields("library run chat gateway client server relay native constrained prompted streamed whole live resumed replayed single batch")

// named finds the tests that a cell of the matrix names.
var named = regexp.MustCompile(`([a-z/]+)\.((?:Test|Fuzz)[A-Za-z0-9_]+)`)

// TestEveryPromiseIsTestedOnEveryPath fails if a cell of the matrix is missing, or names a test that does not exist.
func TestEveryPromiseIsTestedOnEveryPath(t *testing.T) {
	promises := 0
	for block := range strings.SplitSeq(strings.TrimSpace(promisesText), "\n\n") {
		lines := strings.Split(block, "\n")
		if strings.HasPrefix(block, "#") {
			continue
		}
		promises++
		var seen []string
		for _, line := range lines[1:] {
			cells, tests, ok := strings.Cut(line, ": ")
			if !ok {
				t.Fatalf("%s: %q is not a cell", lines[0], line)
			}
			for path := range strings.FieldsSeq(cells) {
				if !slices.Contains(paths, path) || slices.Contains(seen, path) {
					t.Errorf("%s: %s is not a path, or there twice", lines[0], path)
				}
				seen = append(seen, path)
			}
			found := named.FindAllStringSubmatch(tests, -1)
			if reason, none := strings.CutPrefix(tests, "none: "); none && len(strings.Fields(reason)) > 2 {
				continue
			}
			if len(found) == 0 || len(found) != len(strings.Fields(tests)) {
				t.Errorf("%s: %q names no test", lines[0], line)
			}
			for _, m := range found {
				mustHave(t, m[1], m[2])
			}
		}
		for _, path := range paths {
			if !slices.Contains(seen, path) {
				t.Errorf("%s: nothing says what holds it on the path %s", lines[0], path)
			}
		}
	}
	if promises != 15 {
		t.Errorf("%d promises, and the architecture has 15", promises)
	}
}

// TestEveryPromiseHasAMutant fails if a mutant does not fit the source any more, names a test that does not exist or that
// its promise or requirement does not name, or if a promise or requirement has no mutant.
func TestEveryPromiseHasAMutant(t *testing.T) {
	all, err := parseMutants(mutantsText)
	if err != nil {
		t.Fatal(err)
	}
	named := testsOfPromises()
	requirements := testsOfRequirements(t)
	maps.Copy(named, requirements)
	killed := make(map[string][]string)
	for _, m := range all {
		if _, again := killed[m.Of]; again && requirements[m.Of] != nil {
			t.Errorf("%s has two mutants", m.Of)
		}
		if _, err := m.apply(root); err != nil {
			t.Error(err)
		}
		for _, k := range m.Kills {
			for _, test := range k.names(k.Tests) {
				killed[m.Of] = append(killed[m.Of], test)
				if !slices.Contains(named[m.Of], test) {
					t.Errorf("the mutant of %s must fail %s, which %[1]s does not name", m.Of, test)
				}
			}
			for _, test := range k.Tests {
				mustHave(t, k.Package, test)
			}
		}
	}
	for name := range named {
		if killed[name] == nil {
			t.Errorf("%s has no mutant", name)
		}
	}
	everyCellIsKilled(t, killed)
}

// everyCellIsKilled fails if a test of a cell is neither killed by a mutant of its promise nor in the list of those that
// wait for one, or if it is both.
func everyCellIsKilled(t *testing.T, killed map[string][]string) {
	t.Helper()
	waiting := make(map[string]bool)
	for line := range strings.Lines(waitingText) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			waiting[line] = true
		}
	}
	for promise, tests := range testsOfPromises() {
		for _, test := range tests {
			key := promise + " " + test
			if dead := slices.Contains(killed[promise], test); dead == waiting[key] {
				t.Errorf("%s: killed %v, in waiting.txt %v", key, dead, waiting[key])
			}
			delete(waiting, key)
		}
	}
	for key := range waiting {
		t.Errorf("waiting.txt has %s, which is in no cell", key)
	}
}

// testsOfPromises returns the tests of the cells, by promise.
func testsOfPromises() map[string][]string {
	tests := make(map[string][]string)
	for block := range strings.SplitSeq(strings.TrimSpace(promisesText), "\n\n") {
		name, _, _ := strings.Cut(block, ":")
		for _, m := range named.FindAllStringSubmatch(block, -1) {
			if test := m[1] + "." + m[2]; !slices.Contains(tests[name], test) {
				tests[name] = append(tests[name], test)
			}
		}
	}
	return tests
}

// testsOfRequirements returns the tests of the rows, by "requirement" and number.
func testsOfRequirements(t *testing.T) map[string][]string {
	t.Helper()
	page, err := os.ReadFile(filepath.Join(root, "docs/reference/requirements.md"))
	if err != nil {
		t.Fatal(err)
	}
	tests := make(map[string][]string)
	for line := range strings.Lines(string(page)) {
		cells := strings.Split(line, "|")
		if len(cells) < 4 || !strings.HasPrefix(line, "| ") || strings.HasPrefix(line, "| number") {
			continue
		}
		name := "requirement " + strings.TrimSpace(cells[1])
		if tests[name] != nil {
			t.Errorf("%s is there twice", name)
		}
		for _, m := range named.FindAllStringSubmatch(line, -1) {
			tests[name] = append(tests[name], m[1]+"."+m[2])
		}
	}
	if len(tests) < 100 {
		t.Fatalf("only %d requirements", len(tests))
	}
	return tests
}

// mustHave fails if the package has no such test.
func mustHave(t *testing.T, pkg, name string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(root, filepath.FromSlash(pkg), "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if text, err := os.ReadFile(file); err == nil && strings.Contains(string(text), "func "+name+"(") {
			return
		}
	}
	t.Errorf("package %s has no test %s", pkg, name)
}

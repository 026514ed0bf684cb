package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const root = "../.."

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

// TestEveryPromiseHasAMutant fails if a promise, or a requirement with a mutant, has none that fits the source any more.
func TestEveryPromiseHasAMutant(t *testing.T) {
	all, err := parseMutants(mutantsText)
	if err != nil {
		t.Fatal(err)
	}
	of := make(map[string]bool)
	for _, m := range all {
		if of[m.Of] {
			t.Errorf("%s has two mutants", m.Of)
		}
		of[m.Of] = true
		if _, err := m.apply(root); err != nil {
			t.Error(err)
		}
		for _, k := range m.Kills {
			for _, test := range k.Tests {
				mustHave(t, k.Package, test)
			}
		}
	}
	for line := range strings.Lines(promisesText) {
		if name, _, ok := strings.Cut(line, ":"); ok && strings.HasPrefix(name, "promise ") && !of[name] {
			t.Errorf("%s has no mutant", name)
		}
	}
	page, err := os.ReadFile(filepath.Join(root, "docs/reference/requirements.md"))
	if err != nil {
		t.Fatal(err)
	}
	for name := range of {
		if row, ok := strings.CutPrefix(name, "requirement "); ok && !strings.Contains(string(page), "| "+row+" |") {
			t.Errorf("%s is not a row of docs/reference/requirements.md", name)
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
		if text, err := os.ReadFile(file); err == nil && strings.Contains(string(text), "func "+name+"(") {
			return
		}
	}
	t.Errorf("package %s has no test %s", pkg, name)
}

package apicheck

import (
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write api/current.txt")

const current = "../../api/current.txt"

// maxNames limits the package-level names, without those of the packages eval and console, which still grow.
const maxNames = 850

// TestExportedNames compares the exported names with api/current.txt. An intended change is
// listed by -update. A line that goes needs an entry in CHANGELOG.md.
func TestExportedNames(t *testing.T) {
	lines, err := Surface("../..")
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d package-level names", TopLevel(lines))
	promised := slices.DeleteFunc(slices.Clone(lines), func(line string) bool {
		return strings.HasPrefix(line, "pkg eval, ") || strings.HasPrefix(line, "pkg console, ")
	})
	if n := TopLevel(promised); n > maxNames {
		t.Errorf("%d package-level names without eval and console; the limit is %d. A name that only packages of this module use belongs in an internal package", n, maxNames)
	}
	if *update {
		if err := os.MkdirAll(filepath.Dir(current), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(current, []byte(strings.Join(lines, "\n")+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	b, err := os.ReadFile(current)
	if err != nil {
		t.Fatal(err)
	}
	listed := strings.Split(strings.TrimSpace(strings.ReplaceAll(string(b), "\r\n", "\n")), "\n")
	for sign, lists := range map[string][2][]string{"+": {lines, listed}, "-": {listed, lines}} {
		for _, line := range lists[0] {
			if _, ok := slices.BinarySearch(lists[1], line); !ok {
				t.Errorf("%s%s", sign, line)
			}
		}
	}
	if t.Failed() {
		t.Log("the exported names are not those of api/current.txt; if that is meant: go test ./internal/apicheck -update")
	}
}

func TestSurfaceOfAPackage(t *testing.T) {
	dir := t.TempDir()
	for name, src := range map[string]string{
		"p/p.go": `package p
type T[K comparable] struct { A, b int; F func(x int) (y string, err error); *E; e }
type E struct{}
type e struct{}
type I interface { M(a int) error; hidden(); E2 }
type E2 interface { Close() }
type Old = T[int]
func (t *T[K]) Do(ctx K, rest ...string) (n int, err error) { return }
func (e) Gone() {}
func Map[A any, B any](a []A, f func(a A) B) []B { return nil }
const ( One Kind = iota; Two; three )
type Kind uint8
var V, w = 1, 2
`,
		"p/p_windows.go":     "package p\nfunc Windows() {}\n",
		"p/p_test.go":        "package p\nfunc Test() {}\n",
		"p/internal/q/q.go":  "package q\nfunc Q() {}\n",
		"cmd/c/main.go":      "package main\nfunc M() {}\n",
		"tool/program/pr.go": "package main\nfunc M() {}\n",
	} {
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(src), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := Surface(dir)
	want := `pkg p, const One Kind
pkg p, const Two Kind
pkg p, func Map[A any, B any]([]A, func(A) B) []B
pkg p, method (*T[K]) Do(K, ...string) (int, error)
pkg p, type E struct
pkg p, type E2 interface { Close }
pkg p, type E2 interface, Close()
pkg p, type I interface { E2, M, unexported methods }
pkg p, type I interface, M(int) error
pkg p, type Kind uint8
pkg p, type Old = T[int]
pkg p, type T[K comparable] struct
pkg p, type T[K comparable] struct, A int
pkg p, type T[K comparable] struct, F func(int) (string, error)
pkg p, type T[K comparable] struct, embedded *E
pkg p, var V`
	if err != nil || strings.Join(got, "\n") != want {
		t.Errorf("%v\n%s", err, strings.Join(got, "\n"))
	}
	if n := TopLevel(got); n != 10 {
		t.Errorf("%d package-level names", n)
	}
}

// TestPageOfPackages: docs/api.md has a row for each package, with names that exist.
func TestPageOfPackages(t *testing.T) {
	page, err := os.ReadFile("../../docs/api.md")
	if err != nil {
		t.Fatal(err)
	}
	lines, err := Surface("../..")
	if err != nil {
		t.Fatal(err)
	}
	names := make(map[string]map[string]bool)
	for _, line := range lines {
		pkg, rest, _ := strings.Cut(strings.TrimPrefix(line, "pkg "), ", ")
		words := strings.FieldsFunc(rest, func(r rune) bool { return strings.ContainsRune(" ([", r) })
		if names[pkg] == nil {
			names[pkg] = make(map[string]bool)
		}
		if words[0] != "method" {
			names[pkg][words[1]] = true
		}
	}
	for line := range strings.Lines(string(page)) {
		cells := strings.Split(line, " | ")
		if len(cells) != 4 || !strings.HasPrefix(line, "| `") {
			continue
		}
		pkg := strings.Trim(cells[0], "| `")
		if names[pkg] == nil {
			t.Errorf("%s is not a public package, or has two rows", pkg)
		}
		listed := strings.Fields(strings.ReplaceAll(cells[2], "`", ""))
		if len(listed) == 0 || len(listed) > 5 {
			t.Errorf("%s has %d names on the page", pkg, len(listed))
		}
		for _, n := range listed {
			if !names[pkg][n] {
				t.Errorf("%s has no exported name %s", pkg, n)
			}
		}
		delete(names, pkg)
	}
	for pkg := range names {
		t.Errorf("docs/api.md lacks package %s", pkg)
	}
}

package requirements

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	link    = regexp.MustCompile(`\]\(([^)#\s]*)(?:#([^)\s]*))?\)`)
	heading = regexp.MustCompile(`(?m)^#+ (.*)$`)
	noise   = regexp.MustCompile("[^a-z0-9 _-]")
)

// TestLinksLeadSomewhere fails if a document links to a file that is not there,
// or to a heading that a document does not have.
func TestLinksLeadSomewhere(t *testing.T) {
	for _, file := range append(documents(t), "CHANGELOG.md", "SECURITY.md") {
		for _, m := range link.FindAllStringSubmatch(read(t, file), -1) {
			if strings.Contains(m[1], "://") {
				continue
			}
			to := file
			if m[1] != "" {
				to = filepath.ToSlash(filepath.Join(filepath.Dir(file), filepath.FromSlash(m[1])))
			}
			if _, err := os.Stat(filepath.Join(root, filepath.FromSlash(to))); err != nil {
				t.Errorf("%s links to %s, which is not there", file, m[1])
			} else if m[2] != "" && !headings(read(t, to))[m[2]] {
				t.Errorf("%s links to %s#%s, but there is no such heading", file, m[1], m[2])
			}
		}
	}
}

// headings returns the names by which the headings of a document are linked to.
func headings(text string) map[string]bool {
	all := make(map[string]bool)
	for _, m := range heading.FindAllStringSubmatch(text, -1) {
		all[strings.ReplaceAll(noise.ReplaceAllString(strings.ToLower(m[1]), ""), " ", "-")] = true
	}
	return all
}

// source is a Go file of this module that a document names.
var source = regexp.MustCompile("`((?:[a-z_]+/)+[a-z_]+\\.go)`")

// TestSourceFilesExist fails if a document names a Go file, with its directory, that does not exist.
func TestSourceFilesExist(t *testing.T) {
	found := 0
	for _, file := range documents(t) {
		for _, m := range source.FindAllStringSubmatch(read(t, file), -1) {
			found++
			if _, err := os.Stat(filepath.Join(root, filepath.FromSlash(m[1]))); err != nil {
				t.Errorf("%s names %s, which does not exist", file, m[1])
			}
		}
	}
	if found < 20 {
		t.Errorf("only %d files were found in the documents", found)
	}
}

// TestReadmeNamesTheCommandOfTheTests: it is the one that .ci/run runs.
func TestReadmeNamesTheCommandOfTheTests(t *testing.T) {
	if !strings.Contains(read(t, "README.md"), "Run the tests with `go test ./...`.") {
		t.Error("README.md does not say how to run the tests")
	}
	if !strings.Contains(read(t, ".ci/run"), "./internal/suite -skips .ci/skips.txt ./...") {
		t.Error(".ci/run does not run the tests of all packages")
	}
}

// TestPagesOpenWithTheirUse fails if the first sentence of a page does not tell what the reader can do with it.
func TestPagesOpenWithTheirUse(t *testing.T) {
	for _, file := range documents(t) {
		if !strings.HasPrefix(file, "docs/") || strings.HasPrefix(file, "docs/design/") {
			continue
		}
		_, text, _ := strings.Cut(read(t, file), "\n\n")
		if !strings.HasPrefix(text, "After this page") && !strings.HasPrefix(text, "Look up") {
			opening, _, _ := strings.Cut(text, "\n")
			t.Errorf(`%s opens with %q: begin with "After this page you can", or "Look up" for reference`, file, opening)
		}
	}
}

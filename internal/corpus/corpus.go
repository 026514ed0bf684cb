// Package corpus finds the real data that tests read: outputs of models, cases
// of other parsers, schemas, conversations.
//
// The whole corpus is a folder next to the module, named by TOOLPOST_CORPUS
// (default ../shared/corpus from the module root). A slice of it is committed
// below testdata, with its licences. The properties are thereby tested in every
// clone. Figures, which mean something only over a large set, need the whole.
package corpus

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

// Slice is the value of TOOLPOST_CORPUS that chooses the committed slice even
// if the whole corpus is there.
const Slice = "slice"

// Path returns the path of a file or folder of the corpus: of the whole corpus
// if it exists, else of the committed slice. It skips the test if neither has
// it.
func Path(tb testing.TB, name string) string {
	tb.Helper()
	dirs := []string{filepath.Join(home(), "testdata")}
	if dir := whole(); dir != "" {
		dirs = []string{dir}
	}
	for _, dir := range dirs {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if _, err := os.Stat(path); err == nil {
			return path
		}
	}
	tb.Skipf("no corpus: %s is not in the committed slice; set TOOLPOST_CORPUS", name)
	return ""
}

// longestLine limits a line of a file.
const longestLine = 64 << 20

// Lines decodes a file of JSON lines, whose path [Path] returned. Numbers of values
// without a type are json.Numbers.
func Lines[T any](tb testing.TB, path string) []T {
	tb.Helper()
	f, err := os.Open(path)
	if err != nil {
		tb.Fatal(err)
	}
	defer f.Close()
	var rows []T
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, longestLine)
	for lines.Scan() {
		var row T
		dec := json.NewDecoder(bytes.NewReader(lines.Bytes()))
		dec.UseNumber()
		if err := dec.Decode(&row); err != nil {
			tb.Fatalf("%s, line %d: %v", path, len(rows)+1, err)
		}
		rows = append(rows, row)
	}
	if err := lines.Err(); err != nil {
		tb.Fatalf("%s, line %d: %v", path, len(rows)+1, err)
	}
	return rows
}

// Whole reports whether Path returns files of the whole corpus.
func Whole() bool { return whole() != "" }

func whole() string {
	dir := os.Getenv("TOOLPOST_CORPUS")
	if dir == Slice {
		return ""
	}
	if dir == "" {
		dir = filepath.Join(home(), "..", "..", "..", "shared", "corpus")
	}
	if _, err := os.Stat(filepath.Join(dir, "dialects")); err != nil {
		return ""
	}
	return dir
}

// home is the folder of this file. A test built with -trimpath does not know
// the path of its sources, but it runs in a folder of the module.
func home() string {
	_, file, _, _ := runtime.Caller(0)
	if filepath.IsAbs(file) {
		return filepath.Dir(file)
	}
	dir, err := os.Getwd()
	for err == nil && dir != filepath.Dir(dir) {
		if here := filepath.Join(dir, "internal", "corpus"); isDir(here) {
			return here
		}
		dir = filepath.Dir(dir)
	}
	return filepath.Join("internal", "corpus")
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

package examples

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"
)

// TestLinesNextToPeers counts the lines of the programs in the table of programs.md, and divides again.
func TestLinesNextToPeers(t *testing.T) {
	page, err := os.ReadFile("../programs.md")
	if err != nil {
		t.Fatal(err)
	}
	blank, comments := regexp.MustCompile(`(?m)^\s*(//.*)?$\n?`), regexp.MustCompile(`(?ms)^/\*.*?\*/$`)
	row := regexp.MustCompile("(?m)^\\| (?:[^|]*: `(\\w+)` \\| (\\d+) )?(?:\\| )?\\|[^|]*`[^|`]*` \\| (\\d+) \\| ([\\d.]+) \\|$")
	here, rows := 0, 0
	for _, m := range row.FindAllStringSubmatch(string(page), -1) {
		rows++
		if m[1] != "" {
			files, err := filepath.Glob(m[1] + "/*.go")
			if err != nil || len(files) == 0 {
				t.Fatalf("%s: %v", m[1], err)
			}
			here = 0
			for _, file := range files {
				src, err := os.ReadFile(file)
				if err != nil {
					t.Fatal(err)
				}
				src = blank.ReplaceAll(comments.ReplaceAll(src, nil), nil)
				for _, c := range src {
					if c == '\n' {
						here++
					}
				}
			}
			if m[2] != fmt.Sprint(here) {
				t.Errorf("%s has %d lines, not %s", m[1], here, m[2])
			}
		}
		peer, _ := strconv.Atoi(m[3])
		if want := fmt.Sprintf("%.1f", float64(here)/float64(peer)); m[4] != want {
			t.Errorf("%d lines next to %d are %s, not %s", here, peer, want, m[4])
		}
		if 10*here > 12*peer {
			t.Errorf("%s: %d lines are more than 1.2 times the %d of its peer", m[1], here, peer)
		}
	}
	if rows != 13 {
		t.Errorf("%d rows of the table were read", rows)
	}
}

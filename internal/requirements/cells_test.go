package requirements

import (
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the table of docs/reference/cells.md")

// cellsTable holds the statements of docs/reference/cells.md about conformance/cells.json.
type cellsTable struct {
	Cells []struct {
		Cell, Format, Explained string
		Modes                   []string
		// Without are the reasons why a client cannot pass, by its language and, after a slash, the mode.
		Without map[string]string
	}
	Absent []struct{ Cell, Format, Why string }
	// Through holds the differences through a gateway, by the kinds of its upstream.
	Through []struct {
		Over              []string
		Cell, Format, Why string
	}
}

const (
	cellsBegin = "<!-- cells: go test ./internal/requirements -run ConformancePage -update -->\n"
	cellsEnd   = "<!-- end of cells -->"
)

// TestConformancePage: docs/reference/cells.md shows every cell that vendors' clients
// are tried with, and why a format lacks one.
func TestConformancePage(t *testing.T) {
	var table cellsTable
	if err := json.Unmarshal([]byte(read(t, "conformance/cells.json")), &table); err != nil {
		t.Fatal(err)
	}
	const page = "docs/reference/cells.md"
	text := read(t, page)
	before, rest, ok := strings.Cut(text, cellsBegin)
	shown, after, end := strings.Cut(rest, cellsEnd)
	if !ok || !end {
		t.Fatal("the page has no place for the table")
	}
	want := table.markdown()
	if *update {
		if err := os.WriteFile(filepath.Join(root, filepath.FromSlash(page)), []byte(before+cellsBegin+want+cellsEnd+after), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if shown != want {
		t.Errorf("%s does not show conformance/cells.json: go test ./internal/requirements -run ConformancePage -update", page)
	}
	for _, c := range table.Cells {
		if !strings.Contains(text, "| "+c.Cell+" |") {
			t.Errorf("%s does not name the cell %q", page, c.Cell)
		}
	}
}

// markdown is a table with a row per cell and a column per format, and the reasons
// below it.
func (c cellsTable) markdown() string {
	var names, formats, reasons []string
	place := map[[2]string]string{}
	note := func(why string) string {
		if !slices.Contains(reasons, why) {
			reasons = append(reasons, why)
		}
		return fmt.Sprint(slices.Index(reasons, why) + 1)
	}
	for _, cell := range c.Cells {
		if !slices.Contains(names, cell.Cell) {
			names = append(names, cell.Cell)
		}
		if !slices.Contains(formats, cell.Format) {
			formats = append(formats, cell.Format)
		}
		in := "W S"
		if cell.Modes != nil {
			in = strings.NewReplacer("whole", "W", "stream", "S").Replace(strings.Join(cell.Modes, " "))
		}
		if cell.Explained != "" {
			in += " (" + note(cell.Explained) + ")"
		}
		for _, client := range slices.Sorted(maps.Keys(cell.Without)) {
			in += " (" + note(cell.Without[client]) + ")"
		}
		place[[2]string{cell.Cell, cell.Format}] = in
	}
	for _, a := range c.Absent {
		place[[2]string{a.Cell, a.Format}] = "(" + note(a.Why) + ")"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "\n| cell | %s |\n|---|%s\n", strings.Join(formats, " | "), strings.Repeat("---|", len(formats)))
	for _, name := range names {
		fmt.Fprintf(&b, "| %s |", name)
		for _, f := range formats {
			fmt.Fprintf(&b, " %s |", place[[2]string{name, f}])
		}
		b.WriteByte('\n')
	}
	b.WriteByte('\n')
	for i, why := range reasons {
		fmt.Fprintf(&b, "%d. %s.\n", i+1, why)
	}
	b.WriteByte('\n')
	c.through(&b)
	return b.String()
}

// through writes the differences through a gateway.
func (c cellsTable) through(b *strings.Builder) {
	b.WriteString("Through the gateway these cells say something else:\n\n| cell | client | upstream | why |\n|---|---|---|---|\n")
	for _, t := range c.Through {
		fmt.Fprintf(b, "| %s | %s | %s | %s |\n", t.Cell, t.Format, strings.Join(t.Over, ", "), t.Why)
	}
	b.WriteByte('\n')
}

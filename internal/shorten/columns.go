package shorten

import (
	"strings"
	"unicode"
)

// The bounds of a table that is laid out with tabs or blanks.
const (
	leastRows   = 4
	leastCells  = 3
	widestTable = 500 // characters of a line
)

// keepColumns writes bars between the cells of tables that are laid out with tabs or
// blanks and have empty cells. A view contains no runs of space, and without bars the
// text after an empty cell would move into it.
func keepColumns(lines []string) []string {
	for from := 0; from < len(lines); from++ {
		to := from
		for to < len(lines) && !blank(lines[to]) {
			to++
		}
		if block := lines[from:to]; len(block) >= leastRows {
			if !barTabs(block) && !barBlanks(block) {
				barBlanks(block[1:]) // below a title
			}
		}
		from = to
	}
	return lines
}

// barTabs writes the lines of a table with tabs, if there is one with empty cells.
func barTabs(block []string) bool {
	tabs, empty := strings.Count(block[0], "\t"), false
	for _, l := range block {
		l = strings.TrimRight(l, "\r\n")
		if n := strings.Count(l, "\t"); n != tabs || n == 0 {
			return false
		}
		cells := strings.Split(l, "\t")
		for i, c := range cells {
			empty = empty || blank(c) && i < tabs
		}
	}
	for i, l := range block {
		if empty {
			block[i] = strings.Join(trimAll(strings.Split(l, "\t")), "|")
		}
	}
	return empty
}

func trimAll(cells []string) []string {
	for i, c := range cells {
		cells[i] = strings.TrimSpace(c)
	}
	return cells
}

// barBlanks writes the lines of a table with blanks, if there is one with empty cells:
// its columns have two blanks between them in all lines, and the first line has them all.
func barBlanks(block []string) bool {
	if len(block) < leastRows {
		return false
	}
	var filled []bool // the places that have a character in some line
	for _, l := range block {
		if strings.ContainsAny(strings.TrimRight(l, "\t\r\n"), "\t") || len(l) > widestTable {
			return false
		}
		at := 0
		for _, r := range l {
			if at == len(filled) {
				filled = append(filled, false)
			}
			filled[at] = filled[at] || !unicode.IsSpace(r)
			at++
		}
	}
	starts := columnStarts(filled)
	if len(starts) < leastCells {
		return false
	}
	rows, empty := make([]string, len(block)), false
	for i, l := range block {
		cells := trimAll(cutAtColumns(l, starts))
		row := strings.TrimRight(strings.Join(cells, "|"), "|")
		if i == 0 && strings.Contains("|"+row+"|", "||") || i == 0 && strings.Count(row, "|") < len(starts)-1 {
			return false
		}
		empty = empty || strings.HasPrefix(row, "|") || strings.Contains(row, "||")
		rows[i] = row
	}
	if empty {
		copy(block, rows)
	}
	return empty
}

// columnStarts returns where columns begin: behind two places that are empty.
func columnStarts(filled []bool) []int {
	var starts []int
	for i, f := range filled {
		if f && (len(starts) == 0 || i > 1 && !filled[i-1] && !filled[i-2]) {
			starts = append(starts, i)
		}
	}
	return starts
}

// cutAtColumns cuts a line before the columns.
func cutAtColumns(l string, starts []int) []string {
	cells := make([]string, len(starts))
	at, col, from := 0, 0, 0
	for i := range l {
		if col+1 < len(starts) && at == starts[col+1] {
			cells[col], from = l[from:i], i
			col++
		}
		at++
	}
	cells[col] = l[from:]
	return cells
}

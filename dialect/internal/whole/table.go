package whole

import "strings"

// untabled replaces a Markdown table in a block by a line for each value: "key: value". The table has a row for each key,
// or one row of values below the keys. Any other table stays.
func untabled(block string) string {
	lines := strings.Split(block, "\n")
	first, last := -1, -1
	for i, line := range lines {
		if strings.HasPrefix(strings.TrimSpace(line), "|") {
			if last >= 0 && last != i-1 {
				return block
			}
			if last = i; first < 0 {
				first = i
			}
		}
	}
	if first < 0 || last < first+2 || strings.Trim(lines[first+1], "|-: \r") != "" {
		return block
	}
	head, rows := cells(lines[first]), lines[first+2:last+1]
	var out []string
	switch {
	case len(head) == 2 && strings.EqualFold(head[1], "value"):
		for _, row := range rows {
			pair := cells(row)
			if len(pair) != 2 {
				return block
			}
			out = append(out, pair[0]+": "+pair[1])
		}
	case len(rows) == 1 && len(cells(rows[0])) == len(head):
		for i, value := range cells(rows[0]) {
			out = append(out, head[i]+": "+value)
		}
	default:
		return block
	}
	return strings.Join(append(append(lines[:first:first], out...), lines[last+1:]...), "\n")
}

// cells returns the cells of a row of a table.
func cells(row string) (list []string) {
	row = strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(row), "|"), "|")
	for cell := range strings.SplitSeq(row, "|") {
		list = append(list, strings.TrimSpace(cell))
	}
	return list
}

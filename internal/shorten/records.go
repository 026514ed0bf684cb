package shorten

import (
	"strconv"
	"strings"
)

// readRecords reads a numbered list whose entries have fields, as many tools print it:
//
//  1. Title
//     ID: 17
//     Points: 3 | Comments: 4
//
// The text before the list is separate.
func readRecords(text string) (*node, bool) {
	var before []string
	var rows []*node
	fields := 0
	for l := range strings.Lines(text) {
		t := strings.TrimSpace(l)
		if t == "" {
			continue
		}
		if title, ok := numbered(t, len(rows)+1); ok {
			rows = append(rows, &node{kind: '{', keys: []string{"title"}, kids: []*node{{kind: '"', text: title}}})
			continue
		}
		if len(rows) == 0 {
			before = append(before, t)
			continue
		}
		row := rows[len(rows)-1]
		fields += row.fields(t)
	}
	if len(rows) < 3 || fields < len(rows) || len(before) > len(rows) {
		return nil, false
	}
	list := &node{kind: '[', kids: rows}
	if len(before) == 0 {
		return list, true
	}
	return &node{kind: '{', keys: []string{"before", "entries"}, kids: []*node{{kind: '"', text: strings.Join(before, "\n")}, list}}, true
}

// numbered returns the text of a line that begins with the number n.
func numbered(t string, n int) (string, bool) {
	rest, ok := strings.CutPrefix(t, strconv.Itoa(n))
	if !ok || len(rest) < 3 || rest[0] != '.' && rest[0] != ')' || rest[1] != ' ' {
		return "", false
	}
	return strings.TrimSpace(rest[2:]), true
}

// fields adds the fields of a line to a row, and returns how many there are. A line
// without fields continues the field before.
func (n *node) fields(t string) int {
	added := 0
	for part := range strings.SplitSeq(t, " | ") {
		key, value, ok := pair(strings.TrimLeft(part, "-* "))
		if !ok || n.get(key) != nil || len(n.keys) > 24 {
			n.kids[len(n.kids)-1].text += "\n" + part
			continue
		}
		n.keys, n.kids = append(n.keys, key), append(n.kids, plainScalar(value))
		added++
	}
	return added
}

// Package near finds the intended name for a misspelled one.
package near

import "strings"

// Names returns up to most of names that are like name, best first: names that
// differ only in case or in a prefix, then names that are a few edits away. Of
// long names only the beginning counts.
func Names(name string, names []string, most int) []string {
	type candidate struct {
		name string
		cost int
	}
	var found []candidate
	want := fold(name)
	for _, n := range names {
		have := fold(n)
		cost := editDistance(want, have)
		if cost > 0 && len(want) > 2 && (strings.HasSuffix(have, want) || strings.HasSuffix(want, have) && len(have) > 2) {
			cost = 1 // "read_file" for "files__read_file", "functions.read_file" for "read_file"
		}
		if cost <= max(2, len(want)/3) && cost < len(want) {
			found = append(found, candidate{n, cost})
		}
	}
	var out []string
	for cost := 0; len(out) < most && len(out) < len(found); cost++ {
		for _, c := range found {
			if c.cost == cost && len(out) < most {
				out = append(out, c.name)
			}
		}
	}
	return out
}

// Word returns the name that a person most likely meant by a word, "" if none is close: at most one letter of three
// differs. [Names] is more generous, because a model has few names to choose from.
func Word(word string, names []string) string {
	for _, n := range Names(word, names, len(names)) {
		if want, have := fold(word), fold(n); editDistance(want, have) <= max(1, min(len(want), len(have))/3) {
			return n
		}
	}
	return ""
}

// maxFolded limits the letters of a name that are compared.
const maxFolded = 128

// fold drops differences that models introduce by accident: case, and the
// characters between words.
func fold(s string) string {
	var b strings.Builder
	for i := 0; i < len(s) && b.Len() < maxFolded; i++ {
		switch c := s[i]; {
		case c >= 'A' && c <= 'Z':
			b.WriteByte(c + 'a' - 'A')
		case c != '_' && c != '-' && c != '.' && c != ' ':
			b.WriteByte(c)
		}
	}
	return b.String()
}

// editDistance counts the letters to insert, delete, replace or swap with
// their neighbour.
func editDistance(a, b string) int {
	before, prev := make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range prev {
		prev[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row := make([]int, len(b)+1)
		row[0] = i
		for j := 1; j <= len(b); j++ {
			change := prev[j-1]
			if a[i-1] != b[j-1] {
				change++
			}
			row[j] = min(prev[j]+1, row[j-1]+1, change)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, prev = prev, row
	}
	return prev[len(b)]
}

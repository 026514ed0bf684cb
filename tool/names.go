package tool

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// maxName is the longest name every vendor accepts.
const maxName = 64

// ValidName reports whether every vendor accepts name: 1 to 64 ASCII letters,
// digits, underscores and hyphens.
func ValidName(name string) bool {
	if name == "" || len(name) > maxName {
		return false
	}
	for i := range len(name) {
		if !nameByte(name[i]) {
			return false
		}
	}
	return true
}

func nameByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '-'
}

// SafeName returns name if it is valid, and otherwise a valid name made from
// it: what is not allowed becomes "_", and a piece of its hash at the end keeps
// different names apart. The same name gives the same result everywhere.
func SafeName(name string) string { return safeName(name, name, 8) }

// safeName makes shown valid, with n hex digits of the hash of whole wherever
// it has to be changed.
func safeName(shown, whole string, n int) string {
	if ValidName(shown) && n <= 8 {
		return shown
	}
	sum := sha256.Sum256([]byte(whole))
	tail := "_" + hex.EncodeToString(sum[:])[:n]
	var b strings.Builder
	for i := 0; i < len(shown) && b.Len() < maxName-len(tail); i++ {
		if nameByte(shown[i]) {
			b.WriteByte(shown[i])
		} else if s := b.String(); s != "" && s[len(s)-1] != '_' {
			b.WriteByte('_')
		}
	}
	return strings.TrimRight(b.String(), "_") + tail
}

// separator stands between namespace and tool. Nothing ever splits a name at
// it: the way back is written down in the tool.
const separator = "__"

// nearest returns up to most of names that are like name, best first: those
// that differ only in case or in a prefix, then those a few edits away.
func nearest(name string, names []string, most int) []string {
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
		if cost <= max(2, len(want)/3) {
			found = append(found, candidate{n, cost})
		}
	}
	out := make([]string, 0, most)
	for cost := 0; len(out) < most && len(out) < len(found); cost++ {
		for _, c := range found {
			if c.cost == cost && len(out) < most {
				out = append(out, c.name)
			}
		}
	}
	return out
}

// fold drops what models vary in a name without meaning to: case, and the
// characters between words.
func fold(s string) string {
	var b strings.Builder
	for i := 0; i < len(s) && b.Len() < 2*maxName; i++ {
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

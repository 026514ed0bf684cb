package shorten

import (
	"fmt"
	"strings"
)

// node is a value of a result: an object, a list, or a leaf.
type node struct {
	kind  byte   // '{', '[', '"', or the first letter of number, true, false, null
	text  string // of a leaf: a string as it reads, or the literal
	keys  []string
	kids  []*node
	cut   bool // the result ended inside of it
	texts bool // a list of texts that were wrapped, not of values
}

// deepest and mostNodes bound a tree.
const (
	deepest   = 64
	mostNodes = 400_000
)

// get returns the value of a key, nil if there is none.
func (n *node) get(key string) *node {
	if n == nil {
		return nil
	}
	for i, k := range n.keys {
		if k == key {
			return n.kids[i]
		}
	}
	return nil
}

// equal reports whether two values are the same.
func equal(a, b *node) bool {
	if a.kind != b.kind || a.text != b.text || len(a.kids) != len(b.kids) {
		return false
	}
	for i, k := range a.keys {
		if b.keys[i] != k {
			return false
		}
	}
	for i, k := range a.kids {
		if !equal(k, b.kids[i]) {
			return false
		}
	}
	return true
}

func (n *node) leaf() bool { return n.kind != '{' && n.kind != '[' }

// empty reports whether a value says nothing: null, "", [] and {}.
func (n *node) empty() bool {
	switch n.kind {
	case '{', '[':
		return len(n.kids) == 0 && !n.cut
	case 'n':
		return true
	}
	return n.kind == '"' && n.text == ""
}

// broken returns an object or a list that ends too early.
func (n *node) broken() *node {
	n.cut, n.keys = true, distinct(n.keys)
	return n
}

// contains reports whether all that v holds is in, which may be wrapped once.
func contains(v, in *node) bool {
	if len(v.kids) == 1 && v.kind == '{' && equal(v.kids[0], in) {
		return true
	}
	return equal(v, in)
}

// textual reports whether a result is text in a wrapping of JSON.
func textual(n *node) bool {
	if n.kind == '[' && len(n.kids) > 0 && n.texts {
		return true
	}
	return n.kind == '"'
}

// textOf returns the text of such a result.
func textOf(n *node) string {
	if n.kind == '"' {
		return n.text
	}
	parts := make([]string, len(n.kids))
	for i, k := range n.kids {
		parts[i] = k.text
	}
	return strings.Join(parts, "\n")
}

// longestTree bounds the results that are read as JSON or YAML. Longer results are
// shown by lines, and so are results with more than mostNodes values or deepest
// levels. The view states that.
const longestTree = 4 << 20

// inlineBytes is how long a value may be that stands on the line of its key.
const inlineBytes = 100

// distinct numbers the keys that an object has more than once, to keep all of their
// values: JSON allows it, and readers differ about which of them counts.
func distinct(keys []string) []string {
	if len(keys) < 2 {
		return keys
	}
	seen := make(map[string]bool, len(keys))
	for _, k := range keys {
		seen[k] = true
	}
	if len(seen) == len(keys) {
		return keys
	}
	times := make(map[string]int)
	for i, k := range keys {
		if times[k]++; times[k] == 1 {
			continue
		}
		for seen[fmt.Sprintf("%s (%d)", k, times[k])] {
			times[k]++
		}
		keys[i] = fmt.Sprintf("%s (%d)", k, times[k])
		seen[keys[i]] = true
	}
	return keys
}

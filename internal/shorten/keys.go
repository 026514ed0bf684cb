package shorten

import (
	"slices"
	"strings"
)

// names are the keys of what names a thing, the best first.
var names = []string{"name", "title", "id", "path", "key", "fullname", "full_name", "url", "uri", "link", "symbol", "code", "label", "email", "subject", "text"}

// handle returns what names an object: the value of its best key, and its id.
func (d *drawing) handle(n *node) string {
	if n.leaf() {
		return d.written(n, d.lim.text, named)
	}
	i := naming(n)
	if i < 0 {
		return d.gist(n, max(min(d.lim.text, 200), 24))
	}
	s := d.called(n.kids[i])
	for j, k := range n.keys {
		if v := n.kids[j]; strings.EqualFold(k, "id") && j != i && v.leaf() && !v.empty() && !d.opaque(k, v) {
			return s + " (" + k + " " + d.scalar(v) + ")"
		}
	}
	return s
}

// called returns the value that names a row.
func (d *drawing) called(v *node) string {
	if v != nil && v.leaf() && !v.empty() {
		return d.written(v, max(d.lim.text, 80), named)
	}
	return d.cell(v, true)
}

// naming returns the place of the member that names an object, or -1.
func naming(n *node) int {
	best, rank := -1, all
	for i, k := range n.keys {
		if v := n.kids[i]; !v.leaf() || v.empty() || v.kind != '"' && v.kind != '0' {
			continue
		}
		if r := nameRank(k); r < rank {
			best, rank = i, r
		}
	}
	return best
}

// nameRank is how well a key names a thing; all if it does not.
func nameRank(key string) int {
	low := strings.ToLower(key)
	if i := slices.Index(names, low); i >= 0 {
		return i
	}
	for i, n := range names {
		if before, ok := strings.CutSuffix(low, n); ok {
			last := len(before) - 1 // there is one: the key is longer than the name
			if before[last] == '_' || before[last] == '-' || len(key) == len(low) && key[last+1] >= 'A' && key[last+1] <= 'Z' {
				return len(names) + i
			}
		}
	}
	return all
}

// opaque reports whether a value is a useless id: no tool takes it, and nothing else
// in the result has it.
func (d *drawing) opaque(key string, v *node) bool {
	if d.o.Params == nil || v.kind != '"' || d.times[v.text] > 1 || d.keep[key] {
		return false
	}
	low := strings.ToLower(key)
	is := low == "id" || low == "uuid" || low == "guid" || low == "etag" || low == "sha" || low == "hash" ||
		strings.HasSuffix(low, "_id") || strings.HasSuffix(key, "Id") || strings.HasSuffix(key, "ID")
	return is && !d.taken(low) && random(v.text)
}

// takenAs are other names of parameters that take what a key holds.
var takenAs = map[string][]string{
	"sha":  {"commit", "ref", "revision", "rev", "digest", "hash", "tree", "blob", "object", "base", "head"},
	"hash": {"commit", "ref", "revision", "rev", "digest", "sha", "tree", "blob", "object", "checksum", "tx", "transaction"},
	"etag": {"if_match", "if-match", "ifmatch", "version"},
	"uuid": {"guid"},
	"guid": {"uuid"},
}

// taken reports whether a tool takes what such a key holds: a parameter has its name, or
// ends in it, or has another name for it.
func (d *drawing) taken(key string) bool {
	for p := range d.takes {
		if strings.HasSuffix(p, key) || strings.HasSuffix(key, p) {
			return true
		}
		for _, other := range takenAs[key] {
			if strings.HasSuffix(p, other) {
				return true
			}
		}
	}
	return false
}

// random reports whether a text is a UUID, a hash or the like, which says nothing to
// a reader.
func random(s string) bool {
	if len(s) < 16 || len(s) > 128 {
		return false
	}
	digits := 0
	for i := range len(s) {
		switch c := s[i]; {
		case c >= '0' && c <= '9':
			digits++
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c == '-', c == '_', c == '+', c == '/', c == '=':
		default:
			return false
		}
	}
	return digits >= 4
}

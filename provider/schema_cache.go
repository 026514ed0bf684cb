package provider

import (
	"sync"

	"github.com/toolpost/toolpost/internal/js"
	"github.com/toolpost/toolpost/schema"
)

// narrowKey is the part of a cache key that is not the schema.
type narrowKey struct {
	vendor schema.Vendor
	strict bool
}

// maxNarrowed bounds the cache of narrowed schemas. When it is full it starts
// again: programs have few tools, and a server whose clients bring their own
// must not grow.
const maxNarrowed = 1024

// narrowings remembers narrowed schemas: the same tools come with every turn.
type narrowings struct {
	mu   sync.Mutex
	n    int                                // that are kept
	seen map[narrowKey]map[string]*narrowed // by the text of the schema
}

type narrowed struct {
	schema.Narrowed
	err  error
	same bool // it is equal to the original, except for the order of members
}

// get returns a narrowed schema, which must not be changed.
func (n *narrowings) get(s schema.Schema, vendor schema.Vendor, strict bool) *narrowed {
	key := narrowKey{vendor, strict}
	n.mu.Lock()
	got := n.seen[key][string(s)]
	n.mu.Unlock()
	if got == nil {
		got = new(narrowed)
		got.Narrowed, got.err = schema.Narrow(s, vendor, strict)
		got.same = got.err == nil && got.Wrapped == "" && !got.Strict && schemaForm.Equal(s, got.Schema)
		n.keep(key, s, got)
	}
	return got
}

func (n *narrowings) keep(key narrowKey, s schema.Schema, got *narrowed) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.seen == nil || n.n >= maxNarrowed {
		n.seen, n.n = map[narrowKey]map[string]*narrowed{}, 0
	}
	if n.seen[key] == nil {
		n.seen[key] = map[string]*narrowed{}
	}
	n.seen[key][string(s)] = got
	n.n++
}

// schemaForm compares schemas without their $schema.
var schemaForm = js.Form{Mode: js.ByValue, Omit: func(depth int, name, _ []byte) bool { return depth == 0 && string(name) == "$schema" }}

// schemas is whose rules the vendor has.
func (v *Vendor) schemas() schema.Vendor {
	if v.Schemas != "" {
		return v.Schemas
	}
	return schema.OpenAI
}

package schema

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// A node is a JSON value that remembers the order of its members: models write
// arguments in the order of the schema, so the order must survive.
type node struct {
	kind  Types // one type; numbers are Number
	text  string
	names []string // of an object's members
	list  []*node  // an array's items or an object's members
}

func object() *node             { return &node{kind: Object} }
func text(s string) *node       { return &node{kind: String, text: s} }
func array(list ...*node) *node { return &node{kind: Array, list: list} }

func boolean(b bool) *node { return &node{kind: Boolean, text: strconv.FormatBool(b)} }

// get returns a member, or nil if n is nil, no object, or has none.
func (n *node) get(name string) *node {
	if n != nil && n.kind == Object {
		if i := slices.Index(n.names, name); i >= 0 {
			return n.list[i]
		}
	}
	return nil
}

func (n *node) has(name string) bool { return n.get(name) != nil }

// set replaces or appends a member.
func (n *node) set(name string, v *node) {
	if i := slices.Index(n.names, name); i >= 0 {
		n.list[i] = v
		return
	}
	n.names = append(n.names, name)
	n.list = append(n.list, v)
}

// drop removes a member and returns it.
func (n *node) drop(name string) *node {
	i := slices.Index(n.names, name)
	if i < 0 {
		return nil
	}
	v := n.list[i]
	n.names = slices.Delete(n.names, i, i+1)
	n.list = slices.Delete(n.list, i, i+1)
	return v
}

// is reports whether n is the boolean b.
func (n *node) is(b bool) bool {
	return n != nil && n.kind == Boolean && (n.text == "true") == b
}

// strings returns the strings of an array.
func (n *node) strings() []string {
	var out []string
	if n != nil && n.kind == Array {
		for _, item := range n.list {
			if item.kind == String {
				out = append(out, item.text)
			}
		}
	}
	return out
}

// clone returns a deep copy.
func (n *node) clone() *node {
	if n == nil {
		return nil
	}
	c := *n
	c.names = slices.Clone(n.names)
	c.list = slices.Clone(n.list)
	for i, item := range c.list {
		c.list[i] = item.clone()
	}
	return &c
}

// append writes n as compact JSON.
func (n *node) append(b []byte) []byte {
	switch n.kind {
	case String:
		return appendQuoted(b, n.text)
	case Array:
		b = append(b, '[')
		for i, item := range n.list {
			if i > 0 {
				b = append(b, ',')
			}
			b = item.append(b)
		}
		return append(b, ']')
	case Object:
		b = append(b, '{')
		for i, item := range n.list {
			if i > 0 {
				b = append(b, ',')
			}
			b = append(appendQuoted(b, n.names[i]), ':')
			b = item.append(b)
		}
		return append(b, '}')
	}
	return append(b, n.text...)
}

// String returns n as compact JSON.
func (n *node) String() string { return string(n.append(nil)) }

// node reads any value.
func (r *reader) node() (*node, error) {
	switch r.Peek() {
	case '{':
		return r.objectNode()
	case '[':
		return r.arrayNode()
	case '"':
		s, err := r.str()
		return text(s), err
	case 't', 'f':
		word, err := r.Word()
		return &node{kind: Boolean, text: word}, err
	case 'n':
		_, err := r.Word()
		return &node{kind: Null, text: "null"}, err
	}
	lit, err := r.number()
	return &node{kind: Number, text: lit}, err
}

// fewNames are compared with each other; with more a map is quicker.
const fewNames = 16

func (r *reader) objectNode() (*node, error) {
	n := object()
	var seen map[string]bool
	if err := r.Enter(); err != nil {
		return nil, err
	}
	for first := true; ; first = false {
		more, err := r.Next('}', first)
		if !more {
			return n, err
		}
		name, err := r.name()
		if err != nil {
			return nil, err
		}
		if seen[name] || seen == nil && slices.Contains(n.names, name) {
			return nil, duplicate(r, name)
		}
		if seen != nil {
			seen[name] = true
		} else if len(n.names) == fewNames {
			seen = make(map[string]bool, 2*fewNames)
			for _, before := range append(n.names, name) {
				seen[before] = true
			}
		}
		v, err := r.node()
		if err != nil {
			return nil, err
		}
		n.names, n.list = append(n.names, name), append(n.list, v)
	}
}

func (r *reader) arrayNode() (*node, error) {
	n := array()
	if err := r.Enter(); err != nil {
		return nil, err
	}
	for first := true; ; first = false {
		more, err := r.Next(']', first)
		if !more {
			return n, err
		}
		v, err := r.node()
		if err != nil {
			return nil, err
		}
		n.list = append(n.list, v)
	}
}

// parse reads a schema within the bounds. Empty text is the schema of a tool
// without arguments.
func parse(s []byte) (*node, error) {
	if len(s) > maxSchemaBytes {
		return nil, fmt.Errorf("schema: %d bytes, and the limit is %d", len(s), maxSchemaBytes)
	}
	if len(s) == 0 {
		n := object()
		n.set("type", text("object"))
		return n, nil
	}
	r := newReader(string(s), maxSchemaDepth)
	n, err := r.node()
	if err == nil {
		err = r.End()
	}
	if err != nil {
		return nil, fmt.Errorf("schema: %w", err)
	}
	if n.kind != Object && n.kind != Boolean {
		return nil, fmt.Errorf("schema: must be a JSON object or a boolean, not %s %s", article(n.kind), n.kind)
	}
	return n, nil
}

func article(t Types) string {
	if t&(Integer|Object|Array) != 0 {
		return "an"
	}
	return "a"
}

// A pointer is a JSON pointer (RFC 6901).
type pointer string

func (p pointer) at(name string) pointer {
	if strings.ContainsAny(name, "~/") {
		name = strings.ReplaceAll(strings.ReplaceAll(name, "~", "~0"), "/", "~1")
	}
	return p + "/" + pointer(name)
}

func (p pointer) index(i int) pointer { return p + "/" + pointer(strconv.Itoa(i)) }

// find follows the pointer from n; nil if it leads nowhere.
func (n *node) find(p pointer) *node {
	for rest := string(p); rest != "" && n != nil; {
		rest = strings.TrimPrefix(rest, "/")
		var name string
		if i := strings.IndexByte(rest, '/'); i >= 0 {
			name, rest = rest[:i], rest[i:]
		} else {
			name, rest = rest, ""
		}
		name = strings.ReplaceAll(strings.ReplaceAll(name, "~1", "/"), "~0", "~")
		if n.kind == Array {
			i, err := strconv.Atoi(name)
			if err != nil || i < 0 || i >= len(n.list) {
				return nil
			}
			n = n.list[i]
			continue
		}
		n = n.get(name)
	}
	return n
}

// A document finds the targets of references within a schema.
type document struct {
	root    *node
	anchors map[string]*node // made when first needed
}

// resolve finds the target of a reference by pointer or anchor. References
// that leave the document give nil.
func (d *document) resolve(ref string) *node {
	base, fragment, _ := strings.Cut(ref, "#")
	if base != "" {
		if id := d.root.get("$id"); id == nil || id.text != base {
			return nil
		}
	}
	if plain, err := url.PathUnescape(fragment); err == nil {
		fragment = plain
	}
	if fragment == "" || strings.HasPrefix(fragment, "/") {
		return d.root.find(pointer(fragment))
	}
	if d.anchors == nil {
		d.anchors = make(map[string]*node)
		d.collect(d.root)
	}
	return d.anchors[fragment]
}

func (d *document) collect(n *node) {
	for _, key := range []string{"$anchor", "$dynamicAnchor"} {
		if a := n.get(key); a != nil && d.anchors[a.text] == nil {
			d.anchors[a.text] = n
		}
	}
	for _, child := range n.list {
		d.collect(child)
	}
}

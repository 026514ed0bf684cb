package engine

import (
	"encoding/json"
	"strings"

	"github.com/toolpost/toolpost/dialect/internal/loose"
	"github.com/toolpost/toolpost/dialect/spec"
	"github.com/toolpost/toolpost/internal/near"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/schema"
)

// names are the tools that were offered.
type names struct {
	any     bool // no list was given: every name will do
	none    bool // the list is empty: nothing is a call
	tools   []llm.ToolDef
	exact   map[string]int // made by index
	folded  map[string]int // without the difference between _, . and -
	shapes  []*schema.Shape
	longest int
	// lines are the bytes with which something may begin that has no marker:
	// all but the letters with which no call begins.
	lines    byteSet
	first    byteSet            // the first bytes of the names
	heads    []string           // the first bytes of the names, made when they are first needed
	pairs    []namePair         // of which each name holds one, likewise
	pairRoom [maxPairs]namePair // for them
	begin    byteSet            // the bytes with which a line may begin that holds calls, besides
	starts   byteSet            // the bytes with which a line may begin that is no text, besides those of markers
}

func newNames(tools []llm.ToolDef) *names {
	n := &names{any: tools == nil, none: tools != nil && len(tools) == 0, tools: tools, shapes: make([]*schema.Shape, len(tools))}
	if n.any {
		n.longest = maxName
		n.first, n.lines = anyFirst, anyByte
		return n
	}
	n.longest, n.lines = maxPrefix, lineBytes
	if len(tools) > 0 {
		n.first, n.begin, n.starts = firstBytes, beginBytes, startBytes
	}
	for _, t := range tools {
		if t.Name != "" {
			n.first.add(t.Name[:1])
			n.lines.add(t.Name[:1])
			n.starts.add(t.Name[:1])
		}
		n.longest = max(n.longest, len(t.Name)+maxPrefix)
	}
	return n
}

// What names.first, begin, starts and lines hold besides the first bytes of the names,
// and what they hold where every name will do.
var (
	anyFirst   = byteSetOf(func(c byte) bool { return isLetter(c) || c == '_' })
	anyByte    = byteSetOf(func(byte) bool { return true })
	firstBytes = byteSetOf(func(c byte) bool { return strings.IndexByte(firstOfPrefixes, c) >= 0 })
	startBytes = byteSetOf(func(c byte) bool { return strings.IndexByte(firstOfPrefixes+looseBytes, c) >= 0 })
	beginBytes = byteSetOf(func(c byte) bool { return strings.IndexByte(looseBytes, c) >= 0 })
	lineBytes  = byteSetOf(func(c byte) bool {
		return !isLetter(c) || strings.IndexByte(firstOfPrefixes+looseBytes+wrapperFirsts, c) >= 0
	})
)

// index makes the maps. Answers without calls do not need them.
func (n *names) index() {
	if n.exact != nil || n.any {
		return
	}
	n.exact, n.folded = make(map[string]int, len(n.tools)), make(map[string]int, len(n.tools))
	for i, t := range n.tools {
		if _, ok := n.exact[t.Name]; !ok && t.Name != "" {
			n.exact[t.Name] = i
		}
		if f := foldName(t.Name); f != "" {
			if _, ok := n.folded[f]; !ok {
				n.folded[f] = i
			}
		}
	}
}

// find returns the tool called exactly so.
func (n *names) find(name string) (i int, ok bool) {
	n.index()
	i, ok = n.exact[name]
	return i, ok
}

// firstOfPrefixes are the first bytes of what may stand before a name: of the
// prefixes, and of call:.
const firstOfPrefixes = "cfdmt"

const (
	maxName   = spec.MaxWord
	maxPrefix = 48 // of a prefix that models put before names
)

// prefixesOfNames are what models put before the names they were offered.
var prefixesOfNames = []string{"functions.", "functions:", "function.", "default_api:", "default_api.", "tools.", "tool."}

// resolve returns the offered name that a written one means. Where no list
// was given, that is the written name without known prefixes.
func (n *names) resolve(written string) (name string, ok bool) {
	if n.none || written == "" {
		return written, false
	}
	if strings.IndexByte(written, '\\') >= 0 {
		written = loose.Unescape(written)
	}
	if n.any {
		return bareName(written), true
	}
	for k, s := range [...]string{written, bareName(written), afterMCP(bareName(written)), once(written), glued(written)} {
		if k > 0 && s == written {
			continue
		}
		if i, ok := n.find(s); ok {
			return n.tools[i].Name, true
		}
		if i, ok := n.folded[foldName(s)]; ok {
			return n.tools[i].Name, true
		}
	}
	return written, false
}

// spelled reports whether written is how models write the offered name: as it
// is, or behind a prefix that they put before names.
func spelled(written, name string) bool {
	written = strings.TrimSpace(written)
	return written == name || bareName(written) == name || afterMCP(bareName(written)) == name
}

// likeName reports whether s may be the name of a tool, where neither a list
// nor a marker says that it is one.
func likeName(s string) bool {
	if s == "" || !isNameStart(s[0]) || strings.IndexByte("/:.-", s[len(s)-1]) >= 0 {
		return false
	}
	for i := range len(s) {
		if !isNameByte(s[i]) {
			return false
		}
	}
	return true
}

// offered reports whether a list was given and written is on it.
func (n *names) offered(written string) bool {
	if n.any {
		return false
	}
	_, ok := n.resolve(written)
	return ok
}

// begins reports whether an offered name begins with s.
func (n *names) begins(s string) bool {
	for _, t := range n.tools {
		if beginsName(t.Name, s) {
			return true
		}
	}
	return false
}

// beginsName reports whether a name begins with s. The signs that models
// confuse in names count as one.
func beginsName(name, s string) bool {
	if len(s) > len(name) {
		return false
	}
	for i := range len(s) {
		if s[i] != name[i] && !(strings.IndexByte("_-.", s[i]) >= 0 && strings.IndexByte("_-.", name[i]) >= 0) {
			return false
		}
	}
	return true
}

// mayBecome reports whether s may be the beginning of a name, with a prefix or
// without.
func (n *names) mayBecome(s string) bool {
	if n.any || n.begins(s) {
		return true
	}
	if i := strings.LastIndexAny(s, ".:"); i > 0 && n.offered(s[:i]) { // an id or a method follows
		return true
	}
	for _, p := range prefixesOfNames {
		if rest, ok := strings.CutPrefix(s, p); ok && n.begins(rest) || strings.HasPrefix(p, s) {
			return true
		}
	}
	return false
}

// bareName strips the prefixes models add.
func bareName(s string) string {
	for _, p := range prefixesOfNames[:5] {
		if rest, ok := strings.CutPrefix(s, p); ok && rest != "" {
			return rest
		}
	}
	return s
}

// afterMCP strips mcp__server__ and tools. from a name.
func afterMCP(s string) string {
	if rest, ok := strings.CutPrefix(s, "mcp__"); ok {
		if _, tool, ok := strings.Cut(rest, "__"); ok {
			return tool
		}
	}
	for _, p := range prefixesOfNames[5:] {
		if rest, ok := strings.CutPrefix(s, p); ok {
			return rest
		}
	}
	return s
}

// once undoes a name that is its own namespace: read.read is read.
func once(s string) string {
	if half := len(s) / 2; len(s)%2 == 1 && s[half] == '.' && s[:half] == s[half+1:] {
		return s[:half]
	}
	return s
}

// glued undoes what hosts leave when they drop the special tokens around a
// name: functionget_weather, functionsget_weather0.
func glued(s string) string {
	if rest, ok := strings.CutPrefix(s, "functions"); ok {
		return strings.TrimRight(rest, "0123456789")
	}
	return strings.TrimPrefix(s, "function")
}

func foldName(s string) string {
	if strings.IndexByte(s, '.') < 0 && strings.IndexByte(s, '-') < 0 {
		return s
	}
	return strings.Map(func(r rune) rune {
		if r == '.' || r == '-' {
			return '_'
		}
		return r
	}, s)
}

// described reports whether the tool called so has a schema. To read it takes
// as long as to read a short call, so it is put off until it is needed.
func (n *names) described(name string) bool {
	i, ok := n.find(name)
	return ok && len(n.tools[i].Schema) > 0
}

// shape returns the shape of a tool's arguments, nil if nothing is known.
func (n *names) shape(name string) *schema.Shape {
	if !n.described(name) {
		return nil
	}
	i, _ := n.find(name)
	if n.shapes[i] == nil {
		n.shapes[i] = schema.ShapeOf(n.tools[i].Schema)
	}
	return n.shapes[i]
}

// shapeAt follows a path of keys, in which an empty one is an item of a list.
// It returns nil if nothing is known of what stands there.
func shapeAt(s *schema.Shape, path []string) *schema.Shape {
	for _, key := range path {
		switch {
		case s == nil:
			return nil
		case key == "":
			s = s.Item(0)
		default:
			s = s.Property(key)
		}
	}
	return s
}

// typesOf returns what a parameter of a tool may be, and whether a schema says
// so.
func (n *names) typesOf(name, key string) (types schema.Types, known bool) {
	if p := shapeAt(n.shape(name), []string{key}); p != nil {
		return p.Types(), true
	}
	return schema.Any, false
}

// kindsOf is typesOf for package loose.
func (n *names) kindsOf(name, key string) loose.Kinds {
	types, known := n.typesOf(name, key)
	return kindsOf(types, known)
}

func kindsOf(types schema.Types, known bool) loose.Kinds {
	return loose.Kinds{
		Known: known, Null: types&schema.Null != 0, String: types&schema.String != 0,
		Number: types&(schema.Number|schema.Integer) != 0,
	}
}

// fitting returns the only offered name whose tool takes exactly such
// arguments: it has all that are there, and all it must have are. If only one
// tool was offered, it is that one. It returns "" if there is none, or several.
func (n *names) fitting(args []byte) string {
	var given map[string]json.RawMessage
	if json.Unmarshal(args, &given) != nil {
		return ""
	}
	if len(n.tools) == 1 {
		return n.tools[0].Name
	}
	found := ""
	for _, t := range n.tools {
		if shape := n.shape(t.Name); len(given) == 0 || shape == nil || !takes(shape, given) {
			continue
		}
		if found != "" {
			return ""
		}
		found = t.Name
	}
	return found
}

// takes reports whether a tool has all given arguments, and all it must have
// are given.
func takes(shape *schema.Shape, given map[string]json.RawMessage) bool {
	for key := range given {
		if !shape.Declares(key) {
			return false
		}
	}
	for _, key := range shape.Properties() {
		if _, ok := given[key]; !ok && shape.Required(key) {
			return false
		}
	}
	return true
}

// nearest returns up to three offered names like s, best first.
func (n *names) nearest(s string) []string {
	offered := make([]string, len(n.tools))
	for i, t := range n.tools {
		offered[i] = t.Name
	}
	return near.Names(s, offered, 3)
}

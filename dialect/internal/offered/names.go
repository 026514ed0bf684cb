// Package offered knows the tools that were offered: which name a written one means,
// and what arguments a tool takes.
package offered

import (
	"encoding/json"
	"strings"

	"github.com/toolpost/toolpost/dialect/internal/chars"
	"github.com/toolpost/toolpost/dialect/internal/lexicon"
	"github.com/toolpost/toolpost/dialect/internal/loose"
	"github.com/toolpost/toolpost/internal/near"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/schema"
)

// Names are the tools that were offered.
type Names struct {
	Any     bool // no list was given: every name will do
	None    bool // the list is empty: nothing is a call
	Tools   []llm.ToolDef
	exact   map[string]int // made by index
	folded  map[string]int // without the difference between _, . and -
	shapes  []*schema.Shape
	Longest int
	// Lines are the bytes with which something may begin that lacks marker:
	// all but the letters with which no call begins.
	Lines    chars.ByteSet
	First    chars.ByteSet      // the first bytes of the names
	heads    []string           // the first bytes of the names, made when they are first needed
	Pairs    []NamePair         // of which each name holds one, likewise
	PairRoom [maxPairs]NamePair // for them
	Begin    chars.ByteSet      // the bytes with which a line may begin that holds calls, besides
	Starts   chars.ByteSet      // the bytes with which a line may begin that is not text, besides those of markers
}

func New(tools []llm.ToolDef) *Names {
	n := &Names{Any: tools == nil, None: tools != nil && len(tools) == 0, Tools: tools, shapes: make([]*schema.Shape, len(tools))}
	if n.Any {
		n.Longest = lexicon.MaxName
		n.First, n.Lines = anyFirst, anyByte
		return n
	}
	n.Longest, n.Lines = lexicon.MaxPrefix, lineBytes
	if len(tools) > 0 {
		n.First, n.Begin, n.Starts = firstBytes, beginBytes, startBytes
	}
	for _, t := range tools {
		if t.Name != "" {
			n.First.Add(t.Name[:1])
			n.Lines.Add(t.Name[:1])
			n.Starts.Add(t.Name[:1])
		}
		n.Longest = max(n.Longest, len(t.Name)+lexicon.MaxPrefix)
	}
	return n
}

// What names.first, begin, starts and lines hold besides the first bytes of the names,
// and what they hold where every name will do.
var (
	anyFirst   = chars.ByteSetOf(func(c byte) bool { return chars.IsLetter(c) || c == '_' })
	anyByte    = chars.ByteSetOf(func(byte) bool { return true })
	firstBytes = chars.ByteSetOf(func(c byte) bool { return strings.IndexByte(firstOfPrefixes, c) >= 0 })
	startBytes = chars.ByteSetOf(func(c byte) bool { return strings.IndexByte(firstOfPrefixes+looseBytes, c) >= 0 })
	beginBytes = chars.ByteSetOf(func(c byte) bool { return strings.IndexByte(looseBytes, c) >= 0 })
	lineBytes  = chars.ByteSetOf(func(c byte) bool {
		return !chars.IsLetter(c) || strings.IndexByte(firstOfPrefixes+looseBytes+WrapperFirsts, c) >= 0
	})
)

// index makes the maps. Answers without calls do not need them.
func (n *Names) index() {
	if n.exact != nil || n.Any {
		return
	}
	n.exact, n.folded = make(map[string]int, len(n.Tools)), make(map[string]int, len(n.Tools))
	for i, t := range n.Tools {
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

// Find returns the tool called exactly so.
func (n *Names) Find(name string) (i int, ok bool) {
	n.index()
	i, ok = n.exact[name]
	return i, ok
}

// firstOfPrefixes are the first bytes of prefixes of a name: of the
// prefixes, and of call:.
const firstOfPrefixes = "cfdmt"

// PrefixesOfNames are what models put before the names they were offered.
var PrefixesOfNames = []string{"functions.", "functions:", "function.", "default_api:", "default_api.", "tools.", "tool."}

// Resolve returns the offered name that a written one means. Where no list
// was given, that is the written name without known prefixes.
func (n *Names) Resolve(written string) (name string, ok bool) {
	if n.None || written == "" {
		return written, false
	}
	if strings.IndexByte(written, '\\') >= 0 {
		written = loose.Unescape(written)
	}
	if n.Any {
		return bareName(written), true
	}
	for k, s := range [...]string{written, bareName(written), afterMCP(bareName(written)), once(written), glued(written)} {
		if k > 0 && s == written {
			continue
		}
		if i, ok := n.Find(s); ok {
			return n.Tools[i].Name, true
		}
		if i, ok := n.folded[foldName(s)]; ok {
			return n.Tools[i].Name, true
		}
	}
	return written, false
}

// Spelled reports whether written is how models write the offered name: as it
// is, or after a prefix that they put before names.
func Spelled(written, name string) bool {
	written = strings.TrimSpace(written)
	return written == name || bareName(written) == name || afterMCP(bareName(written)) == name
}

// LikeName reports whether s may be the name of a tool, where neither a list
// nor a marker shows that it is one.
func LikeName(s string) bool {
	if s == "" || !chars.IsNameStart(s[0]) || strings.IndexByte("/:.-", s[len(s)-1]) >= 0 {
		return false
	}
	for i := range len(s) {
		if !chars.IsNameByte(s[i]) {
			return false
		}
	}
	return true
}

// Offered reports whether a list was given and written is on it.
func (n *Names) Offered(written string) bool {
	if n.Any {
		return false
	}
	_, ok := n.Resolve(written)
	return ok
}

// Begins reports whether an offered name begins with s.
func (n *Names) Begins(s string) bool {
	for _, t := range n.Tools {
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

// MayBecome reports whether s may be the beginning of a name, with a prefix or
// without.
func (n *Names) MayBecome(s string) bool {
	if n.Any || n.Begins(s) {
		return true
	}
	if i := strings.LastIndexAny(s, ".:"); i > 0 && n.Offered(s[:i]) { // an id or a method follows
		return true
	}
	for _, p := range PrefixesOfNames {
		if rest, ok := strings.CutPrefix(s, p); ok && n.Begins(rest) || strings.HasPrefix(p, s) {
			return true
		}
	}
	return false
}

// bareName strips the prefixes models add.
func bareName(s string) string {
	for _, p := range PrefixesOfNames[:5] {
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
	for _, p := range PrefixesOfNames[5:] {
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

// Described reports whether the tool called so has a schema. To read it takes
// as long as to read a short call, so it is put off until it is needed.
func (n *Names) Described(name string) bool {
	i, ok := n.Find(name)
	return ok && len(n.Tools[i].Schema) > 0
}

// Shape returns the shape of a tool's arguments, nil if nothing is known.
func (n *Names) Shape(name string) *schema.Shape {
	if !n.Described(name) {
		return nil
	}
	i, _ := n.Find(name)
	if n.shapes[i] == nil {
		n.shapes[i] = schema.ShapeOf(n.Tools[i].Schema)
	}
	return n.shapes[i]
}

// ShapeAt follows a path of keys, in which an empty one is an item of a list.
// It returns nil if nothing is known of what stands there.
func ShapeAt(s *schema.Shape, path []string) *schema.Shape {
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

// TypesOf returns what a parameter of a tool may be, and whether a schema says
// so.
func (n *Names) TypesOf(name, key string) (types schema.Types, known bool) {
	if p := ShapeAt(n.Shape(name), []string{key}); p != nil {
		return p.Types(), true
	}
	return schema.Any, false
}

// KindsOf is typesOf for package loose.
func (n *Names) KindsOf(name, key string) loose.Kinds {
	types, known := n.TypesOf(name, key)
	return KindsOf(types, known)
}

func KindsOf(types schema.Types, known bool) loose.Kinds {
	return loose.Kinds{
		Known: known, Null: types&schema.Null != 0, String: types&schema.String != 0,
		Number: types&(schema.Number|schema.Integer) != 0,
	}
}

// Fitting returns the only offered name whose tool takes exactly such
// arguments: it has all that are there, and all it must have are. If only one
// tool was offered, it is that one. It returns "" if there is none, or several.
func (n *Names) Fitting(args []byte) string {
	var given map[string]json.RawMessage
	if json.Unmarshal(args, &given) != nil {
		return ""
	}
	if len(n.Tools) == 1 {
		return n.Tools[0].Name
	}
	found := ""
	for _, t := range n.Tools {
		if shape := n.Shape(t.Name); len(given) == 0 || shape == nil || !Takes(shape, given) {
			continue
		}
		if found != "" {
			return ""
		}
		found = t.Name
	}
	return found
}

// Takes reports whether a tool has all given arguments, and all it must have
// are given.
func Takes(shape *schema.Shape, given map[string]json.RawMessage) bool {
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

// Nearest returns up to three offered names like s, best first.
func (n *Names) Nearest(s string) []string {
	offered := make([]string, len(n.Tools))
	for i, t := range n.Tools {
		offered[i] = t.Name
	}
	return near.Names(s, offered, 3)
}

// Package offered holds the tools that were offered. It resolves written names to tools and describes the arguments
// that a tool takes.
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

// Names holds the tools that were offered.
type Names struct {
	Any     bool // no list was given: any name is allowed
	None    bool // the list is empty: no text is a call
	Tools   []llm.ToolDef
	exact   map[string]int // set by index
	folded  map[string]int // like exact, with _, . and - as equal
	shapes  []*schema.Shape
	Longest int
	// Lines are the bytes that may begin a call without a marker: all except letters that cannot begin a call.
	Lines    chars.ByteSet
	First    chars.ByteSet      // the first bytes of the names
	heads    []string           // beginnings of the names, set when first needed
	Pairs    []NamePair         // each name contains one of them; set when first needed
	PairRoom [maxPairs]NamePair // memory for Pairs
	Begin    chars.ByteSet      // further bytes that may begin a line with calls
	Starts   chars.ByteSet      // bytes other than those of markers that may begin a line which is not text
}

// New returns the names of tools. A nil list allows any name.
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

// The initial values of Names.First, Begin, Starts and Lines, to which New adds the first bytes of the names. anyFirst and
// anyByte are the values if any name is allowed.
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

// index sets the maps. Answers without calls do not need them.
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

// Find returns the index of the tool whose name is exactly name.
func (n *Names) Find(name string) (i int, ok bool) {
	n.index()
	i, ok = n.exact[name]
	return i, ok
}

// firstOfPrefixes are the first bytes of PrefixesOfNames and of "call:".
const firstOfPrefixes = "cfdmt"

// PrefixesOfNames are prefixes that models add to the names they were offered.
var PrefixesOfNames = []string{"functions.", "functions:", "function.", "default_api:", "default_api.", "tools.", "tool."}

// Resolve returns the offered name that a written name means. If no list was given, it returns the written name without
// known prefixes.
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

// Spelled reports whether written is a normal spelling of the offered name: unchanged, or with a prefix that models
// add.
func Spelled(written, name string) bool {
	written = strings.TrimSpace(written)
	return written == name || bareName(written) == name || afterMCP(bareName(written)) == name
}

// LikeName reports whether s may be the name of a tool if there is neither a list of tools nor a marker.
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

// Offered reports whether a list was given and contains written.
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

// beginsName reports whether a name begins with s. The signs _, - and ., which models confuse, are equal.
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

// MayBecome reports whether s may be the beginning of an offered name, with or without a prefix.
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

// bareName removes the prefixes that models add.
func bareName(s string) string {
	for _, p := range PrefixesOfNames[:5] {
		if rest, ok := strings.CutPrefix(s, p); ok && rest != "" {
			return rest
		}
	}
	return s
}

// afterMCP removes mcp__server__, tools. and tool. from a name.
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

// once removes a namespace that equals the name: read.read is read.
func once(s string) string {
	if half := len(s) / 2; len(s)%2 == 1 && s[half] == '.' && s[:half] == s[half+1:] {
		return s[:half]
	}
	return s
}

// glued removes the text that is glued to a name if a server drops the special tokens around it: functionget_weather,
// functionsget_weather0.
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

// Described reports whether the tool name has a schema. It does not read the schema, because that takes as long as
// reading a short call.
func (n *Names) Described(name string) bool {
	i, ok := n.Find(name)
	return ok && len(n.Tools[i].Schema) > 0
}

// Shape returns the shape of a tool's arguments, nil if the tool is unknown or has no schema. The first call reads the
// schema.
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

// ShapeAt follows a path of keys in a shape. An empty key is an item of a list. It returns nil if the schema does not
// describe the value.
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

// TypesOf returns the types that a parameter of a tool may have. known reports whether a schema defines them.
func (n *Names) TypesOf(name, key string) (types schema.Types, known bool) {
	if p := ShapeAt(n.Shape(name), []string{key}); p != nil {
		return p.Types(), true
	}
	return schema.Any, false
}

// KindsOf is TypesOf for package loose.
func (n *Names) KindsOf(name, key string) loose.Kinds {
	types, known := n.TypesOf(name, key)
	return KindsOf(types, known)
}

// KindsOf converts types for package loose.
func KindsOf(types schema.Types, known bool) loose.Kinds {
	return loose.Kinds{
		Known: known, Null: types&schema.Null != 0, String: types&schema.String != 0,
		Number: types&(schema.Number|schema.Integer) != 0,
	}
}

// Fitting returns the only offered name whose tool takes the arguments, see Takes. If only one tool was offered, it
// returns that tool. It returns "" if no tool fits, or several do.
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

// Takes reports whether a tool declares all given arguments and all required ones are given.
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

// Nearest returns up to three offered names similar to s, best first.
func (n *Names) Nearest(s string) []string {
	offered := make([]string, len(n.Tools))
	for i, t := range n.Tools {
		offered[i] = t.Name
	}
	return near.Names(s, offered, 3)
}

package tool

import (
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"

	"github.com/toolpost/toolpost/internal/near"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/schema"
)

// Set is an ordered collection of tools with unique names. It never changes,
// and is safe for concurrent use. A nil Set is empty.
type Set struct {
	tools  []Tool
	inputs []input // of the tool at the same place
	byName map[string]int
	rank   func([]llm.ToolDef) *Ranker // nil ranks by words
	ranker func() *Ranker              // made on first use
}

// input is a tool's compiled schema.
type input struct {
	compiled *schema.Compiled
	shape    func() *schema.Shape // made on first use
	output   *schema.Compiled     // nil if the tool does not declare its output
}

// NewSet returns the tools as a set, in this order. It refuses names that some
// vendor would refuse, two tools of one name, tools without a function and
// schemas that cannot be used.
func NewSet(tools ...Tool) (*Set, error) {
	inputs := make([]input, len(tools))
	for i, t := range tools {
		if err := t.check(); err != nil {
			return nil, err
		}
		in, err := compile(t)
		if err != nil {
			return nil, err
		}
		inputs[i] = in
	}
	return newSet(slices.Clone(tools), inputs, nil)
}

// MustSet is NewSet for tools that are part of the program: it panics instead
// of returning an error.
func MustSet(tools ...Tool) *Set {
	s, err := NewSet(tools...)
	if err != nil {
		panic(err)
	}
	return s
}

// noArguments is the schema of a tool that has none.
var noArguments = schema.Schema(`{"type":"object","properties":{}}`)

func compile(t Tool) (input, error) {
	text := t.Input
	if len(text) == 0 {
		text = noArguments
	}
	c, err := schema.Compile(text)
	if err != nil {
		return input{}, fmt.Errorf("tool: the schema of %s cannot be used: %w", t.Name, err)
	}
	in := input{compiled: c, shape: sync.OnceValue(func() *schema.Shape { return schema.ShapeOf(text) })}
	if len(t.OutputSchema) > 0 {
		if in.output, err = schema.Compile(t.OutputSchema); err != nil {
			return input{}, fmt.Errorf("tool: the schema of what %s returns cannot be used: %w", t.Name, err)
		}
	}
	return in, nil
}

// newSet takes ownership of its arguments.
func newSet(tools []Tool, inputs []input, rank func([]llm.ToolDef) *Ranker) (*Set, error) {
	s := &Set{tools: tools, inputs: inputs, rank: rank, byName: make(map[string]int, len(tools))}
	for i, t := range tools {
		if _, ok := s.byName[t.Name]; ok {
			return nil, fmt.Errorf("tool: two tools are called %s; give one set a Prefix", t.Name)
		}
		s.byName[t.Name] = i
	}
	s.ranker = sync.OnceValue(func() *Ranker { return s.RankerOf(s.Defs()) })
	return s, nil
}

// ByMeaning returns the set with tools that are ranked by meaning too, as by [NewRanker], not by words alone. Sets that are
// made of it rank like it. A table of word vectors makes programs that call this 7.4 MB larger.
func (s *Set) ByMeaning() *Set {
	if s == nil {
		s = MustSet()
	}
	c := *s
	c.rank = NewRanker
	c.ranker = sync.OnceValue(func() *Ranker { return NewRanker(c.Defs()) })
	return &c
}

// subset returns the tools at these places, in this order.
func (s *Set) subset(places []int) *Set {
	tools, inputs := make([]Tool, len(places)), make([]input, len(places))
	for i, p := range places {
		tools[i], inputs[i] = s.tools[p], s.inputs[p]
	}
	sub, err := newSet(tools, inputs, s.rank)
	if err != nil {
		panic(err) // names of a set are unique, and so are names of a part of it
	}
	return sub
}

// Join returns the tools of several sets as one, in order. It refuses duplicate
// names: a tool never hides another one.
func Join(sets ...*Set) (*Set, error) {
	var tools []Tool
	var inputs []input
	var rank func([]llm.ToolDef) *Ranker
	for _, s := range sets {
		if s != nil {
			if rank == nil {
				rank = s.rank
			}
			tools, inputs = append(tools, s.tools...), append(inputs, s.inputs...)
		}
	}
	return newSet(tools, inputs, rank)
}

// Replace returns the tools of s whose names are not in more, and then the
// tools of more.
func (s *Set) Replace(more *Set) *Set {
	var places []int
	for i := range s.Len() {
		if _, replaced := more.place(s.tools[i].Name); !replaced {
			places = append(places, i)
		}
	}
	joined, err := Join(s.subset(places), more)
	if err != nil {
		panic(err) // duplicates were removed from s
	}
	return joined
}

// Len returns the number of tools.
func (s *Set) Len() int {
	if s == nil {
		return 0
	}
	return len(s.tools)
}

// All yields the tools in order.
func (s *Set) All() iter.Seq[Tool] {
	return func(yield func(Tool) bool) {
		for i := range s.Len() {
			if !yield(s.tools[i]) {
				return
			}
		}
	}
}

// Names returns the names in order.
func (s *Set) Names() []string {
	names := make([]string, 0, s.Len())
	for t := range s.All() {
		names = append(names, t.Name)
	}
	return names
}

// Lookup returns the tool of exactly that name.
func (s *Set) Lookup(name string) (Tool, bool) {
	if i, ok := s.place(name); ok {
		return s.tools[i], true
	}
	return Tool{}, false
}

// OutputSchema returns the compiled output schema of the named tool, or nil if
// there is no such tool or it does not declare one.
func (s *Set) OutputSchema(name string) *schema.Compiled {
	if s == nil {
		return nil
	}
	if i, ok := s.byName[name]; ok {
		return s.inputs[i].output
	}
	return nil
}

// Schema returns the compiled schema of the named tool's arguments, or nil if
// there is no such tool.
func (s *Set) Schema(name string) *schema.Compiled {
	if i, ok := s.place(name); ok {
		return s.inputs[i].compiled
	}
	return nil
}

func (s *Set) place(name string) (int, bool) {
	if s == nil {
		return 0, false
	}
	i, ok := s.byName[name]
	return i, ok
}

// Nearest returns up to three names that are like name, best first.
func (s *Set) Nearest(name string) []string { return near.Names(name, s.Names(), 3) }

// Original returns the namespace and name that Prefix made name from. The
// namespace of a tool without a prefix is empty.
func (s *Set) Original(name string) (namespace, base string, ok bool) {
	i, ok := s.place(name)
	if !ok {
		return "", "", false
	}
	t := s.tools[i]
	if t.namespace == "" {
		return "", t.Name, true
	}
	return t.namespace, t.base, true
}

// Prefix returns the set with every name in a namespace: "search" of server
// "docs" becomes "docs__search". Names that would be too long, or a namespace
// with characters that names cannot have, are changed and get a piece of their
// hash, the same one every time, which keeps them different. [Set.Original]
// returns the original; names are never split. An empty namespace changes
// nothing.
func (s *Set) Prefix(namespace string) *Set {
	if namespace == "" || s.Len() == 0 {
		return s
	}
	tools := slices.Clone(s.tools)
	taken := make(map[string]bool, len(tools))
	for i := range tools {
		t := &tools[i]
		whole := namespace + separator + t.Name
		name := safeName(whole, whole, 8)
		for n := 16; taken[name]; n += 8 { // a hash collision made on purpose
			name = safeName(whole, whole, n)
		}
		taken[name] = true
		t.namespace, t.base, t.Name = namespace, t.Name, name
	}
	out, err := newSet(tools, s.inputs, s.rank)
	if err != nil {
		panic(err) // taken made them unique
	}
	return out
}

// Only returns the tools of these names, in the order of the set. Nil means
// all; empty but not nil means none. A name that is not in the set is an error:
// a filter without effect is refused.
func (s *Set) Only(names []string) (*Set, error) {
	if names == nil {
		return s, nil
	}
	var missing []string
	for _, n := range names {
		if _, ok := s.place(n); !ok {
			missing = append(missing, n)
		}
	}
	if missing != nil {
		return nil, fmt.Errorf("tool: no tool is called %s; there are %s", strings.Join(missing, ", "), strings.Join(s.Names(), ", "))
	}
	var places []int
	for i := range s.Len() {
		if slices.Contains(names, s.tools[i].Name) {
			places = append(places, i)
		}
	}
	return s.subset(places), nil
}

// Defs returns the definitions of the tools for a model, in order.
func (s *Set) Defs() []llm.ToolDef {
	defs := make([]llm.ToolDef, 0, s.Len())
	for t := range s.All() {
		defs = append(defs, t.Def())
	}
	return defs
}

// Undeclared returns the top-level arguments that the named tool's schema does
// not mention, in alphabetical order, and none if the schema mentions no
// arguments at all. The arguments must match the schema: validation finds
// forbidden ones.
func (s *Set) Undeclared(name string, args json.RawMessage) []string {
	i, ok := s.place(name)
	if !ok {
		return nil
	}
	shape := s.inputs[i].shape()
	if shape.Closed() || len(shape.Properties()) == 0 {
		return nil
	}
	var object map[string]json.RawMessage
	if json.Unmarshal(args, &object) != nil {
		return nil
	}
	var extra []string
	for key := range object {
		if !shape.Declares(key) {
			extra = append(extra, key)
		}
	}
	slices.Sort(extra)
	return extra
}

// Package loose reads calls that follow no dialect: calls as strings in a list,
// pairs of a name and arguments, quoted names, positional arguments, names with
// the escapes of Markdown.
//
// The streaming engine of package dialect reads the dialects. It gives this
// package whole blocks that it cannot read itself and that begin with the name of
// an offered tool. This package reads the block into a tree, and a table of
// shapes tells which trees are calls.
package loose

import (
	"bytes"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/toolpost/toolpost/llm"
)

// Tools are the tools that were offered.
type Tools interface {
	// Resolve returns the offered name that a written one means.
	Resolve(written string) (name string, ok bool)
	// Properties returns the parameters of a tool in their order, and whether
	// they are known.
	Properties(name string) (keys []string, known bool)
	// Required reports whether a parameter must be given.
	Required(name, key string) bool
	// Kinds returns what a parameter may be.
	Kinds(name, key string) Kinds
}

// Call is a call in a block.
type Call struct {
	Name       string // as offered, or as written if it was not
	Written    string
	Known      bool
	Args       []byte
	Start, End int // of its text in the block
	Repairs    []llm.Repair
	Problem    string // why its arguments cannot be read
}

// Read returns the calls of a block of text. It reports false if the block is
// anything but calls, or none of them is of an offered tool. Markdown says that
// every underscore of the answer so far has a backslash. A block that ends in
// a number was cut off there, unless a newline follows.
func Read(block string, markdown bool, tools Tools) ([]Call, bool) {
	r := reading{tools: tools, work: maxWork * (len(block) + 1)}
	p := r.parser(block, 0, markdown)
	if !r.statements(p, 0) || !slices.ContainsFunc(r.calls, func(c Call) bool { return c.Known && c.Problem == "" }) {
		return nil, false
	}
	r.place(p.repairs)
	return r.calls, true
}

// maxWork is how many bytes of strings may be read for each byte of a block. A
// string may hold strings, and each quote may begin one: blocks made of quotes
// would be read again and again.
const maxWork = 64

type reading struct {
	tools Tools
	calls []Call
	work  int // bytes of strings that may still be read
}

func (r *reading) parser(s string, base int, markdown bool) *parser {
	return &parser{s: s, base: base, escaped: markdown, work: &r.work, isName: func(name string) bool { _, ok := r.tools.Resolve(Unescape(name)); return ok }}
}

// place gives each call the repairs inside its own text, and gives repairs that
// are inside no call to all of them.
func (r *reading) place(repairs []llm.Repair) {
	for _, fix := range repairs {
		at := slices.IndexFunc(r.calls, func(c Call) bool { return fix.Start >= c.Start && fix.End <= c.End })
		for i := range r.calls {
			if at < 0 || i == at {
				r.calls[i].Repairs = append(r.calls[i].Repairs, fix)
			}
		}
	}
}

// statements reads values side by side, each of which must be calls.
func (r *reading) statements(p *parser, depth int) bool {
	for {
		p.space()
		switch c := p.peek(); {
		case c == 0:
			return len(r.calls) > 0
		case c == ',' || c == ';':
			p.i++
			continue
		case (c == ')' || c == ']' || c == '}') && len(r.calls) > 0:
			p.fix("extra-bracket", llm.Completion, p.i, p.i+1)
			p.i++
			continue
		}
		r.prefix(p)
		n, ok := p.value()
		if !ok && p.quote() > 0 { // a quote that nothing ends
			p.fix("stray-quote", llm.Guess, p.i, p.i+p.quote())
			p.i += p.quote()
			continue
		}
		if !ok || !r.read(n, p, depth) {
			return false
		}
	}
}

// prefix passes over a word that code puts before a call.
func (r *reading) prefix(p *parser) {
	for _, word := range [...]string{"return ", "await "} {
		if strings.HasPrefix(p.s[p.i:], word) {
			p.fix("statement", llm.Guess, p.i, p.i+len(word))
			p.i += len(word)
		}
	}
}

// read adds the calls that a value is.
func (r *reading) read(n node, p *parser, depth int) bool {
	if depth > maxDepth {
		return false
	}
	for _, s := range shapes {
		if s.kind == n.kind && s.fits(r, n) {
			return s.read(r, n, p, depth+1)
		}
	}
	return false
}

// shape is a form of value that is a call, or holds some.
type shape struct {
	name string
	kind kind
	fits func(r *reading, n node) bool
	read func(r *reading, n node, p *parser, depth int) bool
}

// shapes are asked in their order; the first that fits reads. A new way of
// writing calls is a row here.
var shapes []shape

func init() {
	always := func(*reading, node) bool { return true }
	shapes = []shape{
		{"a call of an offered tool", callNode, func(r *reading, n node) bool { return r.offered(n.text) }, (*reading).call},
		{"a call inside print and the like", callNode, (*reading).wraps, (*reading).wrapped},
		{"a name and its arguments as keywords", callNode, (*reading).keywords, (*reading).byKeywords},
		{"a call inside a function of any name", callNode, (*reading).surrounds, (*reading).surrounded},
		{"a call behind the name of a module", callNode, (*reading).isQualified, (*reading).qualified},
		{"a call of a tool that was not offered", callNode, func(r *reading, n node) bool { return len(n.items) > 0 && n.items[0].key != "" }, (*reading).unknown},
		{"a name and its arguments in a list", listNode, (*reading).isPair, (*reading).pair},
		{"a name that was not offered and its arguments in a list", listNode, isForeignPair, (*reading).foreignPair},
		{"names and their arguments in turns", listNode, (*reading).isRow, (*reading).row},
		{"names before their objects in a list", listNode, (*reading).isKeyed, (*reading).keyed},
		{"a list of calls", listNode, always, (*reading).each},
		{"a name under its own key", dictNode, (*reading).isNamed, (*reading).named},
		{"a name that was not offered under its own key", dictNode, isForeign, (*reading).foreign},
		{"a name as the only key", dictNode, (*reading).isKeyed, (*reading).keyed},
		{"several calls under a name as the only key", dictNode, (*reading).isRepeated, (*reading).repeated},
		{"calls under the word for calls", dictNode, isHolder, func(r *reading, n node, p *parser, depth int) bool { return r.read(n.items[0].value, p, depth) }},
		{"calls in braces", dictNode, func(r *reading, n node) bool {
			return len(n.items) > 0 && !slices.ContainsFunc(n.items, func(it item) bool { return it.key != "" })
		}, (*reading).each},
		{"a string that holds calls", stringNode, always, (*reading).inString},
		{"a name alone", wordNode, (*reading).isAlone, (*reading).alone},
	}
}

func (r *reading) offered(written string) bool { _, ok := r.tools.Resolve(written); return ok }

// add makes a call of a name and its arguments. It reports false if they are
// variables, as in code and in prose about a function.
func (r *reading) add(written string, items []item, n node, p *parser) bool {
	if slices.ContainsFunc(items, isVariable) {
		return false
	}
	name, known := r.tools.Resolve(written)
	c := Call{Name: name, Written: written, Known: known, Start: p.base + n.start, End: p.base + n.end}
	if maps := dicts(items); len(maps) > 1 && r.allFit(name, maps) {
		for _, d := range maps { // one object for each call
			c := c
			c.Start, c.End = p.base+d.start, p.base+d.end
			c.Repairs = []llm.Repair{{Rule: "one-object-per-call", Class: llm.Guess, Start: c.Start, End: c.End}}
			r.finish(&c, d.items)
		}
		return true
	} else if len(maps) == 1 && len(items) == 1 {
		items = maps[0].items
	}
	r.finish(&c, items)
	return true
}

// isVariable reports whether an argument without a key is a bare word, in
// braces or not, or one with a key is the name of a type.
func isVariable(it item) bool {
	v := it.value
	if v.kind == dictNode && len(v.items) > 0 {
		return slices.ContainsFunc(v.items, isVariable)
	}
	if it.key != "" && v.kind == wordNode && TypeNames[strings.ToLower(v.text)] && !IsConstant(v.text) {
		return true
	}
	return it.key == "" && v.kind == wordNode && Literal(v.text)[0] == '"'
}

// TypeNames are the types of JSON Schema, and what models write for them.
var TypeNames = map[string]bool{
	"string": true, "integer": true, "number": true, "boolean": true, "array": true, "object": true, "null": true,
	"float": true, "dict": true, "int": true, "bool": true, "str": true, "list": true,
}

// dicts returns the values of items if all are dicts without keys.
func dicts(items []item) []node {
	var out []node
	for _, it := range items {
		if it.key != "" || it.value.kind != dictNode {
			return nil
		}
		out = append(out, it.value)
	}
	return out
}

// allFit reports whether each dict holds all required parameters of a tool and
// nothing else.
func (r *reading) allFit(name string, dicts []node) bool {
	keys, known := r.tools.Properties(name)
	for _, d := range dicts {
		for _, it := range d.items {
			if !slices.Contains(keys, it.key) {
				return false
			}
		}
		for _, key := range keys {
			if r.tools.Required(name, key) && !slices.ContainsFunc(d.items, func(it item) bool { return it.key == key }) {
				return false
			}
		}
	}
	return known
}

// finish writes the arguments and adds the call.
func (r *reading) finish(c *Call, items []item) {
	keys, _ := r.tools.Properties(c.Name)
	w := writer{call: c}
	w.b.WriteByte('{')
	items = r.once(c, items)
	for i, it := range items {
		key := it.key
		if key == "" {
			if i >= len(keys) || !c.Known {
				c.Problem = "an argument has no name"
				break
			}
			key = keys[i]
			c.Repairs = append(c.Repairs, llm.Repair{Rule: "positional-argument", Class: llm.Guess, Start: c.Start, End: c.End})
		}
		if i > 0 {
			w.b.WriteByte(',')
		}
		w.text(key)
		w.b.WriteByte(':')
		w.kinds = r.tools.Kinds(c.Name, key)
		if !w.value(it.value) {
			c.Problem = "the argument " + key + " is no value"
			break
		}
	}
	w.b.WriteByte('}')
	c.Args = w.b.Bytes()
	r.calls = append(r.calls, *c)
}

// once returns items without those whose key comes again further on: the last
// one counts, which is a guess.
func (r *reading) once(c *Call, items []item) []item {
	last := make(map[string]int, len(items))
	for i, it := range items {
		last[it.key] = i
	}
	return slices.DeleteFunc(slices.Clone(items), func(it item) bool {
		again := it.key != "" && items[last[it.key]].value.start != it.value.start
		if again {
			c.Repairs = append(c.Repairs, llm.Repair{Rule: "repeated-parameter", Class: llm.Guess, Start: c.Start, End: c.End})
		}
		return again
	})
}

func (r *reading) call(n node, p *parser, _ int) bool { return r.add(n.text, n.items, n, p) }

// Wrappers are functions that models put around a call.
var Wrappers = []string{
	"print", "call", "run", "invoke", "execute", "call_tool", "use_tool", "call_function", "tool_call", "function_call",
	"execute_tool", "run_tool", "invoke_tool", "execute_function",
}

// wraps reports whether a call holds another one, or the name of a tool.
func (r *reading) wraps(n node) bool {
	base := n.text[strings.LastIndexByte(n.text, '.')+1:]
	if !slices.Contains(Wrappers, strings.ToLower(base)) || len(n.items) == 0 || n.items[0].key != "" {
		return false
	}
	v := n.items[0].value
	return v.kind == callNode || (v.kind == wordNode || v.kind == stringNode) && r.offered(Unescape(v.text))
}

func (r *reading) wrapped(n node, p *parser, depth int) bool {
	if n.items[0].value.kind == callNode {
		return r.each(n, p, depth)
	}
	return r.add(Unescape(n.items[0].value.text), n.items[1:], n, p)
}

// keywords reports whether a function is called with the name of a tool and its
// arguments: tool_call(name="f", arguments={…}).
func (r *reading) keywords(n node) bool {
	base := n.text[strings.LastIndexByte(n.text, '.')+1:]
	if !slices.Contains(Wrappers, strings.ToLower(base)) || len(n.items) == 0 || len(n.items) > 2 {
		return false
	}
	name := n.items[0]
	if !slices.Contains(NameKeys, name.key) || name.value.kind != stringNode || !r.offered(name.value.text) {
		return false
	}
	return len(n.items) == 1 || slices.Contains(argsKeys, n.items[1].key) && n.items[1].value.kind == dictNode
}

func (r *reading) byKeywords(n node, p *parser, _ int) bool {
	var args []item
	if len(n.items) == 2 {
		args = n.items[1].value.items
	}
	return r.add(n.items[0].value.text, args, n, p)
}

func (r *reading) unknown(n node, p *parser, _ int) bool { return r.add(n.text, n.items, n, p) }

// isPair reports whether a list is a name and its arguments: an object, named
// arguments, or strings like key=value.
func (r *reading) isPair(n node) bool {
	if len(n.items) == 0 || n.items[0].key != "" {
		return false
	}
	head := n.items[0].value
	if head.kind != stringNode && head.kind != wordNode || !r.offered(Unescape(head.text)) {
		return false
	}
	rest := n.items[1:]
	if len(rest) == 1 && rest[0].key == "" && rest[0].value.kind == dictNode {
		return true
	}
	for _, it := range rest {
		if _, ok := assigned(it); !ok {
			return false
		}
	}
	return len(rest) > 0
}

// assigned returns a named argument, also one that is a string like key=value.
func assigned(it item) (item, bool) {
	if it.key != "" {
		return it, true
	}
	key, value, ok := strings.Cut(it.value.text, "=")
	if it.value.kind != stringNode || !ok || key == "" || strings.ContainsAny(key, " \t\n\"'") {
		return it, false
	}
	inner := parser{s: value, isName: func(string) bool { return false }}
	v, ok := inner.value()
	if inner.space(); !ok || inner.i < len(inner.s) {
		v = node{kind: stringNode, text: value}
	}
	if v.kind == wordNode && Literal(v.text)[0] == '"' {
		v.kind = stringNode
	}
	v.start, v.end = it.value.start, it.value.end
	return item{key: strings.TrimSpace(key), value: v}, true
}

func (r *reading) pair(n node, p *parser, _ int) bool {
	rest := n.items[1:]
	if len(rest) == 1 && rest[0].key == "" && rest[0].value.kind == dictNode {
		return r.add(Unescape(n.items[0].value.text), rest, n, p)
	}
	args := make([]item, len(rest))
	for i, it := range rest {
		args[i], _ = assigned(it)
	}
	p.fix("arguments-beside-name", llm.Guess, n.start, n.end)
	return r.add(Unescape(n.items[0].value.text), args, n, p)
}

// isRow reports whether a list is names and objects in turns.
func (r *reading) isRow(n node) bool {
	for i, it := range n.items {
		v := it.value
		if it.key != "" || i%2 == 1 && v.kind != dictNode || i%2 == 0 && (v.kind != stringNode || !r.offered(Unescape(v.text))) {
			return false
		}
	}
	return len(n.items) > 2 && len(n.items)%2 == 0
}

func (r *reading) row(n node, p *parser, _ int) bool {
	for i := 0; i < len(n.items); i += 2 {
		at := n.items[i+1].value
		at.start = n.items[i].value.start
		if !r.add(Unescape(n.items[i].value.text), n.items[i+1:i+2], at, p) {
			return false
		}
	}
	return true
}

// surrounds reports whether a function that was not offered is given nothing
// but calls of tools that were.
func (r *reading) surrounds(n node) bool {
	return len(n.items) > 0 && !slices.ContainsFunc(n.items, func(it item) bool {
		return it.key != "" || it.value.kind != callNode || !r.offered(it.value.text)
	})
}

func (r *reading) surrounded(n node, p *parser, depth int) bool {
	p.fix("call-in-call", llm.Guess, n.start, n.end)
	return r.each(n, p, depth)
}

// unqualified returns the offered name that ends a name with dots.
func (r *reading) unqualified(written string) (string, bool) {
	for {
		dot := strings.IndexByte(written, '.')
		if dot < 0 {
			return "", false
		}
		if written = written[dot+1:]; r.offered(written) {
			return written, true
		}
	}
}

// isQualified reports whether a call is one of an offered tool after a prefix
// that no one offered, and every argument is a parameter of that tool.
func (r *reading) isQualified(n node) bool {
	written, ok := r.unqualified(n.text)
	name, _ := r.tools.Resolve(written)
	keys, known := r.tools.Properties(name)
	return ok && known && len(n.items) > 0 && !slices.ContainsFunc(n.items, func(it item) bool { return !slices.Contains(keys, it.key) })
}

func (r *reading) qualified(n node, p *parser, _ int) bool {
	written, _ := r.unqualified(n.text)
	p.fix("qualified-name", llm.Guess, n.start, n.end)
	return r.add(written, n.items, n, p)
}

// each reads the elements of a list, all of which must be calls. One may be
// assigned to a variable.
func (r *reading) each(n node, p *parser, depth int) bool {
	for _, it := range n.items {
		if it.key != "" {
			if it.value.kind != callNode || n.kind != listNode {
				return false
			}
			p.fix("assignment", llm.Guess, it.value.start, it.value.start)
		}
		if !r.read(it.value, p, depth) {
			return false
		}
	}
	return len(n.items) > 0
}

// NameKeys and argsKeys are the keys under which objects hold a name and its
// arguments. Beside a key of results an object reports a call.
var (
	NameKeys   = []string{"name", "function", "func", "tool", "action", "api", "method", "tool_name", "function_name", "api_name"}
	argsKeys   = []string{"arguments", "args", "parameters", "params", "input", "kwargs", "parameter", "argument"}
	resultKeys = []string{"result", "output", "response", "status", "error", "returned", "observation"}
)

func (r *reading) isNamed(n node) bool {
	for _, it := range n.items {
		if slices.Contains(resultKeys, strings.ToLower(it.key)) {
			return false
		}
	}
	_, ok := r.nameOf(n)
	return ok
}

// nameOf returns the index of the member that names the tool.
func (r *reading) nameOf(n node) (int, bool) {
	for _, key := range NameKeys {
		for i, it := range n.items {
			if strings.EqualFold(it.key, key) && it.value.kind == stringNode && r.offered(Unescape(it.value.text)) {
				return i, true
			}
		}
	}
	return 0, false
}

func (r *reading) named(n node, p *parser, _ int) bool {
	at, _ := r.nameOf(n)
	name, _ := r.tools.Resolve(Unescape(n.items[at].value.text))
	rest := slices.Delete(slices.Clone(n.items), at, at+1)
	keys, known := r.tools.Properties(name)
	for _, it := range rest {
		if slices.Contains(argsKeys, strings.ToLower(it.key)) && it.value.kind == dictNode && !(known && slices.Contains(keys, it.key)) {
			if len(rest) > 1 && !onlyLabels(rest) {
				return false
			}
			return r.add(name, it.value.items, n, p)
		}
	}
	if !known || slices.ContainsFunc(rest, func(it item) bool { return !slices.Contains(keys, it.key) }) {
		return false
	}
	for _, key := range keys {
		if r.tools.Required(name, key) && !slices.ContainsFunc(rest, func(it item) bool { return it.key == key }) {
			return false
		}
	}
	p.fix("arguments-beside-name", llm.Syntax, n.start, n.end)
	return r.add(name, rest, n, p)
}

// foreignMembers returns the name and the arguments of an object that is a call
// of a tool that was not offered. It counts only next to calls of others.
func foreignMembers(n node) (name string, args node, ok bool) {
	for _, it := range n.items {
		switch key := strings.ToLower(it.key); {
		case slices.Contains(NameKeys, key) && it.value.kind == stringNode && name == "":
			name = it.value.text
		case slices.Contains(argsKeys, key) && it.value.kind == dictNode && !ok:
			args, ok = it.value, true
		case key != "id" && key != "type" && key != "call_id":
			return "", args, false
		}
	}
	return name, args, ok && isName(name)
}

func isForeign(_ *reading, n node) bool { _, _, ok := foreignMembers(n); return ok }

func (r *reading) foreign(n node, p *parser, _ int) bool {
	name, args, _ := foreignMembers(n)
	return r.add(name, args.items, n, p)
}

// isForeignPair is isForeign for a name and an object in a list.
func isForeignPair(_ *reading, n node) bool {
	return len(n.items) == 2 && n.items[0].key == "" && n.items[0].value.kind == stringNode && isName(n.items[0].value.text) &&
		n.items[1].key == "" && n.items[1].value.kind == dictNode
}

func (r *reading) foreignPair(n node, p *parser, _ int) bool {
	return r.add(n.items[0].value.text, n.items[1].value.items, n, p)
}

// isName reports whether s may be the name of a tool.
func isName(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool { return r >= utf8.RuneSelf || !isNameByte(byte(r)) })
}

// onlyLabels reports whether all members but the arguments are what calls carry
// next to name and arguments.
func onlyLabels(items []item) bool {
	for _, it := range items {
		if key := strings.ToLower(it.key); !slices.Contains(argsKeys, key) && key != "id" && key != "type" && key != "call_id" {
			return false
		}
	}
	return true
}

func (r *reading) isKeyed(n node) bool {
	for _, it := range n.items {
		if it.key == "" || it.value.kind != dictNode || !r.offered(it.key) {
			return false
		}
	}
	return len(n.items) > 0
}

// HolderKeys are the keys under which an object holds calls.
var HolderKeys = []string{
	"calls", "tool_calls", "function_calls", "functions", "tools", "actions", "call", "tool_call", "function_call", "function", "tool", "action",
}

// isHolder reports whether the only key of an object is one for calls, and a
// list is under it.
func isHolder(_ *reading, n node) bool {
	return len(n.items) == 1 && slices.Contains(HolderKeys, strings.ToLower(n.items[0].key)) && (n.items[0].value.kind == listNode || n.items[0].value.kind == stringNode)
}

// isRepeated reports whether the only key of an object is a name, under which a
// list of arguments stands.
func (r *reading) isRepeated(n node) bool {
	if len(n.items) != 1 || n.items[0].value.kind != listNode || !r.offered(n.items[0].key) {
		return false
	}
	name, _ := r.tools.Resolve(n.items[0].key)
	maps := dicts(n.items[0].value.items)
	return len(maps) > 0 && r.allFit(name, maps)
}

func (r *reading) repeated(n node, p *parser, _ int) bool {
	for _, d := range dicts(n.items[0].value.items) {
		p.fix("one-object-per-call", llm.Guess, d.start, d.end)
		if !r.add(n.items[0].key, d.items, d, p) {
			return false
		}
	}
	return true
}

func (r *reading) keyed(n node, p *parser, _ int) bool {
	if n.kind == listNode {
		p.fix("key-in-list", llm.Syntax, n.start, n.end)
	}
	for _, it := range n.items {
		if !r.add(it.key, it.value.items, it.value, p) {
			return false
		}
	}
	return true
}

// inString reads the calls that a string holds.
func (r *reading) inString(n node, p *parser, depth int) bool {
	inner := r.parser(n.text, p.base+n.start+1, p.escaped)
	before := len(r.calls)
	if !r.statements(inner, depth) || len(r.calls) == before {
		return false
	}
	p.repairs = append(p.repairs, inner.repairs...)
	for i := before; i < len(r.calls); i++ {
		r.calls[i].Repairs = append(r.calls[i].Repairs, llm.Repair{Rule: "call-in-string", Class: llm.Syntax, Start: p.base + n.start, End: p.base + n.end})
	}
	return true
}

// isAlone reports whether a word is the name of a tool that needs nothing.
func (r *reading) isAlone(n node) bool {
	name, ok := r.tools.Resolve(n.text)
	if !ok {
		return false
	}
	keys, known := r.tools.Properties(name)
	for _, key := range keys {
		if r.tools.Required(name, key) {
			return false
		}
	}
	return known
}

func (r *reading) alone(n node, p *parser, _ int) bool { return r.add(n.text, nil, n, p) }

// writer writes arguments as JSON.
type writer struct {
	b     bytes.Buffer
	call  *Call
	kinds Kinds // of the value being written
}

func (w *writer) text(s string) { w.b.WriteString(quote(s)) }

// value writes a value. A call is none.
func (w *writer) value(n node) bool {
	switch n.kind {
	case stringNode:
		w.text(n.text)
	case wordNode:
		s := Word(n.text, w.kinds)
		if s.Rule != "" {
			w.call.Repairs = append(w.call.Repairs, llm.Repair{Rule: s.Rule, Class: s.Class, Start: w.call.Start, End: w.call.End})
		}
		w.b.WriteString(s.JSON)
		return !s.Bad
	case listNode:
		return w.list(n)
	case dictNode:
		return w.dict(n)
	case callNode:
		w.call.Repairs = append(w.call.Repairs, llm.Repair{Rule: "dict-call", Class: llm.Syntax, Start: w.call.Start, End: w.call.End})
		return isDict(n) && w.dict(n)
	default:
		return false
	}
	return true
}

func (w *writer) list(n node) bool {
	w.kinds = AnyKind
	w.b.WriteByte('[')
	for i, it := range n.items {
		if i > 0 {
			w.b.WriteByte(',')
		}
		if it.key != "" || !w.value(it.value) {
			return false
		}
	}
	w.b.WriteByte(']')
	return true
}

func (w *writer) dict(n node) bool {
	if len(n.items) > 0 && n.items[0].key == "" { // a set
		return w.list(n)
	}
	w.kinds = AnyKind
	w.b.WriteByte('{')
	for i, it := range n.items {
		if i > 0 {
			w.b.WriteByte(',')
		}
		w.text(it.key)
		w.b.WriteByte(':')
		if it.key == "" || !w.value(it.value) {
			return false
		}
	}
	w.b.WriteByte('}')
	return true
}

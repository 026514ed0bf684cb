// Package lark checks whether a text fits a grammar: a grammar in the notation of Lark, or a regular expression.
// Vendors accept both for tools whose input is free text.
//
// It accepts more than a vendor's lexer does: a terminal may match any of the lengths that its expression allows, not
// only the longest. A text that a vendor would produce is therefore never refused.
package lark

import (
	"errors"
	"fmt"
	"regexp/syntax"
	"unicode"
	"unicode/utf8"
)

// Limits of grammars and texts.
const (
	maxDefinition = 256 << 10
	maxSymbols    = 20_000
	maxDepth      = 200
	maxWork       = 5_000_000 // items that are examined: about a second
)

// ErrTooMuch means that the check of a text would exceed the work limit.
var ErrTooMuch = errors.New("lark: the text is too long, or too ambiguous, to be checked")

// A symbol is a nonterminal, or the bitwise complement of a class of characters.
type symbol int32

// production is one way to write a nonterminal.
type production struct {
	of    symbol
	means []symbol
}

// Grammar is a grammar that is ready for use, by any number of goroutines.
type Grammar struct {
	productions []production
	of          [][]int32 // productions of each nonterminal
	classes     [][]rune  // pairs of first and last character, in order
	empty       []bool    // nonterminals that match the empty text
	start       int32     // the production of everything
}

// Mismatch is the position at which a text stops matching.
type Mismatch struct {
	Line, Column int // from 1; the column counts characters
	Found        string
}

// Error describes the mismatch in a sentence for the author of the text.
func (m *Mismatch) Error() string {
	if m.Found == "" {
		return fmt.Sprintf("the text ends in line %d, column %d, where the grammar wants more", m.Line, m.Column)
	}
	return fmt.Sprintf("the grammar does not allow %q in line %d, column %d", m.Found, m.Line, m.Column)
}

// builder collects a grammar.
type builder struct {
	g    Grammar
	size int
	err  error
}

func (b *builder) fail(format string, args ...any) {
	if b.err == nil {
		b.err = fmt.Errorf("lark: "+format, args...)
	}
}

// nonterminal returns a new nonterminal that means one of the alternatives.
func (b *builder) nonterminal(alternatives ...[]symbol) symbol {
	s := symbol(len(b.g.of))
	b.g.of = append(b.g.of, nil)
	for _, a := range alternatives {
		b.produce(s, a)
	}
	return s
}

func (b *builder) produce(s symbol, means []symbol) {
	if b.size += len(means) + 1; b.size > maxSymbols {
		b.fail("the grammar is too large")
		return
	}
	b.g.of[s] = append(b.g.of[s], int32(len(b.g.productions)))
	b.g.productions = append(b.g.productions, production{s, means})
}

func (b *builder) class(pairs ...rune) symbol {
	b.g.classes = append(b.g.classes, pairs)
	return ^symbol(len(b.g.classes) - 1)
}

// literal is a text, in any case of its letters if fold is set.
func (b *builder) literal(text []rune, fold bool) symbol {
	var means []symbol
	for _, r := range text {
		pairs := []rune{r, r}
		for f := unicode.SimpleFold(r); fold && f != r; f = unicode.SimpleFold(f) {
			pairs = append(pairs, f, f)
		}
		means = append(means, b.class(pairs...))
	}
	return b.nonterminal(means)
}

// repeat is a symbol n to m times in a row; m < 0 means no limit.
func (b *builder) repeat(s symbol, n, m int) symbol {
	if n > maxSymbols || m > maxSymbols || m >= 0 && m < n {
		b.fail("something is repeated %d to %d times", n, m)
		return b.nonterminal(nil)
	}
	var means []symbol
	for range n {
		means = append(means, s)
	}
	if m < 0 {
		more := b.nonterminal(nil)
		b.produce(more, []symbol{more, s})
		return b.nonterminal(append(means, more))
	}
	for range m - n {
		means = append(means, b.nonterminal(nil, []symbol{s}))
		if b.err != nil {
			break
		}
	}
	return b.nonterminal(means)
}

// expression is a regular expression.
func (b *builder) expression(text string, flags syntax.Flags) symbol {
	re, err := syntax.Parse(text, flags)
	if err != nil {
		b.fail("the expression %.60q cannot be read: %v", text, err)
		return b.nonterminal(nil)
	}
	return b.node(re, 0)
}

// node is a part of a regular expression.
func (b *builder) node(re *syntax.Regexp, depth int) symbol {
	if depth > maxDepth {
		b.fail("an expression is nested too deeply")
	}
	if b.err != nil {
		return b.nonterminal(nil)
	}
	sub := func(i int) symbol { return b.node(re.Sub[i], depth+1) }
	switch re.Op {
	case syntax.OpEmptyMatch:
		return b.nonterminal(nil)
	case syntax.OpLiteral:
		return b.literal(re.Rune, re.Flags&syntax.FoldCase != 0)
	case syntax.OpCharClass:
		return b.class(re.Rune...)
	case syntax.OpAnyCharNotNL:
		return b.class(0, '\n'-1, '\n'+1, unicode.MaxRune)
	case syntax.OpAnyChar:
		return b.class(0, unicode.MaxRune)
	case syntax.OpCapture:
		return sub(0)
	case syntax.OpStar:
		return b.repeat(sub(0), 0, -1)
	case syntax.OpPlus:
		return b.repeat(sub(0), 1, -1)
	case syntax.OpQuest:
		return b.repeat(sub(0), 0, 1)
	case syntax.OpRepeat:
		return b.repeat(sub(0), re.Min, re.Max)
	case syntax.OpConcat, syntax.OpAlternate:
		var parts []symbol
		for i := range re.Sub {
			parts = append(parts, sub(i))
		}
		if re.Op == syntax.OpConcat {
			return b.nonterminal(parts)
		}
		return b.either(parts)
	}
	b.fail("the expression %.60q has a condition on what stands around it, which cannot be checked", re.String())
	return b.nonterminal(nil)
}

func (b *builder) either(parts []symbol) symbol {
	s := b.nonterminal()
	for _, p := range parts {
		b.produce(s, []symbol{p})
	}
	return s
}

// finish makes a grammar that matches the texts of a symbol.
func (b *builder) finish(of symbol) (*Grammar, error) {
	if b.err != nil {
		return nil, b.err
	}
	all := b.nonterminal([]symbol{of})
	g := &b.g
	g.start = g.of[all][0]
	g.empty = make([]bool, len(g.of))
	for grown := true; grown; {
		grown = false
		for _, p := range g.productions {
			if !g.empty[p.of] && g.allEmpty(p.means) {
				g.empty[p.of], grown = true, true
			}
		}
	}
	return g, b.err
}

func (g *Grammar) allEmpty(list []symbol) bool {
	for _, s := range list {
		if s < 0 || !g.empty[s] {
			return false
		}
	}
	return true
}

// Regexp returns a grammar whose texts are the full matches of a regular expression.
func Regexp(text string) (*Grammar, error) {
	if len(text) > maxDefinition {
		return nil, fmt.Errorf("lark: an expression has more than %d bytes", maxDefinition)
	}
	b := new(builder)
	return b.finish(b.expression(text, syntax.Perl|syntax.UnicodeGroups))
}

// item is a production that is being read: up to dot, from origin on.
type item struct {
	production, dot, origin int32
}

// reading is a text that is being read, by Earley's algorithm.
type reading struct {
	g         *Grammar
	waiting   []waiter // the items that wait for a nonterminal, by their place
	from      []int    // where the waiters of each place begin
	begun     []int32  // for each nonterminal, one more than the last place where it was begun
	now, next places
	work      int
}

// waiter is an item that waits for a nonterminal.
type waiter struct {
	symbol symbol
	item   item
}

// Match returns nil if the text fits, a *[Mismatch] if it does not, and [ErrTooMuch] if it gave up.
func (g *Grammar) Match(text string) error {
	r := &reading{g: g, begun: make([]int32, len(g.of))}
	r.now.reset()
	r.now.add(item{production: g.start})
	line, column := 1, 1
	for at, rest := int32(0), text; ; at++ {
		c, size := utf8.DecodeRuneInString(rest)
		r.next.reset()
		if !r.step(at, c, size > 0) {
			return ErrTooMuch
		}
		if size == 0 {
			if r.now.has(item{g.start, 1, 0}) {
				return nil
			}
			return &Mismatch{Line: line, Column: column}
		}
		if len(r.next.items) == 0 {
			return &Mismatch{Line: line, Column: column, Found: rest[:size]}
		}
		r.now, r.next = r.next, r.now
		rest = rest[size:]
		if column++; c == '\n' {
			line, column = line+1, 1
		}
	}
}

// step processes the items at a place, before the character c if there is one. It reports whether
// the work stayed within the limit.
func (r *reading) step(at int32, c rune, more bool) bool {
	r.from = append(r.from, len(r.waiting))
	for i := 0; i < len(r.now.items); i++ {
		if r.work++; r.work > maxWork {
			return false
		}
		it := r.now.items[i]
		p := &r.g.productions[it.production]
		if int(it.dot) == len(p.means) {
			r.complete(p.of, it.origin)
			continue
		}
		on := item{it.production, it.dot + 1, it.origin}
		if want := p.means[it.dot]; want >= 0 {
			r.want(at, want, it)
			if r.g.empty[want] {
				r.now.add(on)
			}
		} else if more && holds(r.g.classes[^want], c) {
			r.next.add(on)
		}
	}
	return true
}

// complete advances the items that waited for a nonterminal that began at origin.
func (r *reading) complete(s symbol, origin int32) {
	end := len(r.waiting)
	if int(origin)+1 < len(r.from) {
		end = r.from[origin+1]
	}
	waiting := r.waiting[r.from[origin]:end]
	r.work += len(waiting) / 4
	for _, w := range waiting {
		if w.symbol == s {
			w.item.dot++
			r.now.add(w.item)
		}
	}
}

// want records that an item waits for a nonterminal, and begins to read it.
func (r *reading) want(at int32, s symbol, it item) {
	r.waiting = append(r.waiting, waiter{s, it})
	if r.begun[s] == at+1 {
		return
	}
	r.begun[s] = at + 1
	for _, p := range r.g.of[s] {
		r.now.add(item{p, 0, at})
	}
}

// places are the items at one place, each once. The slots are a hash table; slots with another round are free.
type places struct {
	items []item
	slots []slot
	round uint32
}

type slot struct {
	item  item
	round uint32
}

// reset removes the items.
func (p *places) reset() {
	p.items = p.items[:0]
	if p.round++; p.slots == nil {
		p.slots = make([]slot, 64)
	}
}

// find returns the slot of an item, or the free one where it belongs.
func (p *places) find(it item) *slot {
	h := (uint32(it.production)*0x9e3779b1 ^ uint32(it.dot)*0x85ebca6b ^ uint32(it.origin)*0xc2b2ae35)
	for h ^= h >> 15; ; h++ {
		s := &p.slots[h&uint32(len(p.slots)-1)]
		if s.round != p.round || s.item == it {
			return s
		}
	}
}

func (p *places) has(it item) bool { return p.find(it).round == p.round }

func (p *places) add(it item) {
	s := p.find(it)
	if s.round == p.round {
		return
	}
	*s = slot{it, p.round}
	if p.items = append(p.items, it); 2*len(p.items) < len(p.slots) {
		return
	}
	p.slots = make([]slot, 2*len(p.slots))
	for _, it := range p.items {
		*p.find(it) = slot{it, p.round}
	}
}

// holds reports whether a class has a character.
func holds(pairs []rune, c rune) bool {
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i] <= c && c <= pairs[i+1] {
			return true
		}
	}
	return false
}

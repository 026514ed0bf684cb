package lark

import (
	"fmt"
	"regexp/syntax"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Compile reads a grammar in the notation of Lark. It supports rules, terminals, groups, repetitions, ranges, imports
// from common and ignored terminals. It does not support templates, declared terminals and other imports, nor
// expressions with conditions on the text around them.
func Compile(definition string) (*Grammar, error) {
	if len(definition) > maxDefinition {
		return nil, fmt.Errorf("lark: a grammar has more than %d bytes", maxDefinition)
	}
	tokens, err := split(definition)
	if err != nil {
		return nil, err
	}
	p := &parser{tokens: tokens, names: map[string]symbol{}, defined: map[string]bool{}}
	p.between = p.nonterminal(nil)
	for p.peek().kind != end {
		p.statement()
		if p.err != nil {
			return nil, p.err
		}
	}
	for name := range p.names {
		if !p.defined[name] {
			return nil, fmt.Errorf("lark: %s is not defined", name)
		}
	}
	if !p.defined["start"] {
		return nil, fmt.Errorf("lark: there is no rule called start")
	}
	return p.finish(p.nonterminal([]symbol{p.between, p.names["start"]}))
}

// The kinds of tokens.
type kind uint8

const (
	end kind = iota
	newline
	name
	text       // in quotes, with its flags
	expression // between slashes, with its flags
	number
	sign
)

type token struct {
	kind kind
	text string
	line int
}

// signs are the tokens other than words, the longer ones first.
var signs = []string{"->", "..", ":", "|", "(", ")", "[", "]", "?", "*", "+", "~", ",", "%", ".", "!", "{", "}"}

// split cuts a definition into tokens.
func split(s string) ([]token, error) {
	var list []token
	line := 1
	for s != "" {
		k, n := sign, 0
		switch c := s[0]; {
		case c == '\n':
			k, n = newline, 1
		case c == ' ' || c == '\t' || c == '\r':
			s = s[1:]
			continue
		case strings.HasPrefix(s, "//") || c == '#':
			_, s, _ = strings.Cut(s, "\n")
			s = "\n" + s
			continue
		case c == '"':
			k, n = text, quoted(s, '"')
		case c == '/':
			k, n = expression, quoted(s, '/')
		case c >= '0' && c <= '9':
			k, n = number, len(s)-len(strings.TrimLeft(s, "0123456789"))
		case c == '_' || unicode.IsLetter(rune(c)):
			k, n = name, len(s)-len(strings.TrimLeftFunc(s, func(r rune) bool { return r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) }))
		default:
			for _, x := range signs {
				if strings.HasPrefix(s, x) {
					n = len(x)
					break
				}
			}
		}
		if n == 0 {
			r, _ := utf8.DecodeRuneInString(s)
			return nil, fmt.Errorf("lark: line %d: %q cannot be read", line, r)
		}
		list = append(list, token{k, s[:n], line})
		if k == newline {
			line++
		}
		s = s[n:]
	}
	return append(list, token{kind: end, line: line}), nil
}

// quoted is the length of a literal with its flags, and 0 if it does not end in its line.
func quoted(s string, quote byte) int {
	for i := 1; i < len(s) && s[i] != '\n'; i++ {
		switch s[i] {
		case '\\':
			i++
		case quote:
			i++
			return len(s) - len(strings.TrimLeft(s[i:], "imslux"))
		}
	}
	return 0
}

// parser reads the statements of a definition.
type parser struct {
	builder
	tokens   []token
	at       int
	depth    int
	names    map[string]symbol
	defined  map[string]bool
	between  symbol // ignored text, any number of times
	terminal bool   // a terminal is being defined; it does not ignore anything
}

func (p *parser) peek() token { return p.tokens[p.at] }

func (p *parser) take() token {
	t := p.tokens[p.at]
	if t.kind != end {
		p.at++
	}
	return t
}

func (p *parser) is(s string) bool { return p.peek().kind == sign && p.peek().text == s }

// skip takes a sign if it is there.
func (p *parser) skip(s string) bool {
	if p.is(s) {
		p.at++
		return true
	}
	return false
}

func (p *parser) expect(s string) {
	if !p.skip(s) {
		p.fail("line %d: there is no %q before %q", p.peek().line, s, p.peek().text)
	}
}

func (p *parser) lines() {
	for p.peek().kind == newline {
		p.at++
	}
}

// symbolOf returns the symbol of a name, which may be defined later.
func (p *parser) symbolOf(name string) symbol {
	s, ok := p.names[name]
	if !ok {
		s = p.nonterminal()
		p.names[name] = s
	}
	return s
}

// statement reads a rule, a terminal or a directive.
func (p *parser) statement() {
	p.lines()
	if p.skip("%") {
		p.directive()
		return
	}
	for p.skip("?") || p.skip("!") {
	}
	t := p.take()
	if t.kind == end {
		return
	}
	if t.kind != name {
		p.fail("line %d: %q begins no rule", t.line, t.text)
		return
	}
	if p.skip(".") { // a priority, which has no effect here
		p.take()
	}
	p.expect(":")
	p.terminal = isTerminal(t.text)
	if p.defined[t.text] {
		p.fail("line %d: %s is defined twice", t.line, t.text)
	}
	p.defined[t.text] = true
	body := p.alternatives()
	p.produce(p.symbolOf(t.text), []symbol{body})
	p.terminal = false
	if k := p.peek().kind; k != newline && k != end {
		p.fail("line %d: %q does not belong there", p.peek().line, p.peek().text)
	}
}

func isTerminal(name string) bool { return strings.ToUpper(name) == name }

// directive reads a directive, which begins with %.
func (p *parser) directive() {
	switch t := p.take(); t.text {
	case "ignore":
		p.terminal = true
		p.produce(p.between, []symbol{p.between, p.alternatives()})
		p.terminal = false
	case "import":
		p.imports(t.line)
	default:
		p.fail("line %d: %%%s is not understood", t.line, t.text)
	}
}

// imports reads common.NAME, common.NAME -> OTHER, or common (A, B).
func (p *parser) imports(line int) {
	if from := p.take(); from.text != "common" {
		p.fail("line %d: there is nothing to be imported from %s", line, from.text)
		return
	}
	if p.skip("(") {
		for !p.skip(")") && p.err == nil {
			n := p.take().text
			p.common(n, n, line)
			p.skip(",")
		}
		return
	}
	p.expect(".")
	n := p.take().text
	as := n
	if p.skip("->") {
		as = p.take().text
	}
	p.common(n, as, line)
}

// common defines a terminal of Lark's library.
func (p *parser) common(name, as string, line int) {
	re, ok := library[name]
	if !ok {
		p.fail("line %d: common has no %s that is known", line, name)
		return
	}
	p.defined[as] = true
	p.produce(p.symbolOf(as), []symbol{p.builder.expression(re, flags)})
}

const flags = syntax.Perl | syntax.UnicodeGroups

// library are the terminals that grammars import from common.
var library = map[string]string{
	"DIGIT": `[0-9]`, "HEXDIGIT": `[a-fA-F0-9]`, "INT": `[0-9]+`, "SIGNED_INT": `[+-]?[0-9]+`,
	"DECIMAL": `[0-9]+\.[0-9]*|\.[0-9]+`, "FLOAT": `[0-9]+[eE][+-]?[0-9]+|([0-9]+\.[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?`,
	"SIGNED_FLOAT":   `[+-]?([0-9]+[eE][+-]?[0-9]+|([0-9]+\.[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?)`,
	"NUMBER":         `[0-9]+|[0-9]+[eE][+-]?[0-9]+|([0-9]+\.[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?`,
	"SIGNED_NUMBER":  `[+-]?([0-9]+|[0-9]+[eE][+-]?[0-9]+|([0-9]+\.[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?)`,
	"ESCAPED_STRING": `"([^"\\\n]|\\.)*"`, "LCASE_LETTER": `[a-z]`, "UCASE_LETTER": `[A-Z]`, "LETTER": `[A-Za-z]`,
	"WORD": `[A-Za-z]+`, "CNAME": `[_A-Za-z][_A-Za-z0-9]*`, "WS_INLINE": `[ \t]+`, "WS": `[ \t\f\r\n]+`, "CR": `\r`, "LF": `\n`,
	"NEWLINE": `(\r?\n)+`, "SH_COMMENT": `#[^\n]*`, "CPP_COMMENT": `//[^\n]*`, "C_COMMENT": `/\*([^*]|\*+[^*/])*\*+/`, "SQL_COMMENT": `--[^\n]*`,
}

// alternatives reads the definition of a rule, a terminal or a group.
func (p *parser) alternatives() symbol {
	if p.depth++; p.depth > maxDepth {
		p.fail("line %d: groups are nested too deeply", p.peek().line)
	}
	defer func() { p.depth-- }()
	s := p.nonterminal()
	for p.err == nil {
		p.produce(s, p.sequence())
		if p.skip("->") { // the name of an alternative
			p.take()
		}
		at := p.at
		if p.lines(); !p.skip("|") {
			if p.depth == 1 {
				p.at = at // the line ends the rule
			}
			break
		}
		p.lines()
	}
	return s
}

// sequence reads the items of a sequence.
func (p *parser) sequence() []symbol {
	var list []symbol
	for p.err == nil {
		if p.depth > 1 {
			p.lines()
		}
		s, ok := p.atom()
		if !ok {
			break
		}
		list = append(list, p.repeated(s))
	}
	return list
}

// atom reads a name, a literal or a group.
func (p *parser) atom() (symbol, bool) {
	switch t := p.peek(); {
	case t.kind == name:
		p.at++
		s := p.symbolOf(t.text)
		if isTerminal(t.text) {
			s = p.spaced(s)
		}
		return s, true
	case t.kind == text, t.kind == expression:
		p.at++
		return p.spaced(p.literalOf(t)), true
	case p.skip("("):
		s := p.alternatives()
		p.lines()
		p.expect(")")
		return s, true
	case p.skip("["):
		s := p.alternatives()
		p.lines()
		p.expect("]")
		return p.repeat(s, 0, 1), true
	}
	return 0, false
}

// spaced is a terminal of a rule, optionally followed by ignored terminals.
func (p *parser) spaced(s symbol) symbol {
	if p.terminal {
		return s
	}
	return p.nonterminal([]symbol{s, p.between})
}

// repeated reads the number of repetitions of an item.
func (p *parser) repeated(s symbol) symbol {
	switch {
	case p.skip("?"):
		return p.repeat(s, 0, 1)
	case p.skip("*"):
		return p.repeat(s, 0, -1)
	case p.skip("+"):
		return p.repeat(s, 1, -1)
	case p.skip("~"):
		n, err := strconv.Atoi(p.take().text)
		m := n
		if err == nil && p.skip("..") {
			m, err = strconv.Atoi(p.take().text)
		}
		if err != nil {
			p.fail("line %d: a number is missing behind ~", p.peek().line)
			return s
		}
		return p.repeat(s, n, m)
	}
	return s
}

// literalOf is a text, a range of characters or an expression.
func (p *parser) literalOf(t token) symbol {
	body, marks := cutMarks(t.text)
	if t.kind == expression {
		set := syntax.Flags(flags)
		for _, m := range marks {
			switch m {
			case 'i':
				set |= syntax.FoldCase
			case 's':
				set |= syntax.DotNL
			case 'm':
				set &^= syntax.OneLine
			case 'x':
				p.fail("line %d: expressions with the mark x are not understood", t.line)
			}
		}
		return p.builder.expression(strings.ReplaceAll(body, `\/`, "/"), set)
	}
	first := p.unquote(body, t.line)
	if p.skip("..") {
		body, _ = cutMarks(p.take().text)
		last := p.unquote(body, t.line)
		if len(first) != 1 || len(last) != 1 || first[0] > last[0] {
			p.fail("line %d: a range has one character at each end", t.line)
			return p.nonterminal(nil)
		}
		return p.class(first[0], last[0])
	}
	return p.literal(first, strings.Contains(marks, "i"))
}

// cutMarks returns a literal without its quotes, and the letters after it.
func cutMarks(s string) (body, marks string) {
	if len(s) < 2 {
		return "", ""
	}
	i := strings.LastIndexByte(s, s[0])
	return s[1:max(i, 1)], s[i+1:]
}

// unquote returns the characters of a text.
func (p *parser) unquote(s string, line int) []rune {
	out, err := strconv.Unquote(`"` + s + `"`)
	if err != nil {
		p.fail("line %d: the text %.60q cannot be read", line, s)
	}
	return []rune(out)
}

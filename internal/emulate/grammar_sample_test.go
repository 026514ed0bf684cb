package emulate

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
)

// gbnf is a grammar of llama.cpp, read well enough to write texts that it
// allows: a host that honours it lets a model write nothing else.
type gbnf struct {
	rules map[string]*gbnfNode
}

// gbnfNode is a literal, a class of characters, the name of a rule, or
// alternatives of sequences; repeated from least to most times, without end if
// most is below 0.
type gbnfNode struct {
	text        string
	class       []rune // pairs
	not         bool
	rule        string
	alts        [][]*gbnfNode
	least, most int
}

func readGrammar(t testing.TB, text string) *gbnf {
	t.Helper()
	g := &gbnf{rules: map[string]*gbnfNode{}}
	for line := range strings.Lines(text) {
		name, body, ok := strings.Cut(strings.TrimSpace(line), " ::= ")
		if !ok {
			t.Fatalf("no rule: %q", line)
		}
		p := gbnfReader{text: body}
		g.rules[name] = p.alternatives()
		if p.err != nil || strings.TrimSpace(p.text) != "" {
			t.Fatalf("rule %s: %v, left %q", name, p.err, p.text)
		}
	}
	return g
}

type gbnfReader struct {
	text string
	err  error
}

func (p *gbnfReader) space() { p.text = strings.TrimLeft(p.text, " ") }

func (p *gbnfReader) alternatives() *gbnfNode {
	n := &gbnfNode{least: 1, most: 1, alts: [][]*gbnfNode{nil}}
	for p.space(); p.text != "" && p.text[0] != ')' && p.err == nil; p.space() {
		if p.text[0] == '|' {
			p.text = p.text[1:]
			n.alts = append(n.alts, nil)
			continue
		}
		last := len(n.alts) - 1
		n.alts[last] = append(n.alts[last], p.item())
	}
	return n
}

func (p *gbnfReader) item() *gbnfNode {
	n := &gbnfNode{least: 1, most: 1}
	switch c := p.text[0]; {
	case c == '(':
		p.text = p.text[1:]
		n = p.alternatives()
		if !strings.HasPrefix(p.text, ")") {
			p.err = fmt.Errorf("no ) at %q", p.text)
			return n
		}
		p.text = p.text[1:]
	case c == '"':
		p.text = p.text[1:]
		var b strings.Builder
		for p.text != "" && p.text[0] != '"' {
			b.WriteRune(p.rune())
		}
		p.text = strings.TrimPrefix(p.text, `"`)
		n.text = b.String()
	case c == '[':
		p.class(n)
	default:
		end := strings.IndexAny(p.text, " )|{?*+")
		if end < 0 {
			end = len(p.text)
		}
		if end == 0 {
			p.err = fmt.Errorf("nothing at %q", p.text)
			p.text = ""
			return n
		}
		n.rule, p.text = p.text[:end], p.text[end:]
	}
	p.count(n)
	return n
}

func (p *gbnfReader) class(n *gbnfNode) {
	p.text = p.text[1:]
	if strings.HasPrefix(p.text, "^") {
		n.not, p.text = true, p.text[1:]
	}
	for p.text != "" && p.text[0] != ']' {
		from := p.rune()
		to := from
		if len(p.text) > 1 && p.text[0] == '-' && p.text[1] != ']' {
			p.text = p.text[1:]
			to = p.rune()
		}
		n.class = append(n.class, from, to)
	}
	p.text = strings.TrimPrefix(p.text, "]")
}

// rune reads a character, escaped or not.
func (p *gbnfReader) rune() rune {
	if p.text[0] != '\\' {
		r := []rune(p.text)[0]
		p.text = p.text[len(string(r)):]
		return r
	}
	c := p.text[1]
	p.text = p.text[2:]
	switch c {
	case 'n':
		return '\n'
	case 'r':
		return '\r'
	case 't':
		return '\t'
	case 'x':
		v, err := strconv.ParseUint(p.text[:2], 16, 8)
		if err != nil {
			p.err = err
		}
		p.text = p.text[2:]
		return rune(v)
	}
	return rune(c)
}

func (p *gbnfReader) count(n *gbnfNode) {
	if p.text == "" {
		return
	}
	switch p.text[0] {
	case '?':
		n.least, n.most = 0, 1
	case '*':
		n.least, n.most = 0, -1
	case '+':
		n.least, n.most = 1, -1
	case '{':
		end := strings.IndexByte(p.text, '}')
		from, to, ranged := strings.Cut(p.text[1:end], ",")
		n.least, _ = strconv.Atoi(from)
		n.most = n.least
		if ranged {
			n.most = -1
			if to != "" {
				n.most, _ = strconv.Atoi(to)
			}
		}
		p.text = p.text[end:]
	default:
		return
	}
	p.text = p.text[1:]
}

// write returns a text that the grammar allows.
func (g *gbnf) write(r *rand.Rand) string {
	var b strings.Builder
	g.node(&b, g.rules["root"], r)
	return b.String()
}

func (g *gbnf) node(b *strings.Builder, n *gbnfNode, r *rand.Rand) {
	most := n.most
	if most < 0 || most > n.least+4 {
		most = n.least + 4
	}
	for range n.least + r.IntN(most-n.least+1) {
		switch {
		case n.rule != "":
			g.node(b, g.rules[n.rule], r)
		case n.class != nil:
			b.WriteRune(n.pick(r))
		case n.alts != nil:
			for _, item := range n.alts[r.IntN(len(n.alts))] {
				g.node(b, item, r)
			}
		default:
			b.WriteString(n.text)
		}
	}
}

func (n *gbnfNode) pick(r *rand.Rand) rune {
	for {
		var c rune
		if n.not {
			pool := []rune(" aZ09\"\\{}[]:,.é世\n\t'")
			c = pool[r.IntN(len(pool))]
		} else {
			i := 2 * r.IntN(len(n.class)/2)
			c = n.class[i] + rune(r.IntN(int(n.class[i+1]-n.class[i])+1))
		}
		in := false
		for i := 0; i < len(n.class); i += 2 {
			in = in || c >= n.class[i] && c <= n.class[i+1]
		}
		if in != n.not {
			return c
		}
	}
}

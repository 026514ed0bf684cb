package jsonfix

import (
	"bytes"
	"unicode"
	"unicode/utf8"

	"github.com/toolpost/toolpost/llm"
)

// parser reads a value from the text that was fed: itself the structure and the
// comments in it, with a stringReader and a tokenReader the rest.
type parser struct {
	builder
	str     stringReader
	tok     tokenReader
	comment byte // the kind of comment being skipped: '*' or '\n'
	star    bool // the comment's last byte was a star
}

// run reads until more text is needed. With final there is no more.
func (p *parser) run(final bool) {
	for p.i < len(p.in) && !p.stopped() {
		var more bool
		switch p.mode {
		case inStructure:
			more = p.structure(final)
		case inString:
			more = p.str.read(&p.builder, final)
		case inToken:
			more = p.tok.read(&p.builder, &p.str, final)
		case inComment:
			p.skipComment()
		}
		if more {
			return
		}
	}
}

// feedEscaped removes one layer of backslashes and reads the rest. It returns how
// much of piece belongs to the value.
func (p *parser) feedEscaped(piece []byte) int {
	for k, c := range piece {
		if !p.addEscaped(c) {
			continue
		}
		p.run(false)
		p.forgetOrigin()
		if p.stopped() {
			n := max(k+1-len(p.layer.origin), 0)
			if p.in, p.i = p.in[:0], 0; !p.whole {
				p.in = append(append(p.in, p.layer.origin...), piece[k+1:]...)
			}
			return n
		}
		p.compact()
		p.checkSize()
	}
	return len(piece)
}

// restartEscaped reads the rest of the input again as escaped text and returns
// how much of it belongs to the value.
func (p *parser) restartEscaped() int {
	rest := p.in[p.i:]
	p.off += p.i
	p.in, p.i = nil, 0 // rest is still in use
	return p.feedEscaped(rest)
}

// structure reads the text between strings and tokens. It returns true if it
// needs more text.
func (p *parser) structure(final bool) (more bool) {
	for p.i < len(p.in) && p.mode == inStructure && !p.stopped() {
		c := p.in[p.i]
		switch c {
		case ' ', '\t', '\n', '\r':
			p.space()
		case '"':
			p.beginString(quoteDouble, 1)
		case '{', '[', '(':
			p.open(c)
		case '}', ']', ')':
			p.close(c)
		case ',':
			p.comma()
		case ':':
			p.colon(1)
		case '-', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9', 't', 'f', 'n':
			if !scalar(&p.builder) {
				p.tok.begin(&p.builder)
			}
		default:
			if p.unusual(c, final) {
				return true
			}
		}
	}
	return false
}

// beginString begins a key or value with a quote of n bytes.
func (p *parser) beginString(q quote, n int) {
	if p.begin() {
		p.str.begin(&p.builder, q, n)
	}
}

// unusual reads text that is not JSON syntax, or starts a number or a word.
func (p *parser) unusual(c byte, final bool) (more bool) {
	rest := p.in[p.i:]
	switch stop, maybe := p.atStop(rest, final); {
	case maybe:
		return true
	case stop:
		p.finishContainers(llm.Guess)
	case c == '\'' || c == '`':
		return p.singleQuote(rest, final)
	case c == '/':
		return p.slash(rest, final)
	case c == '#' && p.state != wantValue:
		p.beginComment('\n', 1)
	case c == '.' && p.state != wantValue:
		return p.dots(rest, final)
	case c == '\\':
		return p.backslash(rest, final)
	case c == '=' && p.state == wantColon:
		return p.equalsSign(rest, final)
	case c == 0:
		p.skip("control-character", llm.Syntax, 1)
	case c >= utf8.RuneSelf:
		return p.wide(rest, final)
	default:
		p.tok.begin(&p.builder)
	}
	return false
}

// skip drops the next n bytes.
func (p *parser) skip(rule string, class llm.RepairClass, n int) {
	p.edit(rule, class, n)
	p.i += n
}

var fence = []byte("```")

// singleQuote reads an apostrophe or a backtick, which begins a string unless
// it begins a fence.
func (p *parser) singleQuote(rest []byte, final bool) (more bool) {
	switch {
	case rest[0] == '`' && len(rest) < 3 && !final && bytes.HasPrefix(fence, rest):
		return true
	case bytes.HasPrefix(rest, fence):
		p.failf("a code fence stands inside the value")
	default:
		p.beginString(quoteSingle, 1)
	}
	return false
}

// equals reads = or => in place of a colon.
func (p *parser) equalsSign(rest []byte, final bool) (more bool) {
	if len(rest) < 2 && !final {
		return true
	}
	n := 1
	if len(rest) > 1 && rest[1] == '>' {
		n = 2
	}
	p.edit("colon", llm.Syntax, n)
	p.equals = true
	p.colon(n)
	return false
}

// slash reads a comment, or a word that starts with a slash.
func (p *parser) slash(rest []byte, final bool) (more bool) {
	switch {
	case len(rest) < 2 && !final:
		return true
	case !beginsComment(rest):
		p.tok.begin(&p.builder)
	case rest[1] == '*':
		p.beginComment('*', 2)
	default:
		p.beginComment('\n', 2)
	}
	return false
}

// beginComment begins a comment with a mark of n bytes.
func (p *parser) beginComment(kind byte, n int) {
	p.skip("comment", llm.Syntax, n)
	p.mode, p.comment, p.star = inComment, kind, false
}

// skipComment skips a comment up to its end or that of the text.
func (p *parser) skipComment() {
	for p.i < len(p.in) && p.mode == inComment {
		c := p.in[p.i]
		if p.comment == '\n' && c == '\n' {
			p.mode = inStructure
			break
		}
		p.i++
		if p.comment == '*' && p.star && c == '/' {
			p.mode = inStructure
		}
		p.star = c == '*'
	}
	p.edits.extend(p.Base + p.at())
}

// dots skips "..." in the place of a key or value: something was left out.
func (p *parser) dots(rest []byte, final bool) (more bool) {
	dots := []byte("...")
	switch {
	case len(rest) < 3 && !final && bytes.HasPrefix(dots, rest):
		return true
	case bytes.HasPrefix(rest, dots):
		p.skip("ellipsis", llm.Guess, 3)
	default:
		p.tok.begin(&p.builder)
	}
	return false
}

// backslash finds text that was escaped once too often, like {\"a\": 1}.
func (p *parser) backslash(rest []byte, final bool) (more bool) {
	switch {
	case len(rest) < 2 && !final:
		return true
	case len(rest) > 1 && bytes.IndexByte([]byte(`"'ntr\`), rest[1]) >= 0 && !p.layer.on:
		p.edit("escaped-twice", llm.Syntax, 1)
		p.layer.on = true
		return true // the caller of run reads the rest again
	case len(rest) > 1 && !isSpace(rest[1]):
		p.failf("a backslash stands outside a string")
	default:
		p.skip("stray-backslash", llm.Syntax, 1)
	}
	return false
}

// wide reads curly quotes and the white space of other writing systems.
func (p *parser) wide(rest []byte, final bool) (more bool) {
	if !utf8.FullRune(rest) && !final {
		return true
	}
	c, n := utf8.DecodeRune(rest)
	switch {
	case isDoubleQuote(c):
		p.edit("quotes", llm.Syntax, n)
		p.beginString(quoteCurly, n)
	case isSingleQuote(c):
		p.beginString(quoteSingle, n)
	case unicode.IsSpace(c) || c == '\ufeff' || c == '\u200b' || c == '\u180e' || c == '\u2060':
		p.skip("white-space", llm.Syntax, n)
	case c == '…' && p.state != wantValue:
		p.skip("ellipsis", llm.Guess, n)
	default:
		p.tok.begin(&p.builder)
	}
	return false
}

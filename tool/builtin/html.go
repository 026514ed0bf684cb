package builtin

import (
	"net/url"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// skipped are elements without readable content.
var skipped = map[atom.Atom]bool{atom.Script: true, atom.Style: true, atom.Noscript: true, atom.Template: true, atom.Svg: true, atom.Iframe: true}

// blocks are elements that begin and end a line.
var blocks = map[atom.Atom]bool{
	atom.P: true, atom.Div: true, atom.Br: true, atom.Li: true, atom.Tr: true, atom.H1: true, atom.H2: true, atom.H3: true, atom.H4: true, atom.H5: true, atom.H6: true,
	atom.Pre: true, atom.Blockquote: true, atom.Section: true, atom.Article: true, atom.Ul: true, atom.Ol: true, atom.Table: true, atom.Hr: true, atom.Header: true, atom.Footer: true, atom.Main: true, atom.Nav: true,
}

// readable returns the text of a page: title first, each block on a separate
// line, links after their words.
func readable(page string, base *url.URL) string {
	p := &webPage{base: base}
	z := html.NewTokenizer(strings.NewReader(page))
	for {
		switch z.Next() {
		case html.ErrorToken:
			return strings.TrimSpace(p.b.String())
		case html.TextToken:
			p.text(string(z.Text()))
		case html.StartTagToken, html.SelfClosingTagToken:
			p.start(z.Token())
		case html.EndTagToken:
			p.end(z.Token())
		}
	}
}

// webPage is a page being read.
type webPage struct {
	b     strings.Builder
	base  *url.URL
	skip  []atom.Atom // open elements that are not read
	link  string
	title bool
}

func (p *webPage) text(s string) {
	if len(p.skip) > 0 && !p.title {
		return
	}
	if words := strings.Join(strings.Fields(s), " "); words != "" {
		if n := p.b.Len(); n > 0 && !strings.HasSuffix(p.b.String()[max(n-1, 0):], "\n") {
			p.b.WriteByte(' ')
		}
		p.b.WriteString(words)
	}
}

func (p *webPage) start(t html.Token) {
	switch {
	case t.DataAtom == atom.Title && p.b.Len() == 0:
		p.title = true
	case skipped[t.DataAtom] && t.Type == html.StartTagToken:
		p.skip = append(p.skip, t.DataAtom)
	case blocks[t.DataAtom]:
		p.line()
	case t.DataAtom == atom.A:
		p.link = p.href(t)
	}
}

func (p *webPage) end(t html.Token) {
	switch n := len(p.skip); {
	case t.DataAtom == atom.Title && p.title:
		p.title = false
		p.line()
	case n > 0 && p.skip[n-1] == t.DataAtom:
		p.skip = p.skip[:n-1]
	case blocks[t.DataAtom]:
		p.line()
	case t.DataAtom == atom.A && p.link != "" && len(p.skip) == 0:
		p.b.WriteString(" <" + p.link + ">")
		p.link = ""
	}
}

func (p *webPage) line() {
	if n := p.b.Len(); n > 0 && p.b.String()[n-1] != '\n' {
		p.b.WriteByte('\n')
	}
}

// href returns where a link leads, if it leads to another page.
func (p *webPage) href(t html.Token) string {
	for _, a := range t.Attr {
		if a.Key != "href" || strings.HasPrefix(a.Val, "#") {
			continue
		}
		u, err := p.base.Parse(a.Val)
		if err == nil && (u.Scheme == "http" || u.Scheme == "https") {
			return u.String()
		}
	}
	return ""
}

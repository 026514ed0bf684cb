package wire

import (
	"cmp"
	"slices"
	"strings"

	"github.com/toolpost/toolpost/llm"
)

// Most servers say the name of a call at once. Some say it in pieces ("get_", "weather"), some say all of it in every piece of
// the call, and some all that they have so far ("get_", "get_weather"). As the start of a call tells its name and cannot be
// taken back, it waits where the name may go on: until the first arguments, the next call, text, or the end.

// offers reports whether the request that is answered offers a tool with a name that fits; asked is false if the
// request is not known.
func (c *Codec) offers(fits func(name string) bool) (found, asked bool) {
	if c.asked == nil || len(c.asked.Tools) == 0 {
		return false, false
	}
	return slices.ContainsFunc(c.asked.Tools, func(t llm.ToolDef) bool { return fits(t.Name) }), true
}

// offered reports whether a tool has that name.
func (c *Codec) offered(name string) bool {
	found, _ := c.offers(func(s string) bool { return s == name })
	return found
}

// longer reports whether a tool has a name that begins with s, and is it or goes on.
func (c *Codec) longer(s string) bool {
	found, _ := c.offers(func(name string) bool { return strings.HasPrefix(name, s) })
	return found
}

// name gives a call its name, with which it starts unless the name may go on.
func (a *answer) name(p *pending, name string) {
	p.name = name
	if !a.indexed || a.entire || a.wholeName(name) {
		a.start(p)
		return
	}
	if !p.naming {
		p.naming, p.named = true, a.frame.start
		first := cmp.Or(a.first, a)
		if first.unnamed++; first.await != nil {
			first.await()
		}
	}
}

// wholeName reports whether nothing can follow the name of a call: it is a tool's, and no other tool's begins with it.
func (a *answer) wholeName(name string) bool {
	return a.c.offered(name) && !a.goesOn(name)
}

func (a *answer) goesOn(name string) bool {
	found, _ := a.c.offers(func(s string) bool { return len(s) > len(name) && strings.HasPrefix(s, name) })
	return found
}

// startNamed starts a call whose name is not followed by more of it.
func (a *answer) startNamed(p *pending) {
	if !p.naming {
		return
	}
	p.naming = false
	cmp.Or(a.first, a).unnamed--
	a.since(p.named, func() { a.start(p) })
}

// moreName returns the name of a call that waits for the rest of it, after a piece that says name. It reports false if that is
// the name of another call, as of a server that gives each the same index and no id: those two are offered, and the name
// that they make is not.
func (a *answer) moreName(p *pending, name string) (string, bool) {
	joined := p.name + name
	_, asked := a.c.offers(func(string) bool { return false })
	switch {
	case name == p.name && (!asked || a.c.offered(name)):
		return name, true
	case asked && a.c.longer(joined):
		return joined, true
	case strings.HasPrefix(name, p.name): // the same again, or all so far
		return name, true
	case asked && a.c.offered(p.name) && a.c.longer(name):
		return "", false
	}
	return joined, true
}

// rename takes a piece of a name for a call that has one.
func (a *answer) rename(p *pending, name string) {
	if !p.naming {
		return
	}
	if all, ok := a.moreName(p, name); ok && all != p.name {
		if len(all) > maxName {
			a.startNamed(p)
			return
		}
		p.name = all
		if a.wholeName(all) {
			a.startNamed(p)
		}
	}
}

// maxName bounds the name of a call that comes in pieces, in bytes.
const maxName = 1 << 10

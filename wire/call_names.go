package wire

import (
	"cmp"
	"slices"
	"strings"

	"github.com/toolpost/toolpost/llm"
)

// Most servers say the name of a call at once. Some say it in pieces ("get_", "weather"), some say all of it in every piece of
// the call, and some all that they have so far ("get_", "get_weather"). As the start of a call tells its name and cannot be
// taken back, it waits where the name may go on: until the first arguments or the end, and where no tool's name goes on from
// what was said, only until the next call or text. Text does not wait with it. As calls start in the order in which they began, the calls
// behind it do.

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

// name gives a call its name, with which it starts unless the name may go on, or that of a call before it.
func (a *answer) name(p *pending, name string) {
	p.name = name
	p.naming = a.indexed && !a.entire && !a.wholeName(name)
	if first := cmp.Or(a.first, a); p.naming || first.unnamed > 0 {
		p.waits, p.named = true, a.frame.start
		if first.unnamed++; first.await != nil {
			first.await()
		}
		if !p.naming {
			a.startNames(nil)
		}
		return
	}
	a.start(p)
}

// wholeName reports whether nothing can follow the name of a call: it is a tool's, and no other tool's begins with it.
func (a *answer) wholeName(name string) bool {
	return a.c.offered(name) && !a.goesOn(name)
}

func (a *answer) goesOn(name string) bool {
	found, _ := a.c.offers(func(s string) bool { return len(s) > len(name) && strings.HasPrefix(s, name) })
	return found
}

// startNamed starts a call whose name is not followed by more of it, and the calls before it.
func (a *answer) startNamed(p *pending) {
	if !p.waits {
		return
	}
	for _, q := range a.calls {
		a.startWaiting(q)
		if q == p {
			return
		}
	}
}

func (a *answer) startWaiting(p *pending) {
	if p.waits {
		p.waits, p.naming = false, false
		cmp.Or(a.first, a).unnamed--
		a.since(p.named, func() { a.start(p) })
	}
}

// startNames starts the calls that wait, as far as the first whose name may go on: by is the call that has got arguments, nil if
// it is text that came, or a name. Arguments show that a name is whole which is a tool's, unless names were said in pieces before, or
// whose index now is another call's. What is only the beginning of a tool's name waits for the rest, which servers that write calls side by
// side still say. It reports whether a call still waits.
func (a *answer) startNames(by *pending) bool {
	first := cmp.Or(a.first, a)
	if first.unnamed == 0 {
		return false
	}
	earlier := by != nil
	for _, q := range a.calls[len(a.calls)-a.held:] {
		earlier = earlier && q != by
		if q.naming && a.goesOn(q.name) && (by == nil || (first.pieces || !a.c.offered(q.name)) && !(earlier && q.index == by.index)) {
			return true
		}
		a.startWaiting(q)
	}
	return false
}

// sameCall reports whether a piece with that index, no id and a name belongs to a call that has a name. It is the next call of
// a server that gives each the same index where both names are offered, or one is and does not go on. If the tools are not known,
// only the id of a call tells that: a server that gives one gives it to the next call too. Pieces without an index are told apart
// in the same way, but for two in one frame, and for names of which no tool knows anything.
func (a *answer) sameCall(p *pending, index int, name string) bool {
	_, asked := a.c.offers(func(string) bool { return false })
	switch {
	case p.name == name:
		return true
	case p.long:
		return p.args.Len() == 0
	case !p.naming || index < 0 && p.frame == a.frame.start:
		return false
	case !asked:
		return p.said != ""
	case a.c.offered(p.name) && a.c.offered(name):
		return false
	case a.c.longer(p.name + name), strings.HasPrefix(name, p.name) && a.c.longer(name):
		return true
	case a.c.offered(p.name):
		return p.said != "" && !a.c.longer(name)
	case a.c.offered(name):
		return p.said != ""
	}
	return index >= 0 || p.said != ""
}

// lateID reports whether a piece with an id and a name belongs to a call that has a name and no id: it is said with the rest of
// the name. If the tools are not known it does, as a server that gives ids gives one to each call.
func (a *answer) lateID(p *pending, index int, name string) bool {
	if _, asked := a.c.offers(func(string) bool { return false }); !asked && p.naming && (index >= 0 || p.frame != a.frame.start) {
		return true
	}
	return a.sameCall(p, index, name)
}

// renamed reports whether a piece with the id of a call begins another, since it has another name: the call is whole, or
// both names are offered and neither is the beginning of the other. Else the name of the call stands, with a warning if that is not all
// there is of it.
func (a *answer) renamed(p *pending, name string) bool {
	if name == "" || p.name == "" || p.name == name || p.long {
		return false
	}
	if p.naming {
		_, more := a.moreName(p, name)
		return !more && a.c.offered(name)
	}
	if (p.done || p.whole()) && a.otherName(p.name, name) || p.args.Len() == 0 && a.c.offered(p.name) && (a.c.offered(name) || a.c.longer(p.name+name)) {
		return true
	}
	if !p.misnamed && !strings.HasPrefix(p.name, name) {
		p.misnamed = true
		a.correct("name", "the call %q of %.100q is called %.100q in a later piece, which was dropped", p.id, p.name, name)
	}
	return false
}

// otherName reports whether a name that comes behind a whole call is that of another call, and not some of the same again, as
// "get_time" behind "functions.get_time" is, or what a server writes for no name.
func (a *answer) otherName(old, name string) bool {
	affix := strings.HasPrefix(old, name) || strings.HasSuffix(old, name) || strings.HasPrefix(name, old) || strings.HasSuffix(name, old)
	found, asked := a.c.offers(func(s string) bool { return s == name })
	if asked {
		return found && (!affix || a.c.offered(old))
	}
	return !affix && name != "null"
}

// overdue returns the name of a call that begins with a piece of that index and id. If that is the rest of the name of a
// call without arguments, which has started since other calls went on, it is all of that name: the call that was meant is made too.
func (a *answer) overdue(index int, id, name string) string {
	if name == "" || index < 0 || a.c.offered(name) {
		return name
	}
	for _, p := range slices.Backward(a.calls) {
		if p.index != index {
			continue
		}
		if all := p.name + name; p.started && p.args.Len() == 0 && (id == "" || p.said == "" || p.said == id) && a.c.longer(all) {
			a.correct("name", "the rest of the name of the call %q of %.100q came when it had begun; it begins another of %.100q", p.id, p.name, all)
			return all
		}
		break
	}
	return name
}

// moreName returns the name of a call that waits for the rest of it, after a piece of that call that says name. It reports
// false if that is no part of it: the name so far is offered, and the other begins one that is.
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
	if !p.naming || p.long {
		return
	}
	if all, ok := a.moreName(p, name); ok && all != p.name {
		if len(all) > maxName {
			p.long = true
			a.correct("name", "the name of a call that begins with %.100q is longer than %d bytes; the call is not run", all, maxName)
			return
		}
		p.name, cmp.Or(a.first, a).pieces = all, true
		if a.wholeName(all) {
			p.naming = false
			a.startNames(nil)
		}
	}
}

// maxName bounds the name of a call that comes in pieces, in bytes.
const maxName = 1 << 10

// longName is the problem of a call whose name is longer.
const longName = "The call has a name of more than 1024 bytes, which no tool has, and was not run."

package codec

import "strings"

// Most servers send the name of a call at once. Some send it in pieces ("get_", "weather"), some repeat it in every
// piece of the call, some send all of it so far ("get_", "get_weather"), and some send it after the first arguments. A
// CallStart contains the name and cannot be taken back, so it waits while the name may continue:
// - A name that is not a prefix of any tool waits until the next call, text or arguments.
// - The name of a tool that is a prefix of another tool's name waits for the first arguments of its call.
// - A proper prefix of a tool's name waits for the rest of the name.
//
// The end of the answer ends all waiting. Text does not wait. Calls start in their order, so later calls wait too.

// name gives a call its name, with which it starts unless the name may go on, or that of a call before it.
func (a *calls) name(p *PendingCall, name string) {
	p.Name = name
	p.naming = a.NamesInPieces && !a.wholeName(name)
	if !p.waits && (p.naming || a.ofResponse().unnamed > 0) {
		a.wait(p)
	}
	switch {
	case !p.waits:
		a.start(p)
	case !p.naming:
		a.startNames(nil)
	}
}

// wait has the start of a call wait for its name, or for that of a call before it.
func (a *calls) wait(p *PendingCall) {
	p.waits, p.named = true, a.Frame.Start
	first := a.ofResponse()
	if first.unnamed++; first.await != nil {
		first.await()
	}
}

// wholeName reports whether nothing can follow the name of a call: it is a tool's, and no other tool's begins with it.
func (a *calls) wholeName(name string) bool {
	return a.Host.offered(name) && !a.goesOn(name)
}

func (a *calls) goesOn(name string) bool {
	found, _ := a.Host.offers(func(s string) bool { return len(s) > len(name) && strings.HasPrefix(s, name) })
	return found
}

// startNamed starts a call whose name is not followed by more of it, and the calls before it.
func (a *calls) startNamed(p *PendingCall) {
	if !p.waits {
		return
	}
	for _, q := range a.Calls {
		a.startWaiting(q)
		if q == p {
			return
		}
	}
}

// startWaiting starts a call that waits. One without a name has none to start with.
func (a *calls) startWaiting(p *PendingCall) {
	if !p.waits {
		return
	}
	p.waits, p.naming = false, false
	a.ofResponse().unnamed--
	if p.Name != "" {
		a.Since(p.named, func() { a.start(p) })
	}
}

// startNames starts the calls that wait, as far as the first whose name may go on: by is the call that has got arguments, nil if
// it is text that came, or a name. It reports whether a call still waits.
func (a *calls) startNames(by *PendingCall) bool {
	if a.ofResponse().unnamed == 0 {
		return false
	}
	earlier := by != nil
	for _, q := range a.Calls[len(a.Calls)-a.Held:] {
		earlier = earlier && q != by
		if q.naming && (q.Name == "" || a.goesOn(q.Name)) && !(earlier && q.replacedBy(by)) {
			return true
		}
		a.startWaiting(q)
	}
	return false
}

// replacedBy reports whether no piece that comes can be one of a call, since a later one has its index, and ids do not tell them apart.
func (p *PendingCall) replacedBy(by *PendingCall) bool {
	return p.Index == by.Index && (p.VendorID == "" || by.VendorID == "")
}

// mayGoOn reports whether more of the name of a call may come behind arguments: there is none yet, or only the beginning of a tool's.
func (a *calls) mayGoOn(p *PendingCall) bool {
	return p.Name == "" || !a.Host.offered(p.Name) && a.goesOn(p.Name)
}

// full reports whether a piece with a name cannot be one of a call: its arguments are whole, and the piece has more, or the name
// is whole, too, or the piece has all of another and the call had its name before them. A server that gives ids, or counts, tells the last by these.
func (a *calls) full(p *PendingCall, index int, name string) bool {
	next := p.Name != "" && (!p.naming || !p.lateName && p.Name != name && p.VendorID == "" && index <= 0 && a.Host.offered(name))
	return (next || a.HasArgs) && p.Whole()
}

// sameCall reports whether a piece with that index, no id and a name belongs to a call that has a name. It is the next call of
// a server that gives each the same index where both names are offered, or one is and does not go on. If the tools are not known,
// only the id of a call tells that: a server that gives one gives it to the next call too. Pieces without an index are told apart
// in the same way, but for two in one frame, and for names of which no tool knows anything.
func (a *calls) sameCall(p *PendingCall, index int, name string) bool {
	_, asked := a.Host.offers(func(string) bool { return false })
	switch {
	case p.Name == name, a.LegacyCalls && p.VendorID == "": // of which a message has one
		return true
	case p.long:
		return p.Args.Len() == 0
	case !p.naming || index < 0 && p.Frame == a.Frame.Start:
		return false
	case !asked:
		return p.VendorID != ""
	case a.Host.offered(p.Name) && a.Host.offered(name):
		// A server that gives ids, or counts, does so for the next call too.
		return (p.VendorID != "" || index > 0) && (strings.HasPrefix(name, p.Name) || a.Host.offersPrefix(p.Name+name))
	case a.Host.offersPrefix(p.Name + name), strings.HasPrefix(name, p.Name) && a.Host.offersPrefix(name):
		return true
	case a.Host.offered(p.Name):
		return p.VendorID != "" && !a.Host.offersPrefix(name)
	case a.Host.offered(name):
		return p.VendorID != ""
	}
	return index >= 0 || p.VendorID != ""
}

// lateID reports whether a piece with an id and a name belongs to a call that has a name and no id: it is said with the rest of
// the name. If the tools are not known, it is if both look like pieces of one name, or the second is all of it.
func (a *calls) lateID(p *PendingCall, index int, name string) bool {
	if _, asked := a.Host.offers(func(string) bool { return false }); !asked && p.naming && (index >= 0 || p.Frame != a.Frame.Start) {
		return strings.HasPrefix(name, p.Name) || strings.ContainsAny(p.Name[len(p.Name)-1:]+name[:1], nameMarks)
	}
	return a.sameCall(p, index, name)
}

// nameMarks are what stands between the words of a name.
const nameMarks = "_-.:/"

// lateIndex reports whether a piece with an index and no id belongs to the last call, which began without an index: the
// call is at that place, has no arguments yet, and the name fits. Servers that omit the index 0 send another index for
// the next call.
func (a *calls) lateIndex(p *PendingCall, index int, name string) bool {
	last := len(a.Calls) - 1
	return p.Index < 0 && index == last && p == a.Calls[last] && name != "" && p.Name != "" && p.Args.Len() == 0 && !p.Done && a.sameCall(p, index, name)
}

// renamed reports whether a piece with the id of a call begins another, since it has another name: the call is whole, or
// both names are offered and neither is the beginning of the other. Else the name of the call stands, with a warning if that is not all
// there is of it.
func (a *calls) renamed(p *PendingCall, name string) bool {
	if name == "" || p.Name == "" || p.Name == name || p.long {
		return false
	}
	if p.naming {
		_, more := a.moreName(p, name)
		return !more && a.Host.offered(name)
	}
	if (p.Done || p.Whole()) && a.otherName(p.Name, name) || p.Args.Len() == 0 && a.Host.offered(p.Name) && (a.Host.offered(name) || a.Host.offersPrefix(p.Name+name)) {
		return true
	}
	if !p.misnamed && !strings.HasPrefix(p.Name, name) {
		p.misnamed = true
		a.correct("name", "the call %q of %.100q is called %.100q in a later piece, which was dropped", p.ID, p.Name, name)
	}
	return false
}

// otherName reports whether a name that follows a complete call names another call. It does not if it repeats the first
// name, like "get_time" after "functions.get_time", or is a server's word for no name.
func (a *calls) otherName(old, name string) bool {
	affix := strings.HasPrefix(old, name) || strings.HasSuffix(old, name) || strings.HasPrefix(name, old) || strings.HasSuffix(name, old)
	found, asked := a.Host.offers(func(s string) bool { return s == name })
	if asked {
		return found && (!affix || a.Host.offered(old))
	}
	return !affix && name != "null"
}

// moreName returns the name of a waiting call after another piece with a name. It reports false if the piece does not
// belong to the name: the name so far is offered, and the piece begins another offered name.
func (a *calls) moreName(p *PendingCall, name string) (string, bool) {
	joined := p.Name + name
	_, asked := a.Host.offers(func(string) bool { return false })
	switch {
	case name == p.Name && (!asked || a.Host.offered(name)):
		return name, true
	case asked && a.Host.offersPrefix(joined):
		return joined, true
	case strings.HasPrefix(name, p.Name): // the same again, or all so far
		return name, true
	case asked && a.Host.offered(p.Name) && a.Host.offersPrefix(name):
		return "", false
	}
	return joined, true
}

// rename takes a piece of a name for a call that has one.
func (a *calls) rename(p *PendingCall, name string) {
	if !p.naming || p.long {
		return
	}
	if all, ok := a.moreName(p, name); ok && all != p.Name {
		if len(all) > maxName {
			p.long = true
			a.correct("name", "the name of a call that begins with %.100q is longer than %d bytes; the call is not run", all, maxName)
			return
		}
		p.Name = all
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

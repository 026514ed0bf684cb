package wire

import (
	"fmt"
	"slices"
	"strings"

	"github.com/toolpost/toolpost/internal/js"
	"github.com/toolpost/toolpost/llm"
)

// pending is a call that is being written.
type pending struct {
	id, name string
	said     string // the vendor's id
	index    int    // the vendor's; -1 where there is none
	kind     llm.ToolKind
	args     strings.Builder // as the vendor sent them
	scan     argScan         // of the arguments of a function
	passed   int             // bytes of them that have left as deltas
	state    llm.State
	extra    llm.Extra
	open     bool  // args are a JSON string that still lacks its end
	started  bool  // CallStart was sent
	naming   bool  // more of the name may come
	lateName bool  // the name began behind arguments
	waits    bool  // CallStart waits for the rest of the name, or of that of an earlier call
	long     bool  // the name is longer than there is room for
	misnamed bool  // a piece of it had another name
	named    int64 // start of the frame with the first piece of a name that comes in pieces
	closed   bool  // the vendor said that it is whole
	half     bool  // the vendor said that it is not
	done     bool  // Call or InvalidCall was sent
	checked  int   // length of args when they were last found incomplete
	frame    int64 // start of the frame with its last piece, as far as that is noted
}

// delta finds the call that a piece belongs to, or begins one. Servers give
// every parallel call the index 0, leave out the index, repeat the id in every
// piece, say it late or leave it out of all: the id decides first, then index and order.
func (a *answer) delta(index int, id, name string, kind llm.ToolKind) *pending {
	p := a.find(index, id, name)
	repeats := p != nil && id != ""
	if p == nil && id != "" {
		p = a.findLate(index, id, name)
	}
	if repeats && a.renamed(p, name) {
		p = nil // another call that claims the same id
	}
	if p == nil {
		return a.newCall(index, id, name, kind)
	}
	if repeats || p.name != "" && name != "" {
		a.again()
	}
	switch {
	case name == "":
	case p.name == "":
		p.lateName = p.args.Len() > 0
		a.name(p, name)
	default:
		a.rename(p, name)
	}
	return p
}

// again notes that a piece of a call says once more what the call is called or known by. Clients of a relay add up the pieces of
// each member, and would have the name twice, so it is written anew. A piece that says nothing else is no event of its own.
func (a *answer) again() {
	if a.indexed && !a.entire && !a.changed {
		a.changed = true
		a.keepAlive()
	}
}

func (a *answer) find(index int, id, name string) *pending {
	for i := len(a.calls) - 1; i >= 0; i-- {
		p := a.calls[i]
		if id != "" {
			if !p.claims(index, id) {
				continue
			}
			if p.index < 0 && p.name == name && p.args.Len() == 0 {
				p.index = index // which is said late
			}
			return p.unlessOther(index, name)
		}
		if index >= 0 && p.index != index {
			if !a.lateIndex(p, index, name) {
				continue
			}
			p.index = index
		}
		if name != "" && (p.done || a.full(p, index, name) || p.name != "" && !a.sameCall(p, index, name)) {
			return nil // the next call of a server that sends neither id nor index
		}
		return p
	}
	if id == "" && name == "" && len(a.calls) > 0 {
		return a.strayArgs(index)
	}
	return nil
}

// strayArgs returns the call that arguments of an index belong to where no call began: the last, as some servers count badly. If its own
// arguments are whole, they are those of the next call, of which the name comes later.
func (a *answer) strayArgs(index int) *pending {
	last := a.calls[len(a.calls)-1]
	if a.inPieces && a.adds && last.whole() {
		return nil
	}
	a.correct("index", "arguments for index %d, where no call began, belong to the last call", index)
	last.index = index
	return last
}

// claims reports whether a call has the id of a piece. A second call that claims the id of another is known by its index, too.
func (p *pending) claims(index int, id string) bool {
	return p.id == id || p.said == id && (index < 0 || p.index == index)
}

// unlessOther returns the call, and nil if a name and another index tell that a piece with its id begins another call.
func (p *pending) unlessOther(index int, name string) *pending {
	if p.index != index && name != "" && index >= 0 {
		return nil
	}
	return p
}

// findLate finds the call that a piece with an id belongs to, if the call began without one or with another: the last with the
// index of the piece, unless the piece says a new name as well, as the next call of a server does that gives each the same
// index. Where there is no index, it is the last call of all. It may have been sent already. A call keeps the id under which its start was sent.
func (a *answer) findLate(index int, id, name string) *pending {
	i := len(a.calls) - 1
	for i >= 0 && index >= 0 && a.calls[i].index != index {
		i--
	}
	if i < 0 {
		return nil
	}
	p := a.calls[i]
	switch {
	case p.done:
		if name == "" && (p.said == "" || p.said == id) { // its id, behind all of it and the beginning of the next
			p.said = id
			return p
		}
		return nil
	case p.said == "":
		if name != "" && (a.full(p, index, name) || p.name != "" && !a.lateID(p, index, name)) {
			return nil // the next call
		}
		if p.said = id; !p.started {
			a.ids.Forget(p.id)
			p.id = a.ids.Take(id)
		}
		return p
	case name == "" && index >= 0 && (p.said == id || !p.whole()):
		return p
	}
	return nil
}

// newCall begins a call. An id that is missing or taken is replaced.
func (a *answer) newCall(index int, id, name string, kind llm.ToolKind) *pending {
	if len(a.calls) >= maxCalls {
		a.refuse(fmt.Errorf("more than %d calls in one answer", maxCalls))
		return nil
	}
	a.startNames(nil)
	a.closeWhole()
	if id != "" && a.ids.Taken(id) {
		a.correct("id", "two calls have the id %q; the second gets another", id)
	}
	a.changed = a.changed || a.idless(id) || a.indexed && a.oddCall(index, id)
	p := &pending{id: a.ids.Take(id), said: id, index: index, kind: kind, frame: a.frame.start, extra: a.opening}
	a.opening = nil
	a.calls = append(a.calls, p)
	a.held++
	switch {
	case name != "":
		a.name(p, name)
	case a.inPieces:
		p.naming = true
		a.wait(p)
	}
	return p
}

// idless reports whether a call of an answer lacks the id by which clients of its format give its result, so that a relay has to
// write it anew. A function_call of the chat format of old has none.
func (a *answer) idless(id string) bool {
	if id != "" || a.ofOld {
		return false
	}
	return !a.c.impl.properties().OptionalCallIDs
}

// oddCall reports whether a call begins without what clients of its format know it by, so that a relay has to write it
// anew: they add up the pieces of a stream by index, and give results by id.
func (a *answer) oddCall(index int, id string) bool {
	if id == "" || a.entire { // a document has no index
		return id == ""
	}
	return index < 0 || slices.ContainsFunc(a.calls, func(p *pending) bool { return p.index == index })
}

func (a *answer) refuse(err error) {
	if a.err == nil {
		a.err = err
	}
}

func (a *answer) start(p *pending) {
	if p.started {
		return
	}
	p.started = true
	a.span = noSpan
	a.emit(llm.CallStart{ID: p.id, Name: p.name, Kind: p.kind, Extra: p.extra})
	if a.verbatim(p) && p.args.Len() > 0 {
		a.emit(llm.CallDelta{ID: p.id, Args: p.args.String()})
	}
	a.passArgs(p)
}

// verbatim reports whether the arguments of a call leave as they come. The text
// of a free-text tool is ours to quote, and what a relay copies cannot be
// repaired any more.
func (a *answer) verbatim(p *pending) bool { return p.kind == llm.FreeTool || a.asSent }

// passArgs sends the arguments of a function that have become certain.
func (a *answer) passArgs(p *pending) {
	if certain := p.scan.safe - p.scan.begin; certain > p.passed {
		a.emit(llm.CallDelta{ID: p.id, Args: p.args.String()[p.scan.begin+p.passed : p.scan.safe]})
		p.passed = certain
	}
}

// addArgs takes a piece of the arguments as text.
func (a *answer) addArgs(p *pending, s []byte) {
	if p == nil || len(s) == 0 || p.done {
		if p != nil && p.done && strings.TrimSpace(string(s)) != "" {
			a.correct("arguments", "text after the end of the arguments of %s was dropped: %.100q", p.name, s)
		}
		return
	}
	if a.size += len(s); a.size > maxArgs {
		a.refuse(fmt.Errorf("more than %d bytes of arguments in one answer", maxArgs))
		return
	}
	p.naming = p.naming && a.mayGoOn(p)
	if a.startNames(p) && !a.ofOld { // they leave later than the frames that say them, or before frames that are kept
		a.changed = true
	}
	n := p.args.Len()
	p.args.Write(s)
	if !a.verbatim(p) {
		p.scan.add(p.args.String(), len(s))
	}
	switch {
	case !p.started:
	case a.verbatim(p):
		a.emit(llm.CallDelta{ID: p.id, Args: p.args.String()[n:]})
	default:
		a.passArgs(p)
	}
}

// addQuoted takes a piece of the arguments as a JSON string.
func (a *answer) addQuoted(p *pending, v []byte) {
	if !a.is(v, '"', "a string") || len(v) <= 2 {
		return
	}
	a.scratch = js.AppendText(a.scratch[:0], v)
	a.addArgs(p, a.scratch)
}

// addInput takes a piece of the input of a free-text tool, whose arguments
// are one JSON string.
func (a *answer) addInput(p *pending, v []byte) {
	if p == nil || !a.is(v, '"', "a string") || len(v) <= 2 {
		return
	}
	if !p.open && p.args.Len() == 0 {
		p.open = true
		a.addArgs(p, []byte{'"'})
	}
	piece := js.AppendQuoted(nil, js.AppendText(nil, v))
	a.addArgs(p, piece[1:len(piece)-1])
}

// whole reports whether nothing can be added to the arguments.
func (p *pending) whole() bool {
	if p.closed || p.half {
		return p.closed
	}
	n := p.args.Len()
	if n == 0 || n == p.checked || p.kind == llm.FreeTool || p.args.String()[n-1] != '}' {
		return false
	}
	if js.Valid([]byte(p.args.String())) {
		return true
	}
	p.checked = n
	return false
}

// settle sends the calls that are whole, now that something follows them. The
// last call of an answer is held until the vendor says why the model stopped:
// had it reached its limit, even arguments that parse may be cut.
func (a *answer) settle() {
	if a.held > 0 {
		a.changed = a.startNames(nil) || a.changed // what follows overtakes the call
		a.closeWhole()
	}
}

func (a *answer) closeWhole() {
	for _, p := range a.calls[len(a.calls)-a.held:] {
		if !p.whole() || p.name == "" || p.naming {
			return
		}
		a.close(p, false)
	}
}

// close ends a call. last says that nothing followed it.
func (a *answer) close(p *pending, last bool) {
	a.startNamed(p)
	early := a.finished && a.stoppedEarly()
	switch {
	case p.half, last && !p.closed && (early || a.mayBeHalf(p)):
		a.bad(p, llm.CutOff)
		return
	case p.open:
		p.open = false
		a.addArgs(p, []byte{'"'})
	case p.kind == llm.FreeTool && p.args.Len() == 0:
		a.addArgs(p, []byte(`""`))
	case strings.TrimSpace(p.args.String()) == "":
		a.addArgs(p, []byte("{}"))
	}
	if p.name == "" || p.long {
		a.bad(p, llm.UnknownTool)
		return
	}
	args, repairs, ok := p.value(!a.verbatim(p) && !early)
	switch {
	case ok:
		a.changed = a.changed || len(repairs) > 0
		if rest := args[p.passed:]; !a.verbatim(p) && len(rest) > 0 {
			a.emit(llm.CallDelta{ID: p.id, Args: string(rest)})
		}
		a.sent(p)
		a.emit(llm.Call{ID: p.id, Name: p.name, Args: args, Kind: p.kind, Provenance: llm.Provenance{Repairs: repairs}, State: p.state, Extra: p.extra})
	case early:
		a.bad(p, llm.CutOff)
	default:
		a.bad(p, llm.BadArguments)
	}
}

// stoppedEarly reports whether the model was stopped before it had said all.
func (a *answer) stoppedEarly() bool {
	return a.finish.Reason == llm.Length || a.finish.Reason == llm.ContentFilter || a.c.all.interrupted(a.finish.Raw)
}

// mayBeHalf reports whether a call of free text, whose end nothing shows, is the last of an answer that ends for a reason that nobody knows.
func (a *answer) mayBeHalf(p *pending) bool {
	return a.finished && p.kind == llm.FreeTool && a.finish.Reason == llm.OtherReason
}

func (a *answer) sent(p *pending) {
	p.done = true
	a.held--
	a.span = noSpan
}

var problems = map[llm.InvalidReason]string{
	llm.CutOff:       "The call was cut off before its end and was not run. Write it again, shorter.",
	llm.UnknownTool:  "The call does not name a tool and was not run.",
	llm.BadArguments: "The arguments are not valid JSON and the call was not run. Write it again with valid JSON.",
}

// bad ends a call that must not be run.
func (a *answer) bad(p *pending, why llm.InvalidReason) {
	a.startNamed(p)
	a.sent(p)
	a.lostCall(p)
	problem := problems[why]
	if p.long && why == llm.UnknownTool {
		problem = longName
	}
	a.emit(llm.InvalidCall{
		ID: p.id, Name: p.name, Raw: p.args.String(), Reason: why, Problem: problem,
		Provenance: llm.Provenance{Truncated: why == llm.CutOff},
	})
}

// call is a call that arrives in one piece.
func (a *answer) call(c llm.Call) {
	a.opening = c.Extra
	p := a.newCall(-1, c.ID, c.Name, c.Kind)
	if p == nil {
		return
	}
	p.state = c.State
	a.addArgs(p, c.Args)
}

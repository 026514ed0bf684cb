package codec

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/toolpost/toolpost/internal/js"
	"github.com/toolpost/toolpost/internal/wire/loss"
	"github.com/toolpost/toolpost/llm"
)

// PendingCall is a call that is being written.
type PendingCall struct {
	ID, Name  string
	VendorID  string // the vendor's id
	Index     int    // the vendor's; -1 where there is none
	Kind      llm.ToolKind
	Args      strings.Builder // as the vendor sent them
	scan      argScan         // of the arguments of a function
	passed    int             // bytes of them that have left as deltas
	State     llm.State
	Extra     llm.Extra
	Open      bool  // args are a JSON string that still lacks its end
	started   bool  // CallStart was sent
	naming    bool  // more of the name may come
	lateName  bool  // the name began behind arguments
	nameAgain bool  // its name came again after its arguments
	waits     bool  // CallStart waits for the rest of the name, or of that of an earlier call
	long      bool  // the name is longer than there is room for
	misnamed  bool  // a piece of it had another name
	named     int64 // start of the frame with the first piece of a name that comes in pieces
	Closed    bool  // the vendor said that it is whole
	Truncated bool  // the vendor said that it is not
	Done      bool  // Call or InvalidCall was sent
	checked   int   // length of args when they were last found incomplete
	Frame     int64 // start of the frame with its last piece, as far as that is noted
}

// calls assembles the calls of one answer from pieces.
type calls struct {
	output
	Calls         []*PendingCall
	Held          int  // calls not yet sent
	Verbatim      bool // arguments are sent as they arrive and are not repaired
	Indexed       bool // calls have an index and an id
	LegacyCalls   bool // calls of the format never have an id
	NamesInPieces bool // a piece of a call may hold a part of its name, or none
	HasArgs       bool // the current piece has arguments
	IDs           llm.CallIDs
	NextExtra     llm.Extra // extra fields of the next call
	scratch       []byte
	size          int // bytes of all arguments

	first   *calls // the calls of the first answer, in the answers after it
	unnamed int    // calls of all answers that wait for the rest of their name
	await   func() // makes a relay hold the current frame until no call waits; nil without a relay
}

// ofResponse returns the calls of the first answer, which count the waiting calls of all answers.
func (a *calls) ofResponse() *calls { return cmp.Or(a.first, a) }

// Delta finds the call that a piece belongs to, or begins one. Servers give
// every parallel call the index 0, leave out the index, repeat the id in every
// piece, say it late or leave it out of all: the id decides first, then index and order.
func (a *calls) Delta(index int, id, name string, kind llm.ToolKind) *PendingCall {
	if q := a.repeated(index, id, name); q != nil && name == q.Name {
		q.nameAgain = true
		a.again()
		return q
	} else if q != nil && q.nameAgain && (a.HasArgs || id != "" || name != "") {
		q.nameAgain = false
		p := a.NewCall(index, id, q.Name, kind)
		if p != nil && name != "" {
			a.rename(p, name)
		}
		return p
	}
	p := a.Find(index, id, name)
	repeats := p != nil && id != ""
	if p == nil && id != "" {
		p = a.findLate(index, id, name)
	}
	if repeats && a.renamed(p, name) {
		p = nil // another call that claims the same id
	}
	if p == nil {
		return a.NewCall(index, id, name, kind)
	}
	if repeats || p.Name != "" && name != "" {
		a.again()
	}
	switch {
	case name == "":
	case p.Name == "":
		p.lateName = p.Args.Len() > 0
		a.name(p, name)
	default:
		a.rename(p, name)
	}
	return p
}

// repeated returns the complete call at the index of a piece that has its name or none. A name without an id and without
// arguments repeats the call. If another id or arguments follow, they are those of a second call.
func (a *calls) repeated(index int, id, name string) *PendingCall {
	if index < 0 || !a.Indexed || a.OneDocument || a.Host.Quirks.NameIsNextCall {
		return nil
	}
	for i := len(a.Calls) - 1; i >= 0; i-- {
		if p := a.Calls[i]; p.Index == index {
			if name == p.Name && (id != "" || a.HasArgs) {
				return nil
			}
			more := p.nameAgain && a.Host.offersPrefix(p.Name+name)
			if (p.Done || p.Whole()) && (name == p.Name || name == "" || more) && (id == "" || id != p.VendorID) {
				return p
			}
			return nil
		}
	}
	return nil
}

// again notes that a piece of a call repeats its name or id. Clients of a relay concatenate the pieces of each field
// and would get the name twice, so the stream is encoded again. A piece that only repeats causes no other event.
func (a *calls) again() {
	if a.Indexed && !a.OneDocument && !a.Changed {
		a.Changed = true
		a.KeepAlive()
	}
}

func (a *calls) Find(index int, id, name string) *PendingCall {
	for i := len(a.Calls) - 1; i >= 0; i-- {
		p := a.Calls[i]
		if id != "" {
			if !p.claims(index, id) {
				continue
			}
			if p.Index < 0 && p.Name == name && p.Args.Len() == 0 {
				p.Index = index // which is said late
			}
			return p.unlessOther(index, name)
		}
		if index >= 0 && p.Index != index {
			if !a.lateIndex(p, index, name) {
				continue
			}
			p.Index = index
		}
		if name != "" && (p.Done || a.full(p, index, name) || p.Name != "" && !a.sameCall(p, index, name)) {
			return nil // the next call of a server that sends neither id nor index
		}
		return p
	}
	if id == "" && name == "" && len(a.Calls) > 0 {
		return a.strayArgs(index)
	}
	return nil
}

// strayArgs returns the call that arguments of an index belong to where no call began: the last, as some servers count badly. If its own
// arguments are whole, they are those of the next call, of which the name comes later.
func (a *calls) strayArgs(index int) *PendingCall {
	last := a.Calls[len(a.Calls)-1]
	if a.NamesInPieces && a.HasArgs && last.Whole() {
		return nil
	}
	a.correct("index", "arguments for index %d, where no call began, belong to the last call", index)
	last.Index = index
	return last
}

// claims reports whether a call has the id of a piece. A second call that claims the id of another is known by its index, too.
func (p *PendingCall) claims(index int, id string) bool {
	return p.ID == id || p.VendorID == id && (index < 0 || p.Index == index)
}

// unlessOther returns the call, and nil if a name and another index tell that a piece with its id begins another call.
func (p *PendingCall) unlessOther(index int, name string) *PendingCall {
	if p.Index != index && name != "" && index >= 0 {
		return nil
	}
	return p
}

// findLate finds the call for a piece with an id, if the call began without an id or with another: the last call with
// the index of the piece, or the last of all if the piece lacks an index. A piece that also has a new name begins the
// next call, on servers that give each call the same index. The call may have been sent already. A call keeps the id of
// its CallStart.
func (a *calls) findLate(index int, id, name string) *PendingCall {
	i := len(a.Calls) - 1
	for i >= 0 && index >= 0 && a.Calls[i].Index != index {
		i--
	}
	if i < 0 {
		return nil
	}
	p := a.Calls[i]
	switch {
	case p.Done:
		if name == "" && (p.VendorID == "" || p.VendorID == id) { // its id, behind all of it and the beginning of the next
			p.VendorID = id
			return p
		}
		return nil
	case p.VendorID == "":
		if name != "" && (a.full(p, index, name) || p.Name != "" && !a.lateID(p, index, name)) {
			return nil // the next call
		}
		if p.VendorID = id; !p.started {
			a.IDs.Forget(p.ID)
			p.ID = a.IDs.Take(id)
		}
		return p
	case name == "" && index >= 0 && (p.VendorID == id || !p.Whole()):
		return p
	}
	return nil
}

// NewCall begins a call. An id that is missing or taken is replaced.
func (a *calls) NewCall(index int, id, name string, kind llm.ToolKind) *PendingCall {
	if len(a.Calls) >= MaxCalls {
		a.Refuse(fmt.Errorf("more than %d calls in one answer", MaxCalls))
		return nil
	}
	a.startNames(nil)
	a.closeWhole()
	if id != "" && a.IDs.Taken(id) {
		a.correct("id", "two calls have the id %q; the second gets another", id)
	}
	a.Changed = a.Changed || a.idless(id) || a.Indexed && a.oddCall(index, id)
	p := &PendingCall{ID: a.IDs.Take(id), VendorID: id, Index: index, Kind: kind, Frame: a.Frame.Start, Extra: a.NextExtra}
	a.NextExtra = nil
	a.Calls = append(a.Calls, p)
	a.Held++
	switch {
	case name != "":
		a.name(p, name)
	case a.NamesInPieces:
		p.naming = true
		a.wait(p)
	}
	return p
}

// idless reports whether a call lacks the id by which clients of its format return its result; then a relay must encode
// it again. The older function_call of the chat format never has an id.
func (a *calls) idless(id string) bool {
	if id != "" || a.LegacyCalls {
		return false
	}
	return !a.Host.Impl.Properties().OptionalCallIDs
}

// oddCall reports whether a call begins without the index or id by which clients of its format identify it: they join
// pieces by index and return results by id. Then a relay must encode it again.
func (a *calls) oddCall(index int, id string) bool {
	if id == "" || a.OneDocument { // documents do not have indexes
		return id == ""
	}
	return index < 0 || slices.ContainsFunc(a.Calls, func(p *PendingCall) bool { return p.Index == index })
}

func (a *calls) start(p *PendingCall) {
	if p.started {
		return
	}
	p.started = true
	a.Span = NoSpan
	a.Emit(llm.CallStart{ID: p.ID, Name: p.Name, Kind: p.Kind, Extra: p.Extra})
	if a.keepsArgs(p) && p.Args.Len() > 0 {
		a.Emit(llm.CallDelta{ID: p.ID, Args: p.Args.String()})
	}
	a.passArgs(p)
}

// keepsArgs reports whether arguments are sent as they arrive. The text of a free-text tool is quoted by the decoder,
// and copied bytes of a relay cannot be repaired any more.
func (a *calls) keepsArgs(p *PendingCall) bool { return p.Kind == llm.FreeTool || a.Verbatim }

// passArgs sends the arguments of a function that have become certain.
func (a *calls) passArgs(p *PendingCall) {
	if certain := p.scan.safe - p.scan.begin; certain > p.passed {
		a.Emit(llm.CallDelta{ID: p.ID, Args: p.Args.String()[p.scan.begin+p.passed : p.scan.safe]})
		p.passed = certain
	}
}

// AddArgs takes a piece of the arguments as text.
func (a *calls) AddArgs(p *PendingCall, s []byte) {
	if p == nil || len(s) == 0 || p.Done {
		if p != nil && p.Done && strings.TrimSpace(string(s)) != "" {
			a.correct("arguments", "text after the end of the arguments of %s was dropped: %.100q", p.Name, s)
		}
		return
	}
	if a.size += len(s); a.size > MaxArgs {
		a.Refuse(fmt.Errorf("more than %d bytes of arguments in one answer", MaxArgs))
		return
	}
	p.naming = p.naming && a.mayGoOn(p)
	if a.startNames(p) && !a.LegacyCalls { // they leave later than the frames that say them, or before frames that are kept
		a.Changed = true
	}
	n := p.Args.Len()
	p.Args.Write(s)
	if !a.keepsArgs(p) {
		p.scan.add(p.Args.String(), len(s))
	}
	switch {
	case !p.started:
	case a.keepsArgs(p):
		a.Emit(llm.CallDelta{ID: p.ID, Args: p.Args.String()[n:]})
	default:
		a.passArgs(p)
	}
}

// AddQuoted takes a piece of the arguments as a JSON string.
func (a *calls) AddQuoted(p *PendingCall, v []byte) {
	if !a.Is(v, '"', "a string") || len(v) <= 2 {
		return
	}
	a.scratch = js.AppendText(a.scratch[:0], v)
	a.AddArgs(p, a.scratch)
}

// AddInput takes a piece of the input of a free-text tool, whose arguments
// are one JSON string.
func (a *calls) AddInput(p *PendingCall, v []byte) {
	if p == nil || !a.Is(v, '"', "a string") || len(v) <= 2 {
		return
	}
	if !p.Open && p.Args.Len() == 0 {
		p.Open = true
		a.AddArgs(p, []byte{'"'})
	}
	piece := js.AppendQuoted(nil, js.AppendText(nil, v))
	a.AddArgs(p, piece[1:len(piece)-1])
}

// Whole reports whether nothing can be added to the arguments.
func (p *PendingCall) Whole() bool {
	if p.Closed || p.Truncated {
		return p.Closed
	}
	n := p.Args.Len()
	if n == 0 || n == p.checked || p.Kind == llm.FreeTool || p.Args.String()[n-1] != '}' {
		return false
	}
	if js.Valid([]byte(p.Args.String())) {
		return true
	}
	p.checked = n
	return false
}

// Settle sends the complete calls when something follows them. The last call of an answer is held until the finish
// reason: if the model reached its limit, even arguments that parse may be truncated.
func (a *calls) Settle() {
	if a.Held > 0 {
		a.Changed = a.startNames(nil) || a.Changed // what follows overtakes the call
		a.closeWhole()
	}
}

func (a *calls) closeWhole() {
	for _, p := range a.Calls[len(a.Calls)-a.Held:] {
		if !p.Whole() || p.Name == "" || p.naming {
			return
		}
		a.Close(p, false)
	}
}

// Close ends a call. last says that nothing followed it.
func (a *calls) Close(p *PendingCall, last bool) {
	a.startNamed(p)
	early := a.Finished && a.stoppedEarly()
	switch {
	case p.Truncated, last && !p.Closed && (early || a.mayBeHalf(p)):
		a.bad(p, llm.CutOff)
		return
	case p.Open:
		p.Open = false
		a.AddArgs(p, []byte{'"'})
	case p.Kind == llm.FreeTool && p.Args.Len() == 0:
		a.AddArgs(p, []byte(`""`))
	case strings.TrimSpace(p.Args.String()) == "":
		a.AddArgs(p, []byte("{}"))
	}
	if p.Name == "" || p.long {
		a.bad(p, llm.UnknownTool)
		return
	}
	args, repairs, ok := p.value(!a.keepsArgs(p) && !early)
	switch {
	case ok:
		a.Changed = a.Changed || len(repairs) > 0
		if rest := args[p.passed:]; !a.keepsArgs(p) && len(rest) > 0 {
			a.Emit(llm.CallDelta{ID: p.ID, Args: string(rest)})
		}
		a.Sent(p)
		a.Emit(llm.Call{ID: p.ID, Name: p.Name, Args: args, Kind: p.Kind, Provenance: llm.Provenance{Repairs: repairs}, State: p.State, Extra: p.Extra})
	case early:
		a.bad(p, llm.CutOff)
	default:
		a.bad(p, llm.BadArguments)
	}
}

// stoppedEarly reports whether the model was stopped before it had said all.
func (a *calls) stoppedEarly() bool {
	return a.Finish.Reason == llm.Length || a.Finish.Reason == llm.ContentFilter || a.Host.Registry.Interrupted(a.Finish.Raw)
}

// mayBeHalf reports whether a call of a free-text tool is the last of an answer with an unknown finish reason. Nothing
// shows the end of such a text.
func (a *calls) mayBeHalf(p *PendingCall) bool {
	return a.Finished && p.Kind == llm.FreeTool && a.Finish.Reason == llm.OtherReason
}

func (a *calls) Sent(p *PendingCall) {
	p.Done = true
	a.Held--
	a.Span = NoSpan
}

var Problems = map[llm.InvalidReason]string{
	llm.CutOff:       "The call was cut off before its end and was not run. Write it again, shorter.",
	llm.UnknownTool:  "The call does not name a tool and was not run.",
	llm.BadArguments: "The arguments are not valid JSON and the call was not run. Write it again with valid JSON.",
}

// bad ends a call that must not be run.
func (a *calls) bad(p *PendingCall, why llm.InvalidReason) {
	a.startNamed(p)
	a.Sent(p)
	a.lostCall(p)
	problem := Problems[why]
	if p.long && why == llm.UnknownTool {
		problem = longName
	}
	a.Emit(llm.InvalidCall{
		ID: p.ID, Name: p.Name, Raw: p.Args.String(), Reason: why, Problem: problem,
		Provenance: llm.Provenance{Truncated: why == llm.CutOff},
	})
}

// Call is a call that arrives in one piece.
func (a *calls) Call(c llm.Call) {
	a.NextExtra = c.Extra
	p := a.NewCall(-1, c.ID, c.Name, c.Kind)
	if p == nil {
		return
	}
	p.State = c.State
	a.AddArgs(p, c.Args)
}

// lostCall keeps what only the format knows about a call that must not be run: it is told without that.
func (a *calls) lostCall(p *PendingCall) {
	const at = loss.NestedMark + "invalid call"
	for key, v := range p.Extra[a.Host.Format] {
		a.UnknownField(at, []byte(key), v)
	}
	for key, v := range js.Members(p.State.Data) {
		if !slices.Contains(loss.StateMembers, string(key)) {
			a.UnknownField(at, key, v)
		}
	}
}

package history

import (
	"iter"
	"strconv"
	"strings"

	"github.com/toolpost/toolpost/catalog"
	"github.com/toolpost/toolpost/internal/js"
	"github.com/toolpost/toolpost/internal/wire/turns"
	"github.com/toolpost/toolpost/llm"
)

// Rules are what a target accepts as names of tools and ids of calls; package
// catalog knows them for each model. The zero value accepts everything.
type Rules struct {
	Name catalog.Limit
	ID   catalog.Limit
	// LetterFirst demands a letter or an underscore at the start of a name.
	LetterFirst bool
	// IDForm is how the target counts calls, like "functions.{name}:{index}".
	// Every call of the conversation gets an id of this form. Empty keeps ids
	// that ID allows.
	IDForm string
	// NoFreeTools turns free-text tools into functions with one argument.
	NoFreeTools bool
}

// Aliases maps the names and ids of a target back to those of the caller. The caller keeps it next to the request;
// nothing is encoded in names or ids. A nil Aliases changes nothing. It is safe for concurrent use.
type Aliases struct {
	names map[string]string // caller's by target's
	ids   map[string]string
	free  map[string]bool // the caller's names of free-text tools that became functions
}

// Apply returns req with names and ids that the target accepts, and the aliases to map them back. An alias depends only
// on the name or id, not on the order of tools or turns, and so stays the same in a conversation. Names that would
// become equal all get a suffix from their hash. Apply does not change req. If the target accepts req unchanged, it
// returns req and nil.
func (r Rules) Apply(req *llm.Request) (*llm.Request, *Aliases) {
	if r.accepts(req) {
		return req, nil
	}
	return r.translate(req)
}

// translate is Apply for a request that the target does not accept unchanged.
func (r Rules) translate(req *llm.Request) (*llm.Request, *Aliases) {
	out := req.Clone()
	a := &Aliases{names: map[string]string{}, ids: map[string]string{}, free: map[string]bool{}}
	t := &translation{rules: r, aliases: a, names: r.aliasNames(req), open: map[string][]string{}, seen: map[string]int{}, answered: map[string]bool{}}
	for i := range out.Tools {
		t.tool(&out.Tools[i])
	}
	out.Choice.Name = t.name(out.Choice.Name)
	for i, name := range out.Choice.Allowed {
		out.Choice.Allowed[i] = t.name(name)
	}
	for _, m := range out.Messages {
		for i, p := range m.Parts {
			switch p := p.(type) {
			case llm.Call:
				m.Parts[i] = t.call(p)
			case llm.Result:
				m.Parts[i] = t.result(p)
			}
		}
	}
	return out, a
}

// accepts reports whether nothing of a request has to be renamed.
func (r Rules) accepts(req *llm.Request) bool {
	for i := range req.Tools {
		if t := &req.Tools[i]; t.Kind != llm.HostedTool && !r.acceptsName(t.Name) || t.Kind == llm.FreeTool && r.NoFreeTools {
			return false
		}
	}
	var ids map[string]bool
	for _, m := range req.Messages {
		for _, p := range m.Parts {
			c, ok := p.(llm.Call)
			if !ok || c.Hosted {
				continue
			}
			if !r.acceptsCall(c) || ids[c.ID] {
				return false
			}
			if ids == nil {
				ids = make(map[string]bool)
			}
			ids[c.ID] = true
		}
	}
	return true
}

func (r Rules) acceptsName(name string) bool {
	return name == "" || r.Name.Allows(name) && !(r.LetterFirst && !LetterFirst(name))
}

// acceptsCall reports whether the name and the id of a call may stay, if no other call has that id.
func (r Rules) acceptsCall(c llm.Call) bool {
	return r.acceptsName(c.Name) && r.IDForm == "" && c.ID != "" && r.ID.Allows(c.ID) && !(c.Kind == llm.FreeTool && r.NoFreeTools)
}

// aliasNames finds the alias of every name that the target does not accept.
func (r Rules) aliasNames(req *llm.Request) map[string]string {
	wanted := map[string][]string{} // the original names for each name of the target
	seen := map[string]bool{}
	add := func(name string) {
		if name != "" && !seen[name] {
			seen[name] = true
			clean := r.cleanName(name)
			wanted[clean] = append(wanted[clean], name)
		}
	}
	for _, t := range req.Tools {
		if t.Kind != llm.HostedTool {
			add(t.Name)
		}
	}
	for _, m := range req.Messages {
		for _, c := range m.Calls() {
			add(c.Name)
		}
	}
	aliases := map[string]string{}
	for clean, names := range wanted {
		for _, name := range names {
			switch {
			case name == clean:
			case len(names) == 1 && len(name) <= r.maxName():
				aliases[name] = clean
			default:
				aliases[name] = r.suffixed(clean, name)
			}
		}
	}
	return aliases
}

func (r Rules) maxName() int {
	if r.Name.IsZero() {
		return 1 << 16
	}
	return r.Name.Max
}

// cleanName replaces what the target does not accept in a name.
func (r Rules) cleanName(name string) string {
	if r.Name.Allows(name) && !(r.LetterFirst && !LetterFirst(name)) {
		return name
	}
	b := []byte(name)
	for i, c := range b {
		if !r.Name.AllowsByte(c) {
			b[i] = '_'
		}
	}
	name = string(b)
	if r.LetterFirst && !LetterFirst(name) {
		name = "_" + name
	}
	return name[:min(len(name), r.maxName())]
}

func LetterFirst(s string) bool {
	return s != "" && (s[0] == '_' || 'a' <= s[0]|0x20 && s[0]|0x20 <= 'z')
}

func (r Rules) suffixed(clean, name string) string {
	const size = 8
	keep := min(len(clean), max(0, r.maxName()-size-1))
	return clean[:keep] + "_" + turns.Digest(name, size)
}

// GrammarFollows precedes the grammar of a free-text tool in its description.
const GrammarFollows = "\n\nThe input must match this "

// translation is one run of Apply.
type translation struct {
	rules   Rules
	aliases *Aliases
	names   map[string]string
	open    map[string][]string // aliases of calls without a result, by id; the last one stays
	seen    map[string]int      // calls by id
	// answered are the ids whose last open call has its result: a second
	// result belongs to it too, the next call does not.
	answered map[string]bool
	calls    int
}

func (t *translation) name(name string) string {
	alias, ok := t.names[name]
	if !ok {
		return name
	}
	t.aliases.names[alias] = name
	return alias
}

func (t *translation) tool(def *llm.ToolDef) {
	if def.Kind == llm.HostedTool {
		return
	}
	if def.Kind == llm.FreeTool && t.rules.NoFreeTools {
		t.aliases.free[def.Name] = true
		def.Kind = llm.FunctionTool
		def.Schema = []byte(`{"type":"object","properties":{"` + FreeInput + `":{"type":"string"}},"required":["` + FreeInput + `"]}`)
		if def.Grammar != nil {
			def.Description = strings.TrimSpace(def.Description + GrammarFollows + def.Grammar.Syntax + " grammar:\n" + def.Grammar.Definition)
			def.Grammar = nil
		}
	}
	def.Name = t.name(def.Name)
}

func (t *translation) call(c llm.Call) llm.Call {
	if c.Hosted {
		return c
	}
	if c.Kind == llm.FreeTool && t.rules.NoFreeTools {
		c.Kind = llm.FunctionTool
		c.Args = append(append([]byte(`{"`+FreeInput+`":`), c.Args...), '}')
	}
	c.Name = t.name(c.Name)
	id := t.id(c)
	if t.answered[c.ID] { // an earlier turn answered the open call
		t.open[c.ID], t.answered[c.ID] = nil, false
	}
	t.open[c.ID] = append(t.open[c.ID], id)
	t.seen[c.ID]++
	if id != c.ID {
		t.aliases.ids[id] = c.ID
	}
	c.ID = id
	t.calls++
	return c
}

// id returns the id of a call in the target's terms.
func (t *translation) id(c llm.Call) string {
	if form := t.rules.IDForm; form != "" {
		return strings.NewReplacer("{name}", c.Name, "{index}", strconv.Itoa(t.calls)).Replace(form)
	}
	again := t.seen[c.ID]
	if again == 0 && c.ID != "" && t.rules.ID.Allows(c.ID) {
		return c.ID
	}
	seed := c.ID
	if again > 0 || c.ID == "" {
		seed += "#" + strconv.Itoa(t.calls) // two calls with one id, or calls without
	}
	const size = 24
	prefix, limit := "call_", size
	if !t.rules.ID.IsZero() {
		limit = min(max(size, t.rules.ID.Min), t.rules.ID.Max)
	}
	if limit < size || !t.rules.ID.Allows(prefix+turns.Digest("", size-len(prefix))) {
		prefix = ""
	}
	return prefix + turns.Digest(seed, limit-len(prefix))
}

// result gives a result the id of the call it answers: of several calls with
// one id, the first without a result.
func (t *translation) result(r llm.Result) llm.Result {
	if r.Hosted {
		return r
	}
	r.Name = t.name(r.Name)
	if open := t.open[r.CallID]; len(open) > 0 {
		if len(open) > 1 {
			t.open[r.CallID] = open[1:]
		} else {
			t.answered[r.CallID] = true
		}
		r.CallID = open[0]
	}
	return r
}

// Name returns the caller's name for a name of the target.
func (a *Aliases) Name(name string) string {
	if a != nil {
		if own, ok := a.names[name]; ok {
			return own
		}
	}
	return name
}

// ID returns the caller's id for an id of the target.
func (a *Aliases) ID(id string) string {
	if a != nil {
		if own, ok := a.ids[id]; ok {
			return own
		}
	}
	return id
}

// Call returns a call of the target in the caller's terms.
func (a *Aliases) Call(c llm.Call) llm.Call {
	if a == nil || c.Hosted {
		return c
	}
	c.ID, c.Name = a.ID(c.ID), a.Name(c.Name)
	if a.free[c.Name] {
		c.Kind, c.Args = llm.FreeTool, freeText(c.Args)
	}
	return c
}

// freeText is the text, as JSON, for a free-text tool that was offered as a function: the argument,
// or the bare text of a model that forgot the function around it. What else a model wrote is text
// as it stands, which the tool can refuse in its own words.
func freeText(args []byte) []byte {
	args = js.Trim(args)
	if text := js.Get(args, FreeInput); js.Kind(text) == '"' {
		args = text
	}
	if js.Kind(args) != '"' {
		return js.AppendQuoted(nil, string(args))
	}
	return append([]byte{}, args...)
}

// Response returns an answer of the target in the caller's terms. The answer
// is not changed.
func (a *Aliases) Response(r *llm.Response) *llm.Response {
	if a == nil {
		return r
	}
	out := *r
	out.Message.Parts = make([]llm.Part, len(r.Message.Parts))
	for i, p := range r.Message.Parts {
		if c, ok := p.(llm.Call); ok {
			p = a.Call(c)
		}
		out.Message.Parts[i] = p
	}
	out.Alternatives = nil
	for _, o := range r.Alternatives {
		out.Alternatives = append(out.Alternatives, a.Response(o))
	}
	out.Invalid = append([]llm.InvalidCall(nil), r.Invalid...)
	for i := range out.Invalid {
		out.Invalid[i] = a.invalid(out.Invalid[i])
	}
	return &out
}

func (a *Aliases) invalid(c llm.InvalidCall) llm.InvalidCall {
	c.ID, c.Name = a.ID(c.ID), a.Name(c.Name)
	return c
}

// Stream returns the events of the target in the caller's terms. The pieces
// of a free-text call that was asked for as a function come when it is whole.
func (a *Aliases) Stream(events iter.Seq2[llm.Event, error]) iter.Seq2[llm.Event, error] {
	if a == nil {
		return events
	}
	return func(yield func(llm.Event, error) bool) {
		held := map[string]bool{}
		for ev, err := range events {
			for _, own := range a.event(ev, held) {
				if !yield(own, nil) {
					return
				}
			}
			if err != nil {
				yield(nil, err)
				return
			}
		}
	}
}

// event translates one event. held are the calls whose pieces wait.
func (a *Aliases) event(ev llm.Event, held map[string]bool) []llm.Event {
	switch ev := ev.(type) {
	case nil:
		return nil
	case llm.Alternative:
		var own []llm.Event
		for _, inner := range a.event(ev.Event, held) {
			own = append(own, llm.Alternative{Index: ev.Index, Event: inner})
		}
		return own
	case llm.CallStart:
		ev.ID, ev.Name = a.ID(ev.ID), a.Name(ev.Name)
		if a.free[ev.Name] {
			held[ev.ID] = true
			ev.Kind = llm.FreeTool
		}
		return []llm.Event{ev}
	case llm.CallDelta:
		if ev.ID = a.ID(ev.ID); held[ev.ID] {
			return nil
		}
		return []llm.Event{ev}
	case llm.Call:
		c := a.Call(ev)
		if held[c.ID] {
			return []llm.Event{llm.CallDelta{ID: c.ID, Args: string(c.Args)}, c}
		}
		return []llm.Event{c}
	case llm.InvalidCall:
		return []llm.Event{a.invalid(ev)}
	}
	return []llm.Event{ev}
}

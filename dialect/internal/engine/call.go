package engine

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/toolpost/toolpost/dialect/internal/chars"
	"github.com/toolpost/toolpost/dialect/internal/judge"
	"github.com/toolpost/toolpost/dialect/internal/offered"
	"github.com/toolpost/toolpost/dialect/internal/scan"
	"github.com/toolpost/toolpost/dialect/spec"
	"github.com/toolpost/toolpost/internal/js"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/schema"
)

// Call is a call that is being read.
type Call struct {
	Open    bool
	Known   bool // the name was offered
	Marked  bool // it follows a marker
	Id      string
	Name    string          // as offered, or as written if it was not
	Start   int             // offset of the first byte of its markup
	before  string          // the markup before Start, if requested
	said    int             // number of bytes of its markup that were already emitted
	Keys    map[string]bool // keys of the arguments, if the reader writes the object itself
	Whole   bool            // the arguments were written as one object
	Args    []byte          // JSON text of the arguments so far
	Looked  int             // the JSON reader looked for repeated keys in Args[:Looked]
	Repeats bool            // it found one
	sent    int             // Args[:sent] was emitted as deltas
	Hold    bool            // the end of Args may change, so no deltas leave
	EndTag  string          // its end tag, if it is not a tag of its dialect
	Element string          // the name of the element around its arguments, if that is not a tag of a dialect
	head    []byte          // the beginning of its text, once that exceeds MaxRaw
	Repairs []llm.Repair
	Escapes escapes
	Problem string // why the call must not run; empty if it may
	Unmeant bool   // the text only talks about it
	// PlainInput reports whether the arguments may be the text of the tool's only parameter.
	PlainInput bool
}

// delta returns the argument text since the last delta as an event, nil if there is none. Usually it is the last chunk
// and is not copied.
func (c *Call) delta(chunk string) llm.Event {
	if !c.Open || !c.Known || c.Hold || c.sent == len(c.Args) {
		return nil
	}
	args := c.Args[c.sent:]
	c.sent = len(c.Args)
	if string(args) == chunk {
		return llm.CallDelta{ID: c.Id, Args: chunk}
	}
	return llm.CallDelta{ID: c.Id, Args: string(args)}
}

// passArgs emits the argument text since the last delta.
func (m *machine) passArgs() {
	if ev := m.Call.delta(m.Chunk); ev != nil {
		m.Emit(ev)
	}
}

// StartCall begins a call of the tool with the name written. It decides the current guess: the input is a call. It
// reports false if the input is not a call, because a call without a marker needs an offered name.
func (m *machine) StartCall(written, id string, start int) bool {
	name, known := m.Names.Resolve(strings.TrimSpace(written))
	if !known && (!m.Marked || m.Names.None || strings.TrimSpace(written) == "") || m.Names.Any && !m.Marked && !offered.LikeName(written) {
		return false
	}
	if v := judge.Decide(&m.Evidence, judge.Candidate{Stage: judge.Named, Rows: m.Rows, Marked: m.Marked || m.Loose}); v.Result == judge.IsText {
		if m.Rows.Empty() {
			m.Lost.Add(m.Lex.Bare, start, v.Why())
		} else {
			m.Lost.Add(m.Rows, start, v.Why())
		}
		return false
	}
	m.NoteAbove()
	m.decide()
	m.Calls++
	id = m.Ids.Take(id)
	var before []byte
	if !m.Marked { // the text before a marker does not show whether the call is escaped
		before = m.Buf[max(0, start-m.Base-scan.MaxTail):max(0, start-m.Base)]
	}
	*m.NewCall() = Call{Open: true, Known: known, Marked: m.Marked || m.Loose, Id: id, Name: name, Start: start}
	m.Call.Escapes = newEscapes(before, written)
	m.Anchor, m.Anchored = start, true
	m.passOpening()
	if m.Escaped || strings.IndexByte(written, '\\') >= 0 {
		m.Repair("markdown-escape", llm.Syntax, start, m.Offset())
	} else if known && !offered.Spelled(written, name) {
		m.Repair("name-spelling", llm.Syntax, start, m.Offset())
	}
	if m.Unused != "" {
		m.Repair(m.Unused, llm.Guess, start, m.Offset())
		m.Unused = ""
	}
	if known {
		m.Emit(llm.CallStart{ID: id, Name: name})
	}
	m.Started = true
	return true
}

// Shape returns the shape of the arguments of the call, nil if the tool is not known. The first call of Shape reads the
// schema.
func (m *machine) Shape() *schema.Shape {
	if !m.Call.Known {
		return nil
	}
	return m.Names.Shape(m.Call.Name)
}

// Arg appends text to the arguments.
func (m *machine) Arg(s string) {
	m.Call.Args = append(m.Call.Args, s...)
	m.CheckArgs()
}

// ArgBytes is Arg for bytes.
func (m *machine) ArgBytes(b []byte) {
	m.Call.Args = append(m.Call.Args, b...)
	m.CheckArgs()
}

// CheckArgs fails the answer if the arguments are too long.
func (m *machine) CheckArgs() {
	if len(m.Call.Args) > m.MaxCall() {
		m.Fail(fmt.Errorf("the arguments of %s are longer than %d bytes", m.Call.Name, m.MaxCall()))
	}
}

// maxRepairs limits the repairs of a call that are listed individually. Later ones extend the last repair of the same
// rule and class.
const maxRepairs = 4096

// Repair records a repair of the call.
func (m *machine) Repair(rule string, class llm.RepairClass, start, end int) {
	for i := maxRepairs; i < len(m.Call.Repairs); i++ { // one more per rule and class, at most
		if last := &m.Call.Repairs[i]; last.Rule == rule && last.Class == class {
			last.End = end
			return
		}
	}
	m.Call.Repairs = append(m.Call.Repairs, llm.Repair{Rule: rule, Class: class, Start: start, End: end})
}

// BadArgs records that the arguments cannot be read. The first problem is kept.
func (m *machine) BadArgs(format string, a ...any) {
	if m.Call.Problem == "" {
		m.Call.Problem = fmt.Sprintf(format, a...)
	}
}

// EndCall completes the call that was read up to here.
func (m *machine) EndCall() {
	c := m.Call
	if !c.Open {
		return
	}
	if len(c.Args) == 0 {
		m.Arg("{}")
	}
	m.checkContext()
	if c.Marked && m.UnusedBelow() {
		m.Repair("unused-text", llm.Guess, c.Start, m.Offset())
	}
	if c.Escapes.dropped > 0 {
		if c.Escapes.count(c.Args); c.Escapes.bare { // a later underscore has no backslash
			m.Repair("markdown-escape", llm.Guess, c.Start, m.Offset())
		}
	}
	if !c.Whole && (c.Marked || m.Row().Form == spec.LineCall) && m.Lex.InValue(m.Rows, c.Args) {
		m.Repair("marker-in-value", llm.Guess, c.Start, m.Offset())
	}
	if c.Whole && c.repeatsKey() {
		m.Repair("repeated-parameter", llm.Guess, c.Start, m.Offset()) // the last value counts
	}
	if c.Problem == "" && c.Known && c.holdsArgument(m.Names.Shape(c.Name)) {
		m.BadArgs("the string of an argument holds another argument")
	}
	switch {
	case c.Problem != "" && !m.More() && m.Truncated():
		m.CutCall()
	case !c.Known:
		m.Leave(llm.UnknownTool, fmt.Sprintf("there is no tool called %q", c.Name), m.raw())
	case c.Unmeant:
		m.Leave(llm.Unconfirmed, c.Problem, m.raw())
	case c.Problem != "":
		m.Leave(llm.BadArguments, c.Problem, m.raw())
	case c.Whole && c.Keys != nil && !json.Valid(c.Args): // a mix of elements and an object
		m.Leave(llm.BadArguments, "the arguments are no JSON object", m.raw())
	case (llm.Provenance{Repairs: c.Repairs}).Worst() >= llm.Truncation:
		m.CutCall() // the rest is unknown, however the answer ended
	default:
		m.Leave("", "", "")
	}
}

// holdsArgument reports whether a string whose end had to be guessed contains another argument: "a"; key: 1.
func (c *Call) holdsArgument(shape *schema.Shape) bool {
	if shape == nil || !slices.ContainsFunc(c.Repairs, func(r llm.Repair) bool { return r.Rule == "inner-quote" && r.Class == llm.Guess }) {
		return false
	}
	for _, rest := range bytes.Split(c.Args, []byte(`\"`))[1:] {
		rest = bytes.TrimLeft(rest, " ")
		if len(rest) == 0 || strings.IndexByte(",;", rest[0]) < 0 {
			continue
		}
		key := bytes.TrimLeft(rest[1:], ` "\`)
		n := chars.WordLength(key)
		after := bytes.TrimLeft(key[n:], ` "\`)
		if n > 0 && shape.Declares(string(key[:n])) && len(after) > 0 && (after[0] == ':' || after[0] == '=') {
			return true
		}
	}
	return false
}

// repeatsKey reports whether the arguments contain a key twice.
func (c *Call) repeatsKey() bool {
	if c.Looked > 0 && c.Looked == len(c.Args) {
		return c.Repeats
	}
	return repeatsKey(c.Args)
}

// repeatsKey reports whether a JSON object contains a key twice.
func repeatsKey(args []byte) bool {
	var few [8][]byte // room for the keys of most calls
	keys := few[:0]
	var many map[string]bool // all keys, if there are more
	for key := range js.Members(args) {
		if len(keys) < len(few) {
			if slices.ContainsFunc(keys, func(k []byte) bool { return bytes.Equal(k, key) }) {
				return true
			}
			keys = append(keys, key)
			continue
		}
		if many == nil {
			many = make(map[string]bool)
			for _, k := range keys {
				many[string(k)] = true
			}
		}
		if many[string(key)] {
			return true
		}
		many[string(key)] = true
	}
	return false
}

// CutProblem is the problem of a call that was cut off.
const CutProblem = "the answer was cut off in the middle of this call"

// CutCall ends the call as invalid because the answer ended in it.
func (m *machine) CutCall() {
	if m.Call.Open {
		m.Leave(llm.CutOff, CutProblem, m.raw())
	}
}

// Leave emits the call that was read, or an invalid call with the model's text raw if there is a reason. No other
// function ends a call.
func (m *machine) Leave(reason llm.InvalidReason, problem, raw string) {
	c := m.Call
	m.passArgs()
	from := llm.Provenance{Dialect: m.Dialect(), Marked: c.Marked, Repairs: c.Repairs, Truncated: reason == llm.CutOff}
	if reason == "" {
		m.Last = &llm.Call{ID: c.Id, Name: c.Name, Args: c.Args, Provenance: from}
		m.passMarkup()
		m.Emit(*m.Last)
	} else {
		invalid := llm.InvalidCall{ID: c.Id, Name: c.Name, Raw: raw, Reason: reason, Problem: problem, Provenance: from}
		switch reason {
		case llm.Unconfirmed:
			m.passMarkup()
		case llm.UnknownTool:
			invalid.Nearest = m.Names.Nearest(c.Name)
		}
		m.Emit(invalid)
	}
	m.Covers = append(m.Covers, judge.Extent{Start: c.Start, End: m.Offset()})
	m.Around.from, m.Around.Called = m.Offset(), m.Opts.Markup != nil
	m.idle = Call{}
	m.Call, m.Anchored = &m.idle, false
}

// NewCall returns the value for the call that begins. While no try is open, all calls share one value, because the
// machine cannot go back to the last call.
func (m *machine) NewCall() *Call {
	m.Call = &m.only
	if len(m.Tries) > 0 {
		m.Call = new(Call)
	}
	return m.Call
}

// Missing handles the missing end of a call. If the answer was cut off there, so is the call. Otherwise the model forgot
// the end, and a repair records what is missing.
func (m *machine) Missing(what string) {
	if m.Interrupted() || (what == "quote" || !m.More()) && m.Truncated() {
		m.CutCall()
		return
	}
	class := llm.Completion
	if what == "quote" {
		class = llm.Guess // the string may have been meant to end earlier
	}
	m.Repair("missing-"+what, class, m.Offset(), m.Offset())
}

// MaxRaw limits the text of a call that is kept for the case that the call is invalid.
const MaxRaw = 64 << 10

// raw returns the text of the call so far, or its beginning if it is long.
func (m *machine) raw() string {
	m.keepHead()
	if m.Call.head != nil {
		return string(m.Call.head) + "…"
	}
	return string(m.Buf[m.Call.Start-m.Base : m.Pos])
}

// keepHead copies the beginning of a long call, so the buffer can drop its text.
func (m *machine) keepHead() {
	if c := m.Call; c.Open && c.head == nil && m.Offset()-c.Start > MaxRaw {
		c.head = bytes.Clone(m.Buf[c.Start-m.Base:][:MaxRaw])
	}
}

// Blank skips white space and any of the bytes in more as markup.
func (m *machine) Blank(more string) {
	for m.More() {
		i := 0
		for i < len(m.Buf)-m.Pos && (chars.IsSpace(m.Buf[m.Pos+i]) || strings.IndexByte(more, m.Buf[m.Pos+i]) >= 0) {
			i++
		}
		if i == 0 {
			return
		}
		m.Skip(i, "space")
	}
}

// Escape appends p to the arguments as part of a JSON string.
func (m *machine) Escape(p []byte) {
	if cap(m.Call.Args)-len(m.Call.Args) < len(p) {
		m.Call.Args = slices.Grow(m.Call.Args, len(m.Call.Args)+len(p))
	}
	m.Call.Args = chars.AppendEscaped(m.Call.Args, p)
	m.CheckArgs()
}

// escapes tracks whether a call has Markdown escapes: every underscore in it, and in the text just before it, follows a
// backslash.
type escapes struct {
	bare    bool // an underscore has no backslash
	counted int  // bytes of the arguments that count has read
	found   int  // underscores in these bytes
	dropped int  // underscores in values whose backslash was removed
	InKeys  int  // the same in names of parameters
}

// newEscapes returns the state after the text before a call and its name.
func newEscapes(before []byte, name string) escapes {
	bare := bytes.Count(before, []byte{'_'}) != bytes.Count(before, []byte(`\_`))
	return escapes{bare: bare || strings.Count(name, "_") != strings.Count(name, `\_`)}
}

// Drop reports whether the backslash between args and c is a Markdown escape and must be removed.
func (e *escapes) Drop(args []byte, c byte) bool {
	if e.count(args); e.bare {
		return false
	}
	e.dropped += chars.BoolInt(c == '_')
	return true
}

// count reads the rest of args.
func (e *escapes) count(args []byte) {
	if e.counted > len(args) {
		return
	}
	e.found += bytes.Count(args[e.counted:], []byte{'_'})
	e.counted = len(args)
	e.bare = e.bare || e.found > e.dropped+e.InKeys
}

package engine

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/toolpost/toolpost/internal/js"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/schema"
)

// call is the call being read.
type call struct {
	open    bool
	known   bool // the name was offered
	marked  bool // a marker says that it is a call
	id      string
	name    string          // as offered, or as written if it was not
	start   int             // offset of the first byte of its markup
	before  string          // markup before that, if it is asked for
	said    int             // how many bytes of its markup have left as text
	keys    map[string]bool // of the arguments, where we write the object ourselves
	whole   bool            // they were written as one object
	args    []byte          // JSON text so far
	looked  int             // in args[:looked] the reader of JSON looked for repeated keys
	repeats bool            // and found one
	sent    int             // args[:sent] has left as deltas
	hold    bool            // the last of args may change
	endTag  string          // what ends it, if its tag is none that its dialect writes
	element string          // the name of the element around its arguments, if that is its own
	head    []byte          // the beginning of its text, once it is long
	repairs []llm.Repair
	escapes escapes
	problem string // why the arguments cannot be read; empty if they can
	// plainInput says that the arguments may be the text of the tool's only
	// parameter.
	plainInput bool
}

// delta returns the argument text that has come since the last time, nil if
// there is none. Most of the time it is the last chunk and need not be copied.
func (c *call) delta(chunk string) llm.Event {
	if !c.open || !c.known || c.hold || c.sent == len(c.args) {
		return nil
	}
	args := c.args[c.sent:]
	c.sent = len(c.args)
	if string(args) == chunk {
		return llm.CallDelta{ID: c.id, Args: chunk}
	}
	return llm.CallDelta{ID: c.id, Args: string(args)}
}

// passArgs passes on the argument text that has come since the last time.
func (m *machine) passArgs() {
	if ev := m.call.delta(m.chunk); ev != nil {
		m.emit(ev)
	}
}

// startCall begins a call of the tool whose name is written. The guess we are in
// is then decided: it is a call. It reports false if this is no call, because
// without a marker only offered names are.
func (m *machine) startCall(written, id string, start int) bool {
	name, known := m.names.resolve(strings.TrimSpace(written))
	if !known && (!m.marked || m.names.none || strings.TrimSpace(written) == "") || m.names.any && !m.marked && !likeName(written) {
		return false
	}
	if !m.promotes(m.rows, m.marked || m.loose) {
		if m.rows.empty() {
			m.lost.add(m.lex.bare, start)
		} else {
			m.lost.add(m.rows, start)
		}
		return false
	}
	m.decide()
	m.calls++
	id = m.ids.Take(id)
	var before []byte
	if !m.marked { // a marker says nothing
		before = m.buf[max(0, start-m.base-maxTail):max(0, start-m.base)]
	}
	*m.newCall() = call{open: true, known: known, marked: m.marked || m.loose, id: id, name: name, start: start}
	m.call.escapes = newEscapes(before, written)
	m.anchor, m.anchored = start, true
	m.passOpening()
	if m.escaped || strings.IndexByte(written, '\\') >= 0 {
		m.repair("markdown-escape", llm.Syntax, start, m.offset())
	} else if known && !spelled(written, name) {
		m.repair("name-spelling", llm.Syntax, start, m.offset())
	}
	if known {
		m.emit(llm.CallStart{ID: id, Name: name})
	}
	m.started = true
	return true
}

// shape returns the shape of the arguments of the call, nil if nothing is
// known. The schema is read when this is first called.
func (m *machine) shape() *schema.Shape {
	if !m.call.known {
		return nil
	}
	return m.names.shape(m.call.name)
}

// arg adds text to the arguments.
func (m *machine) arg(s string) {
	m.call.args = append(m.call.args, s...)
	m.checkArgs()
}

// argBytes is arg for bytes.
func (m *machine) argBytes(b []byte) {
	m.call.args = append(m.call.args, b...)
	m.checkArgs()
}

func (m *machine) checkArgs() {
	if len(m.call.args) > m.maxCall() {
		m.fail(fmt.Errorf("the arguments of %s are longer than %d bytes", m.call.name, m.maxCall()))
	}
}

// maxRepairs bounds how many edits of a call are listed one by one. Later ones
// widen the last edit of the same rule and class.
const maxRepairs = 4096

// repair notes an edit.
func (m *machine) repair(rule string, class llm.RepairClass, start, end int) {
	for i := maxRepairs; i < len(m.call.repairs); i++ { // one more per rule and class, at most
		if last := &m.call.repairs[i]; last.Rule == rule && last.Class == class {
			last.End = end
			return
		}
	}
	m.call.repairs = append(m.call.repairs, llm.Repair{Rule: rule, Class: class, Start: start, End: end})
}

// badArgs notes that the arguments cannot be read.
func (m *machine) badArgs(format string, a ...any) {
	if m.call.problem == "" {
		m.call.problem = fmt.Sprintf(format, a...)
	}
}

// endCall completes the call that was read up to here.
func (m *machine) endCall() {
	c := m.call
	if !c.open {
		return
	}
	if len(c.args) == 0 {
		m.arg("{}")
	}
	m.checkBehind()
	if c.escapes.dropped > 0 {
		if c.escapes.count(c.args); c.escapes.bare { // an underscore further on has no backslash
			m.repair("markdown-escape", llm.Guess, c.start, m.offset())
		}
	}
	if c.whole && c.repeatsKey() {
		m.repair("repeated-parameter", llm.Guess, c.start, m.offset()) // the last one counts
	}
	switch {
	case c.problem != "" && !m.more() && m.truncated():
		m.cutCall()
	case !c.known:
		m.leave(llm.UnknownTool, fmt.Sprintf("there is no tool called %q", c.name), m.raw())
	case c.problem != "":
		m.leave(llm.BadArguments, c.problem, m.raw())
	case c.whole && c.keys != nil && !json.Valid(c.args): // elements and an object, side by side
		m.leave(llm.BadArguments, "the arguments are no JSON object", m.raw())
	case (llm.Provenance{Repairs: c.repairs}).Worst() >= llm.Truncation:
		m.cutCall() // nobody can know the rest, however the answer ended
	default:
		m.leave("", "", "")
	}
}

// repeatsKey reports whether the arguments have a key twice.
func (c *call) repeatsKey() bool {
	if c.looked > 0 && c.looked == len(c.args) {
		return c.repeats
	}
	return repeatsKey(c.args)
}

// repeatsKey reports whether an object of JSON has a key twice.
func repeatsKey(args []byte) bool {
	var few [8][]byte // room for the keys of most calls
	keys := few[:0]
	var many map[string]bool // all keys, where there are more
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

const cutProblem = "the answer was cut off in the middle of this call"

// cutCall ends the call because the answer ended in it.
func (m *machine) cutCall() {
	if m.call.open {
		m.leave(llm.CutOff, cutProblem, m.raw())
	}
}

// leave is the only place where a call leaves the engine: as a call or, if there
// is a reason, as an invalid call with the text that the model wrote.
func (m *machine) leave(reason llm.InvalidReason, problem, raw string) {
	c := m.call
	m.passArgs()
	from := llm.Provenance{Dialect: m.dialect(), Marked: c.marked, Repairs: c.repairs, Truncated: reason == llm.CutOff}
	if reason == "" {
		m.last = &llm.Call{ID: c.id, Name: c.name, Args: c.args, Provenance: from}
		m.passMarkup()
		m.emit(*m.last)
	} else {
		invalid := llm.InvalidCall{ID: c.id, Name: c.name, Raw: raw, Reason: reason, Problem: problem, Provenance: from}
		if reason == llm.UnknownTool {
			invalid.Nearest = m.names.nearest(c.name)
		}
		m.emit(invalid)
	}
	m.covers = append(m.covers, extent{c.start, m.offset()})
	m.around.from, m.around.called = m.offset(), m.opts.Markup != nil
	m.idle = call{}
	m.call, m.anchored = &m.idle, false
}

// newCall returns the value for the call that begins. While no try is open, all
// calls share one value, because nothing can go back to the last call.
func (m *machine) newCall() *call {
	m.call = &m.only
	if len(m.tries) > 0 {
		m.call = new(call)
	}
	return m.call
}

// missing handles the end of the answer in the middle of a call: if the model
// was cut off, so was the call; if it stopped by itself, it forgot the end.
func (m *machine) missing(what string) {
	if m.truncated() {
		m.cutCall()
		return
	}
	class := llm.Completion
	if what == "quote" {
		class = llm.Guess // the string may have been meant to end earlier
	}
	m.repair("missing-"+what, class, m.offset(), m.offset())
}

// maxRaw bounds what is kept of the text of a call, to be shown if the call
// turns out to be invalid.
const maxRaw = 64 << 10

// raw is what the model wrote of the call so far, or the beginning of it.
func (m *machine) raw() string {
	m.keepHead()
	if m.call.head != nil {
		return string(m.call.head) + "…"
	}
	return string(m.buf[m.call.start-m.base : m.pos])
}

// keepHead keeps the beginning of a long call, so that the rest need not be
// held.
func (m *machine) keepHead() {
	if c := m.call; c.open && c.head == nil && m.offset()-c.start > maxRaw {
		c.head = bytes.Clone(m.buf[c.start-m.base:][:maxRaw])
	}
}

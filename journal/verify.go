package journal

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
)

// Report is what verifying a run found.
type Report struct {
	Run     string `json:"run"`
	Format  int    `json:"format,omitempty"` // of the run
	Entries int64  `json:"entries"`
	Head    Hash   `json:"head"` // of the last good entry
	Sealed  bool   `json:"sealed"`
	// Torn counts the bytes after the last line that was written completely.
	Torn int64 `json:"torn,omitempty"`
	// Faults are in the order of the entries; none means that the chain is
	// whole.
	Faults []Fault `json:"faults,omitempty"`
	// Unknown are the intents without a receipt. In a sealed run they are not a fault:
	// those effects may or may not have happened.
	Unknown []Intent `json:"unknown,omitempty"`
	// Stripped counts the entries that secrets were taken out of, or that were
	// mended to have a canonical form.
	Stripped int64 `json:"stripped,omitempty"`
}

// State returns "sealed", "open" or "broken".
func (r *Report) State() string {
	switch {
	case len(r.Faults) > 0:
		return "broken"
	case r.Sealed:
		return "sealed"
	}
	return "open"
}

// Err returns nil if nothing was changed, removed, added or moved, and otherwise a
// *[BrokenError]. An open run is not an error.
func (r *Report) Err() error {
	if len(r.Faults) == 0 {
		return nil
	}
	return &BrokenError{r.Run, r.Faults}
}

// BrokenError reports that a run is not as it was written.
type BrokenError struct {
	Run    string
	Faults []Fault
}

// Error returns the first fault and how many there are.
func (e *BrokenError) Error() string {
	s := fmt.Sprintf("journal: run %s is broken: %s", e.Run, e.Faults[0])
	if n := len(e.Faults) - 1; n > 0 {
		s += fmt.Sprintf(" (and %d more)", n)
	}
	return s
}

// FaultKind is what happened to an entry: "changed", "removed", "inserted", "reordered" or "dangling".
type FaultKind string

// The kinds of faults.
const (
	faultChanged   FaultKind = "changed"   // the entry does not match its hash
	faultRemoved   FaultKind = "removed"   // the entry is missing
	faultInserted  FaultKind = "inserted"  // the entry was not written by the run
	faultReordered FaultKind = "reordered" // the entry is in another place
	// The entry refers to a value that no entry before it holds.
	faultDangling FaultKind = "dangling"
)

// Fault is one entry that differs from the written one.
type Fault struct {
	Kind FaultKind `json:"kind"`
	// Seq is the number of the entry, 0 if it cannot be told.
	Seq int64 `json:"seq,omitempty"`
	// Line is where it stands, counted from 1; 0 for an entry that is gone.
	Line   int64  `json:"line,omitempty"`
	Detail string `json:"detail"`
}

// String returns the fault in one line.
func (f Fault) String() string {
	var b strings.Builder
	if f.Seq > 0 {
		fmt.Fprintf(&b, "entry %d ", f.Seq)
	} else {
		b.WriteString("an entry ")
	}
	if f.Line > 0 {
		fmt.Fprintf(&b, "(line %d) ", f.Line)
	}
	fmt.Fprintf(&b, "%s: %s", f.Kind, f.Detail)
	return b.String()
}

// Verify checks that entries are one run, whole and in order. It returns the report
// and, if there is a fault, an error: the error that reading ended with, a
// *[FormatError] for a run in a newer format, or a *[BrokenError].
//
// The chain proves that no entry was touched after a later one was written, and a seal
// that none is missing at the end. Values that entries refer to must be on record, and
// a request must match its hash, as long as no secret was stripped before it. An
// attacker who can rewrite the whole run, and makes all of that agree, can make
// another whole run. Only a signature, an anchor kept elsewhere, or the hash of the
// seal shows that: see `toolpost receipts`.
func Verify(entries iter.Seq2[Entry, error]) (*Report, error) {
	var c checker
	for e, err := range entries {
		if err != nil {
			return c.report(), err
		}
		c.entry(e)
	}
	r := c.report()
	return r, r.Err()
}

// VerifyLines is [Verify] for the lines of a file, each with its newline: it
// also notices a line that says the same in other bytes. The last line of an
// open run may lack its newline: the run is torn there.
func VerifyLines(lines iter.Seq2[[]byte, error]) (*Report, error) {
	var c checker
	for line, err := range lines {
		if err == nil {
			err = c.line(line)
		}
		if err != nil {
			return c.report(), err
		}
	}
	r := c.report()
	return r, r.Err()
}

// checker collects the data to report which entry was touched, not only that one was.
type checker struct {
	found    []found
	torn     []byte // the last line, if its newline is missing
	pending  map[string]Intent
	order    []string // of pending
	stripped int64
	refs     Resolver
	asked    *askedHashes // the last request, nil before the first
}

// found is one line.
type found struct {
	run        string
	seq        int64
	prev, hash Hash
	kind       Kind
	format     int
	seal       Seal
	missing    Hash   // it refers to this, which is not on record
	other      bool   // it is a request, and not the one it names
	bad        string // why it is not an entry
}

// line takes in a line. It returns an error if the run is in a newer format.
func (c *checker) line(line []byte) error {
	if c.torn != nil { // not the last line after all: readers give whole lines
		c.found = append(c.found, found{bad: "the line has no end"})
		c.torn = nil
	}
	body, ended := bytes.CutSuffix(line, []byte("\n"))
	if !ended {
		c.torn = bytes.Clone(line)
		return nil
	}
	e, err := ParseEntry(body)
	if newer := new(FormatError); errors.As(err, &newer) && len(c.found) == 0 {
		return newer
	}
	if err != nil {
		c.found = append(c.found, found{seq: e.Seq, bad: strings.TrimPrefix(err.Error(), "journal: ")})
		return nil
	}
	c.add(e)
	return nil
}

func (c *checker) entry(e Entry) {
	hash := e.Hash
	if _, err := e.link(nil); err != nil || e.Hash != hash {
		c.found = append(c.found, found{seq: e.Seq, bad: "the entry does not match its hash"})
		return
	}
	c.add(e)
}

func (c *checker) add(e Entry) {
	f := found{run: e.Run, seq: e.Seq, prev: e.Prev, hash: e.Hash, kind: e.Kind, format: e.Format}
	if e.Stripped != nil {
		c.stripped++
	}
	e, err := c.refs.Whole(e)
	if dangling := new(ReferenceError); errors.As(err, &dangling) {
		f.missing = dangling.Hash
	}
	switch e.Kind {
	case KindRequest:
		f.other = f.missing == "" && !c.request(e)
	case KindSeal:
		if err := json.Unmarshal(e.Body, &f.seal); err != nil {
			f.bad = "the seal cannot be read"
		}
	case KindIntent:
		var in Intent
		if e.Decode(&in) == nil {
			c.intend(in)
		}
	case KindQuestion:
		var q QuestionRecord
		if e.Decode(&q) == nil && q.Prompt > 0 { // it was begun, did nothing and waits
			delete(c.pending, q.Call)
		}
	case KindReceipt, KindRefusal:
		var r struct {
			Call string `json:"call"`
		}
		if e.Decode(&r) == nil {
			delete(c.pending, r.Call)
		}
	}
	c.found = append(c.found, f)
}

func (c *checker) intend(in Intent) {
	if c.pending == nil {
		c.pending = make(map[string]Intent)
	}
	if _, again := c.pending[in.Call]; !again {
		c.order = append(c.order, in.Call)
	}
	c.pending[in.Call] = in
}

// askedHashes are the hashes of a request's parts.
type askedHashes struct {
	messages        []Hash
	settings, tools Hash
}

// request reports whether a request matches its hash. Hashes are taken before secrets
// are stripped, so the check is impossible after the first entry that was stripped.
func (c *checker) request(e Entry) bool {
	if c.stripped > 0 {
		return true
	}
	var r Request
	if c.asked == nil {
		c.asked = &askedHashes{settings: hashBytes([]byte("{}")), tools: hashBytes([]byte("[]"))}
	}
	a := c.asked
	if e.Decode(&r) != nil || r.Keep < 0 || r.Keep > len(a.messages) {
		return false
	}
	a.messages = a.messages[:r.Keep]
	for _, m := range r.Messages {
		a.messages = append(a.messages, hashBytes(m))
	}
	if r.Tools != nil {
		a.tools = hashBytes(r.Tools)
	}
	if r.Settings != nil {
		a.settings = hashBytes(r.Settings)
	}
	return r.Hash == requestHash(slices.Values(a.messages), a.settings, a.tools)
}

// report draws the conclusions.
func (c *checker) report() *Report {
	r := &Report{Stripped: c.stripped, Torn: int64(len(c.torn))}
	for _, call := range c.order {
		if in, ok := c.pending[call]; ok {
			r.Unknown = append(r.Unknown, in)
			delete(c.pending, call)
		}
	}
	r.Run = c.name()
	chosen := c.choose(r)
	c.gaps(r, chosen)
	c.links(r, chosen)
	c.formats(r)
	c.end(r)
	if len(r.Faults) == 0 { // otherwise that was reported
		c.references(r)
	}
	return r
}

// formats reports entries in another format than the first.
func (c *checker) formats(r *Report) {
	for i, f := range c.found {
		if f.bad != "" || f.run != r.Run {
			continue
		}
		if r.Format == 0 {
			r.Format = f.format
		}
		if f.format != r.Format {
			r.fault(faultChanged, f.seq, i+1, "it is in format %d, the run in format %d", f.format, r.Format)
		}
	}
}

// references reports entries that refer to a value that no entry before them holds,
// and requests that do not match their hash. An attacker who rewrites the whole chain
// must also make these agree.
func (c *checker) references(r *Report) {
	for i, f := range c.found {
		if f.missing != "" {
			r.fault(faultDangling, f.seq, i+1, "it refers to %s, which no entry before it holds", f.missing)
		}
		if f.other {
			r.fault(faultChanged, f.seq, i+1, "the request on record is not the one whose hash it names")
		}
	}
}

// name returns the run that most of the file is about: that of its first good
// entry.
func (c *checker) name() string {
	for _, f := range c.found {
		if f.bad == "" {
			return f.run
		}
	}
	return ""
}

func (r *Report) fault(kind FaultKind, seq int64, line int, format string, args ...any) {
	r.Faults = append(r.Faults, Fault{kind, seq, int64(line), fmt.Sprintf(format, args...)})
}

// choose decides for each number which line is the entry of that number. It reports
// the lines that are not entries, or are in the wrong place, and returns the index of
// the line by number.
func (c *checker) choose(r *Report) map[int64]int {
	chosen := make(map[int64]int, len(c.found))
	highest := int64(0)
	for i, f := range c.found {
		switch other, taken := chosen[f.seq]; {
		case f.bad != "":
			r.fault(faultChanged, f.seq, i+1, "%s", f.bad)
		case f.run != r.Run:
			r.fault(faultInserted, 0, i+1, "it belongs to run %s", f.run)
		case taken && c.found[other].hash == f.hash:
			r.fault(faultInserted, f.seq, i+1, "it stands on line %d already", other+1)
		case taken:
			if c.follows(chosen, f) && !c.follows(chosen, c.found[other]) {
				chosen[f.seq], other, i = i, i, other
			}
			r.fault(faultInserted, f.seq, i+1, "line %d is another entry %d", other+1, f.seq)
		case f.seq < highest:
			chosen[f.seq] = i
			r.fault(faultReordered, f.seq, i+1, "it stands after entry %d", highest)
		default:
			chosen[f.seq] = i
			highest = f.seq
		}
	}
	return chosen
}

// follows reports whether f is linked to the entry before it.
func (c *checker) follows(chosen map[int64]int, f found) bool {
	before, ok := chosen[f.seq-1]
	return ok && c.found[before].hash == f.prev
}

// gaps reports the missing numbers. A line that could not be read accounts for the
// number it claims, or for the missing one at its place.
func (c *checker) gaps(r *Report, chosen map[int64]int) {
	claimed := make(map[int64]bool)
	at, highest := int64(0), int64(0)
	for _, f := range c.found {
		switch {
		case f.bad != "" && f.seq <= 0:
			at++
			claimed[at] = true
		case f.bad != "":
			at = f.seq
			claimed[at] = true
		case f.run == r.Run:
			at = f.seq
			highest = max(highest, f.seq)
		}
	}
	missing, from := int64(0), int64(0)
	flush := func() {
		switch {
		case missing == 1:
			r.fault(faultRemoved, from, 0, "entry %d is missing", from)
		case missing > 1:
			r.fault(faultRemoved, from, 0, "entries %d to %d are missing", from, from+missing-1)
		}
		missing = 0
	}
	// Numbers are as many as lines unless somebody invents one; a number
	// beyond all reason is not worth a walk.
	limit := min(highest, int64(len(c.found))*2+1000)
	for seq := int64(1); seq < limit; seq++ {
		_, ok := chosen[seq]
		switch {
		case ok || claimed[seq]:
			flush()
		default:
			if missing == 0 {
				from = seq
			}
			missing++
		}
	}
	flush()
	if limit < highest {
		r.fault(faultRemoved, limit, 0, "entries up to %d are missing", highest-1)
	}
}

// links reports where an entry does not name the one before it.
func (c *checker) links(r *Report, chosen map[int64]int) {
	for i, f := range c.found {
		if f.bad != "" || chosen[f.seq] != i || f.run != r.Run {
			continue
		}
		before, ok := chosen[f.seq-1]
		switch {
		case f.seq == 1 && f.prev != "":
			r.fault(faultChanged, 1, i+1, "the first entry names an entry before it")
		case ok && c.found[before].hash != f.prev:
			r.fault(faultChanged, f.seq-1, before+1, "entry %d was written after another entry %d than this one", f.seq, f.seq-1)
		}
	}
}

// end looks at the seal and what stands after it.
func (c *checker) end(r *Report) {
	sealed := -1
	for i, f := range c.found {
		if f.bad != "" {
			continue
		}
		if sealed >= 0 && f.run == r.Run {
			r.fault(faultInserted, f.seq, i+1, "it stands after the seal on line %d", sealed+1)
			continue
		}
		r.Entries++
		r.Head = f.hash
		if f.kind != KindSeal {
			continue
		}
		sealed = i
		if f.seal.Count != f.seq-1 || f.seal.Head != f.prev {
			r.fault(faultChanged, f.seq, i+1, "the seal counts %d entries up to %s, but stands after %d", f.seal.Count, f.seal.Head.Short(), f.seq-1)
		}
	}
	r.Sealed = sealed >= 0
	if len(c.torn) == 0 {
		return
	}
	if r.Sealed {
		r.fault(faultInserted, 0, len(c.found)+1, "%d bytes stand after the seal", len(c.torn))
		r.Torn = 0
		return
	}
	// A seal whose newline alone was touched is not a line half written.
	for _, line := range [][]byte{c.torn, c.torn[:len(c.torn)-1]} {
		if e, err := ParseEntry(line); err == nil && e.Kind == KindSeal {
			r.fault(faultChanged, e.Seq, len(c.found)+1, "the newline after the seal is missing")
			r.Torn = 0
			return
		}
	}
}

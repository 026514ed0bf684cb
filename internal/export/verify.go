package export

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/toolpost/toolpost/journal"
)

// Report is what checking an export found.
type Report struct {
	Format  Format `json:"format,omitempty"`
	Session string `json:"session"`
	Calls   int    `json:"calls"`
	// Ended says that the replay has its SessionEnd.
	Ended bool `json:"ended"`
	// Problems are the errors, in the order found.
	Problems []string `json:"problems,omitempty"`
	// Unknown are the calls without a result, by id or tool.
	Unknown []string `json:"unknown,omitempty"`
	// Ignored counts the events whose names are not known.
	Ignored int `json:"ignored,omitempty"`
}

// Err returns nil if there are no problems.
func (r *Report) Err() error {
	if len(r.Problems) == 0 {
		return nil
	}
	return errors.New(strings.Join(r.Problems, "; "))
}

func (r *Report) problem(format string, args ...any) {
	const most = 100
	if len(r.Problems) < most {
		r.Problems = append(r.Problems, fmt.Sprintf(format, args...))
	}
}

// Verify checks an export of either format: that the replay is complete, that
// hashes match the arguments that are there, that each result has its call,
// and that the receipt says the same as the replay. One of the two may be nil.
// Events and fields it does not know it passes over. It proves no more than
// that the files agree: what proves a run is its journal, or a signature.
func Verify(replay, receipt []byte) *Report {
	r := new(Report)
	c := &checker{Report: r}
	if replay != nil {
		c.replay(replay)
	}
	if receipt != nil {
		c.receipt(receipt, replay)
	}
	return r
}

// CheckSummary checks that a summary is the one that the receipt has the hash of. Receipts of other
// programs have none.
func (r *Report) CheckSummary(receipt, summary []byte) {
	var f receiptFile
	if json.Unmarshal(receipt, &f) == nil && f.SummaryHash != "" && f.SummaryHash != hashOf(summary) {
		r.problem("%s is not the file that %s has the hash of", SummaryFile, ReceiptFile)
	}
}

// Looks reports whether a file is a replay or a receipt of either format.
func Looks(file []byte) (replay, receipt bool) {
	first, _, _ := bytes.Cut(file, []byte("\n"))
	var l line
	if json.Unmarshal(first, &l) == nil && (l.Event == header || l.Type == header) {
		return true, false
	}
	var f receiptFile
	if json.Unmarshal(file, &f) == nil && f.SessionID != "" && f.ToolCalls != nil {
		return false, true
	}
	return false, false
}

// line is an event of either format.
type line struct {
	Event          string          `json:"event"`
	Type           string          `json:"type"`
	TS             string          `json:"ts"`
	ReplayVersion  int             `json:"replay_version"`
	Producer       string          `json:"producer"`
	SessionID      string          `json:"session_id"`
	StepID         string          `json:"step_id"`
	ID             string          `json:"id"`
	Tool           string          `json:"tool"`
	Params         json.RawMessage `json:"params"`
	ParamsHash     journal.Hash    `json:"params_hash"`
	Stripped       bool            `json:"stripped"`
	OutputHash     journal.Hash    `json:"output_hash"`
	TotalToolCalls *int            `json:"total_tool_calls"`
}

// receiptFile is a receipt of either format.
type receiptFile struct {
	Schema      string       `json:"schema"`
	SessionID   string       `json:"session_id"`
	ReplayHash  journal.Hash `json:"replay_hash"`
	SummaryHash journal.Hash `json:"summary_hash"`
	Trajectory  journal.Hash `json:"trajectory_hash"`
	SelfHash    journal.Hash `json:"canonical_json_sha256"`
	ToolCalls   []calledLine `json:"tool_calls"`
	ReceiptKind int          `json:"receipt_version"`
}

type calledLine struct {
	ID         string       `json:"id"`
	Tool       string       `json:"tool"`
	ParamsHash journal.Hash `json:"params_hash"`
	OutputHash journal.Hash `json:"output_hash"`
}

// checker follows a replay from line to line.
type checker struct {
	*Report
	ours  bool // written by this program, so its own promises can be checked
	last  string
	calls []*calledLine
	open  []*openCall
}

type openCall struct {
	*calledLine
	step string
}

func (c *checker) replay(file []byte) {
	n := 0
	for raw := range bytes.Lines(file) {
		n++
		if len(bytes.TrimSpace(raw)) == 0 {
			continue
		}
		var l line
		if err := json.Unmarshal(raw, &l); err != nil {
			c.problem("%s line %d is not a JSON object: %v", ReplayFile, n, err)
			continue
		}
		name := l.Event + l.Type
		c.place(n, name, l)
		c.event(n, name, l)
		c.last = name
	}
	if n == 0 {
		c.problem("%s is empty", ReplayFile)
	}
	c.Ended = c.last == names[sessionEnd]
	for _, o := range c.open {
		label := o.ID
		if label == "" {
			label = o.Tool
		}
		c.Unknown = append(c.Unknown, label)
	}
	c.Calls = len(c.calls)
}

// place checks the order of the events.
func (c *checker) place(n int, name string, l line) {
	switch {
	case n == 1:
		c.ours = strings.HasPrefix(l.Producer, "toolpost@")
		if c.Format = A; l.Type != "" {
			c.Format = B
		}
		if name != header || l.ReplayVersion != 1 {
			c.problem("%s does not begin with a %s of version 1", ReplayFile, header)
		}
	case n == 2 && name != names[sessionStart]:
		c.problem("%s line 2 is %q, not %s", ReplayFile, name, names[sessionStart])
	case c.last == names[sessionEnd]:
		c.problem("%s line %d stands after the %s", ReplayFile, n, c.last)
	case n > 1 && name == header:
		c.problem("%s line %d is a second header", ReplayFile, n)
	}
}

func (c *checker) event(n int, name string, l line) {
	switch name {
	case header, names[planStart], names[stepComplete], names[verification]:
	case names[sessionStart]:
		c.Session = l.SessionID
	case names[toolCall]:
		c.call(n, l)
	case names[toolResult]:
		c.result(n, l)
	case names[sessionEnd]:
		if l.TotalToolCalls != nil && *l.TotalToolCalls != len(c.calls) {
			c.problem("%s counts %d calls, but there are %d", name, *l.TotalToolCalls, len(c.calls))
		}
	default:
		c.Ignored++
	}
}

func (c *checker) call(n int, l line) {
	if len(l.Params) > 0 && !l.Stripped {
		if h, err := journal.HashJSON(l.Params); err != nil || h != l.ParamsHash {
			c.problem("%s line %d: the params_hash is not that of the params", ReplayFile, n)
		}
	}
	if !l.ParamsHash.Valid() {
		c.problem("%s line %d: the call has no valid params_hash", ReplayFile, n)
	}
	called := &calledLine{ID: l.ID, Tool: l.Tool, ParamsHash: l.ParamsHash}
	c.calls = append(c.calls, called)
	c.open = append(c.open, &openCall{called, l.StepID})
}

// result joins a result to its call: by id, or where the format has none, to
// the first open call of the same step.
func (c *checker) result(n int, l line) {
	for i, o := range c.open {
		if l.ID != "" && l.ID != o.ID || l.ID == "" && l.StepID != o.step {
			continue
		}
		o.OutputHash = l.OutputHash
		c.open = append(c.open[:i], c.open[i+1:]...)
		return
	}
	c.problem("%s line %d is a result without a call (id %q, step %q)", ReplayFile, n, l.ID, l.StepID)
}

func (c *checker) receipt(file, replay []byte) {
	var f receiptFile
	if err := json.Unmarshal(file, &f); err != nil {
		c.problem("%s is not a receipt: %v", ReceiptFile, err)
		return
	}
	if c.Format == "" {
		if c.Format = A; f.Schema != "" {
			c.Format = B
		}
		c.Session, c.Calls = f.SessionID, len(f.ToolCalls)
	}
	if c.Format == B && f.Schema != schemaB {
		c.problem("%s has the schema %q, not %s", ReceiptFile, f.Schema, schemaB)
	}
	for i, call := range f.ToolCalls {
		if !call.ParamsHash.Valid() || call.OutputHash != "" && !call.OutputHash.Valid() {
			c.problem("%s: call %d (%s) has no valid hashes", ReceiptFile, i+1, call.Tool)
		}
	}
	if replay == nil {
		return
	}
	if f.SessionID != c.Session {
		c.problem("%s is of session %q, %s of %q", ReceiptFile, f.SessionID, ReplayFile, c.Session)
	}
	if f.ReplayHash != "" && f.ReplayHash != hashOf(replay) {
		c.problem("%s is not the file that %s has the hash of", ReplayFile, ReceiptFile)
	}
	if c.ours {
		c.promises(f, file, replay)
	}
	c.join(f.ToolCalls)
}

// promises checks the hashes whose meaning is ours.
func (c *checker) promises(f receiptFile, file, replay []byte) {
	var whole map[string]any
	dec := json.NewDecoder(bytes.NewReader(file))
	dec.UseNumber()
	if err := dec.Decode(&whole); err != nil {
		c.problem("%s: %v", ReceiptFile, err)
		return
	}
	if h, err := selfHash(whole); err != nil || h != f.SelfHash {
		c.problem("%s does not match its own canonical_json_sha256", ReceiptFile)
	}
	if f.Trajectory == "" {
		return
	}
	var items []fields
	n := 0
	for raw := range bytes.Lines(replay) {
		var l line
		if n++; n == 1 || json.Unmarshal(raw, &l) != nil {
			continue
		}
		seq := len(items) + 1
		items = append(items, trajectoryItem(seq, l.Event+l.Type, json.RawMessage(bytes.TrimSpace(raw)), c.Session, l.TS))
	}
	if h, err := journal.HashValue(items); err != nil || h != f.Trajectory {
		c.problem("%s is not the trajectory that %s has the hash of", ReplayFile, ReceiptFile)
	}
}

// join compares the calls of the receipt with the calls of the replay, by id, or by
// position where there are no ids. A resumed run has calls of the same id: these are
// compared in order.
func (c *checker) join(receipts []calledLine) {
	if len(receipts) != len(c.calls) {
		c.problem("%s has %d calls, %s %d", ReceiptFile, len(receipts), ReplayFile, len(c.calls))
	}
	byID := make(map[string][]*calledLine)
	for _, call := range c.calls {
		byID[call.ID] = append(byID[call.ID], call)
	}
	for i, got := range receipts {
		var want *calledLine
		if same := byID[got.ID]; len(same) > 0 {
			want, byID[got.ID] = same[0], same[1:]
		}
		if got.ID == "" && i < len(c.calls) {
			want = c.calls[i]
		}
		label := got.ID
		if label == "" {
			label = fmt.Sprintf("%d (%s)", i+1, got.Tool)
		}
		switch {
		case want == nil:
			c.problem("%s: call %s is not in %s", ReceiptFile, label, ReplayFile)
		case want.Tool != got.Tool || want.ParamsHash != got.ParamsHash || want.OutputHash != got.OutputHash:
			c.problem("call %s is not the same in %s and %s", label, ReceiptFile, ReplayFile)
		}
	}
}

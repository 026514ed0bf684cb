package export

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/toolpost/toolpost/internal/signing"
	"github.com/toolpost/toolpost/journal"
)

// Format is one of the two ways to write a run.
type Format string

// The formats.
const (
	A Format = "a"
	B Format = "b"
)

// The names of the files.
const (
	ReplayFile  = "REPLAY.jsonl"
	ReceiptFile = "RECEIPT.json"
	SummaryFile = "PR_SUMMARY.md"
)

// Options control the export. The zero value is format A with hashes only.
type Options struct {
	Format Format // empty means A
	// Full adds arguments, messages and paths to the hashes.
	Full bool
	// Open allows a run that has not ended. Its replay lacks the SessionEnd.
	Open bool
	// Producer is name@version of the program; empty means toolpost@unknown.
	Producer string
	// Signature of the run, for the receipt of format A.
	Signature *signing.Signature
}

// Bundle is an exported run.
type Bundle struct {
	Replay, Receipt, Summary []byte
}

// Files returns the files by name.
func (b *Bundle) Files() map[string][]byte {
	return map[string][]byte{ReplayFile: b.Replay, ReceiptFile: b.Receipt, SummaryFile: b.Summary}
}

// Run exports a run. It verifies the run first; a broken one is an error, and
// so, unless opts allow it, is an open one. The same run and options give the
// same bytes.
func Run(entries iter.Seq2[journal.Entry, error], opts Options) (*Bundle, error) {
	s, err := gather(entries)
	if err != nil {
		return nil, err
	}
	if !s.sealed && !opts.Open {
		return nil, fmt.Errorf("run %s cannot be exported: %w", s.run, errOpen)
	}
	w := writer{session: s, Options: opts}
	if w.Producer == "" {
		w.Producer = "toolpost@unknown"
	}
	switch opts.Format {
	case A, "":
		w.format = formatA
	case B:
		w.format = formatB
	default:
		return nil, fmt.Errorf("there is no format %q; there are a and b", opts.Format)
	}
	if err := w.replay(); err != nil {
		return nil, err
	}
	summary := w.summary()
	receipt, err := w.receipt(hashOf(summary))
	if err != nil {
		return nil, err
	}
	return &Bundle{w.out.Bytes(), receipt, summary}, nil
}

// IsOpen reports whether err is the refusal to export a run that has not
// ended.
func IsOpen(err error) bool { return errors.Is(err, errOpen) }

// fields is a JSON object. Its keys are put in order when it is written.
type fields map[string]any

// set adds a field unless its value is none.
func (f fields) set(key string, value any, some bool) {
	if some {
		f[key] = value
	}
}

// format is what differs between the two.
type format struct {
	kind, time string // the keys of an event's name and time
	events     map[eventKind]func(*writer, event) fields
	receipt    func(*writer) fields
}

// names of events are the same in both formats.
var names = map[eventKind]string{
	sessionStart: "SessionStart", planStart: "PlanStart", toolCall: "ToolCall", toolResult: "ToolResult",
	stepComplete: "StepComplete", verification: "Verification", sessionEnd: "SessionEnd",
}

const header = "ReplayHeader"

type writer struct {
	*session
	Options
	format     format
	out        bytes.Buffer // the replay
	trajectory []fields     // for the hash of format B
}

// replay writes the header, the start, the events and, if it has ended, the
// end.
func (w *writer) replay() error {
	err := w.line(fields{w.format.kind: header, "replay_version": 1, "producer": w.Producer, "created_at": stamp(w.begun)})
	if err != nil {
		return err
	}
	events := append([]event{{kind: sessionStart, at: w.begun}}, w.events...)
	if w.sealed || w.end != nil {
		events = append(events, event{kind: sessionEnd, at: w.ended})
	}
	for _, ev := range events {
		make, ok := w.format.events[ev.kind]
		if !ok {
			continue // format B has no such event
		}
		f := make(w, ev)
		f[w.format.kind] = names[ev.kind]
		f[w.format.time] = stamp(ev.at)
		if err := w.line(f); err != nil {
			return err
		}
		seq := len(w.trajectory) + 1
		w.trajectory = append(w.trajectory, trajectoryItem(seq, names[ev.kind], f, w.run, stamp(ev.at)))
	}
	return nil
}

// trajectoryItem is one element of the array that trajectory_hash is taken of.
func trajectoryItem(seq int, name string, payload any, session, at string) fields {
	return fields{"seq": seq, "event_type": name, "payload": payload, "idempotency_key": fmt.Sprintf("%s:%d", session, seq), "recorded_at": at}
}

// line writes a canonical line.
func (w *writer) line(f fields) error {
	b, err := canonical(f)
	if err != nil {
		return err
	}
	w.out.Write(b)
	w.out.WriteByte('\n')
	return nil
}

func canonical(v any) ([]byte, error) {
	b, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	return journal.Canonical(b)
}

// receipt returns RECEIPT.json with the hashes of the summary and of itself.
func (w *writer) receipt(summary journal.Hash) ([]byte, error) {
	f := w.format.receipt(w)
	f["summary_hash"] = summary
	hash, err := selfHash(f)
	if err != nil {
		return nil, err
	}
	f["canonical_json_sha256"] = hash
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	err = enc.Encode(f)
	return out.Bytes(), err
}

// selfHash is the hash of a receipt without the fields added to it afterwards.
func selfHash(f map[string]any) (journal.Hash, error) {
	rest := make(map[string]any, len(f))
	for k, v := range f {
		if k != "canonical_json_sha256" && k != "signature" {
			rest[k] = v
		}
	}
	return journal.HashValue(rest)
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }

// text is a message or path in a full export, and its hash else.
func (w *writer) text(s string) string {
	if w.Full || s == "" {
		return s
	}
	h, err := journal.HashValue(s)
	if err != nil {
		return ""
	}
	return string(h)
}

// effects are the side effects of a call as objects.
func (w *writer) effects(c *call) []fields {
	out := []fields{}
	for _, e := range c.SideEffects {
		f := fields{"type": e.Type}
		switch {
		case e.Path == "":
		case w.Full:
			f["path"] = e.Path
		default:
			f["path_hash"] = w.text(e.Path)
		}
		if w.Full {
			for k, v := range e.Detail {
				f.set(k, v, k != "type" && k != "path")
			}
		}
		out = append(out, f)
	}
	return out
}

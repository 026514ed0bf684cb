package journal

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"
	"time"
)

// maxEntry bounds the bytes of one entry's line.
const maxEntry = 64 << 20

// Entry is one thing that happened in a run.
type Entry struct {
	Run  string
	Seq  int64 // 1 for the first entry of a run, then without gaps
	At   time.Time
	Kind Kind
	Body json.RawMessage // canonical JSON, secrets stripped
	// Format is that of the run. In format 2 values that are on record already
	// are references in Body, which [Whole] resolves. It is 0 in an entry whose
	// references were resolved.
	Format int
	// Stripped lists what was taken out of Body; nil means nothing.
	Stripped *Stripped
	Prev     Hash // of the entry before; empty for the first
	Hash     Hash // of all the above

	// Lease is the token of the writer's lease, for [Store.Append] only: it is
	// not part of the record. See [Leaser].
	Lease string
}

const ruleMended = "mended"

// Store keeps runs. Implementations are safe for concurrent use, within a
// process and, where they are shared by processes, between them. Writers of
// different runs do not wait for each other longer than the medium demands.
type Store interface {
	// Append adds e to the end of its run and returns it as written. Of e it
	// takes Run, Kind, Body and, unless zero, At, Stripped, Format and Lease; the rest
	// it fills in, with [Next]. Two writers of one run take turns: the chain
	// never forks. A sealed run refuses with [ErrSealed], one in a newer format
	// with a *[FormatError]. When Append returns without error, the entry
	// survives the death of the process.
	//
	// After another error the entry may or may not have been written.
	Append(ctx context.Context, e Entry) (Entry, error)

	// Read yields the entries of a run in order, starting with the first whose Seq is
	// at least from. A run that does not exist has no entries. Entries appended while
	// it runs may or may not be seen. Entries are yielded exactly as written: [Verify]
	// needs them so, and [Whole] resolves their references. Read does not verify the
	// chain, and holds no lock or connection while it yields. A run in a newer format
	// is a *[FormatError].
	Read(ctx context.Context, run string, from int64) iter.Seq2[Entry, error]
}

// Lister is a Store that knows its runs.
type Lister interface {
	// Runs yields the ids of all runs, in ascending order.
	Runs(ctx context.Context) iter.Seq2[string, error]
}

// ErrSealed is the error of writing to a run that has ended.
var ErrSealed = errors.New("journal: the run is sealed")

// ValidRun returns an error unless run can name a run: 1 to 128 letters,
// digits, dots, dashes and underscores, the first a letter or digit. Such an
// id is a safe file name and needs no escaping anywhere.
func ValidRun(run string) error {
	if !validName(run, 128) {
		return fmt.Errorf("journal: %.40q cannot name a run: use 1 to 128 of A-Z a-z 0-9 . _ -, beginning with a letter or digit", run)
	}
	return nil
}

func validName(s string, limit int) bool {
	for i := 0; i < len(s); i++ {
		b := s[i]
		alnum := b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || b >= '0' && b <= '9'
		if !alnum && (i == 0 || b != '.' && b != '_' && b != '-') {
			return false
		}
	}
	return s != "" && len(s) <= limit
}

// Next returns e as the successor of last, which is the zero Entry for the
// first of a run: its body canonical and stripped of secrets, numbered, linked
// and hashed. It is what every Store does in Append. A nil secrets strips the
// known forms. Next refuses a body without a canonical form, a format other than
// that of last, and anything after a seal. The body of a seal it writes itself.
func Next(last, e Entry, secrets *Secrets) (Entry, error) {
	if _, err := e.follow(&last, &known{}, secrets, nil); err != nil {
		return Entry{}, err
	}
	return e, nil
}

// follow makes e the successor of last, as Next does, and returns its line, without
// the newline, in space if it has room. Known properties of the body are not computed
// again. After an error e is unusable.
func (e *Entry) follow(last *Entry, k *known, secrets *Secrets, space []byte) ([]byte, error) {
	if last.Kind == KindSeal {
		return nil, fmt.Errorf("%w: %s", ErrSealed, last.Run)
	}
	if err := ValidRun(e.Run); err != nil {
		return nil, err
	}
	if !validName(string(e.Kind), 64) {
		return nil, fmt.Errorf("journal: %.40q is not a kind of entry", e.Kind)
	}
	var err error
	if e.Format, err = formatAfter(last, e); err != nil {
		return nil, err
	}
	if e.At.IsZero() {
		e.At = time.Now()
	}
	e.At = e.At.UTC().Round(0)
	if y := e.At.Year(); y < 1 || y > 9999 {
		return nil, fmt.Errorf("journal: the year %d cannot be written", y)
	}
	if e.Kind == KindSeal { // only the writer knows the entries before it
		e.Body = fmt.Appendf(nil, `{"count":%d,"head":"%s"}`, last.Seq, last.Hash)
	}
	if !k.canonical {
		body, err := Canonical(e.Body)
		if err != nil {
			return nil, fmt.Errorf("%s of run %s: %w", e.Kind, e.Run, err)
		}
		e.Body = body
	}
	e.redact(k, secrets)
	e.Lease = ""
	e.Seq, e.Prev = last.Seq+1, last.Hash
	return e.link(space)
}

// redact redacts a canonical body and marks the entry.
func (e *Entry) redact(k *known, secrets *Secrets) {
	body, mark := secrets.redactBody(e.Body, k.harmless)
	if mark == nil {
		return
	}
	if e.Format >= formatRefs { // without the secrets the hashes of values cannot be computed
		mark.Values = hashes(values(e.Kind, e.Body))
	}
	if old := e.Stripped; old != nil { // it was mended before it came here
		mark.Whole, mark.Rules = old.Whole, sortedOnce(slices.Concat(old.Rules, mark.Rules))
	}
	e.Body, e.Stripped = body, mark
}

// link computes the entry's hash and returns its line, in space if it has room.
// The keys of a line are in canonical order, so the hashed form is the line
// without its hash.
func (e *Entry) link(space []byte) ([]byte, error) {
	line := slices.Grow(space[:0], len(e.Body)+len(e.Run)+420)
	line = append(line, `{"at":"`...)
	line = e.At.AppendFormat(line, time.RFC3339Nano)
	line = append(line, `","body":`...)
	line = append(line, e.Body...)
	split := len(line)
	line = append(line, `,"kind":"`...)
	line = append(line, e.Kind...)
	line = append(line, `","prev":"`...)
	line = append(line, e.Prev...)
	line = append(line, `","run":"`...)
	line = append(line, e.Run...)
	line = append(line, `","seq":`...)
	line = strconv.AppendInt(line, e.Seq, 10)
	if e.Stripped != nil {
		mark, err := encode(e.Stripped)
		if err != nil {
			return nil, err
		}
		line = append(append(line, `,"stripped":`...), mark...)
	}
	line = append(line, `,"v":`...)
	line = append(strconv.AppendInt(line, int64(e.Format), 10), '}')
	e.Hash = hashBytes(line)
	var field [96]byte
	line = slices.Insert(line, split, append(append(append(field[:0], `,"hash":"`...), e.Hash...), '"')...)
	if len(line) > maxEntry {
		return nil, fmt.Errorf("journal: an entry of %d bytes; the limit is %d", len(line), maxEntry)
	}
	return line, nil
}

// lineJSON is a line as the standard library reads it.
type lineJSON struct {
	At       time.Time       `json:"at"`
	Body     json.RawMessage `json:"body"`
	Hash     Hash            `json:"hash"`
	Kind     Kind            `json:"kind"`
	Prev     Hash            `json:"prev"`
	Run      string          `json:"run"`
	Seq      int64           `json:"seq"`
	Stripped *Stripped       `json:"stripped"`
	V        int             `json:"v"`
}

// ParseEntry reads the line of an entry, without its newline. It accepts only
// the bytes that a Store writes: a line that was changed in any byte is an
// error. A line of a newer format is a *[FormatError].
func ParseEntry(line []byte) (Entry, error) {
	if len(line) > maxEntry {
		return Entry{}, fmt.Errorf("journal: a line of %d bytes; the limit is %d", len(line), maxEntry)
	}
	var j lineJSON
	if err := json.Unmarshal(line, &j); err != nil || j.V > CurrentFormat {
		if newer := newerLine(line); newer != nil {
			return Entry{}, newer
		}
		if err != nil {
			return Entry{}, fmt.Errorf("journal: not an entry: %w", err)
		}
	}
	e := Entry{Run: j.Run, Seq: j.Seq, At: j.At.UTC(), Kind: j.Kind, Body: j.Body, Format: j.V, Stripped: j.Stripped, Prev: j.Prev}
	if err := e.wellFormed(j); err != nil {
		return e, err
	}
	again, err := e.link(nil)
	switch {
	case err != nil:
		return e, err
	case e.Hash != j.Hash:
		return e, errors.New("journal: the entry does not match its hash")
	case !bytes.Equal(again, line):
		return e, errors.New("journal: the line is not the canonical form of its entry")
	}
	return e, nil
}

func (e *Entry) wellFormed(j lineJSON) error {
	if j.V < formatWhole || j.V > CurrentFormat {
		return errors.New("journal: not an entry: it has no known format")
	}
	if err := ValidRun(e.Run); err != nil {
		return err
	}
	if !validName(string(e.Kind), 64) || e.Seq < 1 || e.Prev != "" && !e.Prev.Valid() {
		return errors.New("journal: not an entry: kind, seq or prev is missing or malformed")
	}
	body, err := Canonical(e.Body)
	if err != nil {
		return err
	}
	if !bytes.Equal(body, e.Body) {
		return errors.New("journal: the body is not in canonical form")
	}
	return nil
}

// Line returns the entry's canonical form, the line it has in a file.
func (e Entry) Line() ([]byte, error) { return e.link(nil) }

// reusable returns the space of a line for the next one, unless it is large.
func reusable(line []byte) []byte {
	if cap(line) > 16<<10 {
		return nil
	}
	return line
}

// Decode reads the body into v.
func (e Entry) Decode(v any) error {
	if err := json.Unmarshal(e.Body, v); err != nil {
		return fmt.Errorf("journal: entry %d of run %s (%s): %w", e.Seq, e.Run, e.Kind, err)
	}
	return nil
}

// NewRun returns a fresh run id that sorts by time of creation.
func NewRun() string {
	return strings.ToLower(time.Now().UTC().Format("20060102-150405-") + randomText(8))
}

const maxRemembered = 4096

// known holds properties of a body that its writer knows, so the store does not
// compute them again.
type known struct {
	canonical bool
	harmless  bool // it holds no secret of a known form or under a known name
	borrowed  bool // its space is used again, so a store that keeps it makes a copy
	// counted is what the ledger would read of an intent; zero is unknown.
	counted counted
}

// counted is what the ledger reads of an intent or an approval.
type counted struct {
	call    string // the first attempt of the call that it is about
	granted bool   // a person has allowed another attempt
}

package journal_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolpost/toolpost/journal"
	"github.com/toolpost/toolpost/llm"
)

// sealedFile returns a small run as its lines.
func sealedFile(t *testing.T, run string) [][]byte {
	t.Helper()
	d := openDir(t, t.TempDir())
	r := open(t, d, run)
	ctx := t.Context()
	steps := []error{
		second(r.Write(ctx, journal.KindStart, journal.Start{Task: "café " + run})),
		second(r.Intent(ctx, journal.Intent{Call: "c1", Tool: "write", Args: json.RawMessage(`{"n":1.5}`)})),
		second(r.Receipt(ctx, journal.Receipt{Call: "c1", Tool: "write", Args: json.RawMessage(`{"n":1.5}`), Status: journal.OK})),
		second(r.Write(ctx, "note", map[string]string{"password": "hunter2"})),
		second(r.Seal(ctx)),
	}
	for _, err := range steps {
		if err != nil {
			t.Fatal(err)
		}
	}
	b, err := os.ReadFile(d.File(run))
	if err != nil {
		t.Fatal(err)
	}
	return bytes.SplitAfter(b[:len(b):len(b)], []byte("\n"))[:5]
}

func second[T any](_ T, err error) error { return err }

func check(file []byte) (*journal.Report, error) {
	return journal.VerifyLines(journal.Lines(bytes.NewReader(file)))
}

func TestVerifyWhole(t *testing.T) {
	report, err := check(bytes.Join(sealedFile(t, "r"), nil))
	if err != nil || report.State() != "sealed" || report.Entries != 5 || report.Stripped != 1 || report.Run != "r" {
		t.Errorf("%+v, %v", report, err)
	}
}

// Whatever happens to one byte of a sealed run, it is noticed.
func TestVerifyFindsEveryChangedByte(t *testing.T) {
	attacks := 0
	defer func() { t.Logf("%d attacks", attacks) }()
	whole := bytes.Join(sealedFile(t, "r"), nil)
	noticed := func(what string, i int, file []byte) error {
		t.Helper()
		report, err := check(file)
		if err == nil && report.Sealed {
			t.Errorf("%s at byte %d of %d is not noticed", what, i, len(whole))
		}
		return err
	}
	for i, b := range whole {
		for _, other := range []byte{b ^ 1, '\n'} {
			attacks++
			if other != b {
				file := bytes.Clone(whole)
				file[i] = other
				if noticed("another byte", i, file) == nil {
					t.Errorf("%q for %q at byte %d: the run is only open, not broken", other, b, i)
				}
			}
		}
		noticed("a missing byte", i, slices.Delete(bytes.Clone(whole), i, i+1))
		noticed("a cut", i, whole[:i])
		noticed("a byte too many", i, slices.Insert(bytes.Clone(whole), i, ' '))
	}
	for _, extra := range []string{" ", "\n", "{}", "{}\n"} {
		attacks++
		noticed("something more", len(whole), append(bytes.Clone(whole), extra...))
	}
}

// faults lists faults in short.
func faults(r *journal.Report) string {
	var out []string
	for _, f := range r.Faults {
		out = append(out, fmt.Sprintf("%s %d", f.Kind, f.Seq))
	}
	return strings.Join(out, ", ")
}

// Whatever happens to one entry, verify says what, and to which.
func TestVerifyNamesTheEntry(t *testing.T) {
	attacks := 0
	defer func() { t.Logf("%d attacks", attacks) }()
	lines := sealedFile(t, "r")
	other := sealedFile(t, "other")
	last := len(lines) - 1
	expect := func(what string, file [][]byte, want string) {
		t.Helper()
		report, err := check(bytes.Join(file, nil))
		if got := faults(report); got != want || err == nil {
			t.Errorf("%s: %s, want %s (%v)", what, got, want, err)
		}
	}
	for i := range lines {
		seq := i + 1
		if i < last {
			expect(fmt.Sprintf("without entry %d", seq), slices.Delete(slices.Clone(lines), i, i+1), fmt.Sprintf("removed %d", seq))
			swapped := slices.Clone(lines)
			swapped[i], swapped[i+1] = swapped[i+1], swapped[i]
			want := fmt.Sprintf("reordered %d", seq)
			if i+1 == last { // what stands after a seal is also too much
				want += fmt.Sprintf(", inserted %d", seq)
			}
			expect(fmt.Sprintf("entries %d and %d swapped", seq, seq+1), swapped, want)
		}
		for at := i + 1; at <= last; at++ {
			attacks++
			expect(fmt.Sprintf("entry %d again after %d", seq, at), slices.Insert(slices.Clone(lines), at, lines[i]), fmt.Sprintf("inserted %d", seq))
		}
		expect(fmt.Sprintf("another run's entry before %d", seq+1), slices.Insert(slices.Clone(lines), i+1, other[i]), "inserted 0")

		changed := slices.Clone(lines)
		changed[i] = bytes.Replace(lines[i], []byte(`"kind":"`), []byte(`"kind":"x`), 1)
		expect(fmt.Sprintf("entry %d changed", seq), changed, fmt.Sprintf("changed %d", seq))
	}
	expect("two entries in a row are gone", slices.Delete(slices.Clone(lines), 1, 3), "removed 2")
	expect("the first is gone, another changed", append([][]byte{lines[1], []byte("{}\n")}, lines[3:]...), "changed 0, removed 1")
}

// Somebody replaces an entry by one with a right hash of its own: the next
// entry gives it away.
func TestVerifyReplacedEntry(t *testing.T) {
	lines := sealedFile(t, "r")
	old, err := journal.ParseEntry(bytes.TrimSuffix(lines[1], []byte("\n")))
	if err != nil {
		t.Fatal(err)
	}
	first, err := journal.ParseEntry(bytes.TrimSuffix(lines[0], []byte("\n")))
	if err != nil {
		t.Fatal(err)
	}
	forged, err := journal.Next(first, journal.Entry{Run: old.Run, At: old.At, Kind: old.Kind, Body: json.RawMessage(`{"call":"c1","tool":"harmless"}`)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	line, err := forged.Line()
	if err != nil {
		t.Fatal(err)
	}
	lines[1] = append(line, '\n')
	report, err := check(bytes.Join(lines, nil))
	if err == nil || faults(report) != "changed 2" {
		t.Errorf("%s, %v", faults(report), err)
	}
}

func TestOpenAndTorn(t *testing.T) {
	lines := sealedFile(t, "r")
	open := bytes.Join(lines[:4], nil)
	for _, c := range []struct {
		why   string
		file  []byte
		state string
		torn  int
	}{
		{"no seal", open, "open", 0},
		{"nothing at all", nil, "open", 0},
		{"the last line of an open run has no newline", open[:len(open)-1], "open", len(lines[3]) - 1},
		{"half a line", append(bytes.Clone(open), lines[4][:20]...), "open", 20},
		{"half a line in the middle", bytes.Join([][]byte{lines[0], lines[1][:20], lines[2]}, nil), "broken", 0},
		{"the seal without its newline", bytes.TrimSuffix(bytes.Join(lines, nil), []byte("\n")), "broken", 0},
		{"half a line after the seal", append(bytes.Join(lines, nil), lines[4][:20]...), "broken", 0},
	} {
		report, _ := check(c.file)
		if report.State() != c.state || report.Torn != int64(c.torn) {
			t.Errorf("%s: %s, torn %d; want %s, %d: %v", c.why, report.State(), report.Torn, c.state, c.torn, report.Faults)
		}
	}
}

// Verify on entries, as a database gives them, notices the same.
func TestVerifyEntries(t *testing.T) {
	store := new(journal.Memory)
	r := open(t, store, "r")
	for range 4 {
		if _, err := r.Write(t.Context(), "note", struct{}{}); err != nil {
			t.Fatal(err)
		}
	}
	var all []journal.Entry
	for e := range store.Read(t.Context(), "r", 0) {
		all = append(all, e)
	}
	seq := func(entries []journal.Entry) iter.Seq2[journal.Entry, error] {
		return func(yield func(journal.Entry, error) bool) {
			for _, e := range entries {
				if !yield(e, nil) {
					return
				}
			}
		}
	}
	changed := slices.Clone(all)
	changed[1].Body = json.RawMessage(`{"x":1}`)
	for want, entries := range map[string][]journal.Entry{
		"":            all,
		"changed 2":   changed,
		"removed 2":   slices.Delete(slices.Clone(all), 1, 2),
		"reordered 2": {all[0], all[2], all[1], all[3]},
		"inserted 2":  {all[0], all[1], all[1], all[2], all[3]},
	} {
		report, err := journal.Verify(seq(entries))
		if diff := cmp.Diff(want, faults(report)); diff != "" || (err == nil) != (want == "") {
			t.Errorf("%s (%v)", diff, err)
		}
	}
}

// No file makes the verifier fail otherwise than by saying so.
func FuzzVerifyLines(f *testing.F) {
	f.Add([]byte("{}\n"))
	f.Add([]byte(`{"at":"2026-01-02T03:04:05Z","body":{},"hash":"sha256:","kind":"note","prev":"","run":"r","seq":9223372036854775807,"v":1}` + "\n"))
	f.Fuzz(func(t *testing.T, file []byte) {
		report, err := check(file)
		if err == nil && report.Sealed {
			lines := 0
			for range journal.Lines(bytes.NewReader(file)) {
				lines++
			}
			if int64(lines) != report.Entries {
				t.Errorf("%d lines, but %d entries", lines, report.Entries)
			}
		}
	})
}

// Whoever makes the chain anew with another request is found out by the hash that
// the request names, unless that was taken of secrets that are not on record.
func TestVerifyRequestHash(t *testing.T) {
	attacks := 0
	defer func() { t.Logf("%d attacks", attacks) }()
	for _, format := range []int{1, 2} {
		store := new(journal.Memory)
		if format == 1 {
			store = began(t, "r", 1)
		}
		r := open(t, store, "r")
		temperature := 0.5
		for _, text := range []string{"Pay 5", "Pay 6"} {
			req := &llm.Request{System: "Be careful.", Temperature: &temperature, Messages: []llm.Message{llm.User("Hello"), llm.User(text)},
				Tools: []llm.ToolDef{{Name: "pay", Description: "Pays at most 100.", Schema: json.RawMessage(`{"type":"object"}`)}}}
			asked, err := r.Request(t.Context(), req)
			if err == nil {
				_, err = r.Answer(t.Context(), asked, &llm.Response{Message: llm.Assistant(llm.Text{Text: "Yes."}), Finish: llm.Finish{Reason: llm.Stop}}, 0, nil)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		if _, err := journal.Verify(store.Read(t.Context(), "r", 0)); err != nil {
			t.Fatal(err)
		}
		for was, now := range map[string]string{
			"Pay 5": "Pay 9", "Pay 6": "Pay 9", "Hello": "Hullo", "Be careful.": "Be quick.", "at most 100": "at most 900", `"temperature":0.5`: `"temperature":0.9`, `"keep":1`: `"keep":0`, `"keep":1,`: `"keep":7,`,
		} {
			attacks++
			changed := false
			forged := remade(t, store, func(e journal.Entry) *journal.Entry {
				if e.Kind == journal.KindRequest && bytes.Contains(e.Body, []byte(was)) {
					e.Body, changed = bytes.ReplaceAll(e.Body, []byte(was), []byte(now)), true
				}
				return &e
			})
			report, err := journal.Verify(forged.Read(t.Context(), "r", 0))
			var broken *journal.BrokenError
			if !changed || !errors.As(err, &broken) {
				t.Errorf("format %d: %q for %q (%v): %+v, %v", format, now, was, changed, report, err)
			}
		}
	}
}

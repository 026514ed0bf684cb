package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/cmd/toolpost/internal/cli"
	"github.com/toolpost/toolpost/journal"
)

// TestReceiptsAnchor checks runs that were deleted, rolled back or replaced. They verify by themselves, but not against
// an anchor.
func TestReceiptsAnchor(t *testing.T) {
	path := ownStore(t)
	key := filepath.Join(t.TempDir(), "audit.key")
	expect(t, cli.ExitOK, nil, "receipts", "keygen", key)
	anchors := filepath.Join(t.TempDir(), "anchors.jsonl")
	verify := []string{"receipts", "verify", "--allow-open", "--anchor", anchors, "--key", key + ".pub"}
	expect(t, cli.ExitUsage, []string{"name the key"}, "receipts", "anchor", anchors)
	expect(t, cli.ExitFailed, []string{"holds no anchors"}, verify...)
	expect(t, cli.ExitOK, []string{"anchor 1: 3 runs, signed by key"}, "receipts", "anchor", "--key", key, anchors)
	expect(t, cli.ExitOK, []string{"anchor 1 of", "sealed  sealed", "open    open", "open    torn"}, verify...)

	// The open run continues, a new one starts, and both anchors are valid.
	dir, err := journal.OpenDir(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, run := range []string{"open", "young"} {
		if _, err := dir.Append(t.Context(), journal.Entry{Run: run, Kind: "note", Body: []byte(`{}`)}); err != nil {
			t.Fatal(err)
		}
	}
	expect(t, cli.ExitOK, []string{"open    young"}, verify...)
	expect(t, cli.ExitOK, []string{"anchor 2: 4 runs"}, "receipts", "anchor", "--key", key, anchors)
	expect(t, cli.ExitOK, []string{"anchor 2 of"}, verify...)

	read := func(run string) []byte {
		b, err := os.ReadFile(dir.File(run))
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	write := func(file string, b []byte) {
		if err := os.WriteFile(file, b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cut := func(b []byte, n int) []byte { return bytes.Join(bytes.SplitAfter(b, []byte("\n"))[:n], nil) }
	other, err := journal.OpenDir(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for range 9 {
		if _, err := other.Append(t.Context(), journal.Entry{Run: "open", Kind: "note", Body: []byte(`{}`)}); err != nil {
			t.Fatal(err)
		}
	}
	replaced, err := os.ReadFile(other.File("open"))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, run string
		now       []byte // nil: the run is deleted
		want      string
	}{
		{"gone", "sealed", nil, "missing  sealed"},
		{"gone while open", "young", nil, "the run is gone; the anchor of "},
		{"empty", "open", []byte{}, "rolled back to 0 entries"},
		{"rolled back", "open", cut(read("open"), 3), "rolled back to 3 entries; the anchor of "},
		{"rolled back to the first anchor", "open", cut(read("open"), 4), "rolled back to 4 entries"},
		{"replaced by a longer one", "open", replaced, "replaced: entry 4 is not the one that the anchor of "},
	} {
		t.Run(c.name, func(t *testing.T) {
			was := read(c.run)
			if c.now == nil {
				if err := os.Remove(dir.File(c.run)); err != nil {
					t.Fatal(err)
				}
			} else {
				write(dir.File(c.run), c.now)
			}
			r := expect(t, cli.ExitFailed, []string{c.want}, verify...)
			if strings.Count(r.out, "missing")+strings.Count(r.out, "broken") != 1 {
				t.Errorf("other runs are blamed:\n%s", r.out)
			}
			before, _ := os.ReadFile(anchors)
			expect(t, cli.ExitFailed, []string{c.want, "so nothing was added"}, "receipts", "anchor", "--key", key, anchors)
			if after, _ := os.ReadFile(anchors); !bytes.Equal(before, after) {
				t.Error("an anchor was added")
			}
			write(dir.File(c.run), was)
		})
	}
	expect(t, cli.ExitOK, nil, verify...)

	whole, err := os.ReadFile(anchors)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(whole); i += 97 {
		b := bytes.Clone(whole)
		b[i] ^= 1
		write(anchors, b)
		if r := toolpost(t, "", verify...); r.code == cli.ExitOK {
			t.Errorf("byte %d (%q) was changed unnoticed", i, whole[i])
		}
	}
	write(anchors, bytes.SplitAfter(whole, []byte("\n"))[1]) // the first anchor is missing
	expect(t, cli.ExitFailed, []string{"does not follow the one before it"}, verify...)
	write(anchors, whole)
	stranger := filepath.Join(t.TempDir(), "k")
	expect(t, cli.ExitOK, nil, "receipts", "keygen", stranger)
	expect(t, cli.ExitFailed, []string{"it is signed by key"}, "receipts", "verify", "--anchor", anchors, "--key", stranger+".pub")
	expect(t, cli.ExitFailed, []string{"it is signed by key"}, "receipts", "anchor", "--key", stranger, anchors)
	expect(t, cli.ExitUsage, []string{"name none"}, "receipts", "verify", "--anchor", anchors, "open")

	// A run that does not verify is left out and reported.
	write(dir.File("young"), []byte("{}\n"))
	fresh := filepath.Join(t.TempDir(), "fresh.jsonl")
	expect(t, cli.ExitFailed, []string{"anchor 1: 3 runs", "broken  young"}, "receipts", "anchor", "--key", key, fresh)
}

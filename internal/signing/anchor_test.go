package signing_test

import (
	"bytes"
	"testing"
	"time"

	"github.com/toolpost/toolpost/internal/signing"
	"github.com/toolpost/toolpost/journal"
)

// TestAnchors: every byte of a chain of anchors counts, and so does their order.
func TestAnchors(t *testing.T) {
	private, public, err := signing.NewKey()
	if err != nil {
		t.Fatal(err)
	}
	key, err := signing.ParsePrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	pub, err := signing.ParsePublicKey(public)
	if err != nil {
		t.Fatal(err)
	}
	var lines [][]byte
	var last *signing.Anchor
	for n := range 3 {
		runs := []*journal.Report{{Run: "b", Entries: int64(n + 1), Head: journal.ParamsHash(nil)}, {Run: "a", Entries: 2, Head: journal.ParamsHash(nil), Sealed: true}}
		a, err := signing.NewAnchor(last, runs, key, time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC))
		if err != nil {
			t.Fatal(err)
		}
		line, err := a.Line()
		if err != nil {
			t.Fatal(err)
		}
		last, lines = &a, append(lines, line)
	}
	if last.N != 3 || last.Runs[0].Run != "a" || !last.Runs[0].Sealed || last.Runs[1].Count != 3 {
		t.Errorf("%+v", last)
	}
	check := func(lines ...[]byte) error {
		var all []signing.Anchor
		for _, line := range lines {
			a, err := signing.ParseAnchor(line)
			if err != nil {
				return err
			}
			all = append(all, a)
		}
		return signing.CheckAnchors(all, pub)
	}
	if err := check(lines...); err != nil {
		t.Fatal(err)
	}
	edits := 0
	for at := range lines {
		for i := range lines[at] {
			for _, flip := range []byte{1, 0x20} {
				edits++
				edited := [][]byte{lines[0], lines[1], lines[2]}
				edited[at] = bytes.Clone(lines[at])
				edited[at][i] ^= flip
				if check(edited...) == nil {
					t.Errorf("byte %d of anchor %d (%q) was changed unnoticed", i, at+1, lines[at][i])
				}
			}
		}
	}
	t.Logf("%d edited bytes", edits)
	for why, order := range map[string][][]byte{"the first is missing": lines[1:], "one is missing": {lines[0], lines[2]}, "two changed places": {lines[1], lines[0], lines[2]}, "one stands twice": {lines[0], lines[0]}} {
		if check(order...) == nil {
			t.Errorf("%s, and nobody noticed", why)
		}
	}
	broken := &journal.Report{Run: "c", Faults: []journal.Fault{{Kind: "changed"}}}
	if _, err := signing.NewAnchor(nil, []*journal.Report{broken}, key, time.Now()); err == nil {
		t.Error("a broken run is anchored")
	}
}

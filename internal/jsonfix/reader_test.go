package jsonfix

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/toolpost/toolpost/llm"
)

// reading is all that a Reader says about a text.
type reading struct {
	value string
	read  int
	edits string
	err   string
	done  bool
}

// feed feeds the pieces and checks that what was taken stays.
func feed(t *testing.T, pieces ...string) reading {
	t.Helper()
	var r Reader
	var taken string
	var got reading
	for _, p := range pieces {
		n := r.Feed(p)
		got.read += n
		taken += r.Take()
		if n < len(p) {
			break
		}
	}
	err := r.Close()
	taken += r.Take()
	got.value, got.edits, got.done = string(r.Value()), fmt.Sprint(r.Repairs()), r.Done()
	if err != nil {
		got.err, got.read = err.Error(), 0
		return got
	}
	if taken != got.value {
		t.Errorf("%q: taken %q, value %q", pieces, taken, got.value)
	}
	if !json.Valid([]byte(got.value)) {
		t.Errorf("%q: %q is not valid", pieces, got.value)
	}
	return got
}

func bytewise(s string) []string {
	var out []string
	for i := range len(s) {
		out = append(out, s[i:i+1])
	}
	return out
}

// sameHoweverCut reads a text whole, in two pieces cut everywhere, and byte by
// byte.
func sameHoweverCut(t *testing.T, text string) reading {
	t.Helper()
	whole := feed(t, text)
	if got := feed(t, bytewise(text)...); got != whole {
		t.Errorf("%q\nwhole    %+v\nbytewise %+v", text, whole, got)
	}
	for i := 1; i < len(text) && i < 400; i++ {
		if got := feed(t, text[:i], text[i:]); got != whole {
			t.Errorf("%q\nwhole     %+v\ncut at %d %+v", text, whole, i, got)
		}
	}
	return whole
}

func TestCorpusHoweverCut(t *testing.T) {
	for _, row := range readCorpus(t, "json_repair/jsonrepair.jsonl") {
		got := sameHoweverCut(t, row.Broken)
		if row.Valid && got.edits != "[]" {
			t.Errorf("%q is valid: %s", row.Broken, got.edits)
		}
	}
}

var _ = llm.Syntax

package jsonfix

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"
)

// FuzzReader: no text panics, valid text passes untouched, what comes out is
// valid, and the cuts do not matter.
func FuzzReader(f *testing.F) {
	for _, c := range rules {
		f.Add(c.in, uint(3))
	}
	for _, c := range refused {
		f.Add(c.in[:min(len(c.in), 100)], uint(1))
	}
	for _, s := range valids {
		f.Add(s, uint(7))
	}
	f.Fuzz(func(t *testing.T, text string, cut uint) {
		if len(text) > 1<<12 {
			return
		}
		whole := feed(t, text)
		if got := feed(t, bytewise(text)...); got != whole {
			t.Errorf("%q\nwhole    %+v\nbytewise %+v", text, whole, got)
		}
		if got := feedWith(t, contentFirst, text); got.apart() != whole.apart() {
			t.Errorf("%q\nwhole         %+v\ncontent first %+v", text, whole, got)
		}
		if n := int(cut % uint(len(text)+1)); n > 0 {
			if got := feed(t, text[:n], text[n:]); got != whole {
				t.Errorf("%q\nwhole     %+v\ncut at %d %+v", text, whole, n, got)
			}
		}
		if json.Valid([]byte(text)) && utf8.ValidString(text) && len(text) > 0 && nesting(text) < DefaultMaxDepth {
			if whole.err != "" || whole.edits != "[]" || whole.value != strings.Trim(text, " \t\r\n") {
				t.Errorf("%q is valid and gives %+v", text, whole)
			}
		}
	})
}

func nesting(text string) int {
	n, most := 0, 0
	for _, c := range text {
		switch c {
		case '[', '{':
			n++
			most = max(most, n)
		case ']', '}':
			n--
		}
	}
	return most
}

// FuzzFix: no text panics, every reading is valid JSON with edits inside the
// text, and the readings agree with Fix.
func FuzzFix(f *testing.F) {
	for _, c := range texts {
		f.Add(c.in)
	}
	for _, c := range rules {
		f.Add("Sure: " + c.in)
	}
	f.Fuzz(func(t *testing.T, text string) {
		value, edits, err := Fix(text)
		if json.Valid([]byte(text)) && (err != nil || len(edits) > 0) {
			t.Errorf("%q is valid: %s %v %v", text, value, edits, err)
		}
		first := true
		for rd := range Readings(text) {
			if !json.Valid(rd.Value) {
				t.Errorf("%q gives %q", text, rd.Value)
			}
			if first && (err != nil || string(rd.Value) != string(value)) {
				t.Errorf("%q: Fix gives %s %v, the first reading is %s", text, value, err, rd.Value)
			}
			first = false
			for _, e := range rd.Edits {
				if e.Start < 0 || e.End < e.Start || e.End > len(text) {
					t.Errorf("%q: %+v is outside", text, e)
				}
			}
		}
		DuplicateKeys(value)
		if shown, ok := Partial(text); ok && !json.Valid(shown) {
			t.Errorf("%q shows %s", text, shown)
		}
	})
}

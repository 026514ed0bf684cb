package jsonfix

import (
	"encoding/json"
	"fmt"
	"strings"
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

// apart is a reading apart from where it ended: contentFirst does not count it.
func (r reading) apart() reading {
	r.read = 0
	return r
}

// feed feeds the pieces and checks that what was taken stays.
func feed(t *testing.T, pieces ...string) reading {
	t.Helper()
	return feedWith(t, (*Reader).Feed, pieces...)
}

// contentFirst feeds the content of strings with FeedContent wherever that
// takes any, and reports how much of piece belongs to the value.
func contentFirst(r *Reader, piece string) int {
	at := 0
	for at < len(piece) && !r.Done() && r.Err() == nil {
		n := r.FeedContent([]byte(piece[at:]))
		if n == 0 {
			n = r.Feed(piece[at:min(at+3, len(piece))])
		}
		if at += n; n == 0 {
			break
		}
	}
	return at
}

func feedWith(t *testing.T, step func(*Reader, string) int, pieces ...string) reading {
	t.Helper()
	var r Reader
	var taken string
	var got reading
	for _, p := range pieces {
		if r.Done() || r.Err() != nil {
			break
		}
		n := step(&r, p)
		if n < 0 || n > len(p) {
			t.Errorf("%q: %d bytes of %d were read", pieces, n, len(p))
		}
		got.read += len(p)
		taken += r.Take()
	}
	got.read -= len(r.Rest())
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
	if got := feedWith(t, contentFirst, text); got.apart() != whole.apart() {
		t.Errorf("%q\nwhole         %+v\ncontent first %+v", text, whole, got)
	}
	for i := 1; i < len(text) && i < 400; i++ {
		if got := feed(t, text[:i], text[i:]); got != whole {
			t.Errorf("%q\nwhole     %+v\ncut at %d %+v", text, whole, i, got)
		}
	}
	return whole
}

func TestReaderIsIndependentOfChunks(t *testing.T) {
	for _, row := range readCorpus(t, "json_repair/jsonrepair.jsonl") {
		got := sameHoweverCut(t, row.Broken)
		if row.Valid && got.edits != "[]" {
			t.Errorf("%q is valid: %s", row.Broken, got.edits)
		}
	}
}

// valids are valid texts with every kind of token.
var valids = []string{
	`{"a": "x\"y\\", "b": [1, -2.5e+10, 0, true, false, null], "c": {}, "d": [], "e": {"f": "\ud83d\ude00 \u00e9"}}`,
	"[\n  {\"ключ\": \"значение 😀\"},\n  \"\",\n  [[]]\n]",
	`{"text": "it's, \"quoted\": {braces} [brackets] // no comment\n", "n": 12345678901234567890}`,
	`[",", ":", "}", "]", "\\", "'", "+"]`,
}

func TestValidPassesThrough(t *testing.T) {
	for _, text := range valids {
		got := sameHoweverCut(t, text)
		if got.value != text || got.edits != "[]" || got.read != len(text) {
			t.Errorf("%s\ngives %+v", text, got)
		}
		if got := sameHoweverCut(t, " "+text+" and more {"); got.value != text || got.read != len(text)+1 {
			t.Errorf("%s\nwith text around gives %+v", text, got)
		}
	}
}

// TestReaderRegressions holds what fuzzing found.
func TestReaderRegressions(t *testing.T) {
	for text, why := range map[string]string{
		"0/*0":                                 "a number on its own ended before a slash that was needed to see it",
		`""0`:                                  "a string on its own ended before the next piece",
		"{\\\"a\\\":\xe3\x1dd\x0f9 \\\"b\\\\n": "an error in text escaped twice gave a negative count",
		"[\"\"\"":                              "a triple quote was cut",
		strings.Repeat("9", 400):               "a number too large for a float64 is valid",
	} {
		if got := sameHoweverCut(t, text); got.read > len(text) {
			t.Errorf("%s: %q: %+v", why, text, got)
		}
	}
}

// TestTruncatedTextClass: a text that was cut anywhere is never called better than
// completed, and what it shows meanwhile is valid.
func TestTruncatedTextClass(t *testing.T) {
	for _, c := range rules {
		valid := c.class == llm.Intact
		for i := 1; i < len(c.in); i++ {
			var r Reader
			r.Feed(c.in[:i])
			if r.Done() {
				break
			}
			shown, ok := r.Partial()
			if ok && !json.Valid(shown) {
				t.Errorf("%q shows %s", c.in[:i], shown)
			}
			if err := r.Close(); err == nil && worst(r.Repairs()) < llm.Completion {
				t.Errorf("%q is cut and called %v: %s", c.in[:i], worst(r.Repairs()), r.Value())
			} else if err != nil && valid && i > 0 {
				t.Errorf("%q cannot be completed: %v", c.in[:i], err)
			}
		}
	}
}

// TestReaderHoldsBackOnlyUncertainText: of a valid text, only the tail that rule (f) of streaming
// allows is held back: the end of a string, a comma, a number, a literal, an
// escape, a rune, white space behind those.
func TestReaderHoldsBackOnlyUncertainText(t *testing.T) {
	for _, text := range valids {
		var r Reader
		sent := 0
		for i := range len(text) {
			r.Feed(text[i : i+1])
			sent += len(r.Take())
			held := text[sent : i+1]
			if !mayBeHeld(strings.TrimRight(held, " \n")) {
				t.Errorf("%q is held after %q", held, text[:i+1])
			}
		}
	}
}

func mayBeHeld(s string) bool {
	switch {
	case s == "", s == `"`, s == ",", s == `",`, s[0] == '\\', s[0] >= 0x80:
		return true
	case s[0] == '"': // the end of a string, and a key that may not be one
		return len(s) < 3
	}
	digits := strings.TrimRight(s, "-+.eE")
	return digits == "" || isNumber(digits) || strings.HasPrefix("true", s) || strings.HasPrefix("false", s) || strings.HasPrefix("null", s)
}

func TestStops(t *testing.T) {
	for in, want := range map[string]string{
		`{"a": "b"</call> more`:    `{"a": "b"}|</call> more`,
		`{"a": "</call>"}</call>`:  `{"a": "</call>"}|</call>`,
		`{"a": [1, 2 </call>`:      `{"a": [1, 2 ]}|</call>`,
		`{"a": 12</call>`:          `{"a": 12}|</call>`,
		`{"a": "b", </call>`:       `{"a": "b" }|</call>`,
		`{"a": "x"</b>y", "c": 1}`: `{"a": "x\"</b>y", "c": 1}|`,
	} {
		for _, pieces := range [][]string{{in}, bytewise(in)} {
			r := NewReader(Options{Stops: []string{"</call>", "<|end|>"}})
			rest := ""
			for _, p := range pieces {
				if r.Done() {
					rest += p
					continue
				}
				r.Feed(p)
			}
			if got := string(r.Value()) + "|" + r.Rest() + rest; got != want {
				t.Errorf("%q gives %q, not %q", pieces, got, want)
			}
		}
	}
}

func TestLimits(t *testing.T) {
	deep := NewReader(Options{MaxDepth: 2})
	deep.Feed(`[[[`)
	long := NewReader(Options{MaxBytes: 10})
	long.Feed(`["0123456789`)
	token := new(Reader)
	token.Feed("[" + strings.Repeat("a", maxToken+1))
	for want, r := range map[string]*Reader{"2 levels": deep, "10 bytes": long, "without quotes": token} {
		if r.Err() == nil || !strings.Contains(r.Err().Error(), want) {
			t.Errorf("%v does not say %q", r.Err(), want)
		}
	}
	var r Reader
	r.Feed("[\"" + strings.Repeat("\n\x01", maxEdits) + `"]`)
	if n := len(r.Repairs()); n > maxEdits+2 {
		t.Errorf("%d edits are listed", n)
	}
}

func TestReset(t *testing.T) {
	r := NewReader(Options{Base: 100})
	for range 2 {
		r.Feed(`['a',]`)
		first := r.Value()
		if !r.Done() || r.Repairs()[0].Start != 101 {
			t.Fatalf("%s %v", first, r.Repairs())
		}
		r.Reset()
		r.Feed(`["zzzzz"]`)
		if string(first) != `["a"]` {
			t.Fatalf("the value became %s", first)
		}
		r.Reset()
	}
}

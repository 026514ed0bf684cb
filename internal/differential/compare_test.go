package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// compared returns the differences of one input.
func compared(was, is string) []difference {
	c := newComparison()
	c.add(0, "input", was)
	c.add(1, "input", is)
	return c.differences("kind")
}

func TestVolatileValuesAreEqual(t *testing.T) {
	for _, c := range []struct{ name, was, is string }{
		{"response ids", `{"id":"chatcmpl-5S2C334QBBNUHWCQY7XTYZIKPQ"}`, `{"id":"chatcmpl-C5ZTYMO2DWY6UVS4VRRMQQH5B2"}`},
		{"call ids", `{"id":"call_PSOHH67L63PBR67L_1"}`, `{"id":"call_GODXAWSCMBHVEOEK_1"}`},
		{"item ids", `{"id":"msg_3ko455mh3vn11"}`, `{"id":"msg_4embb92xpj0l1"}`},
		{"times", `{"created":1795026603,"at":"2026-11-18T18:30:03.746026105Z"}`, `{"created":1795026604,"at":"2026-11-18T18:30:04Z"}`},
		{"durations", `{"took_ns":84217253}`, `{"took_ns":155940237}`},
		{"addresses", "http://127.0.0.1:39869/v1", "http://127.0.0.1:40001/v1"},
		{"runs", "run 20261118-183003-x4hijfbu", "run 20261118-183004-abcdefgh"},
		{"hashes", "sha256:" + strings.Repeat("a", 64), "sha256:" + strings.Repeat("b", 64)},
	} {
		if d := compared(c.was, c.is); len(d) != 0 {
			t.Errorf("%s: %v", c.name, d)
		}
	}
}

func TestDifferencesAreFound(t *testing.T) {
	id := func(letter string) string { return "call_" + strings.Repeat(letter, 16) }
	for _, c := range []struct{ name, was, is, line string }{
		{"a value", `{"a":1,"b":[2]}`, `{"a":1,"b":[3]}`, "+   3"},
		{"a value in a stream", "data: {\"a\":1}\n\ndata: [DONE]\n", "data: {\"a\":2}\n\ndata: [DONE]\n", `-  "a": 1`},
		{"the order of fields", `{"a":1,"b":2}`, `{"b":2,"a":1}`, `-  "a": 1,`},
		{"white space", `{"a":1}`, `{"a": 1}`, "- white space in JSON"},
		{"an id that refers to another call", id("A") + " " + id("B") + " " + id("A"), id("C") + " " + id("D") + " " + id("D"), "- call_<ID 1> call_<ID 2> call_<ID 1>"},
		{"the prefix of an id", "call_" + strings.Repeat("A", 16), "toolu_" + strings.Repeat("A", 16), "+ toolu_<ID 1>"},
		{"a missing output", "text", "", "- text"},
		{"an added line", "one\nthree", "one\ntwo\nthree", "+ two"},
	} {
		d := compared(c.was, c.is)
		if len(d) != 1 || !strings.Contains(strings.Join(d[0].lines, "\n"), c.line) {
			t.Errorf("%s: got %q, want a line %q", c.name, d, c.line)
		}
	}
}

func TestOnlyChangedLinesAreShown(t *testing.T) {
	d := compared("a\nb\nc\nd\ne", "a\nB\nc\nd\nE\nf")
	if got := strings.Join(d[0].lines, "|"); got != "- b|+ B|- e|+ E|+ f" {
		t.Errorf("got %s", got)
	}
}

func TestJustifiedDifferences(t *testing.T) {
	file := filepath.Join(t.TempDir(), "justified.txt")
	text := "# comment\n\n" + `^kind/input: [-+] \s*"a":` + "\tthe value of a is new\n" + "never\tan old reason\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	rules, err := readRules(file)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if n := report(&out, compared(`{"a":1,"b":1}`, `{"a":2,"b":1}`), rules, 0); n != 0 || !strings.HasPrefix(out.String(), "justified kind/input") {
		t.Errorf("a justified difference: %d open, %s", n, out.String())
	}
	out.Reset()
	if n := report(&out, compared(`{"a":1,"b":1}`, `{"a":2,"b":2}`), rules, 0); n != 1 || !strings.Contains(out.String(), "DIFFERENT kind/input") {
		t.Errorf("a difference of which one line is justified: %d open, %s", n, out.String())
	}
	if rules[0].used == 0 || rules[1].used != 0 {
		t.Errorf("the rules were used %d and %d times", rules[0].used, rules[1].used)
	}
	for _, bad := range []string{"pattern without a reason", "(\treason", "pattern\t "} {
		if err := os.WriteFile(file, []byte(bad), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := readRules(file); err == nil {
			t.Errorf("%q is read without an error", bad)
		}
	}
}

func TestCommittedJustifications(t *testing.T) {
	if _, err := readRules("justified.txt"); err != nil {
		t.Error(err)
	}
}

func TestParallelCallsInAnyOrder(t *testing.T) {
	a := `{"event":"ended","call_id":"call_1"}` + "\n"
	b := `{"event":"ended","call_id":"call_2"}` + "\n"
	end := `{"event":"done"}` + "\n"
	if sortCalls(a+b+end) != sortCalls(b+a+end) {
		t.Error("the order of two calls is a difference")
	}
	if sortCalls(a+end+b) == sortCalls(b+end+a) {
		t.Error("a call in another turn is no difference")
	}
}

func TestInputsAreThere(t *testing.T) {
	o := &options{root: "../.."}
	cells, err := o.cells()
	if err != nil || len(cells) < 300 {
		t.Fatalf("%d cells, %v", len(cells), err)
	}
	for _, c := range cells {
		if _, err := c.request(c.Request, c.model(true, 1), true); err != nil {
			t.Errorf("%s: %v", c.Cell, err)
		}
	}
	if rows, err := o.textRows(); err != nil || len(rows) < 1000 {
		t.Errorf("%d texts, %v", len(rows), err)
	}
}

package text

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolpost/toolpost/cmd/toolpost/internal/cli"
)

func TestRepairBatch(t *testing.T) {
	in := []string{
		`{"id":"valid","text":" {\"n\":12345678901234567890} "}`,
		`{"id":"syntax","text":"{'a':True,}"}`,
		`{"id":"refused","text":"This is not JSON at all {{{"}`,
		`{"id":"two","text":"{\"a\":1}{\"a\":2}"}`,
		`{"id":"schema decides","text":"{\"a\":1}{\"a\":2}","schema":{"type":"object"}}`,
		`{"id":"schema reads a number","text":"{\"n\":007}","schema":{"properties":{"n":{"type":"integer"}}}}`,
		`{"id":"schema opens a string","text":"\"{\\\"a\\\":1}\"","schema":{"type":"object"}}`,
		`{"id":"schema asks for a type","text":"{n:\"3\"}","schema":{"properties":{"n":{"type":"integer"}}}}`,
		`{"id":"nothing fits","text":"{\"a\":1,}","schema":{"required":["b"]}}`,
		`{"id":"no text"}`,
	}
	want := []string{
		`{"id":"valid","ok":true,"value":{"n":12345678901234567890},"class":"intact","edits":[]}`,
		`{"id":"syntax","ok":true,"value":{"a":true},"class":"syntax","edits":[{"rule":"quotes","class":"syntax","start":1,"end":2},{"rule":"literal","class":"syntax","start":5,"end":9},{"rule":"trailing-comma","class":"syntax","start":9,"end":10}]}`,
		`{"id":"refused","ok":false,"value":null,"class":"intact","edits":[],"error":"there is no JSON value"}`,
		`{"id":"two","ok":true,"value":[{"a":1},{"a":2}],"class":"guess","edits":[{"rule":"concatenated","class":"guess","start":0,"end":14}]}`,
		`{"id":"schema decides","ok":true,"value":{"a":1},"class":"guess","edits":[{"rule":"concatenated","class":"guess","start":0,"end":14}]}`,
		`{"id":"schema reads a number","ok":true,"value":{"n":7},"class":"guess","edits":[{"rule":"number","class":"guess","start":5,"end":8}]}`,
		`{"id":"schema opens a string","ok":true,"value":{"a":1},"class":"coercion","edits":[{"rule":"stringified","class":"coercion","start":0,"end":0}]}`,
		`{"id":"schema asks for a type","ok":true,"value":{"n":3},"class":"coercion","edits":[{"rule":"unquoted-key","class":"syntax","start":1,"end":2},{"rule":"unquoted","class":"coercion","start":0,"end":0}]}`,
		`{"id":"nothing fits","ok":false,"value":{"a":1},"class":"syntax","edits":[{"rule":"trailing-comma","class":"syntax","start":6,"end":7}],"error":"no reading of the text fits the schema","faults":[…]}`,
		`{"id":"no text","error":"the row has no \"text\""}`,
	}
	r := toolpost(t, strings.Join(in, "\n"), "repair", "--batch")
	got := strings.Split(strings.TrimSpace(r.out), "\n")
	for i, line := range got {
		if before, _, ok := strings.Cut(line, `"faults":[`); ok {
			got[i] = before + `"faults":[…]}` // the wording belongs to the schema package
		}
	}
	if diff := cmp.Diff(want, got); diff != "" || r.code != cli.ExitOK {
		t.Errorf("exit %d, %s (-want +got):\n%s", r.code, r.errOut, diff)
	}
}

func TestRepairFile(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	broken := file("broken.txt", "Here it is:\n{a: 1, a: 2,}\nBye.")
	list := file("list.schema.json", `{"type":"array","minItems":2}`)
	for _, c := range []struct {
		stdin      string
		args       []string
		code       int
		out, notes string
	}{
		{"[1,]", []string{"repair"}, cli.ExitOK, "[1]\n", "trailing-comma"},
		{"[1,]", []string{"repair", "-"}, cli.ExitOK, "[1]\n", "byte 2"},
		{"", []string{"repair", broken}, cli.ExitOK, `{"a": 1, "a": 2}` + "\n", "duplicate-key"},
		{"", []string{"repair", "--schema", list, broken}, cli.ExitFailed, "", "no reading of the text fits"},
		{"no value here, sorry about that", []string{"repair"}, cli.ExitFailed, "", "no JSON value"},
		{"", []string{"repair", filepath.Join(dir, "absent")}, cli.ExitFailed, "", "absent"},
		{"", []string{"repair", "--schema", broken, broken}, cli.ExitFailed, "", "broken.txt"},
		{"", []string{"repair", "--batch", broken}, cli.ExitUsage, "", "leave out"},
	} {
		r := toolpost(t, c.stdin, c.args...)
		if r.code != c.code || r.out != c.out || !strings.Contains(r.errOut, c.notes) {
			t.Errorf("%q: exit %d, out %q, notes %q", c.args, r.code, r.out, r.errOut)
		}
	}
}

func TestRepairJSON(t *testing.T) {
	r := toolpost(t, "{'a': [true", "repair", "--json")
	var got struct {
		OK    bool
		Class string
		Value json.RawMessage
	}
	if err := json.Unmarshal([]byte(r.out), &got); err != nil || !got.OK || got.Class != "completion" {
		t.Errorf("%v: %s", err, r.out)
	}
}

package main

import (
	"strings"
	"testing"
	"time"
)

func TestTables(t *testing.T) {
	if _, err := parse(tablesText); err != nil {
		t.Error(err)
	}
	for text, want := range map[string]string{
		"files tool/builtin TestPathAttacks":                        "the table network has no test",
		"files tool/builtin":                                        "is not a table",
		"dreams tool/builtin TestX":                                 "is not a table",
		strings.ReplaceAll(tablesText, "\nconsent ", "\n#consent "): "the table consent has no test",
	} {
		if _, err := parse(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40q: %v, want %q", text, err, want)
		}
	}
}

const output = `{"Action":"run","Test":"TestA"}
{"Action":"output","Test":"TestA","Output":"    a_test.go:1: 12 attacks\n"}
{"Action":"pass","Test":"TestA"}
{"Action":"run","Test":"TestB"}
{"Action":"run","Test":"TestB/x"}
{"Action":"run","Test":"TestB/x/1"}
{"Action":"run","Test":"TestB/x/2"}
{"Action":"pass","Test":"TestB/x/1"}
{"Action":"pass","Test":"TestB/x/2"}
{"Action":"pass","Test":"TestB/x"}
{"Action":"pass","Test":"TestB"}
{"Action":"run","Test":"TestC"}
{"Action":"pass","Test":"TestC"}
{"Action":"run","Test":"TestD"}
{"Action":"fail","Test":"TestD"}
{"Action":"run","Test":"TestE"}
{"Action":"run","Test":"TestE/x"}
{"Action":"skip","Test":"TestE/x"}
{"Action":"pass","Test":"TestE"}
`

func TestReport(t *testing.T) {
	found, err := read(strings.NewReader(output), new(strings.Builder))
	if err != nil {
		t.Fatal(err)
	}
	one := func(names ...string) (string, error) {
		var rows []row
		results := make(map[row]*result)
		for _, name := range names {
			r := row{"files", "p", name}
			rows = append(rows, r)
			if found[name] != nil {
				results[r] = found[name]
			}
		}
		var out strings.Builder
		err := report(rows, []string{"files"}, results, time.Second, &out)
		return out.String(), err
	}
	if said, err := one("TestA", "TestB", "TestC"); err != nil || !strings.Contains(said, "3 tests      15 attacks") {
		t.Errorf("%v\n%s", err, said)
	}
	for name, want := range map[string]string{"TestD": "p.TestD failed", "TestE": "TestE/x of p was skipped", "TestNone": "p.TestNone did not run"} {
		if _, err := one("TestA", name); err == nil || err.Error() != want {
			t.Errorf("%s: %v", name, err)
		}
	}
}

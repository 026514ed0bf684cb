package main

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

func TestFind(t *testing.T) {
	targets, err := find("../..")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []target{{"dialect", "FuzzParse"}, {"wire/internal/sse", "FuzzReader"}, {"tool/builtin", "FuzzParseDeclared"}} {
		if !slices.Contains(targets, want) {
			t.Errorf("%v was not found", want)
		}
	}
	for _, got := range targets {
		if strings.HasPrefix(got.Package, "conformance") || strings.HasPrefix(got.Package, "bench") {
			t.Errorf("%v belongs to another module", got)
		}
	}
}

func TestSummary(t *testing.T) {
	x := target{"wire", "FuzzX"}
	for _, c := range []struct {
		out  string
		err  error
		want string
		ok   bool
	}{
		{"fuzz: elapsed: 3s, execs: 12 (4/sec)\nfuzz: elapsed: 6s, execs: 345 (4/sec)\nPASS", nil, "345 inputs  ok", true},
		{"execs: 7 (1/sec)\n    Failing input written to testdata/fuzz/FuzzX/0a1b\nFAIL", errors.New("exit status 1"), "7 inputs  FOUND: wire/testdata/fuzz/FuzzX/0a1b", false},
		{"./x.go:1: undefined: y", errors.New("exit status 1"), "0 inputs  FAILED: exit status 1", false},
		{"execs: 9 (1/sec)\n--- FAIL: FuzzX\n    context deadline exceeded", errors.New("exit status 1"), "9 inputs  ok (stopped while busy)", true},
	} {
		if line, ok := summarise(x, []byte(c.out), c.err); ok != c.ok || !strings.HasSuffix(line, c.want) {
			t.Errorf("%q, %v; want %q", line, ok, c.want)
		}
	}
}

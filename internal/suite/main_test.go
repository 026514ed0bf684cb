package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func line(action, pkg, test, output string) string {
	return `{"Action":"` + action + `","Package":"` + module + pkg + `","Test":"` + test + `","Output":"` + output + `\n"}` + "\n"
}

func TestVerdict(t *testing.T) {
	allowed, err := parse("# why\nwire TestFigures needs the whole corpus\n")
	if err != nil {
		t.Fatal(err)
	}
	failure := line("output", "wire", "TestA", "x_test.go:1: wrong") + line("fail", "wire", "TestA", "") + line("fail", "wire", "", "")
	steady := func(string, string) (outcome, error) { return outcome{failed: []testName{{"wire", "TestA"}}}, nil }
	passes := func(pkg, pattern string) (outcome, error) {
		if pkg != "wire" || !strings.HasPrefix(pattern, "^Test") || strings.Contains(pattern, "/") {
			return outcome{}, errors.New("asked for " + pkg + " " + pattern)
		}
		return outcome{}, nil
	}
	never := func(string, string) (outcome, error) { return outcome{}, errors.New("tried again") }
	for _, c := range []struct {
		name, in, want, shown string
		again                 func(string, string) (outcome, error)
	}{
		{"all pass", "", "", "", never},
		{"a listed skip", line("skip", "wire", "TestFigures", ""), "", "", never},
		{"a subtest of a listed one", line("skip", "wire", "TestFigures/a/b", ""), "", "", never},
		{"a package without tests", line("skip", "wire", "", ""), "", "", never},
		{"another skip", line("skip", "wire", "TestOther", ""), "wire.TestOther", "", never},
		{"the same name elsewhere", line("skip", "llm", "TestFigures", ""), "llm.TestFigures", "", never},
		{"a failure", failure, "failed: wire.TestA: it failed again", "wrong", steady},
		{"a failure that does not come again", failure, "", "wrong", passes},
		{"a subtest that does not fail again", line("fail", "wire", "TestA/b/c", "") + failure, "", "wrong", passes},
		{"four failures", failure + line("fail", "wire", "TestB", "") + line("fail", "wire", "TestC", "") + line("fail", "wire", "TestD", ""),
			"failed: wire.TestA, wire.TestB, wire.TestC, wire.TestD", "", never},
		{"a race", line("output", "wire", "TestA", "WARNING: DATA RACE") + failure, "DATA RACE", "", never},
		{"a panic", line("output", "wire", "TestA", "panic: runtime error") + failure, "panic", "", never},
		{"a package that fails after its tests", line("fail", "wire", "", ""), "failed: wire", "", never},
		{"a test without an end", line("output", "wire", "TestA", "the last words") + line("fail", "wire", "", ""), "failed: wire", "the last words", never},
		{"a build that fails", `{"ImportPath":"` + module + `wire","Action":"build-output","Output":"syntax error\n"}` + "\n" +
			`{"ImportPath":"` + module + `wire","Action":"build-fail"}`, "was not built", "syntax error", never},
		{"no JSON", "go: cannot find module", "", "cannot find module", never},
	} {
		var out strings.Builder
		o, err := read(strings.NewReader(line("pass", "wire", "TestZ", "")+c.in+"\n"), &out, allowed)
		if err != nil {
			t.Fatal(err)
		}
		err = judge(o, c.again)
		if got := errText(err); (c.want == "") != (err == nil) || !strings.Contains(got, c.want) || !strings.Contains(out.String(), c.shown) {
			t.Errorf("%s: error %q, want %q; printed %q, want %q", c.name, got, c.want, out.String(), c.shown)
		}
	}
	if _, err := parse("wire TestFigures\n"); err == nil {
		t.Error("a line without a reason was accepted")
	}
}

// The events come from the real go command.
func TestRealRun(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("go.mod", "module "+strings.TrimSuffix(module, "/")+"\n\ngo 1.24\n")
	if err := os.Mkdir(filepath.Join(dir, "p"), 0o700); err != nil {
		t.Fatal(err)
	}
	write("p/p_test.go", `package p

import ("os"; "testing")

func TestOnce(t *testing.T) {
	if _, err := os.Stat("ran"); err != nil {
		os.WriteFile("ran", nil, 0o600)
		t.Error("the first time")
	}
}

func TestAlways(t *testing.T) {
	if os.Getenv("SUITE_ALWAYS") != "" {
		t.Error("every time")
	}
}
`)
	t.Chdir(dir)
	t.Setenv("GOFLAGS", "-mod=mod")
	if err := run("", false, []string{"./p"}); err != nil {
		t.Errorf("a test that fails once: %v", err)
	}
	t.Setenv("SUITE_ALWAYS", "1")
	if err := run("", false, []string{"./p"}); err == nil || !strings.Contains(err.Error(), "p.TestAlways") {
		t.Errorf("a test that always fails: %v", err)
	}
	write("p/p_test.go", "package p\n\nfunc TestBroken(t *testing.T) {}\n")
	if err := run("", false, []string{"./p"}); err == nil {
		t.Error("a build that fails passed")
	}
}

func errText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

package main

import (
	"strings"
	"testing"
)

func TestCheck(t *testing.T) {
	allowed, err := parse("# why\nwire TestFigures needs the whole corpus\n")
	if err != nil {
		t.Fatal(err)
	}
	const pass = `{"Action":"pass","Package":"github.com/toolpost/toolpost/wire","Test":"TestA"}`
	for _, c := range []struct{ name, in, want, shown string }{
		{"all pass", pass, "", ""},
		{"a listed skip", `{"Action":"skip","Package":"github.com/toolpost/toolpost/wire","Test":"TestFigures"}`, "", ""},
		{"a subtest of a listed one", `{"Action":"skip","Package":"github.com/toolpost/toolpost/wire","Test":"TestFigures/a/b"}`, "", ""},
		{"a package without tests", `{"Action":"skip","Package":"github.com/toolpost/toolpost/wire"}`, "", ""},
		{"another skip", `{"Action":"skip","Package":"github.com/toolpost/toolpost/wire","Test":"TestOther"}`, "wire.TestOther", ""},
		{"the same name elsewhere", `{"Action":"skip","Package":"github.com/toolpost/toolpost/llm","Test":"TestFigures"}`, "llm.TestFigures", ""},
		{"a failure", `{"Action":"output","Package":"github.com/toolpost/toolpost/wire","Test":"TestA","Output":"x_test.go:1: wrong\n"}` + "\n" +
			`{"Action":"fail","Package":"github.com/toolpost/toolpost/wire","Test":"TestA"}`, "failed: wire.TestA", "wrong"},
		{"a build that fails", `{"ImportPath":"github.com/toolpost/toolpost/wire","Action":"build-output","Output":"syntax error\n"}` + "\n" +
			`{"ImportPath":"github.com/toolpost/toolpost/wire","Action":"build-fail"}`, "failed", "syntax error"},
		{"no JSON", "go: cannot find module", "", "cannot find module"},
	} {
		var out strings.Builder
		err := check(strings.NewReader(pass+"\n"+c.in+"\n"), &out, allowed)
		if got := errText(err); (c.want == "") != (err == nil) || !strings.Contains(got, c.want) || !strings.Contains(out.String(), c.shown) {
			t.Errorf("%s: error %q, want %q; printed %q, want %q", c.name, got, c.want, out.String(), c.shown)
		}
	}
	if _, err := parse("wire TestFigures\n"); err == nil {
		t.Error("a line without a reason was accepted")
	}
}

func errText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

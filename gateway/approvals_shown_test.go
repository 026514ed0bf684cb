package gateway_test

import (
	"strings"
	"testing"

	"github.com/toolpost/toolpost/internal/state"
	"github.com/toolpost/toolpost/schema"
	"github.com/toolpost/toolpost/tool"
	"github.com/toolpost/toolpost/wire"
)

// TestApprovedIsWhatRuns: after a call was approved whose number no float64 holds, the request that makes the call in
// the form that the person was shown runs exactly that, and not what was asked about first.
func TestApprovedIsWhatRuns(t *testing.T) {
	var n counter
	tools, store := asking(&n, 0)
	write := reading("write", "written", &n)
	write.Effects, write.Origin = 0, tool.MCP
	write.Input = schema.Schema(`{"type":"object","properties":{"what":{"type":"string"},"n":{"type":"number"}}}`)
	tools.Tools = served(write).Tools
	memory := new(state.Memory)
	for i, call := range []string{`{"what":"x","n":1.00000000000000001}`, `{"what":"x","n":1}`} {
		setup, _ := stagedSetup(t, script(t, "call write "+call, "text Well."), wire.Chat, tools)
		setup.State = memory
		if i == 1 {
			run, q := theOnly(t, store)
			if string(q.Args) != `{"n":1,"what":"x"}` {
				t.Errorf("shown as %s", q.Args)
			}
			decide(t, store, run, q.CallID, true)
		}
		if got := ask(t, serve(t, setup), wire.Chat, question("m"), false); got.err != nil {
			t.Fatal(got.err)
		}
	}
	if got := n.args; len(got) != 1 || got[0] != `{"n":1,"what":"x"}` {
		t.Errorf("ran %q", got)
	}
}

// TestNothingWaitsThatCannotBeShown: nobody is asked about arguments that the record cannot show as they are, and they do not run.
func TestNothingWaitsThatCannotBeShown(t *testing.T) {
	var n counter
	tools, store := asking(&n, 0)
	setup, model := stagedSetup(t, script(t, `call write {"what":"V\ud800"}`, "text Well."), wire.Chat, tools)
	if got := ask(t, serve(t, setup), wire.Chat, question("m"), false); got.err != nil {
		t.Fatal(got.err)
	}
	if told := results(model.last()); n.n() != 0 || len(openQuestions(t, store)) != 0 || len(told) != 1 || !strings.Contains(told[0].Text(), "cannot be shown") {
		t.Errorf("%d runs, %+v, %+v", n.n(), openQuestions(t, store), told)
	}
}

package mcpbridge_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/toolpost/toolpost/agent"
	"github.com/toolpost/toolpost/invoke"
	"github.com/toolpost/toolpost/journal"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/mcpbridge/client"
	"github.com/toolpost/toolpost/sim"
	"github.com/toolpost/toolpost/tool"
)

// TestThreeServersInOneRun has a run on the simulator use three servers, of which one
// dies in the middle, one changes its list and one never answers a call.
func TestThreeServersInOneRun(t *testing.T) {
	t.Parallel()
	script, err := sim.ParseScript([]byte(`Three servers, all of them in trouble.
-- 1 --
call dies__echo {"text":"still well"}
call changes__change
-- 2 --
call dies__die
call hangs__wait
-- 3 --
call changes__new1
call dies__echo {"text":"back again"}
call changes__echo {"text":"the one that was changed"}
-- 4 --
text All done.
`))
	if err != nil {
		t.Fatal(err)
	}
	hangs := stdio("hangs", "ordinary")
	hangs.Call = 200 * time.Millisecond
	s, told := open(t, client.Options{}, stdio("dies", "ordinary"), stdio("changes", "ordinary"), hangs)
	first := toolsOf(t, s)
	own := tool.MustSet(tool.Func("ours", "Ours.", func(context.Context, struct{}) (string, error) { return "ours", nil }))
	all, err := tool.Join(own, first)
	if err != nil {
		t.Fatal(err)
	}
	hook := s.BeforeTurn(first)
	store := new(journal.Memory)
	a := &agent.Agent{Model: script, ID: "sim/script", Store: store, Tools: &invoke.Runner{Tools: all, Policy: invoke.AllowAll},
		BeforeTurn: func(ctx context.Context, plan *agent.TurnStart) error {
			if plan.Turn == 2 { // the notice is on its way
				until(t, "the changed list", func() bool {
					probe := &agent.TurnStart{Tools: plan.Tools}
					return hook(ctx, probe) == nil && strings.Contains(strings.Join(probe.Set.Names(), " "), "changes__new1")
				})
			}
			return hook(ctx, plan)
		}}
	done, err := a.Ask(context.Background(), llm.User("Use them all."))
	if err != nil || done.Text != "All done." {
		t.Fatalf("the run ended with %q, %v", done.Text, err)
	}
	hashes := make(map[string]bool)
	got := make(map[string]string)
	for e, err := range journal.Whole(store.Read(context.Background(), done.Run, 0)) {
		if err != nil {
			t.Fatal(err)
		}
		if e.Kind != journal.KindReceipt {
			continue
		}
		var r journal.Receipt
		if err := e.Decode(&r); err != nil {
			t.Fatal(err)
		}
		got[string(r.Tool)+" "+string(r.Args)] = string(r.Status)
		if server, _, _ := strings.Cut(r.Tool, "__"); r.Status != journal.Refused && (r.Server == nil || r.Server.Name != server || !r.Server.List.Valid()) {
			t.Errorf("the receipt of %s names %+v", r.Tool, r.Server)
		}
		if r.Server != nil && r.Server.Name == "changes" {
			hashes[string(r.Server.List)] = true
		}
	}
	for call, want := range map[string]string{
		`dies__echo {"text":"still well"}`: "ok", "changes__change {}": "ok", "dies__die {}": "unknown", "hangs__wait {}": "unknown",
		"changes__new1 {}": "ok", `dies__echo {"text":"back again"}`: "ok",
	} {
		if got[call] != want {
			t.Errorf("%s is %q, want %q", call, got[call], want)
		}
	}
	if status := got[`changes__echo {"text":"the one that was changed"}`]; status == "ok" {
		t.Error("a tool that was changed was called")
	}
	if len(hashes) != 2 {
		t.Errorf("the list that changed has %d hashes in the receipts", len(hashes))
	}
	if !strings.Contains(told.String(), "MCP server dies ended") {
		t.Errorf("nobody was told:\n%s", told)
	}
}

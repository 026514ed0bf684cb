package gateway_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/agent"
	"github.com/toolpost/toolpost/gateway/internal/exchange"
	"github.com/toolpost/toolpost/internal/state"
	"github.com/toolpost/toolpost/tool"
	"github.com/toolpost/toolpost/wire"
)

// TestSwapsBetweenApprovalAndCall checks that an approved call whose tool would do something else does not run when the
// client repeats it. It waits again, with what would run and what changed, and runs after that is approved.
func TestSwapsBetweenApprovalAndCall(t *testing.T) {
	plan := func(p tool.Preview) func(*tool.Tool) {
		return func(t *tool.Tool) {
			t.Preview = func(context.Context, json.RawMessage) (tool.Preview, error) { return p, nil }
		}
	}
	for _, c := range []struct {
		name          string
		before, after func(*tool.Tool)
		runs, changed string
	}{
		{"another command", plan(tool.Preview{Command: []string{"say", "x"}}), plan(tool.Preview{Command: []string{"rm", "-r", "x"}}), "rm -r x", "the command is another one"},
		{"another input", plan(tool.Preview{Command: []string{"sh"}, Input: "ls"}), plan(tool.Preview{Command: []string{"sh"}, Input: "rm x"}), "sh", "the command is another one"},
		{"another address", plan(tool.Preview{Request: "POST https://shop.test/a"}), plan(tool.Preview{Request: "POST https://evil.test/a"}), "POST https://evil.test/a", "the address is another one"},
		{"another file", plan(tool.Preview{Files: []tool.FileChange{{Path: "docs/a"}}}), plan(tool.Preview{Files: []tool.FileChange{{Path: "prod/a"}}}), "change prod/a", "the path leads to another file"},
		{"other tools of its server", func(t *tool.Tool) { t.Source, t.SourceHash = "shop", "sha256:1" }, func(t *tool.Tool) { t.Source, t.SourceHash = "shop", "sha256:2" }, "", "the server shop offers other tools"},
		{"fewer promises", func(t *tool.Tool) { t.Effects = tool.Idempotent }, func(t *tool.Tool) { t.Effects = 0 }, "", "the tool promises other effects"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var n counter
			tools, store := asking(&n, 0)
			memory := new(state.Memory)
			request := func(change func(*tool.Tool)) string {
				t.Helper()
				write := reading("write", "written", &n)
				write.Effects, write.Origin = 0, tool.MCP
				change(&write)
				tools.Tools = served(write).Tools
				setup, _ := stagedSetup(t, script(t, "call write {\"what\":\"x\"}", "text Well."), wire.Chat, tools)
				setup.State = memory
				got := ask(t, serve(t, setup), wire.Chat, question("m"), false)
				if got.err != nil {
					t.Fatal(got.err)
				}
				return got.header.Get(exchange.RequestHeader)
			}
			approve := func(run, runs, changed string) {
				t.Helper()
				open, err := agent.Waiting(t.Context(), store, run)
				if err != nil || len(open) != 1 {
					t.Fatalf("%+v %v", open, err)
				}
				if q := open[0]; runs != "" && q.Runs != runs || !strings.Contains(q.Changed, changed) || !strings.Contains(q.Why(), changed) {
					t.Errorf("the question shows %q, changed %q", q.Runs, q.Changed)
				}
				if err := agent.Decide(t.Context(), store, run, agent.Grant{Call: open[0].CallID, Allowed: true, By: "ada"}); err != nil {
					t.Fatal(err)
				}
			}
			run := request(c.before)
			approve(run, "", "")
			if request(c.after); n.n() != 0 {
				t.Fatalf("it ran %d times, and was not approved", n.n())
			}
			approve(run, c.runs, c.changed)
			if request(c.after); n.n() != 1 {
				t.Errorf("it ran %d times after its approval", n.n())
			}
			if request(c.after); n.n() != 1 {
				t.Errorf("it ran %d times", n.n())
			}
		})
	}
}

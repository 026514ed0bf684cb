package gateway_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/toolpost/toolpost/agent"
	"github.com/toolpost/toolpost/gateway"
	"github.com/toolpost/toolpost/gateway/access"
	"github.com/toolpost/toolpost/invoke"
	"github.com/toolpost/toolpost/journal"
	"github.com/toolpost/toolpost/provider"
	"github.com/toolpost/toolpost/sim"
	"github.com/toolpost/toolpost/tool"
	"github.com/toolpost/toolpost/wire"
)

// asking serves a tool that a person has to agree to.
func asking(n *counter, life time.Duration) (*gateway.ServedTools, *journal.Memory) {
	write := reading("write", "written", n)
	write.Effects, write.Origin = 0, tool.MCP
	tools, store := served(write), new(journal.Memory)
	tools.Runner = &invoke.Runner{Policy: invoke.AskFirst(invoke.AllowReadOnly)}
	tools.Record = func(ctx context.Context, run gateway.ServedRun) (*journal.Recorder, error) {
		return journal.Open(ctx, store, run.ID)
	}
	tools.Approvals = &gateway.Approvals{Store: store, For: life}
	return tools, store
}

// TestPendingApproval walks through a call that waits for a person, in every format: model and client are told,
// asking again asks nobody else, what is allowed is run once and its result given to the same request, and
// what another request wants is another question.
func TestPendingApproval(t *testing.T) {
	for format := range roots {
		for _, stream := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/stream=%t", format, stream), func(t *testing.T) {
				var n counter
				tools, store := asking(&n, 0)
				url, model := staged(t, script(t, "call write {\"what\":\"x\"}", "text It waits."), wire.Chat, tools)
				req := question("m")
				told := func(want string, runs int) string {
					t.Helper()
					got := ask(t, url, format, req, stream)
					res := results(model.last())
					if got.err != nil || got.Message.Text() != "It waits." || len(got.Message.Calls()) > 0 || len(res) != 1 || !strings.Contains(res[0].Text(), want) || n.n() != runs {
						t.Fatalf("%v %+v, %d runs, the model is told %+v; want %q", got.err, got.Response, n.n(), res, want)
					}
					if warned := strings.Contains(strings.Join(got.header.Values(gateway.WarningHeader), " "), "awaits a person's approval"); !stream && warned != (want == "awaits a person's approval") {
						t.Errorf("the client is told %v", got.header)
					}
					return got.header.Get(gateway.RequestHeader)
				}
				run := told("awaits a person's approval", 0)
				second := told("awaits a person's approval", 0)
				open, err := agent.Waiting(t.Context(), store, run)
				if err != nil || len(open) != 1 || open[0].Tool != "write" || time.Until(open[0].Until) < 23*time.Hour {
					t.Fatalf("%+v %v", open, err)
				}
				if again, err := agent.Waiting(t.Context(), store, second); err == nil && len(again) > 0 {
					t.Errorf("and another question: %+v", again)
				}
				if err := agent.Decide(t.Context(), store, run, agent.Grant{Call: open[0].CallID, Allowed: true, By: "ada"}); err != nil {
					t.Fatal(err)
				}
				told("written", 1)
				told("written", 1)
				if _, err := journal.Verify(store.Read(t.Context(), run, 0)); err != nil {
					t.Error(err)
				}
				req.MaxTokens++ // other words
				told("awaits a person's approval", 1)
			})
		}
	}
}

// TestPendingEnds checks what becomes of calls that a person refuses, or that nobody decides about in time.
func TestPendingEnds(t *testing.T) {
	for name, test := range map[string]struct {
		life  time.Duration
		grant *agent.Grant
		want  string
	}{
		"refused":  {0, &agent.Grant{By: "ada", Reason: "not today"}, "ada refused it: not today"},
		"too late": {time.Millisecond, nil, "it was not allowed in time"},
	} {
		var n counter
		tools, store := asking(&n, test.life)
		url, model := staged(t, script(t, "call write {\"what\":\"x\"}", "text Well."), wire.Chat, tools)
		run := ask(t, url, wire.Chat, question("m"), false).header.Get(gateway.RequestHeader)
		time.Sleep(5 * time.Millisecond)
		if test.grant != nil {
			open, err := agent.Waiting(t.Context(), store, run)
			if err != nil || len(open) != 1 {
				t.Fatal(open, err)
			}
			test.grant.Call = open[0].CallID
			if err := agent.Decide(t.Context(), store, run, *test.grant); err != nil {
				t.Fatal(err)
			}
		}
		got := ask(t, url, wire.Chat, question("m"), false)
		if res := results(model.last()); got.err != nil || n.n() != 0 || len(res) != 1 || !strings.Contains(res[0].Text(), test.want) {
			t.Errorf("%s: %v, %d runs, %+v", name, got.err, n.n(), res)
		}
	}
}

// TestPendingIsTold checks that a client that asks for progress learns of a call that waits, and that an answer
// to a named request is not given again while a call of it waits.
func TestPendingIsTold(t *testing.T) {
	for format := range roots {
		var n counter
		tools, _ := asking(&n, 0)
		url, _ := staged(t, script(t, "call write {\"what\":\"x\"}", "text It waits."), wire.Chat, tools)
		header := http.Header{gateway.ProgressHeader: {"1"}, gateway.IdempotencyHeader: {"a"}}
		for range 2 {
			got := body(t, url, format, header)
			for _, want := range []string{`"type":"waiting"`, `"tool":"write"`, `awaits a person's approval until`, `"run":"req_`} {
				if !strings.Contains(strings.ReplaceAll(got, `\u0027`, "'"), want) {
					t.Errorf("%s: no %s in %s", format, want, got)
				}
			}
		}
	}
}

// TestHiddenTools checks that a call of a tool that the client's key may not use, or that the request forbids,
// is neither run nor handed to the client as one of its own.
func TestHiddenTools(t *testing.T) {
	for format := range roots {
		for _, stream := range []bool{false, true} {
			for _, name := range []string{"secret_files", "Secret_Files"} {
				var n, hidden counter
				model := &stage{Model: script(t, "call "+name+" {\"what\":\"one\"}", "text There is none.")}
				up := httptest.NewServer(&sim.Server{Model: model})
				client := &provider.Client{Vendors: map[string]provider.Vendor{"up": {BaseURL: up.URL + "/v1", Wires: []string{wire.Chat}}}, Retry: provider.Retry{Attempts: -1}, Route: provider.Native}
				route := to("m", "up/sim/native")
				route.Tools = served(reading("look", "found", &n), reading("secret_files", "found", &hidden))
				g := &guarded{book: &access.Book{Store: new(access.Memory)}}
				g.url = serve(t, gateway.Setup{Open: opening(client), Routes: []gateway.ModelRoute{route}, Access: g.book})
				resp, answer := g.send(t, format, question("m"), stream, bearerOf(g.key(t, access.Key{Tools: []string{"look"}})))
				res := results(model.last())
				if resp.StatusCode != 200 || hidden.n() > 0 || strings.Contains(strings.ToLower(answer), "secret_files") || !strings.Contains(answer, "There") || len(res) != 1 || !strings.Contains(res[0].Text(), "no such tool") {
					t.Errorf("%s stream=%t %s: %s %s; %d runs, %+v", format, stream, name, resp.Status, answer, hidden.n(), res)
				}
				up.Close()
			}
			var n counter
			setup, _ := stagedSetup(t, script(t, "text Well.\ncall look {\"what\":\"one\"}"), wire.Chat, served(reading("look", "found", &n)))
			setup.Routes[0].Override = gateway.Override{Choice: "none"}
			if got := ask(t, serve(t, setup), format, question("m"), stream); n.n() > 0 || got.err == nil && len(got.Message.Calls()) > 0 {
				t.Errorf("%s stream=%t, no tool may be called: %v %+v, %d runs", format, stream, got.err, got.Response, n.n())
			}
		}
	}
}

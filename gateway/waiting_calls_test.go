package gateway_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/toolpost/toolpost/agent"
	"github.com/toolpost/toolpost/gateway"
	"github.com/toolpost/toolpost/gateway/internal/conversation"
	"github.com/toolpost/toolpost/gateway/internal/exchange"
	"github.com/toolpost/toolpost/gateway/internal/hosttools"
	"github.com/toolpost/toolpost/internal/access"
	"github.com/toolpost/toolpost/internal/state"
	"github.com/toolpost/toolpost/invoke"
	"github.com/toolpost/toolpost/journal"
	"github.com/toolpost/toolpost/provider"
	"github.com/toolpost/toolpost/schema"
	"github.com/toolpost/toolpost/sim"
	"github.com/toolpost/toolpost/tool"
	"github.com/toolpost/toolpost/wire"
)

// asking serves a tool that requires a person's approval.
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

// TestWaitingCallApproval checks a waiting call in every format. The model and the client are told, and a repeated request
// asks no second question. An approved call runs once, and its result goes to the same request. Another request with
// the call is a new question.
func TestWaitingCallApproval(t *testing.T) {
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
					if warned := strings.Contains(strings.Join(got.header.Values(exchange.WarningHeader), " "), "awaits a person's approval"); !stream && warned != (want == "awaits a person's approval") {
						t.Errorf("the client is told %v", got.header)
					}
					return got.header.Get(exchange.RequestHeader)
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
				req.MaxTokens++ // a different request
				told("awaits a person's approval", 1)
			})
		}
	}
}

// TestWaitingCallExpires checks calls that a person denies, or that get no decision in time.
func TestWaitingCallExpires(t *testing.T) {
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
		run := ask(t, url, wire.Chat, question("m"), false).header.Get(exchange.RequestHeader)
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

// TestWaitingCallIsReported checks that a client that asks for progress learns of a waiting call, and that the answer to a
// named request is not replayed while its call waits.
func TestWaitingCallIsReported(t *testing.T) {
	for format := range roots {
		var n counter
		tools, _ := asking(&n, 0)
		url, _ := staged(t, script(t, "call write {\"what\":\"x\"}", "text It waits."), wire.Chat, tools)
		header := http.Header{hosttools.ProgressHeader: {"1"}, conversation.IdempotencyHeader: {"a"}}
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

// TestHiddenTools checks that a call of a tool that the client's key may not use, or that the request forbids, is
// neither run nor passed to the client as one of its own.
func TestHiddenTools(t *testing.T) {
	for format := range roots {
		for _, stream := range []bool{false, true} {
			for _, name := range []string{"secret_files", "Secret_Files"} {
				var n, hidden counter
				model := &stage{Model: script(t, "call "+name+" {\"what\":\"one\"}", "text There is none.")}
				up := httptest.NewServer(&sim.Server{Model: model})
				client := &provider.Client{Vendors: map[string]provider.Vendor{"up": {BaseURL: up.URL + "/v1", Wires: []string{wire.Chat}}}, Retry: provider.RetryPolicy{Attempts: -1}, Route: provider.Native}
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

// openQuestions returns all waiting questions, by run.
func openQuestions(t *testing.T, store *journal.Memory) map[string][]invoke.Question {
	t.Helper()
	found := map[string][]invoke.Question{}
	for info, err := range store.Runs(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		open, err := agent.Waiting(t.Context(), store, info)
		if err != nil {
			t.Fatal(err)
		}
		if len(open) > 0 {
			found[info] = open
		}
	}
	return found
}

// theOnly returns the waiting question, of which there must be exactly one.
func theOnly(t *testing.T, store *journal.Memory) (run string, q invoke.Question) {
	t.Helper()
	found := openQuestions(t, store)
	if len(found) != 1 {
		t.Fatalf("%d runs wait: %+v", len(found), found)
	}
	for run, open := range found {
		if len(open) != 1 {
			t.Fatalf("%d questions: %+v", len(open), open)
		}
		return run, open[0]
	}
	return "", q
}

func decide(t *testing.T, store journal.Store, run, call string, allowed bool) {
	t.Helper()
	if err := agent.Decide(t.Context(), store, run, agent.Grant{Call: call, Allowed: allowed, By: "ada"}); err != nil {
		t.Fatal(err)
	}
}

// TestSameCallTwiceInOneAnswer checks that equal calls share one question, also if their arguments are written
// differently. The decision applies to all of them, and an approved call runs once. The model is told which results are
// copies.
func TestSameCallTwiceInOneAnswer(t *testing.T) {
	for _, calls := range []string{
		"call write {\"what\":\"x\"}\ncall write {\"what\":\"x\"}",
		"call write {\"what\":\"x\",\"n\":1}\ncall write {\"n\":\"1\",\"what\":\"x\"}",
	} {
		for _, allowed := range []bool{true, false} {
			var n counter
			tools, store := asking(&n, 0)
			widen(t, tools, &n)
			url, model := staged(t, script(t, calls, "text Well."), wire.Chat, tools)
			first := ask(t, url, wire.Chat, question("m"), false)
			run, q := theOnly(t, store)
			told := results(model.last())
			if len(told) != 2 || !strings.Contains(told[0].Text(), "awaits a person's approval") || !strings.Contains(told[1].Text(), "as "+q.CallID+" of "+run) || first.err != nil {
				t.Fatalf("%v %+v", first.err, told)
			}
			decide(t, store, run, q.CallID, allowed)
			second := ask(t, url, wire.Chat, question("m"), false)
			told = results(model.last())
			want, runs := "ada refused it", 0
			if allowed {
				want, runs = "written", 1
			}
			if second.err != nil || n.n() != runs || len(told) != 2 || !strings.Contains(told[0].Text(), want) || !strings.Contains(told[1].Text(), want) {
				t.Errorf("%t: %v, %d runs, %+v", allowed, second.err, n.n(), told)
			}
			if again := strings.Contains(told[1].Text(), "It is not run again"); again != allowed || strings.Contains(told[0].Text(), "not run again") {
				t.Errorf("%t: the model is told %+v", allowed, told)
			}
			if report, err := journal.Verify(store.Read(t.Context(), run, 0)); err != nil || !report.Sealed {
				t.Errorf("%v %+v", err, report)
			}
			if open := openQuestions(t, store); len(open) > 0 {
				t.Errorf("still open: %+v", open)
			}
		}
	}
}

// widen adds a number to the parameters of the tool.
func widen(t *testing.T, tools *gateway.ServedTools, n *counter) {
	t.Helper()
	write := reading("write", "written", n)
	write.Effects, write.Origin = 0, tool.MCP
	write.Input = schema.Schema(`{"type":"object","properties":{"what":{"type":"string"},"n":{"type":"integer"}},"required":["what"]}`)
	tools.Tools = served(write).Tools
}

// TestEqualCallsShareAnApproval checks that calls that look the same to a person are the same call, in any request.
func TestEqualCallsShareAnApproval(t *testing.T) {
	var n counter
	tools, store := asking(&n, 0)
	widen(t, tools, &n)
	memory := new(state.Memory)
	for i, call := range []string{`{"what":"x","n":1}`, `{"what":"x","n":"1"}`, `{"n":1,"what":"x"}`} {
		setup, model := stagedSetup(t, script(t, "call write "+call, "text Well."), wire.Chat, tools)
		setup.State = memory
		req := question("m")
		req.MaxTokens += i
		if got := ask(t, serve(t, setup), wire.Chat, req, false); got.err != nil || !strings.Contains(results(model.last())[0].Text(), "awaits") {
			t.Fatalf("%s: %v %+v", call, got.err, results(model.last()))
		}
	}
	if _, q := theOnly(t, store); !strings.Contains(string(q.Args), `"n":1`) {
		t.Errorf("shown as %s", q.Args)
	}
}

// TestSameCallAtOnce checks many concurrent requests with the same call, at any gateway: one asks the question, and all
// are told of it.
func TestSameCallAtOnce(t *testing.T) {
	for round := range 8 {
		var n counter
		tools, store := asking(&n, 0)
		memory := new(state.Memory)
		var urls []string
		for range 2 {
			setup, _ := stagedSetup(t, script(t, "call write {\"what\":\"x\"}", "text It waits."), wire.Chat, tools)
			setup.State = memory
			urls = append(urls, serve(t, setup))
		}
		var wg sync.WaitGroup
		got := make([]reply, 12)
		for i := range got {
			wg.Go(func() {
				req := question("m")
				req.MaxTokens += i
				got[i] = ask(t, urls[i%2], wire.Chat, req, false)
			})
		}
		wg.Wait()
		run, q := theOnly(t, store)
		for i, g := range got {
			if warned := fmt.Sprint(g.header.Values(exchange.WarningHeader)); g.err != nil || !strings.Contains(warned, "the call "+q.CallID+" of "+run+" awaits") {
				t.Errorf("round %d, %d: %v %s; the question is %s of %s", round, i, g.err, warned, q.CallID, run)
			}
		}
		decide(t, store, run, q.CallID, true)
		for i := range got {
			wg.Go(func() {
				req := question("m")
				req.MaxTokens += i
				got[i] = ask(t, urls[i%2], wire.Chat, req, false)
			})
		}
		wg.Wait()
		if n.n() != 1 {
			t.Errorf("round %d: %d runs", round, n.n())
		}
		if open := openQuestions(t, store); len(open) > 1 { // a request after the run asks again, once
			t.Errorf("round %d: %+v", round, open)
		}
	}
}

// TestTwoCallsOfOneAnswer checks that different calls of one answer are two questions in one record, which stays open
// until both are decided.
func TestTwoCallsOfOneAnswer(t *testing.T) {
	var n counter
	tools, store := asking(&n, 0)
	url, model := staged(t, script(t, "call write {\"what\":\"x\"}\ncall write {\"what\":\"y\"}", "text Well."), wire.Chat, tools)
	run := ask(t, url, wire.Chat, question("m"), false).header.Get(exchange.RequestHeader)
	open := openQuestions(t, store)[run]
	if len(open) != 2 {
		t.Fatalf("%+v", open)
	}
	for i, want := range []string{"awaits", "written"} {
		decide(t, store, run, open[i].CallID, true)
		got := ask(t, url, wire.Chat, question("m"), false)
		if told := results(model.last()); got.err != nil || n.n() != i+1 || !strings.Contains(told[0].Text(), "written") || !strings.Contains(told[1].Text(), want) {
			t.Errorf("%d: %v, %d runs, %+v", i, got.err, n.n(), told)
		}
	}
	if report, err := journal.Verify(store.Read(t.Context(), run, 0)); err != nil || !report.Sealed {
		t.Errorf("%v %+v", err, report)
	}
}

// TestEarlierResultIsLabelled checks that a repeated result is marked as old for the model and the client. A request with a new
// name asks a new question.
func TestEarlierResultIsLabelled(t *testing.T) {
	var n counter
	tools, store := asking(&n, 0)
	url, model := staged(t, script(t, "call write {\"what\":\"x\"}", "text Well."), wire.Chat, tools)
	send := func(name string) (http.Header, string) {
		t.Helper()
		return named(t, url, name), results(model.last())[0].Text()
	}
	send("")
	run, q := theOnly(t, store)
	decide(t, store, run, q.CallID, true)
	if h, told := send(""); strings.Contains(told+fmt.Sprint(h.Values(exchange.WarningHeader)), "not run again") {
		t.Errorf("the first time: %q %v", told, h)
	}
	h, told := send("")
	if want := fmt.Sprintf("as %s of %s", q.CallID, run); !strings.Contains(told, want) || !strings.Contains(told, "It is not run again") || !strings.Contains(told, "written") {
		t.Errorf("the model is told %q", told)
	}
	if warned := fmt.Sprint(h.Values(exchange.WarningHeader)); !strings.Contains(warned, "the result is that of the call "+q.CallID+" of "+run) || !strings.Contains(warned, "it was not run again") {
		t.Errorf("the client is told %s", warned)
	}
	if _, told := send("another"); !strings.Contains(told, "awaits") || n.n() != 1 {
		t.Errorf("with another name: %q, %d runs", told, n.n())
	}
	run, q = theOnly(t, store)
	decide(t, store, run, q.CallID, true)
	if _, told := send("another"); !strings.Contains(told, "written") || n.n() != 2 {
		t.Errorf("after its approval: %q, %d runs", told, n.n())
	}
	if h, _ := send("another"); h.Get(conversation.ReplayHeader) == "" || n.n() != 2 {
		t.Errorf("%v, %d runs", h, n.n())
	}
}

// named sends a request with an Idempotency-Key, if it is not empty.
func named(t *testing.T, url, name string) http.Header {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), "POST", url+"/v1/chat/completions", strings.NewReader(`{"model":"m","messages":[{"role":"user","content":"Write."}]}`))
	if err != nil {
		t.Fatal(err)
	}
	if name != "" {
		req.Header.Set(conversation.IdempotencyHeader, name)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != 200 {
		t.Fatal(resp.Status)
	}
	return resp.Header
}

// TestWaitingCallAfterRestart checks that a new gateway continues waiting calls from the store and the record alone. The
// previous gateway may have ended after the call ran but before this was stored, or after it began the call.
func TestWaitingCallAfterRestart(t *testing.T) {
	for name, test := range map[string]struct {
		forget bool   // forget that the call is over
		cut    string // keep only the record up to entries of this kind
		want   string
		runs   int
	}{
		"it waits":                   {false, "question", "written", 1},
		"it was run":                 {true, "", "It is not run again", 1},
		"it was begun":               {true, "intent", "nobody knows how it ended", 1},
		"the question was not asked": {false, "start", "awaits", 0},
	} {
		t.Run(name, func(t *testing.T) {
			var n counter
			tools, store := asking(&n, 0)
			memory := new(state.Memory)
			begin := func(tools *gateway.ServedTools) (string, *stage) {
				setup, model := stagedSetup(t, script(t, "call write {\"what\":\"x\"}", "text Well."), wire.Chat, tools)
				setup.State = memory
				return serve(t, setup), model
			}
			url, _ := begin(tools)
			ask(t, url, wire.Chat, question("m"), false)
			run, q := theOnly(t, store)
			kept, err := memory.Held(t.Context(), state.Waiting, 10)
			if err != nil || len(kept) != 1 {
				t.Fatal(kept, err)
			}
			if test.cut != "start" {
				decide(t, store, run, q.CallID, true)
			}
			if test.forget {
				ask(t, url, wire.Chat, question("m"), false)
				if err := memory.Put(t.Context(), kept[0]); err != nil {
					t.Fatal(err)
				}
			}
			after, _ := asking(&n, 0)
			after.Approvals.Store = store
			if test.cut == "intent" || test.cut == "start" {
				after.Approvals.Store = copied(t, store, run, journal.Kind(test.cut))
			}
			url, model := begin(after)
			got := ask(t, url, wire.Chat, question("m"), false)
			if told := results(model.last()); got.err != nil || len(told) != 1 || !strings.Contains(told[0].Text(), test.want) || n.n() != test.runs {
				t.Errorf("%v, %d runs, %+v", got.err, n.n(), told)
			}
			if test.cut == "start" {
				if open, err := agent.Waiting(t.Context(), after.Approvals.Store, run); err != nil || len(open) != 1 || open[0].CallID != q.CallID {
					t.Errorf("%+v %v", open, err)
				}
			}
		})
	}
}

// copied returns a store with the entries of a run up to the first of a kind.
func copied(t *testing.T, from *journal.Memory, run string, last journal.Kind) journal.Store {
	t.Helper()
	to := new(journal.Memory)
	rec, err := journal.Open(t.Context(), to, run)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := rec.Write(t.Context(), journal.KindStart, journal.Start{Task: "a request"}); err != nil {
		t.Fatal(err)
	}
	for e, err := range journal.Whole(from.Read(t.Context(), run, 0)) {
		if err != nil {
			t.Fatal(err)
		}
		if last == journal.KindStart {
			break
		}
		if _, err := rec.Write(t.Context(), e.Kind, e.Body); err != nil {
			t.Fatal(err)
		}
		if e.Kind == last {
			break
		}
	}
	if err := rec.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	return to
}

// TestWaitingCallLimit checks that an owner at the limit of waiting calls gets no more, and that no waiting call is dropped.
func TestWaitingCallLimit(t *testing.T) {
	var n counter
	tools, store := asking(&n, time.Hour)
	memory := new(state.Memory)
	for i := range 200 {
		e := state.Kept{Place: state.Place{Kind: state.Waiting, Hash: state.HashOf(fmt.Append(nil, i))}, Value: []byte("{}"), Until: time.Now().Add(time.Hour), Hold: true}
		if _, err := memory.Claim(t.Context(), e, nil); err != nil {
			t.Fatal(err)
		}
	}
	setup, model := stagedSetup(t, script(t, "call write {\"what\":\"x\"}", "text Well."), wire.Chat, tools)
	setup.State = memory
	got := ask(t, serve(t, setup), wire.Chat, question("m"), false)
	if told := results(model.last()); got.err != nil || len(told) != 1 || !strings.Contains(told[0].Text(), "too many calls wait") || n.n() != 0 {
		t.Errorf("%v %+v", got.err, told)
	}
	if open := openQuestions(t, store); len(open) > 0 {
		t.Errorf("%+v", open)
	}
	if held, err := memory.Held(t.Context(), state.Waiting, 1000); err != nil || len(held) != 200 {
		t.Errorf("%d are kept: %v", len(held), err)
	}
}

// TestRecordsThatAreNotShared checks a gateway that knows of a waiting call but does not have its record. It reports
// the call as waiting and runs nothing, whatever was decided elsewhere. The log has the reason.
func TestRecordsThatAreNotShared(t *testing.T) {
	var n counter
	memory, stores, urls := new(state.Memory), []*journal.Memory{}, []string{}
	log := new(guarded) // for its log
	for range 2 {
		tools, store := asking(&n, 0)
		setup, _ := stagedSetup(t, script(t, "call write {\"what\":\"x\"}", "text It waits."), wire.Chat, tools)
		setup.State, setup.Log = memory, slog.New(slog.NewTextHandler(log, nil))
		stores, urls = append(stores, store), append(urls, serve(t, setup))
	}
	ask(t, urls[0], wire.Chat, question("m"), false)
	run, q := theOnly(t, stores[0])
	for _, decided := range []bool{false, true} {
		if decided {
			decide(t, stores[0], run, q.CallID, true)
		}
		got := ask(t, urls[1], wire.Chat, question("m"), false)
		if warned := fmt.Sprint(got.header.Values(exchange.WarningHeader)); got.err != nil || !strings.Contains(warned, "the call "+q.CallID+" of "+run+" awaits") || n.n() != 0 || len(openQuestions(t, stores[1])) > 0 {
			t.Errorf("decided=%t: %v %s, %d runs", decided, got.err, warned, n.n())
		}
	}
	if !strings.Contains(log.log.String(), "have to share the records too") {
		t.Error("the log does not say why")
	}
	if got := ask(t, urls[0], wire.Chat, question("m"), false); got.err != nil || n.n() != 1 {
		t.Errorf("where the record is: %v, %d runs", got.err, n.n())
	}
}

// lateReader is a store with a stale read: it returns a value that is no longer stored.
type lateReader struct {
	*state.Memory
	stale atomic.Pointer[state.Kept]
}

func (l *lateReader) Get(ctx context.Context, kind state.Kind, owner string, hashes ...state.Hash) (map[state.Hash][][]byte, error) {
	if e := l.stale.Load(); e != nil && kind == e.Kind && slices.Contains(hashes, e.Hash) {
		return map[state.Hash][][]byte{e.Hash: {e.Value}}, nil
	}
	return l.Memory.Get(ctx, kind, owner, hashes...)
}

// TestCallDecidedMeanwhile checks a request that found a waiting call which others have run since, and asked about
// again. The request must not affect the new question, and is told of it.
func TestCallDecidedMeanwhile(t *testing.T) {
	var n counter
	tools, store := asking(&n, 0)
	setup, model := stagedSetup(t, script(t, "call write {\"what\":\"x\"}", "text Well."), wire.Chat, tools)
	kept := &lateReader{Memory: new(state.Memory)}
	setup.State = kept
	url := serve(t, setup)
	send := func(words int) string {
		t.Helper()
		req := question("m")
		req.MaxTokens += words
		if got := ask(t, url, wire.Chat, req, false); got.err != nil {
			t.Fatal(got.err)
		}
		return results(model.last())[0].Text()
	}
	send(1)
	run, q := theOnly(t, store)
	waiting, err := kept.Held(t.Context(), state.Waiting, 9)
	if err != nil || len(waiting) != 1 {
		t.Fatal(waiting, err)
	}
	decide(t, store, run, q.CallID, true)
	send(1)
	send(2)
	second, q := theOnly(t, store)
	kept.stale.Store(&waiting[0])
	if told := send(3); !strings.Contains(told, "as "+q.CallID+" of "+second) || n.n() != 1 {
		t.Errorf("the late one is told %q, %d runs", told, n.n())
	}
	kept.stale.Store(nil)
	decide(t, store, second, q.CallID, true)
	if told := send(2); !strings.Contains(told, "written") || n.n() != 2 || len(openQuestions(t, store)) > 0 {
		t.Errorf("the new question: %q, %d runs", told, n.n())
	}
}

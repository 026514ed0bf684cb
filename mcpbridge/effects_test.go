package mcpbridge_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolpost/toolpost/agent"
	"github.com/toolpost/toolpost/internal/mcptest"
	"github.com/toolpost/toolpost/invoke"
	"github.com/toolpost/toolpost/journal"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/mcpbridge/client"
	"github.com/toolpost/toolpost/mcpbridge/config"
	"github.com/toolpost/toolpost/mcpbridge/internal/bridge"
	"github.com/toolpost/toolpost/mcpbridge/serve"
	"github.com/toolpost/toolpost/sim"
)

// shop is a server that counts its effects: its tool places an order and then asks the person.
type shop struct {
	*mcp.Server
	orders atomic.Int32
}

const shopSchema = `{"type":"object","properties":{"express":{"type":"boolean"}},"required":["express"]}`

func newShop() *shop {
	s := &shop{Server: mcp.NewServer(&mcp.Implementation{Name: "shop", Version: "1"}, nil)}
	form := &mcp.ElicitParams{Mode: "form", Message: "Express?", RequestedSchema: json.RawMessage(shopSchema)}
	done := func(r *mcp.ElicitResult) *mcp.CallToolResult {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: fmt.Sprintf("order placed, %s %v", r.Action, r.Content["express"])}}}
	}
	s.AddTool(&mcp.Tool{Name: "order", InputSchema: json.RawMessage(`{"type":"object"}`)}, func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		if p := req.Session.InitializeParams(); p != nil && p.ProtocolVersion < "2026" {
			s.orders.Add(1)
			r, err := req.Session.Elicit(ctx, form)
			if err != nil {
				return nil, err
			}
			return done(r), nil
		}
		if req.Params.RequestState == "" {
			s.orders.Add(1)
			return &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{"express": form}, RequestState: "placed"}, nil
		}
		r, _ := req.Params.InputResponses["express"].(*mcp.ElicitResult)
		if req.Params.RequestState != "placed" || r == nil {
			return nil, errors.New("there is no such order")
		}
		return done(r), nil
	})
	return s
}

// eachShop runs a test with a shop of each revision.
func eachShop(t *testing.T, test func(t *testing.T, s *shop, server config.ServerConfig)) {
	for revision, path := range map[string]string{"2025-11-25": "/sse", "2026-07-28": "/stateless"} {
		t.Run("server "+revision, func(t *testing.T) {
			s := newShop()
			server := config.ServerConfig{Name: "one", URL: mcptest.HTTP(t, s.Server, nil) + path}
			if path == "/sse" {
				server.Transport = config.SSE
			}
			test(t, s, server)
		})
	}
}

// A tool that asks while it runs is called once, whatever the person says. The record says that it was begun, and what
// it returned.
func TestToolThatAsksIsCalledOnce(t *testing.T) {
	t.Parallel()
	eachShop(t, func(t *testing.T, shop *shop, server config.ServerConfig) {
		yes := func(q invoke.Question) journal.Approval {
			a := q.Answer(true, "a person", "")
			a.Value = json.RawMessage(`{"express":true}`)
			return a
		}
		for name, c := range map[string]struct {
			answer func(ctx context.Context, stop func(), q invoke.Question) (journal.Approval, error)
			says   string
			status journal.Status
		}{
			"accept": {func(_ context.Context, _ func(), q invoke.Question) (journal.Approval, error) { return yes(q), nil }, "order placed, accept true", journal.OK},
			"decline": {func(_ context.Context, _ func(), q invoke.Question) (journal.Approval, error) {
				return q.Answer(false, "a person", "no"), nil
			}, "order placed, decline", journal.OK},
			"another value": {func(_ context.Context, _ func(), q invoke.Question) (journal.Approval, error) {
				a := yes(q)
				a.Value = json.RawMessage(`{"express":"maybe"}`)
				return a, nil
			}, "order placed, decline", journal.OK},
			"an error": {func(context.Context, func(), invoke.Question) (journal.Approval, error) {
				return journal.Approval{}, errors.New("the terminal is gone")
			}, "order placed, decline", journal.OK},
			"slower than the timeout": {func(_ context.Context, _ func(), q invoke.Question) (journal.Approval, error) {
				time.Sleep(600 * time.Millisecond)
				return yes(q), nil
			}, "order placed, accept true", journal.OK},
			"cancelled": {func(ctx context.Context, stop func(), _ invoke.Question) (journal.Approval, error) {
				stop()
				<-ctx.Done()
				return journal.Approval{}, ctx.Err()
			}, "", journal.Unknown},
		} {
			t.Run(name, func(t *testing.T) {
				shop.orders.Store(0)
				server.Call = 400 * time.Millisecond
				s, _ := open(t, client.Options{}, server)
				ctx, stop := context.WithCancel(t.Context())
				defer stop()
				store := new(journal.Memory)
				rec, err := journal.Open(t.Context(), store, "r1")
				if err != nil {
					t.Fatal(err)
				}
				runner := &invoke.Runner{Tools: toolsOf(t, s), Policy: invoke.AllowAll, Approve: func(ctx context.Context, q invoke.Question) (journal.Approval, error) {
					if !intended(t, store, "r1") {
						t.Error("the record does not say that the tool had begun")
					}
					return c.answer(ctx, stop, q)
				}}
				session, err := runner.Session(rec)
				if err != nil {
					t.Fatal(err)
				}
				results, err := session.Results(ctx, []llm.Call{{ID: "c", Name: "one__order", Args: json.RawMessage(`{}`)}})
				if err != nil || len(results) != 1 || !strings.Contains(joined(results[0].Parts), c.says) || strings.Contains(joined(results[0].Parts), "It was not run") {
					t.Errorf("the result is %+v, %v", results, err)
				}
				if n := shop.orders.Load(); n != 1 {
					t.Errorf("there are %d orders", n)
				}
				if got := lastReceipt(t, store, "r1"); got.Status != c.status {
					t.Errorf("the record says %+v", got)
				}
			})
		}
	})
}

// intended reports whether a record has an intent.
func intended(t *testing.T, store journal.Store, run string) bool {
	for e, err := range store.Read(t.Context(), run, 0) {
		if err == nil && e.Kind == journal.KindIntent {
			return true
		}
	}
	return false
}

func lastReceipt(t *testing.T, store journal.Store, run string) (r journal.Receipt) {
	for e, err := range store.Read(t.Context(), run, 0) {
		if err == nil && (e.Kind == journal.KindReceipt || e.Kind == journal.KindRefusal) {
			if err := e.Decode(&r); err != nil {
				t.Fatal(err)
			}
		}
	}
	return r
}

// A question that waits for another process ends the call. The question says that to answer it makes the call again,
// and to decline it leaves the outcome unknown.
func TestToolThatAsksLater(t *testing.T) {
	eachShop(t, func(t *testing.T, shop *shop, server config.ServerConfig) {
		for _, allowed := range []bool{true, false} {
			shop.orders.Store(0)
			script, err := sim.ParseScript([]byte("A question.\n-- 1 --\ncall one__order\n-- 2 --\ntext Done.\n"))
			if err != nil {
				t.Fatal(err)
			}
			s, _ := open(t, client.Options{}, server)
			a := &agent.Agent{Model: script, Store: new(journal.Memory), Tools: &invoke.Runner{Tools: toolsOf(t, s), Policy: invoke.AllowAll,
				Approve: func(context.Context, invoke.Question) (journal.Approval, error) {
					return journal.Approval{}, new(invoke.PendingError)
				}}}
			done, err := a.Ask(t.Context(), llm.User("Go."))
			if err != nil || done.Status != agent.StatusPending || len(done.Waiting) != 1 || done.Waiting[0].Repeats == "" || !intended(t, a.Store, done.Run) {
				t.Fatalf("the run is %s, waits for %+v, %v", done.Status, done.Waiting, err)
			}
			grant := agent.Grant{Call: done.Waiting[0].CallID, Allowed: allowed}
			if allowed {
				grant.Value = json.RawMessage(`{"express":true}`)
			}
			done, err = agent.Last(a.ResumeWith(t.Context(), done.Run, []agent.Grant{grant}))
			switch n := shop.orders.Load(); {
			case err != nil:
				t.Error(err)
			case allowed && (n != 2 || !strings.Contains(said(done), "accept true")): // with consent
				t.Errorf("after %d orders the result is %q", n, said(done))
			case !allowed && (n != 1 || strings.Contains(said(done), "not run") || !strings.Contains(said(done), "its outcome is unknown") || lastReceipt(t, a.Store, done.Run).Status != journal.Unknown):
				t.Errorf("after %d orders the result is %q", n, said(done))
			}
		}
	})
}

// Clients of served tools answer while the call stays open, in every revision and by every way.
func TestServedToolThatAsksIsCalledOnce(t *testing.T) {
	t.Parallel()
	eachShop(t, func(t *testing.T, shop *shop, server config.ServerConfig) {
		for _, way := range []string{"stdio", "http"} {
			for _, revision := range []string{"2025-11-25", "2026-07-28"} {
				for action, want := range map[string]string{"accept": "order placed, accept true", "decline": "order placed, decline", "cancel": "order placed, decline", "silence": "order placed, decline"} {
					t.Run(way+" "+revision+" "+action, func(t *testing.T) {
						shop.orders.Store(0)
						s, _ := open(t, client.Options{}, server)
						served := serveOwn(t, func(o *serve.ServiceOptions) {
							o.Runner = &invoke.Runner{Tools: toolsOf(t, s), Policy: invoke.AllowAll}
							if action == "silence" {
								o.AskTime = 50 * time.Millisecond
							}
						})
						over := make(chan struct{})
						defer close(over)
						d := connectTo(t, ways[way](t, served), revision, func(*mcp.ElicitParams) *mcp.ElicitResult {
							if action == "silence" {
								select {
								case <-over:
								case <-time.After(300 * time.Millisecond):
								}
							}
							r := &mcp.ElicitResult{Action: action}
							if action == "accept" {
								r.Content = map[string]any{"express": true}
							}
							return r
						})
						res, err := d.CallTool(t.Context(), &mcp.CallToolParams{Name: "one__order"})
						late := action == "silence" && revision >= "2026" // it is told that the question is over
						if got := fmt.Sprint(err); late && !strings.Contains(got, "it is not run again") {
							t.Errorf("the client gets %v, %v", res, err)
						}
						if !late && (err != nil || !strings.Contains(res.Content[0].(*mcp.TextContent).Text, want)) {
							t.Errorf("the client gets %+v, %v", res, err)
						}
						served.Close()
						if n := shop.orders.Load(); n != 1 {
							t.Errorf("there are %d orders", n)
						}
						receipts := served.receipts(t)
						if len(receipts) != 1 || receipts[0].Status != journal.OK || !strings.Contains(joined(receipts[0].Result.Parts), want) {
							t.Errorf("the record says %+v", receipts)
						}
					})
				}
			}
		}
	})
}

// Through the relay the server asks the client itself. The tool is called once whatever the client answers, and the
// record says that it had begun.
func TestRelayedToolThatAsksIsCalledOnce(t *testing.T) {
	for revision, path := range map[string]string{"2025-11-25": "/mcp", "2026-07-28": "/stateless"} {
		shop := newShop()
		server := config.ServerConfig{Name: "one", URL: mcptest.HTTP(t, shop.Server, nil) + path}
		for _, way := range []string{"stdio", "http"} {
			for action, want := range map[string]string{"accept": "order placed, accept true", "decline": "order placed, decline", "cancel": "order placed, cancel", "silence": ""} {
				t.Run(revision+" "+way+" "+action, func(t *testing.T) {
					shop.orders.Store(0)
					r := relayOf(t, server, invoke.AllowAll)
					ctx, stop := context.WithCancel(t.Context())
					defer stop()
					d := connectTo(t, r.client(t, way), revision, func(*mcp.ElicitParams) *mcp.ElicitResult {
						if action == "silence" {
							stop() // the client's timeout
							<-ctx.Done()
						}
						res := &mcp.ElicitResult{Action: action}
						if action == "accept" {
							res.Content = map[string]any{"express": true}
						}
						return res
					})
					res, err := d.CallTool(ctx, &mcp.CallToolParams{Name: "order"})
					if want != "" && (err != nil || !strings.Contains(res.Content[0].(*mcp.TextContent).Text, want)) {
						t.Errorf("the client gets %+v, %v", res, err)
					}
					if want == "" && err == nil {
						t.Errorf("the client gets %+v", res)
					}
					r.Relay.Close()
					if n := shop.orders.Load(); n != 1 {
						t.Errorf("there are %d orders", n)
					}
					for _, receipt := range r.receipts(t) {
						if text := joined(receipt.Result.Parts); receipt.Status == journal.OK && !strings.Contains(text, "order placed") && !strings.Contains(text, "asks something first") ||
							strings.Contains(text, "It was not run") || strings.Contains(text, "changed nothing") {
							t.Errorf("the record says %+v", receipt)
						}
					}
				})
			}
		}
	}
}

// A tool that an agent program calls by the bridge is called once, whatever the person says or the program does.
func TestBridgedToolThatAsksIsCalledOnce(t *testing.T) {
	t.Parallel()
	eachShop(t, func(t *testing.T, shop *shop, server config.ServerConfig) {
		for action, want := range map[string]string{"accept": "order placed, accept true", "decline": "order placed, decline", "cancel": ""} {
			t.Run(action, func(t *testing.T) {
				shop.orders.Store(0)
				s, _ := open(t, client.Options{}, server)
				ctx, stop := context.WithCancel(t.Context())
				defer stop()
				store := new(journal.Memory)
				rec, err := journal.Open(t.Context(), store, "r1")
				if err != nil {
					t.Fatal(err)
				}
				runner := &invoke.Runner{Tools: toolsOf(t, s), Policy: invoke.AllowAll, Approve: func(ctx context.Context, q invoke.Question) (journal.Approval, error) {
					if action == "cancel" { // the program takes the call back
						stop()
						<-ctx.Done()
						return journal.Approval{}, ctx.Err()
					}
					a := q.Answer(action == "accept", "a person", "")
					if action == "accept" {
						a.Value = json.RawMessage(`{"express":true}`)
					}
					return a, nil
				}}
				session, err := runner.Session(rec)
				if err != nil {
					t.Fatal(err)
				}
				over := make(chan struct{})
				program, _ := dial(t, &bridge.Bridge{Tools: runner.Tools, Do: func(ctx context.Context, c llm.Call) (llm.Result, error) {
					defer close(over)
					c.ID = "c"
					results, err := session.Results(ctx, []llm.Call{c})
					if err != nil {
						return llm.Result{}, err
					}
					return results[0], nil
				}})
				res, err := program.CallTool(ctx, &mcp.CallToolParams{Name: "one__order", Arguments: map[string]any{}})
				<-over
				if want != "" && (err != nil || oneText(t, res) == "" || !strings.Contains(oneText(t, res), want)) {
					t.Errorf("the program gets %+v, %v", res, err)
				}
				if n := shop.orders.Load(); n != 1 {
					t.Errorf("there are %d orders", n)
				}
				if got := lastReceipt(t, store, "r1"); !intended(t, store, "r1") || (want == "") != (got.Status == journal.Unknown) {
					t.Errorf("the record says %+v", got)
				}
			})
		}
	})
}

package agent_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/toolpost/toolpost/agent"
	"github.com/toolpost/toolpost/catalog"
	"github.com/toolpost/toolpost/invoke"
	"github.com/toolpost/toolpost/journal"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/provider"
	"github.com/toolpost/toolpost/sim"
	"github.com/toolpost/toolpost/tool"
	"github.com/toolpost/toolpost/wire"
)

// manyTools returns tools about many things, and one about the weather, which
// counts its calls.
func manyTools(n *int) *invoke.Runner {
	tools := []tool.Tool{counted("weather", n, 0)}
	tools[0].Description = "The weather forecast of a city."
	for i, thing := range []string{"invoice", "parcel", "ticket", "holiday", "printer", "contract", "candidate", "vehicle", "room", "recipe"} {
		tools = append(tools, tool.New(fmt.Sprintf("%s_%d", thing, i), "Create, change or delete one "+thing+".", nil,
			func(context.Context, json.RawMessage) (tool.Output, error) { return tool.Text("done"), nil }))
	}
	return &invoke.Runner{Tools: tool.MustSet(tools...), Policy: invoke.AllowAll}
}

func offered(r *llm.Request) []string {
	var names []string
	for _, d := range r.Tools {
		names = append(names, d.Name)
	}
	return names
}

// TestFoundTools: the model finds a tool that it was not told about, which is
// appended to the others from then on; also if the run is resumed after the
// search, and in a replay.
func TestFoundTools(t *testing.T) {
	search := call("1", tool.FinderName, `{"query":"weather forecast"}`)
	for name, stop := range map[string]bool{"in one go": false, "resumed": true} {
		t.Run(name, func(t *testing.T) {
			n := 0
			store := new(journal.Memory)
			model := &reader{Model: says(search, call("2", "weather", `{}`), "Sunny.")}
			fails := errors.New("stop here")
			a := agent.Agent{Model: model, ID: "m", Store: store, NewRun: func() string { return "r" }, Tools: manyTools(&n), Offer: tool.Selection{Tools: 3},
				BeforeTurn: func(_ context.Context, p *agent.TurnStart) error {
					if p.Turn == 2 && stop {
						stop = false
						return fails
					}
					return nil
				}}
			l := run(t, &a, "pay the invoice for the parcel and the ticket")
			if errors.Is(l.err, fails) {
				l = listen(a.Resume(t.Context(), "r"))
			}
			if l.err != nil || l.done.Text != "Sunny." || n != 1 {
				t.Fatal(l.err, l.done.Text, n)
			}
			first, then, last := offered(model.asked[0]), offered(model.asked[1]), offered(model.asked[2])
			if len(first) != 4 || first[0] != tool.FinderName || slices.Contains(first, "weather") {
				t.Errorf("at first: %v", first)
			}
			if !slices.Equal(then[:4], first) || !slices.Contains(then[4:], "weather") || !slices.Equal(then, last) {
				t.Errorf("at first %v, then %v and %v", first, then, last)
			}
			if err := agent.Replay(t.Context(), store, "r"); err != nil {
				t.Error(err)
			}
			verified(t, store, "r")
		})
	}
}

// TestFoundNothing: a program's own find_tools stays what it is.
func TestFoundNothing(t *testing.T) {
	n := 0
	all := manyTools(new(int))
	own := counted(tool.FinderName, &n, 0)
	own.Description = "Finds hammers, invoices, parcels and tickets."
	set, err := tool.Join(all.Tools, tool.MustSet(own))
	if err != nil {
		t.Fatal(err)
	}
	model := &reader{Model: says(call("1", tool.FinderName, `{}`), "Done.")}
	a := agent.Agent{Model: model, Tools: all.With(set), Offer: tool.Selection{Tools: 3, Pinned: []string{tool.FinderName}}}
	if l := run(t, &a, "find tools"); l.err != nil || n != 1 || len(model.asked[1].Tools) != 3 {
		t.Error(l.err, n, offered(model.asked[1]))
	}
}

// TestDemandedTool: a tool that the choice names is offered whatever the room.
func TestDemandedTool(t *testing.T) {
	n := 0
	model := &reader{Model: says(call("1", "weather", `{}`), "Sunny.")}
	a := agent.Agent{Model: model, Tools: manyTools(&n), Offer: tool.Selection{Tools: 3}}
	a.Request.Choice = llm.ToolChoice{Mode: llm.MustCall, Name: "weather"}
	if l := run(t, &a, "pay the invoice for the parcel and the ticket"); l.err != nil || n != 1 {
		t.Error(l.err, n, offered(model.asked[0]))
	}
}

// TestCallOfALeftOutTool: the model is told how to get a tool that it was not told
// about, and gets others with each search.
func TestCallOfALeftOutTool(t *testing.T) {
	n := 0
	model := &reader{Model: says(call("1", "weather", `{}`), call("2", tool.FinderName, `{"query":"create change delete one"}`),
		call("3", tool.FinderName, `{"query":"create change delete one"}`), "Done.")}
	a := agent.Agent{Model: model, Tools: manyTools(&n), Offer: tool.Selection{Tools: 1}}
	l := run(t, &a, "pay the invoice")
	if l.err != nil || n != 0 || !strings.Contains(conversation(l.done.Messages), "call find_tools first") {
		t.Fatal(l.err, n, conversation(l.done.Messages))
	}
	var counts []int
	for _, q := range model.asked {
		counts = append(counts, len(q.Tools))
	}
	if !slices.Equal(counts, []int{2, 2, 7, 11}) && !slices.Equal(counts, []int{2, 2, 7, 12}) {
		t.Errorf("so many tools were offered: %v", counts)
	}
}

// TestShortResults: with concise results the model has a tool to read the rest, in a
// run, after a resume and whatever the room for tools.
func TestShortResults(t *testing.T) {
	many := tool.Func("stock", "Lists what is in stock.", func(context.Context, struct{}) ([]map[string]any, error) {
		var rows []map[string]any
		for i := range 300 {
			rows = append(rows, map[string]any{"id": i, "name": fmt.Sprint("screw of size ", i)})
		}
		return rows, nil
	})
	many.Effects = tool.ReadOnly
	n := 0
	for name, offer := range map[string]tool.Selection{"all tools": {}, "little room": {Tools: 2, Pinned: []string{"stock"}}} {
		t.Run(name, func(t *testing.T) {
			set, err := tool.Join(manyTools(&n).Tools, tool.MustSet(many))
			if err != nil {
				t.Fatal(err)
			}
			store := new(journal.Memory)
			id := regexp.MustCompile(`"id":"([0-9a-f]{8})"`)
			asked := 0
			var last *llm.Request
			model := llm.ModelFunc(func(ctx context.Context, r *llm.Request) iter.Seq2[llm.Event, error] {
				last = r
				next := any("Size 217 is there.")
				switch asked++; asked {
				case 1:
					next = call("1", "stock", `{}`)
				case 2:
					if text := r.Messages[len(r.Messages)-1].Text(); strings.Contains(text, "screw of size 217") {
						t.Error("the first view shows all: the test shows nothing")
					}
					m := id.FindStringSubmatch(fmt.Sprint(r.Messages))
					if m == nil {
						t.Errorf("no note in %v", r.Messages)
						m = []string{"", "00000000"}
					}
					next = call("2", invoke.ReaderName, `{"id":"`+m[1]+`","match":"size 217"}`)
				}
				return says(next).Stream(ctx, r)
			})
			a := agent.Agent{Model: model, ID: "m", Store: store, NewRun: func() string { return "r" }, Offer: offer,
				Tools: &invoke.Runner{Tools: set, Output: invoke.ResultView{Mode: invoke.Concise, SpillDir: filepath.Join(t.TempDir(), "s")}}}
			l := run(t, &a, "count the screws")
			if l.err != nil || !slices.Contains(offered(last), invoke.ReaderName) || !strings.Contains(fmt.Sprint(last.Messages), "screw of size 217") {
				t.Fatalf("%v\n%v\n%v", l.err, offered(last), last.Messages)
			}
			if err := agent.Replay(t.Context(), store, "r"); err != nil {
				t.Error(err)
			}
			verified(t, store, "r")
		})
	}
}

// TestVendorSearch: where the vendor finds tools itself, it is sent all of them, those
// that do not fit deferred, and each can be called; elsewhere there is find_tools.
func TestVendorSearch(t *testing.T) {
	for name, has := range map[string]bool{"the vendor searches": true, "it does not": false} {
		t.Run(name, func(t *testing.T) {
			n := 0
			store := new(journal.Memory)
			model := &reader{Model: says(call("1", "weather", `{}`), "Sunny.")}
			if !has {
				model.Model = says("No tool for that.")
			}
			a := agent.Agent{Model: model, ID: "m", Store: store, NewRun: func() string { return "r" }, Tools: manyTools(&n), Offer: tool.Selection{Tools: 3},
				HostedSupport: func(_ string, def llm.ToolDef) error {
					if has && def.Name == llm.ToolSearch {
						return nil
					}
					return errors.New("not here")
				}}
			l := run(t, &a, "pay the invoice for the parcel and the ticket")
			if l.err != nil {
				t.Fatal(l.err)
			}
			hosted, deferred, near := 0, 0, 0
			for _, d := range model.asked[0].Tools {
				switch {
				case d.Kind == llm.HostedTool && d.Name == llm.ToolSearch:
					hosted++
				case d.Extra["messages"]["defer_loading"] != nil && d.Extra["responses"]["defer_loading"] != nil:
					deferred++
				default:
					near++
				}
			}
			if has && (hosted != 1 || near != 3 || deferred != 8 || n != 1 || slices.Contains(offered(model.asked[0]), tool.FinderName)) {
				t.Errorf("%d searches, %d tools and %d deferred ones; %d calls; %v", hosted, near, deferred, n, offered(model.asked[0]))
			}
			if !has && (hosted+deferred != 0 || !slices.Contains(offered(model.asked[0]), tool.FinderName)) {
				t.Errorf("%d searches, %d deferred; %v", hosted, deferred, offered(model.asked[0]))
			}
			if err := agent.Replay(t.Context(), store, "r"); err != nil {
				t.Error(err)
			}
			verified(t, store, "r")
		})
	}
}

// recorder keeps the bodies of the requests that it passes on.
type recorder struct {
	http.Handler
	mu     sync.Mutex
	bodies []string
}

func (r *recorder) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	body, err := io.ReadAll(req.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	r.mu.Lock()
	r.bodies = append(r.bodies, string(body))
	r.mu.Unlock()
	req.Body = io.NopCloser(bytes.NewReader(body))
	r.Handler.ServeHTTP(w, req)
}

// TestVendorSearchOverHTTP: a strict server of the vendor's finds the tool that did not fit,
// the agent runs it, and what was found goes back with every later request, so that nothing
// is searched twice: in both formats that have a search, streamed and whole.
func TestVendorSearchOverHTTP(t *testing.T) {
	script, err := sim.ParseScript([]byte("-- 1 --\ntext Let me look.\ncall weather {}\n-- 2 --\ntext Sunny.\n-- 3 --\ncall weather {}\n-- 4 --\ntext Still sunny.\n"))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ format, vendor, block string }{
		{wire.Messages, "anthropic+", `"tool_search_tool_result"`}, {wire.Responses, "openai+", `"tool_search_output"`},
	} {
		for how, whole := range map[string]bool{"streamed": false, "whole": true} {
			t.Run(c.format+" "+how, func(t *testing.T) {
				seen := &recorder{Handler: &sim.Server{Model: script}}
				server := httptest.NewServer(seen)
				defer server.Close()
				id := c.vendor + server.URL + "/v1#sim/native+strict"
				info := catalog.Default().Lookup(id)
				info.NativeTools, info.ToolSearch, info.Wire = yes, yes, c.format
				model, err := (&provider.Client{HTTP: server.Client(), Whole: whole, Catalog: catalog.Default().With(info)}).Open(id)
				if err != nil {
					t.Fatal(err)
				}
				n := 0
				store := new(journal.Memory)
				a := &agent.Agent{Model: model, ID: id, Store: store, Tools: manyTools(&n), Offer: tool.Selection{Tools: 3}, Request: llm.Request{MaxTokens: 1000},
					HostedSupport: func(_ string, def llm.ToolDef) error { return model.(*provider.Model).RunsHosted(def) }}
				first := run(t, a, "pay the invoice for the parcel and the ticket")
				if first.err != nil || first.done.Text != "Sunny." || n != 1 {
					t.Fatal(first.err, first.done.Text, n)
				}
				if h := of[llm.HostedCall](first); len(h) != 1 || h[0].Name != llm.ToolSearch || !strings.Contains(string(h[0].Args), "weather") {
					t.Errorf("the search is seen as %+v", h)
				}
				second := listen(a.Run(t.Context(), append(first.done.Messages, llm.User("And now the ticket?"))...))
				if second.err != nil || second.done.Text != "Still sunny." || n != 2 || len(of[llm.HostedCall](second)) != 0 {
					t.Errorf("%v, %q, %d calls, searched again: %v", second.err, second.done.Text, n, of[llm.HostedCall](second))
				}
				if len(seen.bodies) != 4 {
					t.Fatalf("%d requests", len(seen.bodies))
				}
				for i, body := range seen.bodies {
					if got := strings.Count(body, c.block); got != min(i, 1) {
						t.Errorf("request %d has what was found %d times: %s", i+1, got, body)
					}
					if deferred := strings.Count(body[strings.LastIndex(body, `"tools":`):], `"defer_loading":true`); deferred != 8 {
						t.Errorf("request %d has %d deferred tools", i+1, deferred)
					}
				}
				for _, l := range []*log{first, second} {
					if err := agent.Replay(t.Context(), store, l.done.Run); err != nil {
						t.Error(err)
					}
				}
			})
		}
	}
}

// TestToolsThatComeLaterFitTheOffer: a hook brings forty tools into a run that may
// offer six. Those that fit the conversation are offered, the others are left out and
// said once; the tools of the run stay.
func TestToolsThatComeLaterFitTheOffer(t *testing.T) {
	n := 0
	var tools []tool.Tool
	for i := range 40 {
		one := counted(fmt.Sprint("late_", i), &n, 0)
		one.Description = fmt.Sprintf("Looks up records of kind %d.", i)
		tools = append(tools, one)
	}
	tools[33].Description = "Measures the tide in a harbour."
	late := tool.MustSet(tools...)
	m := says(call("1", "dig", `{}`), call("2", "late_33", `{}`), "The end.")
	a := agent.Agent{Model: m, Tools: runner(counted("dig", &n, 0), counted("fill", &n, 0)), Offer: tool.Selection{Tools: 6},
		BeforeTurn: func(_ context.Context, p *agent.TurnStart) error {
			if p.Turn > 1 {
				p.Set, p.Tools = late, append(p.Tools, late.Defs()...)
			}
			return nil
		}}
	l := run(t, &a, "How high is the tide in the harbour?")
	if l.err != nil || l.done.Text != "The end." || n != 2 {
		t.Fatal(l.err, l.done.Text, n)
	}
	for turn, q := range m.asked {
		var names []string
		for _, d := range q.Tools {
			names = append(names, d.Name)
		}
		all := " " + strings.Join(names, " ") + " "
		if len(names) > 6 || !strings.Contains(all, " dig ") || !strings.Contains(all, " fill ") || turn > 0 && !strings.Contains(all, " late_33 ") {
			t.Errorf("in turn %d there are %s", turn+1, names)
		}
	}
	said := 0
	for _, w := range of[llm.Warning](l) {
		if strings.Contains(w.Detail, "came during the run") {
			said++
		}
	}
	if said != 1 {
		t.Errorf("it is said %d times", said)
	}
}

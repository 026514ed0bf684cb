package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/agent"
	"github.com/toolpost/toolpost/invoke"
	"github.com/toolpost/toolpost/journal"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/tool"
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
			a := agent.Agent{Model: model, ID: "m", Store: store, NewRun: func() string { return "r" }, Tools: manyTools(&n), Offer: tool.SelectionBudget{Tools: 3},
				BeforeTurn: func(_ context.Context, p *agent.Plan) error {
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
	a := agent.Agent{Model: model, Tools: all.With(set), Offer: tool.SelectionBudget{Tools: 3, Pinned: []string{tool.FinderName}}}
	if l := run(t, &a, "find tools"); l.err != nil || n != 1 || len(model.asked[1].Tools) != 3 {
		t.Error(l.err, n, offered(model.asked[1]))
	}
}

// TestDemandedTool: a tool that the choice names is offered whatever the room.
func TestDemandedTool(t *testing.T) {
	n := 0
	model := &reader{Model: says(call("1", "weather", `{}`), "Sunny.")}
	a := agent.Agent{Model: model, Tools: manyTools(&n), Offer: tool.SelectionBudget{Tools: 3}}
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
	a := agent.Agent{Model: model, Tools: manyTools(&n), Offer: tool.SelectionBudget{Tools: 1}}
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

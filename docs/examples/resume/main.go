// Resume is a streaming agent that survives a crash: "resume ask RUN TASK" begins, "resume go RUN"
// continues the run of a dead process, and "resume check RUN" verifies and replays the record.
package main

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"log"
	"os"

	"github.com/toolpost/toolpost/agent"
	"github.com/toolpost/toolpost/invoke"
	"github.com/toolpost/toolpost/journal"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/sim"
	"github.com/toolpost/toolpost/tool"
)

type place struct {
	City string `json:"city" description:"Name of the city"`
}

func weather(_ context.Context, in place) (string, error) {
	if in.City == os.Getenv("CRASH") {
		os.Exit(9) // as if the power had failed
	}
	return "sunny in " + in.City, nil
}

func main() {
	store, err := journal.OpenDir("runs")
	if err != nil || len(os.Args) < 3 {
		log.Fatal(errors.Join(err, errors.New("usage: resume ask RUN TASK | go RUN | check RUN")))
	}
	look := tool.Func("get_weather", "Current weather in a city.", weather)
	look.Effects = tool.ReadOnly // may run again; the outcome of other calls is reported as unknown
	run, ctx := os.Args[2], context.Background()
	a := &agent.Agent{Model: sim.Offline{}, ID: "sim/offline", Store: store, // any: provider.Open
		Tools: &invoke.Runner{Tools: tool.MustSet(look)}, NewRun: func() string { return run }}
	switch {
	case os.Args[1] == "ask" && len(os.Args) == 4:
		show(a.Run(ctx, llm.User(os.Args[3])))
	case os.Args[1] == "go":
		show(a.Resume(ctx, run))
	case os.Args[1] == "check":
		report, err := journal.Verify(store.Read(ctx, run, 0))
		fmt.Println("verified:", report.State(), report.Entries, "entries", err)
		fmt.Println("replayed:", agent.Replay(ctx, store, run)) // no model is asked, no tool is run
	}
}

func show(events iter.Seq2[llm.Event, error]) {
	for ev, err := range events {
		if err != nil {
			log.Fatal(err)
		}
		switch ev := ev.(type) {
		case llm.TextDelta:
			fmt.Print(ev.Text) // while it is written
		case invoke.Outcome:
			fmt.Println(ev.Call.Name, string(ev.Call.Args), ev.Receipt.Status)
		case agent.Done:
			fmt.Println("\n" + string(ev.Status))
		}
	}
}

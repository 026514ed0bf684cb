package agent_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"testing"

	"github.com/toolpost/toolpost/agent"
	"github.com/toolpost/toolpost/internal/leaks"
	"github.com/toolpost/toolpost/invoke"
	"github.com/toolpost/toolpost/journal"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/sim"
	"github.com/toolpost/toolpost/tool"
)

func TestMain(m *testing.M) {
	if childProcess != nil {
		childProcess()
	}
	leaks.VerifyTestMain(m)
}

// childProcess does not return if this process is one that a test started; nil
// where no test does.
var childProcess func()

type place struct {
	City string `json:"city" description:"the city"`
}

func weather(_ context.Context, p place) (string, error) { return "sunny in " + p.City, nil }

func weatherTool() tool.Tool {
	t := tool.Func("weather", "Current weather in a city", weather)
	t.Effects = tool.ReadOnly
	return t
}

func TestOfflineRunReplays(t *testing.T) {
	store := new(journal.Memory)
	a := agent.Agent{
		Model: sim.Offline{}, ID: "sim/offline", Store: store,
		Tools: &invoke.Runner{Tools: tool.MustSet(weatherTool())},
	}
	done, err := a.Ask(t.Context(), llm.User("What is the weather in Rome?"))
	if err != nil {
		t.Fatal(err)
	}
	if done.Text == "" || done.Ran != 1 || done.Partial {
		t.Errorf("got %+v", done)
	}
	report, err := journal.Verify(store.Read(t.Context(), done.Run, 0))
	if err != nil || !report.Sealed {
		t.Errorf("sealed %v, error %v", report.Sealed, err)
	}
	if err := agent.Replay(t.Context(), store, done.Run); err != nil {
		t.Error(err)
	}
}

func ExampleAgent() {
	look := tool.Func("weather", "Current weather in a city", weather)
	look.Effects = tool.ReadOnly
	store := new(journal.Memory)
	a := agent.Agent{Model: sim.Offline{}, Store: store, Tools: &invoke.Runner{Tools: tool.MustSet(look)}}
	for ev, err := range a.Run(context.Background(), llm.User("What is the weather in Florence?")) {
		if err != nil {
			fmt.Println(err)
			return
		}
		switch ev := ev.(type) {
		case invoke.Outcome:
			fmt.Println(ev.Receipt.Tool, string(ev.Receipt.Args), ev.Receipt.Status)
		case agent.Done:
			fmt.Println(ev.Text)
		}
	}
	// Output:
	// weather {"city":"Florence"} ok
	// weather says: sunny in Florence
}

func ExampleBind() {
	defs := []llm.ToolDef{{Name: "add", Description: "Adds two numbers", Schema: []byte(`{"type":"object","properties":{"a":{"type":"number"},"b":{"type":"number"}},"required":["a","b"]}`)}}
	set, rest, err := agent.Bind(defs, map[string]agent.Executor{
		"add": func(_ context.Context, in json.RawMessage) (any, error) {
			var v struct{ A, B float64 }
			err := json.Unmarshal(in, &v)
			return v.A + v.B, err
		},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	a := agent.Agent{Model: says(call("1", "add", `{"a":2,"b":2}`), "It is 4."), Tools: &invoke.Runner{Tools: set}, Caller: rest}
	done, err := a.Ask(context.Background(), llm.User("What is two and two?"))
	fmt.Println(done.Text, done.Ran, err)
	// Output: It is 4. 1 <nil>
}

func ExampleReplay() {
	store := new(journal.Memory)
	a := agent.Agent{Model: sim.Offline{}, Store: store, Tools: &invoke.Runner{Tools: tool.MustSet(weatherTool())}}
	done, err := a.Ask(context.Background(), llm.User("What is the weather in Rome?"))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(agent.Replay(context.Background(), store, done.Run))
	// Output: <nil>
}

// sample returns how many cases a test runs: all of them if TOOLPOST_LONG=1 is set.
func sample(some, all int) int {
	if os.Getenv("TOOLPOST_LONG") == "1" {
		return all
	}
	return some
}

package agent_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/agent"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/tool"
)

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
	a := agent.Agent{Model: m, Tools: runner(counted("dig", &n, 0), counted("fill", &n, 0)), Offer: tool.SelectionBudget{Tools: 6},
		BeforeTurn: func(_ context.Context, p *agent.Plan) error {
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

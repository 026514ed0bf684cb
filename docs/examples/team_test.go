package examples

import (
	"strings"
	"testing"

	"github.com/toolpost/toolpost/internal/testkit"
)

// TestTeam: the runs of two agents are part of that of a third, and each of the four
// budgets is one for all three.
func TestTeam(t *testing.T) {
	program, dir := testkit.Build(t, "team"), t.TempDir()
	const task = `Ask the forecaster "What is the weather in Oslo?", then the banker "How many crowns are 20 euros?"`
	const all = `  get_weather {"City":"Oslo"} ok 
  finished 114 tokens, $0.00114
forecaster {"task":"What is the weather in Oslo?"} ok 
  to_crowns {"Euros":20} ok 
  finished 106 tokens, $0.00106
banker {"task":"How many crowns are 20 euros?"} ok 
finished 465 tokens, $0.00465
forecaster says: get_weather says: sunny in Oslo
banker says: to_crowns says: 220
on record: trip, part of "", <nil>
on record: trip.call_1, part of "trip", <nil>
on record: trip.call_2, part of "trip", <nil>
`
	if out, code := output(t, program, dir, nil, task); code != 0 || out != all {
		t.Errorf("exit status %d:\n%s", code, out)
	}
	for flag, want := range map[string]string{
		"-calls=3":     "  to_crowns {\"Euros\":20} refused the budget of 3 calls is used up\n",
		"-time=1ns":    "  get_weather {\"City\":\"Oslo\"} refused the budget of 1ns is used up\n",
		"-tokens=200":  "error: agent: the budget of 200 tokens is used up: 204 were spent in 1 turn\n",
		"-money=0.002": "error: agent: the budget of $0.002 is used up: $0.00204 were spent in 1 turn\n",
	} {
		if out, code := output(t, program, dir, nil, flag, task); code != 0 || !strings.Contains(out, want) {
			t.Errorf("%s: exit status %d:\n%s", flag, code, out)
		}
	}
	if out, code := output(t, program, dir, nil, "-money=much", task); code != 2 || !strings.Contains(out, "expected an amount of dollars such as 0.25") {
		t.Errorf("exit status %d:\n%s", code, out)
	}
}

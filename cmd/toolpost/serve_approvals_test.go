package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/gateway"
	"github.com/toolpost/toolpost/internal/pgtest"
)

// waitingRuns are the runs that 'toolpost runs list' shows.
func waitingRuns(t *testing.T) []waitingRun {
	t.Helper()
	r := toolpost(t, "", "runs", "list", "--json")
	var runs []waitingRun
	if err := json.Unmarshal([]byte(r.out), &runs); err != nil {
		t.Fatalf("%v: %s%s", err, r.out, r.errOut)
	}
	return runs
}

// TestApprovalsAreShared: a question that one gateway asked is known to the other, on one PostgreSQL and one folder
// of records. The gateway that asked is killed before anybody decides; a person approves, and the other one runs the
// call, once, for the team that wanted it. A third one that begins then gives the same result, and says so.
func TestApprovalsAreShared(t *testing.T) {
	d := newDepot(t, pgtest.Schema(t, pgtest.Server(t)))
	mine, theirs := keyOf(t, "a"), keyOf(t, "b")
	first, one := d.start(t)
	second, two := d.start(t)
	send := func(url, key string) got {
		return call(t.Context(), "POST", url+"/v1/chat/completions", key, "", chatBody("ask", "Deliver it."))
	}
	warned := func(g got) string { return fmt.Sprint(g.header.Values(gateway.WarningHeader)) }

	asked := send(one, mine)
	run := asked.header.Get(gateway.RequestHeader)
	if asked.status != 200 || !strings.Contains(warned(asked), "of "+run+" awaits") {
		t.Fatalf("%v %d %s %s", asked.err, asked.status, asked.body, warned(asked))
	}
	_ = first.Process.Kill()
	_, _ = first.Process.Wait()
	if again := send(two, mine); !strings.Contains(warned(again), "of "+run+" awaits") || !strings.Contains(d.models["ask"].last, "awaits a person's approval") {
		t.Errorf("the other gateway: %v %d %s %s", again.err, again.status, again.body, warned(again))
	}
	if other := send(two, theirs); strings.Contains(warned(other), run) || !strings.Contains(warned(other), "awaits") {
		t.Errorf("another team: %v %d %s", other.err, other.status, warned(other))
	}
	if runs := waitingRuns(t); len(runs) != 2 {
		t.Fatalf("%+v", runs)
	}
	must(t, toolpost(t, "", "runs", "approve", run, "--by", "ada"), 0, "allowed")
	if done := send(two, mine); done.status != 200 || d.delivered() != "Rome " || !strings.Contains(d.models["ask"].last, "it is delivered") {
		t.Errorf("%v %d %s; delivered %q", done.err, done.status, done.body, d.delivered())
	}
	must(t, toolpost(t, "", "receipts", "verify", run), 0, "")
	if other := send(two, theirs); !strings.Contains(warned(other), "awaits") {
		t.Errorf("another team: %v %d %s", other.err, other.status, warned(other))
	}
	_ = second.Process.Kill()
	_, three := d.start(t)
	again := send(three, mine)
	if !strings.Contains(warned(again), "of "+run+", which was over") || d.delivered() != "Rome " || !strings.Contains(d.models["ask"].last, "It is not run again") {
		t.Errorf("after that: %v %d %s %s; delivered %q", again.err, again.status, again.body, warned(again), d.delivered())
	}
}

package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	runscmd "github.com/toolpost/toolpost/cmd/toolpost/internal/runs"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/serve"
	"github.com/toolpost/toolpost/internal/pgtest"
)

// waitingRuns returns the runs that 'toolpost runs list' shows.
func waitingRuns(t *testing.T) []runscmd.WaitingRun {
	t.Helper()
	r := toolpost(t, "", "runs", "list", "--json")
	var runs []runscmd.WaitingRun
	if err := json.Unmarshal([]byte(r.out), &runs); err != nil {
		t.Fatalf("%v: %s%s", err, r.out, r.errOut)
	}
	return runs
}

// startAdministrated starts a gateway with an administration API, and returns a function that sends requests to it.
func (d *depot) startAdministrated(t *testing.T) (*exec.Cmd, string, func(method, path, body string) got) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().String()
	l.Close()
	t.Setenv(serve.AdminKeyEnv, "a-key-that-is-long-enough-for-it")
	config, err := os.ReadFile(filepath.Join(d.dir, "gateway.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	place(t, "administrated.yaml", strings.Replace(string(config), "gateway:\n", "gateway:\n  admin_addr: "+addr+"\n", 1))
	cmd, url := startProgram(t, "--config", filepath.Join(d.dir, "administrated.yaml"))
	return cmd, url, func(method, path, body string) got {
		r, err := http.NewRequestWithContext(t.Context(), method, "http://"+addr+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+os.Getenv(serve.AdminKeyEnv))
		r.Header.Set("Content-Type", "application/json")
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			return got{err: err}
		}
		defer resp.Body.Close()
		b, err := io.ReadAll(resp.Body)
		return got{resp.StatusCode, resp.Header, string(b), err}
	}
}

// TestApprovalsAreShared: two gateways share their questions through PostgreSQL and a folder of records. The first
// gateway is killed before the decision. A person approves, and the second one runs the call once, for the team that
// requested it. An administrator refuses the other team's call. A third gateway that starts later does not run the call
// again, and warns that its run is over.
func TestApprovalsAreShared(t *testing.T) {
	d := newDepot(t, pgtest.Schema(t, pgtest.Server(t)))
	mine, theirs := keyOf(t, "a"), keyOf(t, "b")
	first, one := d.start(t)
	second, two, admin := d.startAdministrated(t)
	send := func(url, key string) got {
		return call(t.Context(), "POST", url+"/v1/chat/completions", key, "", chatBody("ask", "Deliver it."))
	}
	warned := func(g got) string { return fmt.Sprint(g.header.Values("Toolpost-Warning")) }

	asked := send(one, mine)
	run := asked.header.Get("Toolpost-Request-Id")
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
	their := admin("GET", "/admin/approvals", "")
	var list struct {
		Approvals []struct{ ID, Team, Tool string }
	}
	if err := json.Unmarshal([]byte(their.body), &list); err != nil || len(list.Approvals) != 1 || list.Approvals[0].Team != "b" || list.Approvals[0].Tool != "deliver" {
		t.Fatalf("%v: %d %s", err, their.status, their.body)
	}
	if decided := admin("POST", "/admin/approvals/"+list.Approvals[0].ID, `{"decision":"deny","by":"ada","reason":"not today"}`); decided.status != 200 {
		t.Errorf("%v %d %s", decided.err, decided.status, decided.body)
	}
	if other := send(two, theirs); other.status != 200 || !strings.Contains(d.models["ask"].last, "ada refused it: not today") || d.delivered() != "Rome " {
		t.Errorf("%v %d %s; the model is told %s", other.err, other.status, other.body, d.models["ask"].last)
	}
	_ = second.Process.Kill()
	_, three := d.start(t)
	again := send(three, mine)
	if !strings.Contains(warned(again), "of "+run+", which was over") || d.delivered() != "Rome " || !strings.Contains(d.models["ask"].last, "It is not run again") {
		t.Errorf("after that: %v %d %s %s; delivered %q", again.err, again.status, again.body, warned(again), d.delivered())
	}
}

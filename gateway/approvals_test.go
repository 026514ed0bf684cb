package gateway_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/toolpost/toolpost/gateway"
	"github.com/toolpost/toolpost/gateway/internal/exchange"
	"github.com/toolpost/toolpost/gateway/internal/hosttools"
	"github.com/toolpost/toolpost/internal/access"
	"github.com/toolpost/toolpost/internal/state"
	"github.com/toolpost/toolpost/journal"
	"github.com/toolpost/toolpost/schema"
	"github.com/toolpost/toolpost/tool"
	"github.com/toolpost/toolpost/wire"
)

// desk is a gateway with waiting calls, and its administrators.
type desk struct {
	url, admin string
	model      *stage
	store      *journal.Memory
	n          counter
}

func newDesk(t *testing.T, life time.Duration, calls string) *desk {
	t.Helper()
	d := new(desk)
	tools, store := asking(&d.n, life)
	d.store = store
	setup, model := stagedSetup(t, script(t, calls, "text Well."), wire.Chat, tools)
	d.model = model
	live, err := gateway.NewLive(setup)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(live.Close)
	admin, err := gateway.Administration{Book: &access.Book{Store: new(access.Memory)}, Live: live, Key: adminKey}.Handler()
	if err != nil {
		t.Fatal(err)
	}
	for into, h := range map[*string]http.Handler{&d.url: live, &d.admin: admin} {
		server := httptest.NewServer(h)
		t.Cleanup(server.Close)
		*into = server.URL
	}
	return d
}

// do sends a request to the administrators' address.
func (d *desk) do(t *testing.T, method, path, body string) (int, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, d.admin+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+adminKey)
	r.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(b)
}

// waiting lists the waiting calls.
func (d *desk) waiting(t *testing.T) []hosttools.WaitingCall {
	t.Helper()
	status, body := d.do(t, "GET", "/admin/approvals", "")
	var list struct{ Approvals []hosttools.WaitingCall }
	if err := json.Unmarshal([]byte(body), &list); err != nil || status != 200 || !strings.Contains(body, `"approvals":[`) {
		t.Fatalf("%v: %d %s", err, status, body)
	}
	return list.Approvals
}

// TestAdminApprovals checks that administrators see each waiting call with its arguments and can decide about it, and
// that the gateway continues the call when the client repeats its request.
func TestAdminApprovals(t *testing.T) {
	d := newDesk(t, 0, "call write {\"what\":\"x\"}\ncall write {\"what\":\"y\"}")
	if list := d.waiting(t); len(list) != 0 {
		t.Errorf("%+v", list)
	}
	run := ask(t, d.url, wire.Chat, question("m"), false).header.Get(exchange.RequestHeader)
	list := d.waiting(t)
	if len(list) != 2 || list[0].ID == list[1].ID || list[0].Run != run || list[0].Route != "m" || list[0].Tool != "write" || list[0].Hidden ||
		!strings.Contains(fmt.Sprintf("%s%s", list[0].Args, list[1].Args), `"x"`) || list[0].ParamsHash == "" || time.Until(list[0].Until) < time.Hour {
		t.Fatalf("%+v", list)
	}
	id := "/admin/approvals/" + list[0].ID
	for body, want := range map[string]string{
		`{"by":"ada"}`:                                                 "is neither approve nor deny",
		`{"decision":"Approve","by":"ada"}`:                            "is neither approve nor deny",
		`{"decision":"approve"}`:                                       "by is missing",
		`{"decision":"approve","by":" "}`:                              "by is missing",
		`{"decision":"approve","by":"ada","all":true}`:                 "unknown",
		`{"decision":"approve","by":"ada","params_hash":"sha256:0"}`:   "for other arguments",
		`{"decision":"deny","by":"` + strings.Repeat("a", 1001) + `"}`: "at most",
		"": "neither",
	} {
		if status, got := d.do(t, "POST", id, body); status != 400 || !strings.Contains(got, want) {
			t.Errorf("%s: %d %s", body, status, got)
		}
	}
	if status, got := d.do(t, "POST", "/admin/approvals/apr_none", `{"decision":"approve","by":"ada"}`); status != 404 {
		t.Errorf("%d %s", status, got)
	}
	if status, got := d.do(t, "POST", id, `{"decision":"approve","by":"ada","args":{"what":["x"]}}`); status != 400 || !strings.Contains(got, "args do not fit write") {
		t.Errorf("%d %s", status, got)
	}
	for path, want := range map[string]int{id: 405, "/admin/nothing": 404} {
		if status, got := d.do(t, "GET", path, ""); status != want || !strings.HasPrefix(got, `{"error":{"message":`) {
			t.Errorf("GET %s: %d %s", path, status, got)
		}
	}
	if len(d.waiting(t)) != 2 || d.n.n() != 0 {
		t.Error("a decision that was refused counts")
	}
	if status, got := d.do(t, "POST", id, `{"decision":"approve","by":"ada","reason":"as agreed"}`); status != 200 || !strings.Contains(got, list[0].ID) || d.n.n() != 0 {
		t.Fatalf("%d %s", status, got)
	}
	if left := d.waiting(t); len(left) != 1 || left[0].ID != list[1].ID {
		t.Errorf("%+v", left)
	}
	if status, got := d.do(t, "POST", id, `{"decision":"deny","by":"eve"}`); status != 409 {
		t.Errorf("decided twice: %d %s", status, got)
	}
	if status, got := d.do(t, "POST", "/admin/approvals/"+list[1].ID, `{"decision":"deny","by":"ada","reason":"not that"}`); status != 200 {
		t.Fatalf("%d %s", status, got)
	}
	ask(t, d.url, wire.Chat, question("m"), false)
	told := results(d.model.last())
	if said := told[0].Text() + told[1].Text(); d.n.n() != 1 || !strings.Contains(said, "written") || !strings.Contains(said, "ada refused it: not that") {
		t.Errorf("%d runs, %+v", d.n.n(), told)
	}
	if report, err := journal.Verify(d.store.Read(t.Context(), run, 0)); err != nil || !report.Sealed {
		t.Errorf("%v %+v", err, report)
	}
}

// TestAdminApprovalOfRedactedArguments checks that approving a call with hidden arguments requires the field unseen or other
// arguments. Denying it does not.
func TestAdminApprovalOfRedactedArguments(t *testing.T) {
	hidden := `call write {"what":"-----BEGIN RSA PRIVATE KEY-----\nrm -rf /\n-----END RSA PRIVATE KEY-----"}`
	for body, want := range map[string]struct {
		status int
		runs   string
	}{
		`{"decision":"approve","by":"ada"}`:                                    {409, ""},
		`{"decision":"approve","by":"ada","unseen":false}`:                     {409, ""},
		`{"decision":"approve","by":"ada","unseen":true}`:                      {200, "rm -rf"},
		`{"decision":"approve","by":"ada","args":{"what":"tea"}}`:              {200, "tea"},
		`{"decision":"approve","by":"ada","args":{"what":"tea","what":"gin"}}`: {400, ""},
		`{"decision":"deny","by":"ada"}`:                                       {200, ""},
	} {
		d := newDesk(t, 0, hidden)
		ask(t, d.url, wire.Chat, question("m"), false)
		list := d.waiting(t)
		if len(list) != 1 || !list[0].Hidden || strings.Contains(string(list[0].Args), "rm -rf") {
			t.Fatalf("%+v", list)
		}
		status, got := d.do(t, "POST", "/admin/approvals/"+list[0].ID, body)
		ask(t, d.url, wire.Chat, question("m"), false)
		if ran := strings.Join(d.n.args, " "); status != want.status || (ran == "") != (want.runs == "") || !strings.Contains(ran, want.runs) {
			t.Errorf("%s: %d %s; ran %s", body, status, got, ran)
		}
	}
}

// TestAdminApprovalsEnd checks that a call without a decision stops waiting when its time is over.
func TestAdminApprovalsEnd(t *testing.T) {
	d := newDesk(t, time.Millisecond, `call write {"what":"x"}`)
	ask(t, d.url, wire.Chat, question("m"), false)
	time.Sleep(5 * time.Millisecond)
	if list := d.waiting(t); len(list) != 0 {
		t.Errorf("%+v", list)
	}
}

// TestApprovalWordsArePrintable checks that a decision with control characters in its name or reason is refused,
// because they could steer the terminal of a reader of the record. The call keeps waiting.
func TestApprovalWordsArePrintable(t *testing.T) {
	d := newDesk(t, 0, "call write {\"what\":\"x\"}")
	ask(t, d.url, wire.Chat, question("m"), false)
	list := d.waiting(t)
	if len(list) != 1 {
		t.Fatalf("%+v", list)
	}
	id := "/admin/approvals/" + list[0].ID
	for body, want := range map[string]string{
		`{"decision":"approve","by":"ada\u001b[2J"}`:                   "by, who decides",
		`{"decision":"deny","by":"ada\u001b]0;x\u0007"}`:               "by, who decides",
		`{"decision":"approve","by":"ada\nbob"}`:                       "by, who decides",
		`{"decision":"approve","by":"ada\u009b31m"}`:                   "by, who decides",
		`{"decision":"approve","by":"ada\u202ebob"}`:                   "by, who decides",
		`{"decision":"approve","by":"ada","reason":"yes\u001b[8m no"}`: "the reason",
	} {
		if status, got := d.do(t, "POST", id, body); status != 400 || !strings.Contains(got, want) || strings.ContainsAny(got, "\x1b\x07\u009b\u202e") || strings.Contains(got, "agent:") {
			t.Errorf("%s: %d %s", body, status, got)
		}
	}
	if len(d.waiting(t)) != 1 {
		t.Error("a decision that was refused counted")
	}
	if status, got := d.do(t, "POST", id, `{"decision":"approve","by":"Ada Ł. 👩‍💻","reason":"as agreed:\n- once"}`); status != 200 {
		t.Errorf("%d %s", status, got)
	}
}

// TestApprovedArgumentsRun checks a call with a number that a float64 cannot hold. After its approval, a request with the
// arguments in the form shown to the person runs exactly these.
func TestApprovedArgumentsRun(t *testing.T) {
	var n counter
	tools, store := asking(&n, 0)
	write := reading("write", "written", &n)
	write.Effects, write.Origin = 0, tool.MCP
	write.Input = schema.Schema(`{"type":"object","properties":{"what":{"type":"string"},"n":{"type":"number"}}}`)
	tools.Tools = served(write).Tools
	memory := new(state.Memory)
	for i, call := range []string{`{"what":"x","n":1.00000000000000001}`, `{"what":"x","n":1}`} {
		setup, _ := stagedSetup(t, script(t, "call write "+call, "text Well."), wire.Chat, tools)
		setup.State = memory
		if i == 1 {
			run, q := theOnly(t, store)
			if string(q.Args) != `{"n":1,"what":"x"}` {
				t.Errorf("shown as %s", q.Args)
			}
			decide(t, store, run, q.CallID, true)
		}
		if got := ask(t, serve(t, setup), wire.Chat, question("m"), false); got.err != nil {
			t.Fatal(got.err)
		}
	}
	if got := n.args; len(got) != 1 || got[0] != `{"n":1,"what":"x"}` {
		t.Errorf("ran %q", got)
	}
}

// TestUnshowableCallIsRefused checks that calls do not wait or run if the record cannot show their exact
// arguments.
func TestUnshowableCallIsRefused(t *testing.T) {
	var n counter
	tools, store := asking(&n, 0)
	setup, model := stagedSetup(t, script(t, `call write {"what":"V\ud800"}`, "text Well."), wire.Chat, tools)
	if got := ask(t, serve(t, setup), wire.Chat, question("m"), false); got.err != nil {
		t.Fatal(got.err)
	}
	if told := results(model.last()); n.n() != 0 || len(openQuestions(t, store)) != 0 || len(told) != 1 || !strings.Contains(told[0].Text(), "cannot be shown") {
		t.Errorf("%d runs, %+v, %+v", n.n(), openQuestions(t, store), told)
	}
}

// TestSwapsAfterAnApproval checks what changes between the approval of a call and the repeated request: the arguments, the
// tool or its server. Such a call does not run, and a person is asked again. The same call with another spelling runs.
func TestSwapsAfterAnApproval(t *testing.T) {
	const approved = `call write {"what":"x","n":1}`
	for name, c := range map[string]struct {
		call   string
		change func(*tool.Tool)
		runs   int
	}{
		"nothing":                   {approved, nil, 1},
		"the order of arguments":    {`call write {"n":1,"what":"x"}`, nil, 1},
		"the form of a number":      {`call write {"what":"x","n":1.0}`, nil, 1},
		"an escape":                 {`call write {"what":"\u0078","n":1}`, nil, 1},
		"another value":             {`call write {"what":"y","n":1}`, nil, 0},
		"another number":            {`call write {"what":"x","n":2}`, nil, 0},
		"a number with a fraction":  {`call write {"what":"x","n":1.0000000001}`, nil, 0},
		"one argument more":         {`call write {"what":"x","n":1,"all":true}`, nil, 0},
		"one argument less":         {`call write {"what":"x"}`, nil, 0},
		"a capital letter":          {`call write {"what":"X","n":1}`, nil, 0},
		"a letter that looks alike": {`call write {"what":"х","n":1}`, nil, 0},
		"an invisible character":    {`call write {"what":"x\u200b","n":1}`, nil, 0},
		"a space":                   {`call write {"what":"x ","n":1}`, nil, 0},
		"another tool":              {`call erase {"what":"x","n":1}`, nil, 0},
		"the effects":               {approved, func(o *tool.Tool) { o.Effects = tool.Idempotent }, 0},
		"the origin":                {approved, func(o *tool.Tool) { o.Origin = tool.Request }, 0},
		"the tools of the server":   {approved, func(o *tool.Tool) { o.SourceHash = "sha256:2" }, 0},
		"the server":                {approved, func(o *tool.Tool) { o.Source = "evil" }, 0},
		"the program behind it": {approved, func(o *tool.Tool) {
			o.Preview = func(context.Context, json.RawMessage) (tool.Preview, error) {
				return tool.Preview{Command: []string{"rm"}}, nil
			}
		}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			var n counter
			tools, store := asking(&n, 0)
			memory := new(state.Memory)
			serveWith := func(call string, change func(*tool.Tool)) string {
				var set []tool.Tool
				for _, name := range []string{"write", "erase"} {
					one := reading(name, "written", &n)
					one.Effects, one.Origin, one.Source, one.SourceHash = 0, tool.MCP, "shop", "sha256:1"
					one.Input = schema.Schema(`{"type":"object","properties":{"what":{"type":"string"},"n":{"type":"number"},"all":{"type":"boolean"}}}`)
					if change != nil {
						change(&one)
					}
					set = append(set, one)
				}
				own := &gateway.ServedTools{Tools: served(set...).Tools, Runner: tools.Runner, Record: tools.Record, Approvals: tools.Approvals}
				setup, _ := stagedSetup(t, script(t, call, "text Well."), wire.Chat, own)
				setup.State = memory
				return serve(t, setup)
			}
			if got := ask(t, serveWith(approved, nil), wire.Chat, question("m"), false); got.err != nil {
				t.Fatal(got.err)
			}
			run, q := theOnly(t, store)
			decide(t, store, run, q.CallID, true)
			if got := ask(t, serveWith(c.call, c.change), wire.Chat, question("m"), false); got.err != nil {
				t.Fatal(got.err)
			}
			if waits := len(openQuestions(t, store)); n.n() != c.runs || (waits > 0) == (c.runs > 0) {
				t.Errorf("ran %d times with %q, %d runs wait; want %d", n.n(), n.args, waits, c.runs)
			}
		})
	}
}

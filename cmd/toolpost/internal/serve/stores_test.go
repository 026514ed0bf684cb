package serve_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/toolpost/toolpost/cmd/toolpost/internal/clitest"
	keyscmd "github.com/toolpost/toolpost/cmd/toolpost/internal/keys"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/programtest"
	runscmd "github.com/toolpost/toolpost/cmd/toolpost/internal/runs"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/serve"
	"github.com/toolpost/toolpost/internal/pgtest"
	"github.com/toolpost/toolpost/sim"
)

// waitingRuns returns the runs that 'toolpost runs list' shows.
func waitingRuns(t *testing.T) []runscmd.WaitingRun {
	t.Helper()
	r := programtest.Run(t, "", "runs", "list", "--json")
	var runs []runscmd.WaitingRun
	if err := json.Unmarshal([]byte(r.Out), &runs); err != nil {
		t.Fatalf("%v: %s%s", err, r.Out, r.ErrOut)
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
	programtest.Place(t, "administrated.yaml", strings.Replace(string(config), "gateway:\n", "gateway:\n  admin_addr: "+addr+"\n", 1))
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
	if again := send(two, mine); !strings.Contains(warned(again), "of "+run+" awaits") || !strings.Contains(d.models["ask"].Last, "awaits a person's approval") {
		t.Errorf("the other gateway: %v %d %s %s", again.err, again.status, again.body, warned(again))
	}
	if other := send(two, theirs); strings.Contains(warned(other), run) || !strings.Contains(warned(other), "awaits") {
		t.Errorf("another team: %v %d %s", other.err, other.status, warned(other))
	}
	if runs := waitingRuns(t); len(runs) != 2 {
		t.Fatalf("%+v", runs)
	}
	programtest.Must(t, programtest.Run(t, "", "runs", "approve", run, "--by", "ada"), 0, "allowed")
	if done := send(two, mine); done.status != 200 || d.delivered() != "Rome " || !strings.Contains(d.models["ask"].Last, "it is delivered") {
		t.Errorf("%v %d %s; delivered %q", done.err, done.status, done.body, d.delivered())
	}
	programtest.Must(t, programtest.Run(t, "", "receipts", "verify", run), 0, "")
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
	if other := send(two, theirs); other.status != 200 || !strings.Contains(d.models["ask"].Last, "ada refused it: not today") || d.delivered() != "Rome " {
		t.Errorf("%v %d %s; the model is told %s", other.err, other.status, other.body, d.models["ask"].Last)
	}
	_ = second.Process.Kill()
	_, three := d.start(t)
	again := send(three, mine)
	if !strings.Contains(warned(again), "of "+run+", which was over") || d.delivered() != "Rome " || !strings.Contains(d.models["ask"].Last, "It is not run again") {
		t.Errorf("after that: %v %d %s %s; delivered %q", again.err, again.status, again.body, warned(again), d.delivered())
	}
}

// locking opens a SQLite file as another program that can lock it.
func locking(t *testing.T, file string) (lock, free func()) {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+file)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	db.SetMaxOpenConns(1)
	run := func(statement string) func() {
		return func() {
			t.Helper()
			if _, err := db.Exec(statement); err != nil {
				t.Fatal(err)
			}
		}
	}
	return run("BEGIN EXCLUSIVE"), run("ROLLBACK")
}

// TestLockedStore locks the file with a gateway's keys and state. New requests are refused after about two seconds. An
// open request gets its response soon, and its usage is written when the file is unlocked.
func TestLockedStore(t *testing.T) {
	goOn := make(chan struct{})
	upstream := slowChat(t, goOn)
	clitest.Bare(t, map[string]string{"gateway.yaml": fmt.Sprintf("providers: {up: {base_url: %s/v1, wire: chat}}\ngateway:\n  keys: sqlite:gateway.db\n  routes: [{model: m, to: [{model: up/m}]}, {model: off, to: [{model: sim/offline}]}]\n", upstream)})
	t.Setenv(keyscmd.StoreEnv, "")
	r := programtest.Run(t, "", "keys", "create", "--team", "a", "--config", "gateway.yaml")
	programtest.Must(t, r, 0, "shown only this once")
	key := strings.TrimSpace(r.Out)
	log := newLines()
	url, stop := programtest.StartServing(t, log, "--addr", "127.0.0.1:0", "--config", "gateway.yaml")
	post, err := http.NewRequestWithContext(t.Context(), "POST", url+"/v1/chat/completions", strings.NewReader(`{"model":"m","stream":true,"messages":[{"role":"user","content":"Hello"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	post.Header.Set("Authorization", "Bearer "+key)
	stream, err := http.DefaultClient.Do(post)
	if err != nil || stream.StatusCode != 200 {
		t.Fatal(stream, err)
	}
	defer stream.Body.Close()

	lock, free := locking(t, "gateway.db")
	lock()
	began := time.Now()
	close(goOn)
	if b, err := io.ReadAll(stream.Body); err != nil || !strings.Contains(string(b), "[DONE]") || time.Since(began) > 5*time.Second {
		t.Errorf("the request that was under way: %v after %v\n%s", err, time.Since(began), b)
	}
	log.until(t, "it is kept and written later")
	began = time.Now()
	if asked := call(t.Context(), "POST", url+"/v1/chat/completions", key, "", chatBody("off", "Hi")); asked.status != 503 || time.Since(began) > 4*time.Second {
		t.Errorf("while it is locked: %v %d %s after %v", asked.err, asked.status, asked.body, time.Since(began))
	}
	free()
	for range 200 {
		r = programtest.Run(t, "", "usage", "--by", "team", "--json", "--config", "gateway.yaml")
		var sums []struct{ Requests, Input, Output int }
		if err := json.Unmarshal([]byte(r.Out), &sums); err == nil && len(sums) == 1 && sums[0].Requests == 1 && sums[0].Output > 0 {
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	if !strings.Contains(r.Out, `"requests": 1`) && !strings.Contains(r.Out, `"requests":1`) {
		t.Errorf("what was used: %s%s", r.Out, r.ErrOut)
	}
	if asked := call(t.Context(), "POST", url+"/v1/chat/completions", key, "", chatBody("off", "Hi")); asked.status != 200 {
		t.Errorf("afterwards: %v %d %s", asked.err, asked.status, asked.body)
	}
	stop()
	log.until(t, "the gateway has ended")
}

// TestRemovedStore removes a file of a gateway's store. The log and /readyz report it until the file is back.
func TestRemovedStore(t *testing.T) {
	for _, file := range []string{"keys.db", "state.db"} {
		clitest.Bare(t, map[string]string{"gateway.yaml": "gateway:\n  keys: sqlite:keys.db\n  state: sqlite:state.db\n  reload: 20ms\n  routes: [{model: m, to: [{model: sim/offline}]}]\n"})
		t.Setenv(keyscmd.StoreEnv, "")
		log := newLines()
		url, _ := programtest.StartServing(t, log, "--addr", "127.0.0.1:0", "--config", "gateway.yaml")
		ready := func(want int, says string) {
			t.Helper()
			resp, err := http.Get(url + "/readyz")
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			if b, _ := io.ReadAll(resp.Body); resp.StatusCode != want || !strings.Contains(string(b), says) {
				t.Errorf("%s: %d %s", file, resp.StatusCode, b)
			}
		}
		ready(200, "ready")
		if err := os.Rename(file, "elsewhere.db"); err != nil {
			t.Fatal(err)
		}
		log.until(t, "was removed or replaced while it is open")
		ready(503, "was removed or replaced")
		programtest.WriteFile(t, file, "") // another file with the same name
		time.Sleep(100 * time.Millisecond)
		ready(503, "was removed or replaced")
		if err := os.Rename("elsewhere.db", file); err != nil {
			t.Fatal(err)
		}
		log.until(t, "are there again")
		ready(200, "ready")
	}
}

// deliverTool has a side effect, which it writes to a file. It waits while another file exists.
const deliverTool = `- name: deliver
  description: Delivers a parcel.
  parameters: {type: object, properties: {to: {type: string}}, required: [to]}
  command: [sh, -c, 'echo "$0" >> FOLDER/delivered; for i in $(seq 600); do [ -e FOLDER/wait ] || break; sleep 0.05; done; echo it is delivered', "{to}"]
`

// depot is a folder with the configuration of gateway processes.
type depot struct {
	dir    string
	models map[string]*programtest.Heard // the model of each route
}

// newDepot configures four routes. ask: the model calls a tool of the gateway that needs approval. work: the model
// calls a tool of the gateway. mixed: it also calls a tool of the client. signed: its vendor signs calls and requires
// the signatures back.
func newDepot(t *testing.T, keys string) *depot {
	t.Helper()
	d := &depot{dir: clitest.Bare(t, nil), models: map[string]*programtest.Heard{}}
	t.Setenv("TOOLPOST_STORE", filepath.Join(d.dir, "runs"))
	t.Setenv(keyscmd.StoreEnv, keys)
	programtest.Place(t, "own.yaml", strings.ReplaceAll(deliverTool, "FOLDER", d.dir))
	var routes strings.Builder
	for name, script := range map[string]string{
		"ask":   "-- 1 --\ncall deliver {\"to\":\"Rome\"}\n-- 2 --\ntext Done.\n",
		"work":  "-- 1 --\ncall deliver {\"to\":\"Rome\"}\n-- 2 --\ntext Done.\n",
		"mixed": "-- 1 --\ncall deliver {\"to\":\"Rome\"}\ncall look {\"at\":\"it\"}\n-- 2 --\ntext Done.\n",
		"plain": "-- 1 --\ntext One.\n-- 2 --\ntext Two.\n",
	} {
		parsed, err := sim.ParseScript([]byte(script))
		if err != nil {
			t.Fatal(err)
		}
		d.models[name] = &programtest.Heard{Model: parsed}
		server := httptest.NewServer(&sim.Server{Model: d.models[name]})
		t.Cleanup(server.Close)
		fmt.Fprintf(&routes, "    - model: %s\n      to: [{model: \"openai+%s/v1#sim/native\", tools: native}]\n", name, server.URL)
		switch name {
		case "ask":
			routes.WriteString("      tools: [deliver]\n      approval: pending\n")
		case "work", "mixed":
			routes.WriteString("      tools: [deliver]\n      yes_to: [deliver]\n")
		}
	}
	vendor := httptest.NewServer(new(sim.Server))
	t.Cleanup(vendor.Close)
	fmt.Fprintf(&routes, "    - model: signed\n      to: [{model: \"gemini+%s/v1beta#sim/native+strict\", tools: native}]\n", vendor.URL)
	programtest.Place(t, "gateway.yaml", "tools: [own.yaml]\ngateway:\n  routes:\n"+routes.String())
	return d
}

// start starts a gateway.
func (d *depot) start(t *testing.T) (*exec.Cmd, string) {
	t.Helper()
	return startProgram(t, "--config", filepath.Join(d.dir, "gateway.yaml"))
}

// delivered returns the side effects so far.
func (d *depot) delivered() string {
	b, _ := os.ReadFile(filepath.Join(d.dir, "delivered"))
	return strings.ReplaceAll(string(b), "\n", " ")
}

// wait blocks deliveries until the returned function is called.
func (d *depot) wait(t *testing.T) (stop func()) {
	t.Helper()
	file := filepath.Join(d.dir, "wait")
	programtest.WriteFile(t, file, "")
	stop = func() { os.Remove(file) }
	t.Cleanup(stop)
	return stop
}

// until waits for n side effects.
func (d *depot) until(t *testing.T, n int) {
	t.Helper()
	for range 1200 {
		if strings.Count(d.delivered(), " ") >= n {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Fatalf("not delivered: %q", d.delivered())
}

// got is the response to a client.
type got struct {
	status int
	header http.Header
	body   string
	err    error
}

// call sends a request to a gateway. name is its idempotency key, if any.
func call(ctx context.Context, method, url, key, name, body string) got {
	r, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(body))
	if err != nil {
		return got{err: err}
	}
	r.Header.Set("Authorization", "Bearer "+key)
	if name != "" {
		r.Header.Set("Idempotency-Key", name)
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return got{err: err}
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	return got{resp.StatusCode, resp.Header, string(b), err}
}

func chatBody(model, text string) string {
	return fmt.Sprintf(`{"model":%q,"messages":[{"role":"user","content":%q}]}`, model, text)
}

// keyOf creates a key of a team.
func keyOf(t *testing.T, team string) string {
	t.Helper()
	r := programtest.Run(t, "", "keys", "create", "--team", team)
	programtest.Must(t, r, 0, "shown only this once")
	return strings.TrimSpace(r.Out)
}

const (
	lookTool    = `"tools":[{"type":"function","function":{"name":"look","parameters":{"type":"object","properties":{"at":{"type":"string"}}}}}]`
	weatherTool = `"tools":[{"type":"function","function":{"name":"get_weather","description":"Tells the weather of a city.","parameters":{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}}}]`
)

// goesOn gets a call of the client's tool from one gateway, and sends its result to another.
func goesOn(t *testing.T, one, two, key, model, tools, question string) got {
	t.Helper()
	user := fmt.Sprintf(`{"role":"user","content":%q}`, question)
	first := call(t.Context(), "POST", one+"/v1/chat/completions", key, "", fmt.Sprintf(`{"model":%q,%s,"messages":[%s]}`, model, tools, user))
	var said struct {
		Choices []struct{ Message json.RawMessage }
	}
	if err := json.Unmarshal([]byte(first.body), &said); err != nil || len(said.Choices) != 1 {
		t.Fatalf("%s: %v %d %s", model, first.err, first.status, first.body)
	}
	var message struct {
		Calls []struct{ ID string } `json:"tool_calls"`
	}
	if err := json.Unmarshal(said.Choices[0].Message, &message); err != nil || len(message.Calls) != 1 {
		t.Fatalf("%s: %v %s", model, err, first.body)
	}
	return call(t.Context(), "POST", two+"/v1/chat/completions", key, "", fmt.Sprintf(`{"model":%q,%s,"messages":[%s,%s,{"role":"tool","tool_call_id":%q,"content":"sunny, 21 degrees"}]}`,
		model, tools, user, said.Choices[0].Message, message.Calls[0].ID))
}

// TestTwoGatewaysShareState: two gateways on one PostgreSQL database continue each other's work: signatures, held
// turns, Responses, and requests that must not run twice. A team cannot use the state of another team.
func TestTwoGatewaysShareState(t *testing.T) {
	d := newDepot(t, pgtest.Schema(t, pgtest.Server(t)))
	mine, theirs := keyOf(t, "a"), keyOf(t, "b")
	_, one := d.start(t)
	_, two := d.start(t)

	if second := goesOn(t, one, two, mine, "signed", weatherTool, "What is the weather in Paris?"); second.status != 200 || !strings.Contains(second.body, "sunny") {
		t.Errorf("signatures: %v %d %s", second.err, second.status, second.body)
	}
	if second := goesOn(t, one, two, mine, "mixed", lookTool, "Deliver it."); second.status != 200 || !strings.Contains(second.body, "Done.") || !strings.Contains(d.models["mixed"].Last, "it is delivered") {
		t.Errorf("held turns: %v %d %s; the model was told %s", second.err, second.status, second.body, d.models["mixed"].Last)
	}

	responses(t, d, one, two, mine, theirs)

	before := strings.Count(d.delivered(), " ")
	stop := d.wait(t)
	open := make(chan got, 2)
	for _, name := range []string{"", "mine"} {
		go func() {
			open <- call(t.Context(), "POST", one+"/v1/chat/completions", mine, name, chatBody("work", "once "+name))
		}()
	}
	d.until(t, before+2)
	var named []string
	for _, name := range []string{"", "mine"} {
		again := call(t.Context(), "POST", two+"/v1/chat/completions", mine, name, chatBody("work", "once "+name))
		if again.status != http.StatusConflict || !strings.Contains(again.body, "req_") {
			t.Errorf("%q while it is open: %v %d %s", name, again.err, again.status, again.body)
		}
		named = append(named, again.body)
	}
	stop()
	first := map[string]got{}
	for range 2 {
		answer := <-open
		if answer.status != 200 || !strings.Contains(fmt.Sprint(named), answer.header.Get("Toolpost-Request-Id")) {
			t.Errorf("%v %d %s; named %s", answer.err, answer.status, answer.body, named)
		}
		first[answer.header.Get("Toolpost-Request-Id")] = answer
	}
	again := call(t.Context(), "POST", two+"/v1/chat/completions", mine, "mine", strings.Replace(chatBody("work", "once mine"), ":", " : ", 2))
	if of := first[again.header.Get("Toolpost-Replay-Of")]; again.status != 200 || again.body != of.body || again.body == "" {
		t.Errorf("the same name: %v %d %q, first %q", again.err, again.status, again.body, of.body)
	}
	if n := strings.Count(d.delivered(), " "); n != before+2 {
		t.Errorf("delivered %d times: %s", n-before, d.delivered())
	}
	if other := call(t.Context(), "POST", two+"/v1/chat/completions", theirs, "mine", chatBody("work", "once mine")); other.header.Get("Toolpost-Replay-Of") != "" || other.status != 200 {
		t.Errorf("another team: %v %d %v", other.err, other.status, other.header)
	}
}

// responses creates a Response on one gateway, and continues, reads and deletes it on the other.
func responses(t *testing.T, d *depot, one, two, mine, theirs string) {
	t.Helper()
	for _, stream := range []string{"", `"stream":true,`} {
		first := call(t.Context(), "POST", one+"/v1/responses", mine, "", `{`+stream+`"model":"plain","input":"The word is heron."}`)
		_, rest, _ := strings.Cut(first.body, `"id":"resp`)
		id, _, _ := strings.Cut("resp"+rest, `"`)
		if first.status != 200 || id == "resp" {
			t.Fatalf("%v %d %s", first.err, first.status, first.body)
		}
		next := `{"model":"plain","input":"Which word?","previous_response_id":"` + id + `"}`
		second := call(t.Context(), "POST", two+"/v1/responses", mine, "", next)
		if second.status != 200 || !strings.Contains(second.body, "Two.") || !strings.Contains(d.models["plain"].Last, "heron") {
			t.Errorf("previous_response_id: %v %d %s; the model was told %s", second.err, second.status, second.body, d.models["plain"].Last)
		}
		for _, step := range []struct {
			method, url, key string
			status           int
			says             string
		}{
			{"GET", two, mine, 200, "One."}, {"GET", two, theirs, 404, ""}, {"DELETE", two, theirs, 404, ""}, {"GET", one, mine, 200, "One."},
			{"DELETE", two, mine, 200, `"deleted":true`}, {"GET", one, mine, 404, ""}, {"DELETE", one, mine, 404, ""},
		} {
			if r := call(t.Context(), step.method, step.url+"/v1/responses/"+id, step.key, "", ""); r.status != step.status || !strings.Contains(r.body, step.says) {
				t.Errorf("%s %s: %v %d %s", step.method, id, r.err, r.status, r.body)
			}
		}
		if gone := call(t.Context(), "POST", two+"/v1/responses", mine, "", next); gone.status != 400 || !strings.Contains(gone.body, "previous_response_not_found") {
			t.Errorf("after its deletion: %d %s", gone.status, gone.body)
		}
	}
}

// TestKilledWithOpenRequests kills a gateway under load while its tools have side effects. Clients see a closed
// connection. After a restart nothing runs twice: the same requests are refused with the run that may have completed,
// whose record verifies. A finished request returns the same response as before.
func TestKilledWithOpenRequests(t *testing.T) {
	d := newDepot(t, "sqlite:gateway.db")
	key := keyOf(t, "a")
	cmd, url := d.start(t)
	done := call(t.Context(), "POST", url+"/v1/chat/completions", key, "done", chatBody("work", "done"))
	if done.status != 200 {
		t.Fatalf("%v %d %s", done.err, done.status, done.body)
	}
	d.wait(t)
	var wg sync.WaitGroup
	load := make([]int, 4)
	for i := range load {
		wg.Go(func() {
			for call(t.Context(), "POST", url+"/v1/chat/completions", key, "", chatBody("plain", "Hi")).status == 200 {
				load[i]++
			}
		})
	}
	ask := func(url string, i int) got {
		name := ""
		if i%2 == 1 {
			name = fmt.Sprint("name", i)
		}
		return call(t.Context(), "POST", url+"/v1/chat/completions", key, name, chatBody("work", fmt.Sprint("parcel ", i)))
	}
	const open = 4
	lost := make([]got, open)
	for i := range lost {
		wg.Go(func() { lost[i] = ask(url, i) })
	}
	d.until(t, 1+open)
	_ = cmd.Process.Kill()
	wg.Wait()
	answered := 1
	for i, n := range load {
		if answered += n; n == 0 {
			t.Errorf("client %d got no answer before the end", i)
		}
	}
	for i, l := range lost {
		if l.err == nil {
			t.Errorf("request %d: %d %s", i, l.status, l.body)
		}
	}

	_, url = d.start(t)
	if again := call(t.Context(), "POST", url+"/v1/chat/completions", key, "done", chatBody("work", "done")); again.body != done.body || again.header.Get("Toolpost-Replay-Of") != done.header.Get("Toolpost-Request-Id") {
		t.Errorf("the answer of before: %v %d %s", again.err, again.status, again.body)
	}
	for i := range open {
		again := ask(url, i)
		_, rest, _ := strings.Cut(again.body, "req_")
		run, _, _ := strings.Cut("req_"+rest, ")")
		if again.status != http.StatusConflict || run == "req_" {
			t.Errorf("request %d: %v %d %s", i, again.err, again.status, again.body)
			continue
		}
		r := programtest.Run(t, "", "receipts", "verify", run) // the record is intact and lists the call as unknown
		if !strings.HasPrefix(r.Out, "open") || !strings.Contains(r.Out, "outcome unknown: deliver") {
			t.Errorf("request %d: %s%s", i, r.Out, r.ErrOut)
		}
	}
	if got := strings.Count(d.delivered(), " "); got != 1+open {
		t.Errorf("delivered %d times: %s", got, d.delivered())
	}
	programtest.Must(t, programtest.Run(t, "", "receipts", "verify", done.header.Get("Toolpost-Request-Id")), 0, "")
	var sums []struct{ Requests int }
	r := programtest.Run(t, "", "usage", "--by", "team", "--json")
	if err := json.Unmarshal([]byte(r.Out), &sums); err != nil || len(sums) != 1 || sums[0].Requests < answered || sums[0].Requests > answered+len(load)+open {
		t.Errorf("%v: %s, %d were answered", err, r.Out, answered)
	}
	programtest.Must(t, programtest.Run(t, "", "keys", "list"), 0, key[:13])
	if status := call(t.Context(), "POST", url+"/v1/chat/completions", key, "", chatBody("plain", "Hi")).status; status != 200 {
		t.Errorf("the key: %d", status)
	}
}

// TestStateSetting: the state is in the database of the keys unless the configuration names another store. Invalid
// stores are refused.
func TestStateSetting(t *testing.T) {
	for _, test := range []struct {
		config, keys string
		kept         bool // after a restart
		tables       string
	}{
		{"", "sqlite:keys.db", true, "keys.db"}, {"  state: sqlite:own.db\n", "sqlite:keys.db", true, "own.db"}, {"  state: sqlite:own.db\n", "", true, "own.db"},
		{"  state: memory\n", "sqlite:keys.db", false, ""}, {"", "", false, ""},
	} {
		clitest.Bare(t, map[string]string{"gateway.yaml": "gateway:\n" + test.config + "  routes: [{model: m, to: [{model: sim/offline}]}]\n"})
		t.Setenv(keyscmd.StoreEnv, test.keys)
		key := ""
		if test.keys != "" {
			key = keyOf(t, "a")
		}
		url, stop := programtest.StartServing(t, io.Discard, "--addr", "127.0.0.1:0", "--config", "gateway.yaml")
		first := call(t.Context(), "POST", url+"/v1/responses", key, "", `{"model":"m","input":"Hi"}`)
		var made struct{ ID string }
		if err := json.Unmarshal([]byte(first.body), &made); err != nil || made.ID == "" {
			t.Fatalf("%v %d %s", err, first.status, first.body)
		}
		stop()
		url, _ = programtest.StartServing(t, io.Discard, "--addr", "127.0.0.1:0", "--config", "gateway.yaml")
		if again := call(t.Context(), "GET", url+"/v1/responses/"+made.ID, key, "", ""); (again.status == 200) != test.kept {
			t.Errorf("%+v: %d %s", test, again.status, again.body)
		}
		if test.tables != "" {
			if _, err := os.Stat(test.tables); err != nil {
				t.Errorf("%+v: %v", test, err)
			}
		}
	}
	programtest.Place(t, "gateway.yaml", "gateway: {state: here.txt, routes: [{model: m, to: [{model: sim/offline}]}]}\n")
	programtest.Must(t, programtest.Run(t, "", "serve", "--check", "--config", "gateway.yaml"), 1, "gateway.state: unknown kind of store; write sqlite:FILE")
}

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
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
	"github.com/toolpost/toolpost/internal/pgtest"
	"github.com/toolpost/toolpost/sim"
)

// deliverTool has a side effect, which it writes to a file. It waits while another file exists.
const deliverTool = `- name: deliver
  description: Delivers a parcel.
  parameters: {type: object, properties: {to: {type: string}}, required: [to]}
  command: [sh, -c, 'echo "$0" >> FOLDER/delivered; for i in $(seq 600); do [ -e FOLDER/wait ] || break; sleep 0.05; done; echo it is delivered', "{to}"]
`

// depot is a folder with the configuration of gateway processes.
type depot struct {
	dir    string
	models map[string]*heard // the model of each route
}

// newDepot configures four routes. ask: the model calls a tool of the gateway that needs approval. work: the model
// calls a tool of the gateway. mixed: it also calls a tool of the client. signed: its vendor signs calls and requires
// the signatures back.
func newDepot(t *testing.T, keys string) *depot {
	t.Helper()
	d := &depot{dir: clitest.Bare(t, nil), models: map[string]*heard{}}
	t.Setenv("TOOLPOST_STORE", filepath.Join(d.dir, "runs"))
	t.Setenv(keyscmd.StoreEnv, keys)
	place(t, "own.yaml", strings.ReplaceAll(deliverTool, "FOLDER", d.dir))
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
		d.models[name] = &heard{Model: parsed}
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
	place(t, "gateway.yaml", "tools: [own.yaml]\ngateway:\n  routes:\n"+routes.String())
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
	writeFile(t, file, "")
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
	r := toolpost(t, "", "keys", "create", "--team", team)
	must(t, r, 0, "shown only this once")
	return strings.TrimSpace(r.out)
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
	if second := goesOn(t, one, two, mine, "mixed", lookTool, "Deliver it."); second.status != 200 || !strings.Contains(second.body, "Done.") || !strings.Contains(d.models["mixed"].last, "it is delivered") {
		t.Errorf("held turns: %v %d %s; the model was told %s", second.err, second.status, second.body, d.models["mixed"].last)
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
		if second.status != 200 || !strings.Contains(second.body, "Two.") || !strings.Contains(d.models["plain"].last, "heron") {
			t.Errorf("previous_response_id: %v %d %s; the model was told %s", second.err, second.status, second.body, d.models["plain"].last)
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
		r := toolpost(t, "", "receipts", "verify", run) // the record is intact and lists the call as unknown
		if !strings.HasPrefix(r.out, "open") || !strings.Contains(r.out, "outcome unknown: deliver") {
			t.Errorf("request %d: %s%s", i, r.out, r.errOut)
		}
	}
	if got := strings.Count(d.delivered(), " "); got != 1+open {
		t.Errorf("delivered %d times: %s", got, d.delivered())
	}
	must(t, toolpost(t, "", "receipts", "verify", done.header.Get("Toolpost-Request-Id")), 0, "")
	var sums []struct{ Requests int }
	r := toolpost(t, "", "usage", "--by", "team", "--json")
	if err := json.Unmarshal([]byte(r.out), &sums); err != nil || len(sums) != 1 || sums[0].Requests < answered || sums[0].Requests > answered+len(load)+open {
		t.Errorf("%v: %s, %d were answered", err, r.out, answered)
	}
	must(t, toolpost(t, "", "keys", "list"), 0, key[:13])
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
		url, stop := startServing(t, io.Discard, "--addr", "127.0.0.1:0", "--config", "gateway.yaml")
		first := call(t.Context(), "POST", url+"/v1/responses", key, "", `{"model":"m","input":"Hi"}`)
		var made struct{ ID string }
		if err := json.Unmarshal([]byte(first.body), &made); err != nil || made.ID == "" {
			t.Fatalf("%v %d %s", err, first.status, first.body)
		}
		stop()
		url, _ = startServing(t, io.Discard, "--addr", "127.0.0.1:0", "--config", "gateway.yaml")
		if again := call(t.Context(), "GET", url+"/v1/responses/"+made.ID, key, "", ""); (again.status == 200) != test.kept {
			t.Errorf("%+v: %d %s", test, again.status, again.body)
		}
		if test.tables != "" {
			if _, err := os.Stat(test.tables); err != nil {
				t.Errorf("%+v: %v", test, err)
			}
		}
	}
	place(t, "gateway.yaml", "gateway: {state: here.txt, routes: [{model: m, to: [{model: sim/offline}]}]}\n")
	must(t, toolpost(t, "", "serve", "--check", "--config", "gateway.yaml"), 1, "gateway.state: unknown kind of store; write sqlite:FILE")
}

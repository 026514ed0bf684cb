package gateway_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/toolpost/toolpost/internal/access"
	"github.com/toolpost/toolpost/sim"
)

// output is the output of a Responses answer.
type output struct {
	ID     string `json:"id"`
	Output []struct {
		Type   string `json:"type"`
		ID     string `json:"id"`
		CallID string `json:"call_id"`
	} `json:"output"`
}

// outputOf reads an answer with or without a stream.
func outputOf(t *testing.T, body string) (out output) {
	t.Helper()
	if _, last, streamed := strings.Cut(body, "event: response.completed\ndata: "); streamed {
		var event struct{ Response json.RawMessage }
		if err := json.Unmarshal([]byte(strings.TrimSpace(last)), &event); err != nil {
			t.Fatal(err)
		}
		body = string(event.Response)
	}
	if err := json.Unmarshal([]byte(body), &out); err != nil {
		t.Fatalf("%v: %s", err, body)
	}
	return out
}

// respond requests a Responses answer.
func (g *guarded) respond(t *testing.T, method, path, key, body string) (int, string) {
	t.Helper()
	q := query{method: method, path: path, body: body}
	h, err := q.send(t.Context(), g.url, "", key, nil)
	if err != nil {
		t.Fatal(err)
	}
	return h.status, h.body
}

// TestItemReferences checks that a conversation can continue by the ids of the gateway's items, over every format and
// with a key that may refer to no other stored objects. Items of others, deleted items and unstored items cannot be
// reached.
func TestItemReferences(t *testing.T) {
	const tools = `"reasoning":{"effort":"low","summary":"auto"},"tools":[{"type":"function","name":"get_weather","parameters":{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}}]`
	g := guard(t, nil)
	mine, ours, theirs := g.key(t, access.Key{Team: "red"}), g.key(t, access.Key{Team: "red"}), g.key(t, access.Key{Team: "blue"})
	for format := range roots {
		for _, stream := range []bool{false, true} {
			for _, store := range []bool{true, false} {
				where := fmt.Sprintf("over %s, stream=%t, store=%t", format, stream, store)
				ask := func(key, input string) (int, string) {
					return g.respond(t, "POST", "/v1/responses", key, fmt.Sprintf(`{"model":%q,"stream":%t,"store":%t,"input":%s,%s}`, format, stream, store, input, tools))
				}
				status, body := ask(mine, `"What is the weather in Paris?"`)
				first := outputOf(t, body)
				refs, calls := "", 0
				for _, item := range first.Output {
					refs += fmt.Sprintf(`{"type":"item_reference","id":%q},`, item.ID)
					if item.Type == "function_call" {
						calls++
						refs += fmt.Sprintf(`{"type":"function_call_output","call_id":%q,"output":"sunny, 21 degrees"},`, item.CallID)
					}
				}
				if status != http.StatusOK || len(first.Output) < 2 || calls != 1 {
					t.Fatalf("%s: %d %s", where, status, body)
				}
				input := `[{"role":"user","content":"What is the weather in Paris?"},` + strings.TrimSuffix(refs, ",") + `]`
				want := map[bool]int{true: 200, false: 403}[store]
				for _, key := range []string{mine, ours} {
					if status, body = ask(key, input); status != want || store && !strings.Contains(body, "sunny") {
						t.Errorf("%s: %d %s", where, status, body)
					}
				}
				if status, _ := g.respond(t, "POST", "/v1/responses/input_tokens", mine, fmt.Sprintf(`{"model":%q,"input":%s}`, format, input)); status != want {
					t.Errorf("%s: counting: %d", where, status)
				}
				if status, body = ask(theirs, input); status != http.StatusForbidden {
					t.Errorf("%s: another team: %d %s", where, status, body)
				}
				if !store {
					continue
				}
				if status, body = g.respond(t, "GET", "/v1/responses/"+first.ID, mine, ""); fmt.Sprint(outputOf(t, body)) != fmt.Sprint(first) {
					t.Errorf("%s: the answer that is kept is %d %s, and not %v", where, status, body, first)
				}
				if status, body = g.respond(t, "DELETE", "/v1/responses/"+first.ID, mine, ""); status != http.StatusOK {
					t.Errorf("%s: %d %s", where, status, body)
				}
				if status, body = ask(mine, input); status != http.StatusForbidden {
					t.Errorf("%s: after it was deleted: %d %s", where, status, body)
				}
			}
		}
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if strings.Contains(g.seen.String(), "item_reference") {
		t.Error("an upstream was sent a reference")
	}
}

// TestItemReferencesAreBounded checks that references cannot make a small request large.
func TestItemReferencesAreBounded(t *testing.T) {
	g := guard(t, &sim.Server{Model: says(strings.Repeat("long ", 20000)), Unknown: "sim/native"}) // accepts bodies of a MiB
	key := g.key(t, access.Key{})
	_, body := g.respond(t, "POST", "/v1/responses", key, `{"model":"chat","input":"hi"}`)
	first := outputOf(t, body)
	if len(first.Output) == 0 || len(body) < 50000 {
		t.Fatal(body)
	}
	ref := fmt.Sprintf(`{"type":"item_reference","id":%q},`, first.Output[len(first.Output)-1].ID)
	for n, want := range map[int]int{1: 200, 100: 413} {
		if status, body := g.respond(t, "POST", "/v1/responses", key, `{"model":"chat","input":[`+strings.Repeat(ref, n)+`{"role":"user","content":"hi"}]}`); status != want {
			t.Errorf("%d references: %d %.300s", n, status, body)
		}
	}
	var many strings.Builder
	for i := range 1001 {
		fmt.Fprintf(&many, `{"type":"item_reference","id":"msg_%d"},`, i)
	}
	if status, body := g.respond(t, "POST", "/v1/responses", key, `{"model":"chat","input":[`+many.String()+`{"role":"user","content":"hi"}]}`); status != 400 {
		t.Errorf("many references: %d %.300s", status, body)
	}
}

// TestItemsWithDuplicateID checks that an upstream that gives items of two answers the same id does not mix them up. Each key
// of a team continues from its own item, other keys from the first, and deleting an answer deletes only its own items.
func TestItemsWithDuplicateID(t *testing.T) {
	var mu sync.Mutex
	asked, last := 0, ""
	g := guard(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost {
			http.NotFound(w, r)
			return
		}
		body, _ := io.ReadAll(r.Body)
		mu.Lock()
		defer mu.Unlock()
		asked++
		last = string(body)
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"id":"resp_%d","object":"response","created_at":1,"status":"completed","model":"m","output":[{"id":"msg_same","type":"message","status":"completed","role":"assistant","content":[{"type":"output_text","annotations":[],"logprobs":[],"text":"answer %d <b>"}]}]}`, asked, asked)
	}))
	mine, ours, third := g.key(t, access.Key{Team: "red"}), g.key(t, access.Key{Team: "red"}), g.key(t, access.Key{Team: "red"})
	ask := func(key string) {
		t.Helper()
		if status, body := g.respond(t, "POST", "/v1/responses", key, `{"model":"responses","input":"Hi"}`); status != 200 {
			t.Fatal(status, body)
		}
	}
	named := func(key, want string) {
		t.Helper()
		status, body := g.respond(t, "POST", "/v1/responses", key, `{"model":"responses","store":false,"input":[{"type":"item_reference","id":"msg_same"},{"role":"user","content":"And?"}]}`)
		mu.Lock()
		defer mu.Unlock()
		if want == "" && status != 403 || want != "" && (status != 200 || !strings.Contains(last, `"`+want+` `)) {
			t.Errorf("want %q, the upstream was told %s: %d %s", want, last, status, body)
		}
	}
	ask(mine) // 1
	ask(ours) // 2
	named(mine, "answer 1")
	named(ours, "answer 2")
	named(third, "answer 1")
	ask(mine) // 6, under the same id: a key that repeats its request continues from the last
	named(mine, "answer 6")
	named(ours, "answer 2")
	if status, body := g.respond(t, "DELETE", "/v1/responses/resp_2", ours, ""); status != 200 {
		t.Fatal(body)
	}
	named(mine, "answer 6")
	named(ours, "answer 6")
	if status, body := g.respond(t, "DELETE", "/v1/responses/resp_6", mine, ""); status != 200 {
		t.Fatal(body)
	}
	named(third, "")
}

// TestPathsBelowStoredAnswers checks that a path below a stored answer refers to that answer and does not change it.
func TestPathsBelowStoredAnswers(t *testing.T) {
	g := guard(t, nil)
	key, theirs := g.key(t, access.Key{}), g.key(t, access.Key{Team: "blue"})
	_, body := g.respond(t, "POST", "/v1/responses", key, `{"model":"chat","input":"hi"}`)
	id := outputOf(t, body).ID
	for _, c := range []struct{ method, path, key, says string }{
		{"GET", "/v1/responses/" + id + "/output_items", key, "no such endpoint: GET /v1/responses/" + id + "/output_items"},
		{"GET", "/v1/responses/" + id + "/", key, "no such endpoint: GET /v1/responses/" + id + "/; leave out the / at the end"},
		{"DELETE", "/v1/responses/" + id + "/input_items", key, "no such endpoint: DELETE"},
		{"GET", "/v1/responses/" + id + "/input_items", theirs, "Response with id '" + id + "' not found."},
		{"GET", "/v1/responses/resp_none/input_items", key, "Response with id 'resp_none' not found."},
		{"GET", "/v1/responses/resp_none", key, "Response with id 'resp_none' not found."},
		{"DELETE", "/v1/responses/resp_none/input_items?limit=2", key, "Response with id 'resp_none' not found."},
	} {
		status, body := g.respond(t, c.method, c.path, c.key, "")
		if status != 404 || !strings.Contains(body, c.says) {
			t.Errorf("%s %s: %d %s, want %s", c.method, c.path, status, body, c.says)
		}
	}
	if status, body := g.respond(t, "GET", "/v1/responses/"+id, key, ""); status != 200 {
		t.Errorf("it is gone: %d %s", status, body)
	}
}

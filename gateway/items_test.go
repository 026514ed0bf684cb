package gateway_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/gateway/access"
	"github.com/toolpost/toolpost/sim"
)

// output is what an answer of the responses format holds.
type output struct {
	ID     string `json:"id"`
	Output []struct {
		Type   string `json:"type"`
		ID     string `json:"id"`
		CallID string `json:"call_id"`
	} `json:"output"`
}

// outputOf reads an answer, streamed or not.
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

// respond asks for an answer of the responses format.
func (g *guarded) respond(t *testing.T, method, path, key, body string) (int, string) {
	t.Helper()
	q := query{method: method, path: path, body: body}
	h, err := q.send(t.Context(), g.url, "", key, nil)
	if err != nil {
		t.Fatal(err)
	}
	return h.status, h.body
}

// TestItemReferences checks that a conversation goes on by the ids of items that the gateway gave out, over every
// format and with a key that may name nothing else of what is kept; and that nobody reaches items of others, deleted ones and those that were not to be kept.
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

// TestItemReferencesAreBounded checks that a small request cannot become a large one by what it names.
func TestItemReferencesAreBounded(t *testing.T) {
	g := guard(t, &sim.Server{Model: says(strings.Repeat("long ", 20000)), Unknown: "sim/native"}) // which takes bodies of a MiB
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

package gateway_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/toolpost/toolpost/gateway/access"
)

// TestItemsOfOneID: an upstream that gives the items of two answers one id does not mix them up: each key of a team goes on from its
// own, another from the first, and who deletes an answer deletes nobody else's items.
func TestItemsOfOneID(t *testing.T) {
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
	ask(mine) // 6, under the same id: who asks again goes on from the last
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

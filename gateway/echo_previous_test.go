package gateway_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/gateway/access"
)

// TestResponsesSayWhatTheyGoOnFrom: every translated answer of the Responses format has previous_response_id, null in the first turn, in one
// piece, in the first and last events of a stream and when it is fetched.
func TestResponsesSayWhatTheyGoOnFrom(t *testing.T) {
	g := guard(t, nil)
	key := g.key(t, access.Key{})
	ask := func(t *testing.T, body string) (answers []map[string]any) {
		t.Helper()
		h, err := query{method: "POST", path: "/v1/responses", body: body}.send(t.Context(), g.url, "", key, nil)
		if err != nil || h.status != 200 {
			t.Fatalf("%v %d %s", err, h.status, h.body)
		}
		for line := range strings.SplitSeq(h.body, "\n") {
			data, event := strings.CutPrefix(line, "data: ")
			if !event && !strings.HasPrefix(line, "{") {
				continue
			}
			var v map[string]any
			if err := json.Unmarshal([]byte(data), &v); err != nil {
				t.Fatal(err)
			}
			if !event {
				answers = append(answers, v)
			} else if r, is := v["response"].(map[string]any); is {
				answers = append(answers, r)
			}
		}
		return answers
	}
	check := func(t *testing.T, answers []map[string]any, want any) (id string) {
		t.Helper()
		if len(answers) == 0 {
			t.Fatal("no answer")
		}
		for i, a := range answers {
			if got, has := a["previous_response_id"]; !has || got != want {
				t.Errorf("answer %d says %v, %t; want %v", i, got, has, want)
			}
			id = fmt.Sprint(a["id"])
		}
		return id
	}
	for format := range roots {
		if format == "responses" {
			continue // the upstream says it itself
		}
		for _, stream := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, stream=%t", format, stream), func(t *testing.T) {
				first := check(t, ask(t, fmt.Sprintf(`{"model":%q,"input":"hi","stream":%t}`, format, stream)), nil)
				check(t, ask(t, fmt.Sprintf(`{"model":%q,"input":"hi","stream":%t,"previous_response_id":%q}`, format, stream, first)), first)
				h, err := query{method: "GET", path: "/v1/responses/" + first}.send(t.Context(), g.url, "", key, nil)
				var kept map[string]any
				if err != nil || json.Unmarshal([]byte(h.body), &kept) != nil {
					t.Fatalf("%v %s", err, h.body)
				}
				check(t, []map[string]any{kept}, nil)
			})
		}
	}
}

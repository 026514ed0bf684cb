package gateway_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/gateway"
	"github.com/toolpost/toolpost/gateway/access"
)

// TestReplaysTellUsage: an answer that is given again tells what it used where the request asks for it, and nowhere else, in
// whichever form the first was.
func TestReplaysTellUsage(t *testing.T) {
	g := guard(t, nil)
	key := g.key(t, access.Key{})
	const whole, silent, telling = `"stream":false`, `"stream":true`, `"stream":true,"stream_options":{"include_usage":true}`
	n := 0
	for _, first := range []string{whole, silent, telling} {
		for _, second := range []string{whole, silent, telling} {
			n++
			ask := func(how string, again bool) string {
				resp, body := send(t, "POST", g.url+"/v1/chat/completions", "application/json", fmt.Sprintf(`{"model":"chat",%s,"messages":[{"role":"user","content":"hi"}]}`, how),
					"Authorization", "Bearer "+key, "Idempotency-Key", fmt.Sprint(n))
				if resp.StatusCode != 200 || (resp.Header.Get(gateway.ReplayHeader) != "") != again {
					t.Fatalf("%s: %d %s", how, resp.StatusCode, body)
				}
				return body
			}
			was := ask(first, false)
			got := ask(second, true)
			told := strings.Contains(got, `"prompt_tokens"`)
			known := strings.Contains(was, `"prompt_tokens"`)
			if want := known && second != silent; told != want {
				t.Errorf("%s, then %s: usage is told: %t, want %t:\n%s", first, second, told, want, got)
			}
			if first == second && got != was {
				t.Errorf("%s: got\n%s\nwant\n%s", first, got, was)
			}
			if second == silent && strings.Contains(got, `"choices":[]`) {
				t.Errorf("%s, then %s: a chunk without a choice:\n%s", first, second, got)
			}
		}
	}
}

package gateway_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/gateway/internal/exchange"
	"github.com/toolpost/toolpost/internal/access"
)

// An upstream that uses one id for two answers does not replace the first answer of another key. The second is not
// stored, and its client is warned. Other teams have separate answers, and a repeated request continues from the last
// one.
func TestDuplicateAnswerIDAcrossTeams(t *testing.T) {
	const answer = `{"id":"resp_same","object":"response","created_at":1,"status":"completed","model":"m","output":[{"id":"msg_%d","type":"message","status":"completed","role":"assistant","content":[{"type":"output_text","annotations":[],"logprobs":[],"text":"answer %d"}]}]}`
	for _, stream := range []bool{false, true} {
		t.Run(fmt.Sprint(stream), func(t *testing.T) {
			asked := 0
			g := guard(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Method != http.MethodPost {
					http.NotFound(w, r)
					return
				}
				asked++
				said := fmt.Sprintf(answer, asked, asked)
				if !stream {
					w.Header().Set("Content-Type", "application/json")
					io.WriteString(w, said)
					return
				}
				w.Header().Set("Content-Type", "text/event-stream")
				_, item, _ := strings.Cut(said, `"output":[`)
				fmt.Fprintf(w, "event: response.created\ndata: {\"type\":\"response.created\",\"response\":{\"id\":\"resp_same\",\"object\":\"response\",\"status\":\"in_progress\",\"model\":\"m\",\"output\":[]}}\n\n")
				fmt.Fprintf(w, "event: response.output_item.done\ndata: {\"type\":\"response.output_item.done\",\"output_index\":0,\"item\":%s}\n\n", strings.TrimSuffix(item, "]}"))
				fmt.Fprintf(w, "event: response.completed\ndata: {\"type\":\"response.completed\",\"response\":%s}\n\n", said)
			}))
			mine, ours, theirs := g.key(t, access.Key{Team: "red"}), g.key(t, access.Key{Team: "red"}), g.key(t, access.Key{Team: "blue"})
			ask := func(key, more string, n int, warned bool) {
				t.Helper()
				resp, body := send(t, "POST", g.url+"/v1/responses", "application/json", fmt.Sprintf(`{"model":"responses","stream":%t,"input":"Hi"%s}`, stream, more), "Authorization", "Bearer "+key)
				got := fmt.Sprint(resp.Header, body)
				if said := strings.Contains(got, "which stays kept under it"); said != warned || !strings.Contains(got, fmt.Sprint("answer ", n)) {
					t.Errorf("answer %d is warned of: %t: %s", n, said, got)
				}
			}
			kept := func(key string, n int) {
				t.Helper()
				if _, body := send(t, "GET", g.url+"/v1/responses/resp_same", "", "", "Authorization", "Bearer "+key); !strings.Contains(body, fmt.Sprintf(`"answer %d"`, n)) {
					t.Errorf("kept is not answer %d but %s", n, body)
				}
			}
			ask(mine, "", 1, false)
			ask(ours, "", 2, true)
			kept(mine, 1)
			ask(theirs, "", 3, false)
			kept(theirs, 3)
			kept(ours, 1)
			ask(ours, `,"store":false`, 4, false)
			ask(mine, "", 5, false)
			kept(mine, 5)
			if resp, body := send(t, "DELETE", g.url+"/v1/responses/resp_same", "", "", "Authorization", "Bearer "+mine); resp.StatusCode != 200 || !strings.Contains(resp.Header.Get(exchange.WarningHeader), "has to be deleted there") {
				t.Error(body)
			}
			ask(ours, "", 6, false)
			kept(mine, 6)
		})
	}
}

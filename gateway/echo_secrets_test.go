package gateway_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/gateway/access"
)

// TestEchoesHaveNoSecrets: what lets a vendor in at an MCP server is not repeated, and not kept: every key of the team may fetch the answer.
func TestEchoesHaveNoSecrets(t *testing.T) {
	g := guard(t, nil)
	key := g.key(t, access.Key{})
	for _, format := range []string{"chat", "messages", "gemini"} {
		for _, stream := range []bool{false, true} {
			_, body := g.respond(t, "POST", "/v1/responses", key, fmt.Sprintf(`{"model":%q,"input":"hi","stream":%t,"tools":[{"type":"mcp","server_label":"notes","server_url":"https://notes.example/SECRET-PATH/mcp","authorization":"SECRET-TOKEN","headers":{"X-Key":"SECRET-HEADER"}}]}`, format, stream))
			if strings.Contains(body, "SECRET") || !strings.Contains(body, `"server_label":"notes"`) || !strings.Contains(body, `"server_url":"https://notes.example"`) {
				t.Errorf("over %s, stream=%t: %s", format, stream, body)
			}
			if stream {
				continue
			}
			if _, body := g.respond(t, "GET", "/v1/responses/"+outputOf(t, body).ID, key, ""); strings.Contains(body, "SECRET") {
				t.Errorf("over %s, fetched: %s", format, body)
			}
		}
	}
}

// TestItemsOfOneIDInPages: an id that two items have ends no page, and begins none again.
func TestItemsOfOneIDInPages(t *testing.T) {
	g := guard(t, nil)
	key := g.key(t, access.Key{})
	const said = `{"type":"message","id":%q,"role":"assistant","status":"completed","content":[{"type":"output_text","text":"x","annotations":[]}]}`
	var input []string
	for _, id := range []string{"msg_1", "msg_twice", "msg_3", "msg_4", "msg_twice", "msg_6"} {
		input = append(input, fmt.Sprintf(said, id))
	}
	_, body := g.respond(t, "POST", "/v1/responses", key, fmt.Sprintf(`{"model":"chat","input":[%s,{"role":"user","content":"go on"}]}`, strings.Join(input, ",")))
	path, after, n := "/v1/responses/"+outputOf(t, body).ID+"/input_items?order=asc&limit=1", "", 0
	for ; n < 20; n++ {
		l := g.itemsAt(t, path+after, key)
		if !l.HasMore {
			break
		}
		after = "&after=" + l.Last
	}
	if n != 6 {
		t.Errorf("the last page is number %d", n+1)
	}
}

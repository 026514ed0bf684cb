package gateway_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/gateway/internal/exchange"
	"github.com/toolpost/toolpost/internal/access"
)

// echoes are request fields that the answer must repeat.
const echoes = `"metadata":{"a":"b"},"tool_choice":"none","parallel_tool_calls":false,"store":true,"temperature":0.5,"top_p":0.9,"max_output_tokens":500,"instructions":"Be brief.",` +

	`"user":"u1","truncation":"auto","text":{"format":{"type":"text"}},"tools":[{"type":"function","name":"get_weather","parameters":{"type":"object","properties":{"city":{"type":"string"}}}}]`

// TestResponsesRepeatRequestFields checks that an answer over any upstream format repeats the fields of the request: in
// documents, in the first and last events of a stream, and in stored answers. No warning may claim that a field was
// ignored which the gateway implements itself.
func TestResponsesRepeatRequestFields(t *testing.T) {
	g := guard(t, nil)
	key := g.key(t, access.Key{})
	var want map[string]any
	if err := json.Unmarshal([]byte("{"+echoes+"}"), &want); err != nil {
		t.Fatal(err)
	}
	check := func(where string, response any) (id string) {
		t.Helper()
		got, _ := response.(map[string]any)
		for _, name := range slices.Sorted(maps.Keys(want)) {
			if fmt.Sprint(got[name]) != fmt.Sprint(want[name]) {
				t.Errorf("%s: %s is %v, want %v", where, name, got[name], want[name])
			}
		}
		return fmt.Sprint(got["id"])
	}
	decoded := func(body string) (v map[string]any) {
		t.Helper()
		if err := json.Unmarshal([]byte(body), &v); err != nil {
			t.Fatalf("%v: %s", err, body)
		}
		return v
	}
	for format := range roots {
		for _, stream := range []bool{false, true} {
			where := fmt.Sprintf("over %s, stream=%t", format, stream)
			q := query{method: "POST", path: "/v1/responses", body: fmt.Sprintf(`{"model":%q,"input":"hi","stream":%t,`+"\n"+`%s}`, format, stream, echoes)}
			h, err := q.send(t.Context(), g.url, "", key, nil)
			if err != nil || h.status != 200 {
				t.Fatalf("%s: %v %d %s", where, err, h.status, h.body)
			}
			if format == "responses" {
				continue // the upstream repeats its own request
			}
			for _, w := range h.header.Values(exchange.WarningHeader) {
				if strings.Contains(w, "; store") || strings.Contains(w, "; metadata") {
					t.Errorf("%s: %s", where, w)
				}
			}
			var id string
			if !stream {
				id = check(where, decoded(h.body))
			} else {
				for _, name := range []string{"response.created", "response.in_progress", "response.completed"} {
					_, rest, _ := strings.Cut(h.body, "event: "+name+"\ndata: ")
					data, _, _ := strings.Cut(rest, "\n")
					id = check(where+": "+name, decoded(data)["response"])
				}
			}
			_, body := g.respond(t, "GET", "/v1/responses/"+id, key, "")
			check(where+", fetched", decoded(body))
		}
	}
}

// TestResponsesRepeatLongToolsOnce checks that tools of tens of kilobytes appear only in the last event of a stream.
func TestResponsesRepeatLongToolsOnce(t *testing.T) {
	g := guard(t, nil)
	long := strings.Repeat("long ", 4000)
	_, body := g.respond(t, "POST", "/v1/responses", g.key(t, access.Key{}), `{"model":"chat","input":"hi","stream":true,"metadata":{"a":"b"},"tools":[{"type":"function","name":"f","description":"`+long+`","parameters":{"type":"object"}}]}`)
	if n := strings.Count(body, long); n != 1 {
		t.Errorf("they are said %d times", n)
	}
	if n := strings.Count(body, `"metadata":{"a":"b"}`); n != 3 {
		t.Errorf("metadata is said %d times", n)
	}
}

// listedItems is a page of items.
type listedItems struct {
	Object  string
	HasMore bool   `json:"has_more"`
	First   string `json:"first_id"`
	Last    string `json:"last_id"`
	Data    []struct {
		ID, Type, Role, Status string
		Content                []struct{ Type, Text string }
	}
}

// texts returns the texts of items; each must be a complete message.
func (l listedItems) texts(t *testing.T) (all string) {
	t.Helper()
	for _, it := range l.Data {
		if it.Type != "message" || it.ID == "" || it.Status != "completed" {
			t.Errorf("%+v", it)
		}
		for _, c := range it.Content {
			all += it.Role + ":" + c.Type + ":" + c.Text + " "
		}
	}
	return all
}

// itemsAt lists items.
func (g *guarded) itemsAt(t *testing.T, path, key string) (l listedItems) {
	t.Helper()
	status, body := g.respond(t, "GET", path, key, "")
	if err := json.Unmarshal([]byte(body), &l); err != nil || status != 200 || l.Object != "list" {
		t.Fatalf("%d %s", status, body)
	}
	return l
}

// TestInputItems checks that the input of a stored answer can be listed in pages, only by its owner.
func TestInputItems(t *testing.T) {
	g := guard(t, nil)
	key, theirs := g.key(t, access.Key{}), g.key(t, access.Key{Team: "blue"})
	for format := range roots {
		_, body := g.respond(t, "POST", "/v1/responses", key, fmt.Sprintf(`{"model":%q,"instructions":"Be brief.","input":[{"role":"user","content":"one"},{"role":"assistant","content":"two"},{"role":"user","content":[{"type":"input_text","text":"three"}]}]}`, format))
		path := "/v1/responses/" + outputOf(t, body).ID + "/input_items"
		const whole = "user:input_text:one assistant:output_text:two user:input_text:three "
		l := g.itemsAt(t, path+"?order=asc", key)
		if got := l.texts(t); got != whole || l.HasMore || l.First != l.Data[0].ID || l.Last != l.Data[2].ID {
			t.Errorf("over %s: %s %+v", format, got, l)
		}
		if got := g.itemsAt(t, path, key).texts(t); !strings.HasPrefix(got, "user:input_text:three ") {
			t.Errorf("over %s, the last first: %s", format, got)
		}
		first := g.itemsAt(t, path+"?order=asc&limit=2", key)
		if rest := g.itemsAt(t, path+"?order=asc&after="+first.Last, key); !first.HasMore || first.texts(t)+rest.texts(t) != whole {
			t.Errorf("over %s, in pages: %+v %+v", format, first, rest)
		}
		for query, want := range map[string]string{"?limit=0": "limit has to be", "?limit=x": "limit has to be", "?order=up": "order has to be", "?after=no": "after names no item"} {
			if status, body := g.respond(t, "GET", path+query, key, ""); status != 400 || !strings.Contains(body, want) {
				t.Errorf("%s: %d %s", query, status, body)
			}
		}
		if status, body := g.respond(t, "GET", path, theirs, ""); status != 404 || !strings.Contains(body, "not found") {
			t.Errorf("others see it: %d %s", status, body)
		}
	}
}

// TestStoredAnswersAreNotStreamed checks that unsupported operations on stored answers are refused with a clear error.
func TestStoredAnswersAreNotStreamed(t *testing.T) {
	g := guard(t, nil)
	key := g.key(t, access.Key{})
	_, body := g.respond(t, "POST", "/v1/responses", key, `{"model":"chat","input":"hi"}`)
	path := "/v1/responses/" + outputOf(t, body).ID
	for _, c := range []struct {
		method, path string
		status       int
		says         string
	}{
		{"GET", path + "?stream=true", 400, "in one piece"},
		{"GET", path + "?stream=false", 200, `"object":"response"`},
		{"POST", path + "/cancel", 400, "only an answer in the background can be cancelled"},
		{"POST", "/v1/responses/resp_none/cancel", 404, "Response with id 'resp_none' not found."},
	} {
		if status, body := g.respond(t, c.method, c.path, key, ""); status != c.status || !strings.Contains(body, c.says) {
			t.Errorf("%s %s: %d %s", c.method, c.path, status, body)
		}
	}
}

// TestRepeatedFieldsHaveNoSecrets checks that credentials of MCP servers are neither repeated nor stored, because every key of
// the team may fetch the answer.
func TestRepeatedFieldsHaveNoSecrets(t *testing.T) {
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

// TestPagesOfItemsWithDuplicateID checks that an id shared by two items neither ends a page early nor repeats one.
func TestPagesOfItemsWithDuplicateID(t *testing.T) {
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

// TestResponsesNamePreviousAnswer checks that every translated Responses answer has previous_response_id, null in the
// first turn: in documents, in the first and last events of a stream, and in stored answers.
func TestResponsesNamePreviousAnswer(t *testing.T) {
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
			continue // the upstream sets it
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

package mcpbridge_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/toolpost/toolpost/internal/js"
	"github.com/toolpost/toolpost/internal/mcptest"
	"github.com/toolpost/toolpost/invoke"
	"github.com/toolpost/toolpost/journal"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/mcpbridge/client"
	"github.com/toolpost/toolpost/mcpbridge/config"
	"github.com/toolpost/toolpost/mcpbridge/serve"
	"github.com/toolpost/toolpost/tool"
)

// reached are the ways by which a result reaches this process.
var reached = []string{"stdio", "json", "stream", "stream in lines"}

// serverWith returns a server that answers every call of f with a result.
func serverWith(t *testing.T, way, result string) config.ServerConfig {
	t.Helper()
	message := `{"jsonrpc":"2.0","id":ID,"result":` + result + `}`
	if way == "stdio" {
		return scripted(t, "one", mcptest.Script{List: listOf("f", "Act."), Call: message})
	}
	url, _ := webServer(t, func(w http.ResponseWriter, _ *http.Request, id string) {
		text := strings.ReplaceAll(message, "ID", id)
		switch way {
		case "json":
			writeAnswer(w, text, id)
			return
		case "stream in lines":
			text = strings.Replace(text, `"result":`, "\ndata: \"result\":", 1)
		}
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprintf(w, "data: %s\n\n", text)
	})
	return config.ServerConfig{Name: "one", URL: url}
}

// Results keep all digits of integers, and structured content that the text does not repeat reaches the model: for a
// client, for clients of served tools, and in the record of a relay.
func TestResultsWithoutLoss(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ result, shown, structured string }{
		"digits": {
			`{"content":[{"type":"text","text":"Found 1 order."}],"structuredContent":{"order":1234567890123456789}}`,
			"Found 1 order.\n{\"order\":1234567890123456789}", `{"order":1234567890123456789}`},
		"digits, repeated": {
			`{"content":[{"type":"text","text":"{ \"order\": 1234567890123456789 }"}],"structuredContent":{"order":1234567890123456789}}`,
			`{ "order": 1234567890123456789 }`, `{"order":1234567890123456789}`},
		"a repetition with other digits": {
			`{"content":[{"type":"text","text":"{\"order\":1234567890123456800}"}],"structuredContent":{"order":1234567890123456789}}`,
			"{\"order\":1234567890123456800}\n{\"order\":1234567890123456789}", `{"order":1234567890123456789}`},
		"a wrapped text": {
			`{"content":[{"type":"text","text":"hello"}],"structuredContent":{"result":"hello"}}`, `hello`, `{"result":"hello"}`},
		"a wrapped list": {
			`{"content":[{"type":"text","text":"1"},{"type":"text","text":"two"}],"structuredContent":{"result":[1,"two"]}}`, "1\ntwo", `{"result":[1,"two"]}`},
		"no text": {`{"content":[],"structuredContent":{"n":9007199254740993}}`, `{"n":9007199254740993}`, `{"n":9007199254740993}`},
	} {
		for _, way := range reached {
			t.Run(name+" by "+way, func(t *testing.T) {
				server := serverWith(t, way, c.result)
				s, _ := open(t, client.Options{}, server)
				tools := toolsOf(t, s)
				out, err := call(t, tools, "one__f", `{}`)
				if err != nil || string(out.Structured) != c.structured {
					t.Fatalf("the client has %s, %v", out.Structured, err)
				}
				session, err := (&invoke.Runner{Tools: tools, Policy: invoke.AllowAll}).Session(nil)
				if err != nil {
					t.Fatal(err)
				}
				results, err := session.Results(t.Context(), []llm.Call{{ID: "c", Name: "one__f", Args: json.RawMessage(`{}`)}})
				if err != nil || joined(results[0].Parts) != c.shown {
					t.Errorf("the model is shown %q, %v; want %q", joined(results[0].Parts), err, c.shown)
				}
				service, err := serve.NewService(serve.ServiceOptions{Runner: &invoke.Runner{Tools: tools, Policy: invoke.AllowAll}})
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { service.Close() })
				l := byLines(t, service.ServePipe)
				l.send(initialize)
				l.answer("1")
				l.send(initialized)
				l.call(2, "one__f", `{}`)
				if got := textsOf(t, l.answer("2")); got != c.shown {
					t.Errorf("a client of served tools gets %q, want %q", got, c.shown)
				}
				r := relayOf(t, server, invoke.AllowAll)
				l = relayLines(t, r)
				l.call(2, "f", `{}`)
				if got := l.answer("2"); !strings.Contains(got, c.structured) || strings.Contains(got, "toolpost.dev") {
					t.Errorf("a client of the relay gets %s", got)
				}
				r.Relay.Close()
				if receipts := r.receipts(t); len(receipts) != 1 || joined(receipts[0].Result.Parts) != c.shown {
					t.Errorf("the record has %+v", receipts)
				}
			})
		}
	}
}

// joined are the texts of parts.
func joined(parts []llm.Part) string {
	var b strings.Builder
	for _, p := range parts {
		if text, ok := p.(llm.Text); ok {
			b.WriteString(text.Text)
		}
	}
	return b.String()
}

// textsOf are the texts in the result of a response, joined as for a model.
func textsOf(t *testing.T, response string) string {
	t.Helper()
	var m struct {
		Result struct{ Content []struct{ Text string } }
	}
	if err := json.Unmarshal([]byte(response), &m); err != nil {
		t.Fatal(err)
	}
	var texts []string
	for _, c := range m.Result.Content {
		texts = append(texts, c.Text)
	}
	return strings.Join(texts, "\n")
}

// A result that does not end the call is an error that explains, on every path.
func TestResultsThatDoNotEndACall(t *testing.T) {
	t.Parallel()
	for result, want := range map[string]string{
		`{"resultType":"stream","content":[]}`:                                      `a result of the type "stream", which is not known here`,
		`{"task":{"taskId":"t1","status":"working"}}`:                               "answered with a task",
		`{"resultType":"task","task":{"taskId":"t1","status":"working"}}`:           "answered with a task",
		`{"resultType":"input_required","requestState":"s"}`:                        "wants input for the call and does not ask for any",
		`{"resultType":"input_required","requestState":"s","structuredContent":{}}`: "wants input for the call and does not ask for any",
	} {
		for _, way := range reached {
			t.Run(want+" by "+way, func(t *testing.T) {
				server := serverWith(t, way, result)
				s, _ := open(t, client.Options{}, server)
				_, err := call(t, toolsOf(t, s), "one__f", `{}`)
				if e := tool.FromError(err); e == nil || !strings.Contains(e.Message, want) || e.Code != tool.Uncertain {
					t.Errorf("the client says %v", err)
				}
				r := relayOf(t, server, invoke.AllowAll)
				l := relayLines(t, r)
				l.call(2, "f", `{}`)
				l.answer("2")
				r.Relay.Close()
				if receipts := r.receipts(t); len(receipts) != 1 || receipts[0].Error == nil || !strings.Contains(receipts[0].Error.Message, want) {
					t.Errorf("the record has %+v", receipts)
				}
			})
		}
	}
}

// The words of a server are not evidence of who refused: a tool that ran and failed has failed.
func TestErrorWordsOfAServer(t *testing.T) {
	t.Parallel()
	for _, words := range []string{"Refused to fetch https://example.org", "I declined to do that", "permission denied", "the order was cancelled"} {
		server := serverWith(t, "stdio", `{"isError":true,"content":[{"type":"text","text":"`+words+`"}]}`)
		s, _ := open(t, client.Options{}, server)
		_, err := call(t, toolsOf(t, s), "one__f", `{}`)
		if e := tool.FromError(err); e == nil || e.Code != tool.Execution || e.Message != words {
			t.Errorf("%s: %v", words, err)
		}
		r := relayOf(t, server, invoke.AllowAll)
		l := relayLines(t, r)
		l.call(2, "f", `{}`)
		l.answer("2")
		r.Relay.Close()
		if receipts := r.receipts(t); len(receipts) != 1 || receipts[0].Error == nil || receipts[0].Error.Code != string(tool.Execution) {
			t.Errorf("%s: the record has %+v", words, receipts)
		}
	}
}

// A tool that runs only as a task of a server without tasks is not offered, with a notice. A tool that may run as one is called in the usual way.
func TestToolsThatRunAsTasks(t *testing.T) {
	list := `{"jsonrpc":"2.0","id":ID,"result":{"tools":[
{"name":"only","inputSchema":{"type":"object"},"execution":{"taskSupport":"required"}},
{"name":"also","inputSchema":{"type":"object"},"execution":{"taskSupport":"optional"}},
{"name":"odd","inputSchema":{"type":"object"},"execution":["required"]}]}}`
	s, told := open(t, client.Options{}, scripted(t, "one", mcptest.Script{List: strings.ReplaceAll(list, "\n", "")}))
	if names := fmt.Sprint(toolsOf(t, s).Names()); names != "[one__also one__odd]" {
		t.Errorf("the tools are %s", names)
	}
	if !strings.Contains(told.String(), "only as a task") {
		t.Errorf("the notices are %s", told)
	}
}

// A client of served tools gets the content of another server as that wrote it: every kind, in order, with annotations. It
// gets what a model would see instead if that is less: without secrets, or shortened.
func TestContentOfServersIsServedWithoutLoss(t *testing.T) {
	t.Parallel()
	every := `[{"type":"text","text":"one","annotations":{"audience":["user"],"priority":0.5},"_meta":{"example.org/n":1234567890123456789}},` +
		`{"type":"image","data":"iVBORw0K","mimeType":"image/png","annotations":{"priority":1}},{"type":"text","text":"two"},` +
		`{"type":"resource_link","uri":"file:///n.txt","name":"notes","title":"Notes","mimeType":"text/plain","size":9007199254740993},` +
		`{"type":"resource","resource":{"uri":"file:///a.txt","mimeType":"text/plain","text":"inside","_meta":{"k":[9007199254740993]}}},` +
		`{"type":"resource","resource":{"uri":"file:///b.pdf","mimeType":"application/pdf","blob":"JVBERg=="}},` +
		`{"type":"audio","data":"UklGRg==","mimeType":"audio/wav"}]`
	secret := `[{"type":"resource","resource":{"uri":"file:///hunter2hunter2","mimeType":"text/plain","text":"inside"}}]`
	long := `[{"type":"resource","resource":{"uri":"file:///long","mimeType":"text/plain","text":"` + strings.Repeat("long words ", 10_000) + `"}}]`
	odd := `[{"type":"resource","resource":{"uri":"file:///odd","mimeType":"text/plain","text":"\u001b[31mred"}}]`
	var many strings.Builder
	for i := range 300 {
		fmt.Fprintf(&many, `,{"type":"resource_link","uri":"file:///%d","name":"n"}`, i)
	}
	for name, c := range map[string]struct{ content, more, want string }{
		"every kind":           {every, "", every},
		"and structured":       {every, `,"structuredContent":{"n":9007199254740993}`, strings.TrimSuffix(every, "]") + `,{"type":"text","text":"{\"n\":9007199254740993}"}]`},
		"a secret in a name":   {secret, "", `[{"type":"text","text":"[resource file:///[stripped:value]]\ninside"}]`},
		"control characters":   {odd, "", `[{"type":"text","text":"[resource file:///odd]\n[31mred"}]`},
		"shortened":            {long, "", ""},
		"too many parts":       {"[" + many.String()[1:] + "]", "", ""},
		"an empty text":        {`[{"type":"text","text":""}]`, "", `[{"type":"text","text":""},{"type":"text","text":"one__f is done and returned nothing."}]`},
		"an empty resource":    {`[{"type":"resource","resource":{"uri":"file:///e","text":""}},{"type":"text","text":"x"}]`, "", `[{"type":"text","text":"[resource file:///e]\n"},{"type":"text","text":"x"}]`},
		"no resource":          {`[{"type":"resource"},{"type":"resource_link","uri":"file:///l"}]`, "", `[{"type":"text","text":"[an empty resource]"},{"type":"text","text":"[resource file:///l:  ]"}]`},
		"nothing":              {`[]`, "", `[{"type":"text","text":"one__f is done and returned nothing."}]`},
		"an image that is not": {`[{"type":"image","data":"iVBORw0K","mimeType":"text/html"}]`, "", `[{"type":"image","data":"iVBORw0K","mimeType":"text/html"}]`},
	} {
		t.Run(name, func(t *testing.T) {
			secrets := &journal.Secrets{Values: []string{"hunter2hunter2"}}
			s, _ := open(t, client.Options{Secrets: secrets}, serverWith(t, "stdio", `{"content":`+c.content+c.more+`}`))
			runner := &invoke.Runner{Tools: toolsOf(t, s), Policy: invoke.AllowAll, Output: invoke.ResultView{Secrets: secrets, NoSpill: true}}
			service, err := serve.NewService(serve.ServiceOptions{Runner: runner})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { service.Close() })
			l := byLines(t, service.ServePipe)
			l.send(initialize)
			l.answer("1")
			l.send(initialized)
			l.call(2, "one__f", `{}`)
			answer := l.answer("2")
			var got struct {
				Result struct{ Content, StructuredContent json.RawMessage }
			}
			if err := json.Unmarshal([]byte(answer), &got); err != nil {
				t.Fatal(err)
			}
			if c.want == "" {
				if !strings.HasPrefix(string(got.Result.Content), `[{"type":"text"`) || strings.Contains(string(got.Result.Content), `"resource`) || len(answer) > 80_000 {
					t.Errorf("it gets %.300s", answer)
				}
				return
			}
			if !js.Equal(got.Result.Content, []byte(c.want)) {
				t.Errorf("it gets\n%s, want\n%s", got.Result.Content, c.want)
			}
			if c.more != "" && !strings.Contains(c.more, string(got.Result.StructuredContent)) {
				t.Errorf("the structured content is %s", got.Result.StructuredContent)
			}
		})
	}
}

// Whatever content a server sends, a client of served tools gets content that is of the protocol, or an error.
func TestServedContentIsValid(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(1, 2))
	pick := func(from ...string) string { return from[rng.IntN(len(from))] }
	value := func() string {
		return pick(`""`, `"x"`, `"file:///a"`, `"text/plain"`, `"image/png"`, `"aGk="`, `null`, `7`, `-1.5`, `9007199254740993`, `true`, `[]`, `{}`, `["user"]`, `{"k":[1,{"d":null}]}`, `"\u0000\u001b[2J"`, `"\ud800"`)
	}
	var item func(depth int) string
	item = func(depth int) string {
		members := []string{`"type":` + pick(`"text"`, `"image"`, `"audio"`, `"resource"`, `"resource_link"`, `"tool_use"`, `"other"`)}
		for _, name := range []string{"text", "data", "mimeType", "uri", "name", "blob", "title", "description", "size", "annotations", "_meta", "icons"} {
			if rng.IntN(3) == 0 {
				members = append(members, `"`+name+`":`+value())
			}
		}
		if rng.IntN(2) == 0 && depth < 3 {
			members = append(members, `"resource":`+pick(item(depth+1), value(), `{"uri":"file:///a","text":"x"}`, `{"uri":"file:///b","blob":"aGk=","mimeType":"image/png"}`))
		}
		return "{" + strings.Join(members, ",") + "}"
	}
	var content atomic.Pointer[string]
	url, _ := webServer(t, func(w http.ResponseWriter, _ *http.Request, id string) {
		writeAnswer(w, `{"jsonrpc":"2.0","id":ID,"result":`+*content.Load()+`}`, id)
	})
	s, _ := open(t, client.Options{}, config.ServerConfig{Name: "one", URL: url})
	service, err := serve.NewService(serve.ServiceOptions{Runner: &invoke.Runner{Tools: toolsOf(t, s), Policy: invoke.AllowAll, LoopLimit: -1}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { service.Close() })
	l := byLines(t, service.ServePipe)
	l.send(initialize)
	l.answer("1")
	l.send(initialized)
	passed := 0
	for i := range 1000 {
		items := make([]string, rng.IntN(4))
		for j := range items {
			items[j] = item(0)
		}
		result := `{"content":` + pick("["+strings.Join(items, ",")+"]", "["+strings.Join(items, ",")+"]", value()) + pick("", "", `,"structuredContent":`+value(), `,"isError":true`) + "}"
		content.Store(&result)
		l.call(i+2, "one__f", `{}`)
		answer := l.answer(fmt.Sprint(i + 2))
		var got struct {
			Result struct {
				IsError bool
				Content []struct {
					Type, Text, Data, MimeType, URI, Name *string
					Resource                              *struct{ URI, Text, Blob *string }
				}
			}
			Error json.RawMessage
		}
		if err := json.Unmarshal([]byte(answer), &got); err != nil || got.Error == nil && got.Result.Content == nil {
			t.Fatalf("%s: %v\n%s", result, err, answer)
		}
		for _, c := range got.Result.Content {
			switch r := c.Resource; *c.Type {
			case "text":
				err = missingMember(c.Text)
			case "image", "audio":
				err = missingMember(c.Data, c.MimeType)
			case "resource_link":
				err = missingMember(c.URI, c.Name)
			case "resource":
				if r == nil || r.URI == nil || r.Text == nil && r.Blob == nil {
					err = missingMember(nil)
				}
			default:
				err = missingMember(nil)
			}
			if err != nil {
				t.Fatalf("%s: %v\n%s", result, err, answer)
			}
		}
		if got.Error == nil && !got.Result.IsError {
			passed++
		}
	}
	if passed < 50 {
		t.Errorf("only %d of 1000 results are used", passed)
	}
	t.Logf("%d of 1000 results are used", passed)
}

func missingMember(members ...*string) error {
	if slices.Contains(members, nil) {
		return errors.New("a member is missing")
	}
	return nil
}

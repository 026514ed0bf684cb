package gateway_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/wire"
)

// romeInText is a call that a server leaves in the text, as the model writes it.
const romeInText = `<tool_call>{"name": "get_weather", "arguments": {"city": "Rome"}}</tool_call>`

// asDocument writes choices as a document.
func asDocument(texts ...string) string {
	var choices []string
	for i, text := range texts {
		quoted, _ := json.Marshal(text)
		choices = append(choices, fmt.Sprintf(`{"index":%d,"message":{"role":"assistant","content":%s},"finish_reason":"stop"}`, i, quoted))
	}
	return `{"id":"a1","object":"chat.completion","created":1,"model":"m","choices":[` + strings.Join(choices, ",") + `],"zz":1}`
}

// asStream writes choices as a stream, in turns of the given number of bytes.
func asStream(size int, texts ...string) string {
	var out strings.Builder
	chunk := func(index int, delta, reason string) {
		fmt.Fprintf(&out, `data: {"id":"a1","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":%d,"delta":%s,"finish_reason":%s}]}`+"\n\n", index, delta, reason)
	}
	for i := range texts {
		chunk(i, `{"role":"assistant","content":""}`, "null")
	}
	for at, more := 0, true; more; at += size {
		more = false
		for i, text := range texts {
			if at < len(text) {
				more = true
				quoted, _ := json.Marshal(text[at:min(at+size, len(text))])
				chunk(i, `{"content":`+string(quoted)+`}`, "null")
			}
		}
	}
	for i := range texts {
		chunk(i, `{}`, `"stop"`)
	}
	return out.String() + "data: [DONE]\n\n"
}

// choiceOf is the final state of one choice for a Chat client.
type choiceOf struct {
	Text, Args, Reason string
	Calls              int
	Ends               int
}

// choicesOf merges a document or a stream like a client.
func choicesOf(t *testing.T, body string) map[int]*choiceOf {
	t.Helper()
	all := map[int]*choiceOf{}
	for _, line := range strings.Split(body, "\n") {
		line = strings.TrimPrefix(line, "data: ")
		if !strings.HasPrefix(line, "{") {
			continue
		}
		type message struct {
			Content string
			Calls   []struct {
				ID       string
				Function struct{ Arguments string }
			} `json:"tool_calls"`
		}
		var chunk struct {
			Choices []struct {
				Index          int
				Message, Delta message
				Reason         string `json:"finish_reason"`
			}
		}
		if err := json.Unmarshal([]byte(line), &chunk); err != nil {
			t.Fatal(err)
		}
		for _, c := range chunk.Choices {
			got := all[c.Index]
			if got == nil {
				got = new(choiceOf)
				all[c.Index] = got
			}
			for _, m := range []message{c.Message, c.Delta} {
				got.Text += m.Content
				for _, call := range m.Calls {
					got.Args += call.Function.Arguments
					if call.ID != "" {
						got.Calls++
					}
				}
			}
			if c.Reason != "" {
				got.Reason = c.Reason
				got.Ends++
			}
		}
	}
	return all
}

// Each of several answers to one question is searched for calls in its text. Answers without calls stay unchanged. If
// no answer has a call, the upstream's bytes are relayed.
func TestTextCallsInMultipleAnswers(t *testing.T) {
	const called = "called" // a choice that ends with the call
	cases := map[string]struct{ texts, want []string }{
		"none":            {[]string{"Sunny.", "Rain, <b>I guess</b>."}, []string{"Sunny.", "Rain, <b>I guess</b>."}},
		"the first":       {[]string{romeInText, "Rain."}, []string{called, "Rain."}},
		"the second":      {[]string{"Sunny.", romeInText}, []string{"Sunny.", called}},
		"both":            {[]string{romeInText, romeInText}, []string{called, called}},
		"the last":        {[]string{"Sunny.", "Rain <again>.", romeInText}, []string{"Sunny.", "Rain <again>.", called}},
		"behind a text":   {[]string{"Sunny.", "Well.\n" + romeInText}, []string{"Sunny.", called}},
		"half a call":     {[]string{"Sunny.", `<tool_call>{"name": "get_wea`}, []string{"Sunny.", `<tool_call>{"name": "get_wea`}},
		"nothing is said": {[]string{"", romeInText}, []string{"", called}},
	}
	for name, c := range cases {
		said := map[string]string{"document": asDocument(c.texts...)}
		for _, size := range []int{1, 5, 1000} {
			said[fmt.Sprint("stream of ", size)] = asStream(size, c.texts...)
		}
		for how, said := range said {
			t.Run(name+"/"+how, func(t *testing.T) {
				stream := how != "document"
				url := answersOf(t, wire.Chat, "qwen3-32b", func(w http.ResponseWriter, r *http.Request) {
					if r.Method != http.MethodPost { // a probe of the server type
						http.NotFound(w, r)
						return
					}
					w.Header().Set("Content-Type", map[bool]string{true: "text/event-stream", false: "application/json"}[stream])
					io.WriteString(w, said)
				}, llm.Limits{})
				_, _, got := allOf(t, url, "/v1/chat/completions", fmt.Sprintf(`{"model":"m","n":%d,"stream":%t,"messages":[{"role":"user","content":"Weather?"}],%s}`, len(c.texts), stream, weatherTool))
				if name == "none" && got != said {
					t.Errorf("got\n%s\nwant\n%s", got, said)
				}
				all := choicesOf(t, got)
				if len(all) != len(c.texts) {
					t.Fatalf("%d choices in\n%s", len(all), got)
				}
				for i, want := range c.want {
					one := all[i]
					if want == called && (one.Calls != 1 || one.Args != `{"city":"Rome"}` && one.Args != `{"city": "Rome"}` || one.Reason != "tool_calls" || strings.Contains(one.Text, "tool_call")) ||
						want != called && (one.Calls != 0 || one.Text != want || one.Reason != map[bool]string{false: "stop", true: "length"}[strings.HasPrefix(want, "<tool_call>")]) || one.Ends != 1 {
						t.Errorf("choice %d is %+v in\n%s", i, *one, got)
					}
				}
			})
		}
	}
}

// A client of another format also gets the calls of every answer.
func TestTextCallsInMultipleTranslatedAnswers(t *testing.T) {
	for _, stream := range []bool{false, true} {
		url := answersOf(t, wire.Chat, "qwen3-32b", func(w http.ResponseWriter, r *http.Request) {
			if r.Method != http.MethodPost {
				http.NotFound(w, r)
				return
			}
			if b, _ := io.ReadAll(r.Body); !strings.Contains(string(b), `"n":3`) {
				t.Errorf("the upstream was asked %s", b)
			}
			w.Header().Set("Content-Type", "text/event-stream")
			io.WriteString(w, asStream(5, "Sunny.", romeInText, "Rain."))
		}, llm.Limits{})
		path := "/v1beta/models/m:generateContent"
		if stream {
			path = "/v1beta/models/m:streamGenerateContent?alt=sse"
		}
		_, _, got := allOf(t, url, path, `{"contents":[{"role":"user","parts":[{"text":"Weather?"}]}],"generationConfig":{"candidateCount":3},"tools":[{"functionDeclarations":[{"name":"get_weather","parameters":{"type":"object","properties":{"city":{"type":"string"}}}}]}]}`)
		if strings.Count(got, `"functionCall"`) != 1 || strings.Contains(got, "tool_call>") || !strings.Contains(got, `"args":{"city":`) || !strings.Contains(got, `"Rome"`) {
			t.Errorf("stream=%t: %s", stream, got)
		}
		at := strings.Index(got, `"functionCall"`)
		if i := strings.Index(got[max(at, 0):], `"index":`); i < 0 || !strings.HasPrefix(got[at+i:], fmt.Sprint(`"index":`, 1)) {
			t.Errorf("stream=%t: the call is of another answer: %s", stream, got)
		}
	}
}

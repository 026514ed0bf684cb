package sim_test

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/sim"
	"github.com/toolpost/toolpost/wire"
)

// fetch asks for a page and reads its JSON.
func fetch(t *testing.T, method, address, body string, header http.Header) (int, map[string]any) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, address, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for name, values := range header {
		req.Header[name] = values
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	var v map[string]any
	if err := json.Unmarshal(b, &v); err != nil {
		t.Fatalf("%s %s: %v: %s", method, address, err, b)
	}
	return resp.StatusCode, v
}

func serveSim(t *testing.T) string {
	server := httptest.NewServer(new(sim.Server))
	t.Cleanup(func() {
		http.DefaultClient.CloseIdleConnections()
		server.Close()
	})
	return server.URL
}

// The echo describes the content of the request.
func TestEcho(t *testing.T) {
	image := llm.Media{Kind: llm.Image, MIME: "image/png", Data: []byte("\x89PNG\r\n\x1a\nrest")}
	everyClient(t, nil, func(t *testing.T, c client) {
		req := &llm.Request{Model: "sim/echo", MaxTokens: 1000, System: "Be brief.", Messages: []llm.Message{{Role: llm.RoleUser, Parts: []llm.Part{llm.Text{Text: "What is this?"}, image}}}}
		r, err := c.ask(t.Context(), req)
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{"Be brief.", `text "What is this?"`, fmt.Sprintf("image image/png 12 bytes %x", sha256.Sum256(image.Data))} {
			if !strings.Contains(r.Message.Text(), want) {
				t.Errorf("no %q in %q", want, r.Message.Text())
			}
		}
	})
}

// Two answers have two ids and a time, streamed and not, and so have their items.
func TestAnswersHaveIDs(t *testing.T) {
	seen := map[string]bool{}
	everyClient(t, nil, func(t *testing.T, c client) {
		if !c.codec.Properties().AnswerIDs {
			return
		}
		for range 2 {
			r, err := c.ask(t.Context(), weather("sim/native+think"))
			if err != nil {
				t.Fatal(err)
			}
			id := r.Finish.ID
			if id == "" || seen[id] {
				t.Errorf("the id %q is empty or not new", id)
			}
			seen[id] = true
			if made := r.Start.Created; c.codec.Format != wire.Messages && c.codec.Format != wire.Gemini && time.Since(made).Abs() > time.Hour {
				t.Errorf("made at %v", made)
			}
		}
	})
}

// A stream that fails in its middle has sent text before.
func TestFailsMidway(t *testing.T) {
	everyClient(t, nil, func(t *testing.T, c client) {
		want := llm.Overloaded
		if c.stream && c.codec.Format == wire.Ollama {
			want = llm.Server // its streams do not have codes
		}
		for fault, before := range map[string]string{"1": "", "6": "I am", "10000": "may call."} {
			req := &llm.Request{Model: "sim/native+fail=" + fault, MaxTokens: 1000, Messages: []llm.Message{llm.User("Hello")}}
			r, err := c.ask(t.Context(), req)
			if llm.KindOf(err) != want || !strings.Contains(err.Error(), "this fault was asked for") {
				t.Errorf("%s: %v", fault, err)
			}
			if c.stream && !strings.Contains(r.Message.Text(), before) {
				t.Errorf("%s: before it came %q", fault, r.Message.Text())
			}
		}
	})
}

// A request in the Responses format continues an answer by its id.
func TestPreviousResponse(t *testing.T) {
	base := serveSim(t)
	ask := func(body string) (int, map[string]any) {
		return fetch(t, "POST", base+"/v1/responses", body, nil)
	}
	_, first := ask(`{"model":"sim/echo","instructions":"Be brief.","input":"My name is Ann."}`)
	id, _ := first["id"].(string)
	if id == "" {
		t.Fatal(first)
	}
	_, second := ask(fmt.Sprintf(`{"model":"sim/echo","previous_response_id":%q,"input":"Who am I?"}`, id))
	said := fmt.Sprint(second["output"])
	if strings.Count(said, "Be brief.") != 1 || !strings.Contains(said, "My name is Ann.") || !strings.Contains(said, "Who am I?") || second["previous_response_id"] != id {
		t.Errorf("%v", second)
	}
	if status, counted := fetch(t, "POST", base+"/v1/responses/input_tokens", fmt.Sprintf(`{"model":"sim/echo","previous_response_id":%q,"input":"Who am I?"}`, id), nil); status != 200 ||
		counted["input_tokens"] != second["usage"].(map[string]any)["input_tokens"] {
		t.Errorf("%v, the answer says %v", counted, second["usage"])
	}
	if status, got := fetch(t, "GET", base+"/v1/responses/"+id, "", nil); status != 200 || fmt.Sprint(got["output"]) != fmt.Sprint(first["output"]) || got["id"] != id {
		t.Errorf("%d %v, want %v", status, got, first)
	}
	if status, got := fetch(t, "DELETE", base+"/v1/responses/"+id, "", nil); status != 200 || got["deleted"] != true {
		t.Errorf("%d %v", status, got)
	}
	status, gone := ask(fmt.Sprintf(`{"model":"sim/echo","previous_response_id":%q,"input":"Who am I?"}`, id))
	if failure, _ := gone["error"].(map[string]any); status != 400 || failure["code"] != "previous_response_not_found" || failure["message"] != "Previous response with id '"+id+"' not found." {
		t.Errorf("%d %v", status, gone)
	}
	if status, got := fetch(t, "GET", base+"/v1/responses/"+id, "", nil); status != 404 {
		t.Errorf("%d %v", status, got)
	}
	_, loose := ask(`{"model":"sim/echo","store":false,"input":"Forget me."}`)
	if status, got := ask(fmt.Sprintf(`{"model":"sim/echo","previous_response_id":%q,"input":"Who am I?"}`, loose["id"])); status != 400 {
		t.Errorf("what was not to be kept is: %v", got)
	}
}

// A missing resource is refused with the message of each vendor, and a model is
// described in each format.
func TestNotThere(t *testing.T) {
	base := serveSim(t)
	anthropic := http.Header{"Anthropic-Version": {"2023-06-01"}}
	google := http.Header{"X-Goog-Api-Key": {"none"}}
	for _, c := range []struct {
		method, path string
		header       http.Header
		status       int
		want         string
	}{
		{"POST", "/v1/nonsense", nil, 404, "Invalid URL (POST /v1/nonsense)"},
		{"POST", "/v1/nonsense", anthropic, 404, "not_found_error"},
		{"POST", "/v1beta/nonsense", nil, 404, "NOT_FOUND"},
		{"POST", "/v1/nonsense", google, 404, "NOT_FOUND"},
		{"POST", "/api/nonsense", nil, 404, "error:no such endpoint"},
		{"POST", "/model/x/nonsense/more", nil, 404, "message:"},
		{"GET", "/v1/models/sim/native", nil, 200, "owned_by:sim"},
		{"GET", "/v1/models/sim/native", anthropic, 200, "display_name:sim/native"},
		{"GET", "/v1beta/models/sim/native+500", google, 200, "name:models/sim/native+500"},
		{"GET", "/v1/models/nonsense", nil, 404, "model_not_found"},
		{"GET", "/v1/models/nonsense", anthropic, 404, "not_found_error"},
		{"GET", "/v1beta/models/nonsense", nil, 404, "NOT_FOUND"},
		{"GET", "/v1/models", anthropic, 200, "has_more:false"},
		{"GET", "/v1/models", google, 200, "name:models/sim/native"},
		{"GET", "/v1/models", nil, 200, "object:list"},
	} {
		status, got := fetch(t, c.method, base+c.path, "{}", c.header)
		if status != c.status || !strings.Contains(fmt.Sprint(got), c.want) {
			t.Errorf("%s %s: %d %.300v, want %d %s", c.method, c.path, status, got, c.status, c.want)
		}
	}
	everyClient(t, nil, func(t *testing.T, c client) {
		_, err := c.ask(t.Context(), weather("sim/nonsense"))
		if llm.KindOf(err) != llm.NotFound || c.codec.Format == wire.Gemini && !strings.Contains(err.Error(), "NOT_FOUND") {
			t.Errorf("%v", err)
		}
	})
}

// A server knows which clients went away before the end of their answers.
func TestSeesCancelled(t *testing.T) {
	everyClient(t, nil, func(t *testing.T, c client) {
		const model = "sim/native+stall=1h"
		look := func() map[string]any {
			_, v := fetch(t, "GET", c.base+"/sim/seen?model="+url.QueryEscape(model), "", nil)
			return v
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() {
			_, err := c.ask(ctx, weather(model))
			done <- err
		}()
		until(t, func() bool { return look()["open"] == 1.0 })
		cancel()
		if err := <-done; err == nil {
			t.Error("an answer came")
		}
		until(t, func() bool { v := look(); return v["open"] == 0.0 && v["cancelled"] == 1.0 && v["requests"] == 1.0 })
		if _, err := c.ask(t.Context(), weather("sim/native")); err != nil {
			t.Error(err)
		}
		_, v := fetch(t, "GET", c.base+"/sim/seen?model=sim/native", "", nil)
		if v["requests"] != 1.0 || v["cancelled"] != 0.0 {
			t.Errorf("%v", v)
		}
	})
}

// A client that keeps the pieces of a stream sends thinking back in pieces, of
// which the last is signed.
func TestThinkingInPieces(t *testing.T) {
	base := serveSim(t)
	ask := func(parts string) (int, map[string]any) {
		return fetch(t, "POST", base+"/v1beta/models/native+think:generateContent",
			`{"contents":[{"role":"user","parts":[{"text":"Hello"}]},{"role":"model","parts":`+parts+`},{"role":"user","parts":[{"text":"Go on."}]}]}`, nil)
	}
	_, first := fetch(t, "POST", base+"/v1beta/models/native+think:generateContent", `{"contents":[{"role":"user","parts":[{"text":"Hello"}]}]}`, nil)
	candidate, _ := first["candidates"].([]any)[0].(map[string]any)
	said, _ := candidate["content"].(map[string]any)["parts"].([]any)
	thought, _ := said[0].(map[string]any)
	text, _ := thought["text"].(string)
	signature, _ := thought["thoughtSignature"].(string)
	thought["thoughtSignature"] = strings.NewReplacer("+", "-", "/", "_").Replace(signature) // as Google's Python client does
	for cut, want := range map[int]int{5: 200, 0: 200, len(text): 200, -1: 400} {
		before, after := text[:max(cut, 0)], text[max(cut, 0):]
		if cut < 0 {
			before = "Something else. "
		}
		parts, _ := json.Marshal([]any{
			map[string]any{"text": before, "thought": true}, map[string]any{"text": after, "thought": true, "thoughtSignature": thought["thoughtSignature"]}, map[string]any{"text": "Hi."},
		})
		if cut < 0 {
			parts, _ = json.Marshal([]any{map[string]any{"text": before, "thought": true, "thoughtSignature": thought["thoughtSignature"]}})
		}
		if status, got := ask(string(parts)); status != want {
			t.Errorf("cut at %d: %d %v", cut, status, got)
		}
	}
}

// until waits for a condition.
func until(t *testing.T, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("it did not come to that")
		}
	}
}

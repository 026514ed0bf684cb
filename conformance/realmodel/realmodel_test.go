package realmodel

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/wire"
)

// paths is where the server speaks each format.
var paths = map[string]string{
	wire.Chat:      "/v1/chat/completions",
	wire.Responses: "/v1/responses",
	wire.Messages:  "/v1/messages",
}

// serve starts the server and returns its address.
func serve(t *testing.T) string {
	t.Helper()
	python := os.Getenv("TOOLPOST_REALMODEL_PYTHON")
	if python == "" {
		t.Skip("no model: run conformance/run realmodel, which installs one")
	}
	url, stop, err := Serve(python, ".", 2)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(stop)
	return url
}

// post sends a request through a codec and decodes the answer through it.
func post(t *testing.T, url string, codec wire.Codec, req *llm.Request, stream bool) (*llm.Response, error) {
	t.Helper()
	body, _, err := codec.EncodeRequest(req, stream)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := Client.Post(url+paths[codec.Format], "application/json", bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		b, _ := io.ReadAll(resp.Body)
		return nil, codec.DecodeError(resp.StatusCode, resp.Header, b)
	}
	if !stream {
		b, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return codec.DecodeResponse(b)
	}
	var built llm.Builder
	for ev, err := range codec.DecodeStream(resp.Body) {
		if err != nil {
			return built.Response(), err
		}
		built.Add(ev)
	}
	return built.Response(), nil
}

func TestCodecsMeetARealServer(t *testing.T) {
	url := serve(t)
	zero := 0.0
	for format := range paths {
		codec, _ := wire.For(format)
		for _, stream := range []bool{false, true} {
			name := format
			if stream {
				name += " streaming"
			}
			t.Run(name, func(t *testing.T) {
				req := &llm.Request{Model: "any", MaxTokens: 64, Temperature: &zero, Messages: []llm.Message{llm.User("What is the capital of France? Answer in one word.")}}
				r, err := post(t, url, codec, req, stream)
				if err != nil {
					t.Fatal(err)
				}
				if !strings.Contains(r.Message.Text(), "Paris") {
					t.Errorf("it said %q", r.Message.Text())
				}
				if r.Finish.Reason != llm.Stop || r.Finish.Usage.Input == 0 || r.Finish.Usage.Output == 0 {
					t.Errorf("finish %+v", r.Finish)
				}
				req.MaxTokens = 3
				req.Messages = []llm.Message{llm.User("Tell me a long story.")}
				r, err = post(t, url, codec, req, stream)
				if err != nil {
					t.Fatal(err)
				}
				// This server calls a response "completed" that max_output_tokens cut off.
				if r.Finish.Reason != llm.Length && format != wire.Responses || r.Finish.Usage.Output != 3 {
					t.Errorf("cut off: finish %+v", r.Finish)
				}
			})
		}
		t.Run(format+" errors", func(t *testing.T) {
			req := &llm.Request{Model: "any", MaxTokens: 8, Messages: []llm.Message{llm.User(strings.Repeat("too long ", 20000))}}
			for _, stream := range []bool{false, true} {
				if _, err := post(t, url, codec, req, stream); llm.KindOf(err) != llm.TooLong {
					t.Errorf("streaming %v: kind %v, %v", stream, llm.KindOf(err), err)
				}
			}
		})
	}
}

// TestSchemaIsHonoured has the server hold the model to a schema: what our
// emulation of tools stands on.
func TestSchemaIsHonoured(t *testing.T) {
	url := serve(t)
	codec, _ := wire.For(wire.Chat)
	req := &llm.Request{Model: "any", MaxTokens: 200, Messages: []llm.Message{llm.User("Anna is 34 years old.")}, Output: &llm.OutputFormat{
		Name: "person", Schema: json.RawMessage(`{"type":"object","properties":{"name":{"type":"string","maxLength":20},"age":{"type":"integer","minimum":0,"maximum":150}},"required":["name","age"],"additionalProperties":false}`),
	}}
	for _, stream := range []bool{false, true} {
		r, err := post(t, url, codec, req, stream)
		if err != nil {
			t.Fatal(err)
		}
		var person struct {
			Name *string `json:"name"`
			Age  *int    `json:"age"`
		}
		if err := json.Unmarshal([]byte(r.Message.Text()), &person); err != nil || person.Name == nil || person.Age == nil {
			t.Errorf("streaming %v: %q, %v", stream, r.Message.Text(), err)
		}
	}
}

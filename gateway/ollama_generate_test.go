package gateway_test

import (
	"bufio"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/gateway"
)

// prompted is a line of an answer of Ollama's generate.
type prompted struct {
	Model, Response, Error string
	Done                   bool
	DoneReason             string `json:"done_reason"`
	EvalCount              int    `json:"eval_count"`
	Message                json.RawMessage
}

// generate sends a body to Ollama's endpoint for prompts, and returns all lines of the answer.
func generate(t *testing.T, url, body string) (status int, lines []prompted) {
	t.Helper()
	resp, err := http.Post(url+"/api/generate", "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	in := bufio.NewReader(resp.Body)
	for {
		line, err := in.ReadBytes('\n')
		if len(line) > 0 {
			var one prompted
			if err := json.Unmarshal(line, &one); err != nil {
				t.Fatalf("%q: %v", line, err)
			}
			lines = append(lines, one)
		}
		if err == io.EOF {
			return resp.StatusCode, lines
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// A prompt is answered with text by an upstream of any format, in lines and as a document.
func TestOllamaGenerate(t *testing.T) {
	routes := []gateway.ModelRoute{}
	for format := range roots {
		routes = append(routes, to(format, "up-"+format+"/echo"))
	}
	url := serve(t, gateway.Setup{Routes: routes})
	for format := range roots {
		for _, stream := range []string{"", `,"stream":false`} {
			status, lines := generate(t, url, `{"model":"`+format+`","system":"Be brief.","prompt":"Say apricot"`+stream+`}`)
			var text strings.Builder
			for i, line := range lines {
				text.WriteString(line.Response)
				if line.Message != nil || line.Model != format || line.Done != (i == len(lines)-1) {
					t.Errorf("%s%s: line %d is %+v", format, stream, i, line)
				}
			}
			last := lines[len(lines)-1]
			if status != 200 || !strings.Contains(text.String(), "apricot") || last.DoneReason != "stop" || last.EvalCount == 0 {
				t.Errorf("%s%s: status %d, %q, %+v", format, stream, status, text.String(), last)
			}
			if (len(lines) > 1) != (stream == "") {
				t.Errorf("%s%s: %d lines", format, stream, len(lines))
			}
		}
	}
}

// A request without a prompt loads the model: no upstream is asked, and the client is told that the model is ready.
func TestOllamaGenerateLoadsModel(t *testing.T) {
	url := serve(t, gateway.Setup{Routes: []gateway.ModelRoute{to("m", "up-chat/echo")}})
	for _, body := range []string{`{"model":"m"}`, `{"model":"m","prompt":"","keep_alive":-1}`, `{"model":"m","system":"Be brief.","stream":false}`} {
		status, lines := generate(t, url, body)
		if status != 200 || len(lines) != 1 || !lines[0].Done || lines[0].DoneReason != "load" || lines[0].Response != "" {
			t.Errorf("%s: status %d, %+v", body, status, lines)
		}
	}
	resp, err := http.Post(url+"/api/chat", "application/json", strings.NewReader(`{"model":"m","messages":[]}`))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if body, _ := io.ReadAll(resp.Body); resp.StatusCode != 200 || !strings.Contains(string(body), `"done_reason":"load"`) {
		t.Errorf("chat: status %d, %s", resp.StatusCode, body)
	}
	if status, lines := generate(t, url, `{"model":"unknown"}`); status != 404 || lines[0].Error == "" {
		t.Errorf("a model that is not there: status %d, %+v", status, lines)
	}
}

// Fields that a chat cannot support are refused, not ignored.
func TestOllamaGenerateInvalidRequests(t *testing.T) {
	url := serve(t, gateway.Setup{Routes: []gateway.ModelRoute{to("m", "up-chat/echo")}})
	for field, value := range map[string]string{
		"suffix": `"}"`, "raw": `true`, "template": `"{{ .Prompt }}"`, "context": `[1, 2]`,
		"messages": `[{"role":"user","content":"other"}]`, "tools": `[{"type":"function","function":{"name":"f"}}]`,
		"prompt": `7`, "images": `"x"`, "system": `{}`,
	} {
		body := `{"model":"m","prompt":"Say apricot","` + field + `":` + value + `}`
		if field == "prompt" {
			body = `{"model":"m","prompt":7}`
		}
		if status, lines := generate(t, url, body); status != 400 || len(lines) != 1 || !strings.Contains(lines[0].Error, field) && field != "prompt" && field != "system" {
			t.Errorf("%s: status %d, %+v", field, status, lines)
		}
	}
	for _, same := range []string{`"suffix":""`, `"raw":false`, `"context":[]`, `"context":null`, `"template":""`} {
		if status, lines := generate(t, url, `{"model":"m","prompt":"Say apricot",`+same+`}`); status != 200 {
			t.Errorf("%s: status %d, %+v", same, status, lines)
		}
	}
}

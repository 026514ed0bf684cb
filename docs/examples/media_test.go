package examples

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/internal/testkit"
	"github.com/toolpost/toolpost/sim"
)

// TestMedia: image, document, search and effort reach two vendors in the words of
// each; the mark reaches the one that has marks, and the other's user is told.
func TestMedia(t *testing.T) {
	program, dir := testkit.Build(t, "media"), "media"
	sent := make(chan []byte, 10)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		sent <- body
		r.Body = io.NopCloser(bytes.NewReader(body))
		new(sim.Server).ServeHTTP(w, r)
	}))
	defer server.Close()
	env := []string{"OPENAI_API_KEY=any", "ANTHROPIC_API_KEY=any"}
	const question = `Search the web for "red squares"`

	out, code := output(t, program, dir, env, "anthropic+"+server.URL+"/v1#sim/echo", "red.png", "note.pdf", question)
	for _, want := range []string{
		"web_search: native, because the provider runs it, and no policy wants control\n",
		`/v1/messages ["image" "document" "cache_control" "web_search_20250305" "web_search" "effort"]` + "\n",
		"user: image image/png 69 bytes", "; document application/pdf 69 bytes", "tools: web_search\n",
	} {
		if code != 0 || !strings.Contains(out, want) {
			t.Errorf("exit status %d, no %q in\n%s", code, want, out)
		}
	}
	body := <-sent
	var asked struct {
		Tools    []map[string]any
		Config   struct{ Effort string } `json:"output_config"`
		Messages []struct{ Content []map[string]any }
	}
	if err := json.Unmarshal(body, &asked); err != nil || asked.Config.Effort != "low" || asked.Tools[0]["type"] != "web_search_20250305" || asked.Tools[0]["max_uses"] != 2.0 || asked.Messages[0].Content[1]["cache_control"] == nil {
		t.Errorf("%v\n%s", err, body)
	}

	out, code = output(t, program, dir, env, "openai+"+server.URL+"/v1#sim/native", "red.png", "note.pdf", question)
	for _, want := range []string{
		"web_search: local, because the provider does not run it: ",
		"warning: ignored cache_control: only the hosts that are known to take it are told\n",
		`/v1/chat/completions ["image_url" "image_url" "file" "file" "web_search" "reasoning_effort"]` + "\n",
		"web_search {\"Query\":\"red squares\"} ok\n", "web_search says: there are no pages about red squares\n",
	} {
		if code != 0 || !strings.Contains(out, want) {
			t.Errorf("exit status %d, no %q in\n%s", code, want, out)
		}
	}
	if n := len(sent); n != 2 {
		t.Fatalf("%d more requests, want 2", n)
	}
	for range 2 {
		if body := <-sent; bytes.Contains(body, []byte("cache_control")) {
			t.Errorf("the mark was sent: %s", body)
		}
	}
	if out, code := output(t, program, dir, env, "openai+"+server.URL+"/v1#sim/native", "no.png", "note.pdf", question); code != 1 || !strings.Contains(out, "open no.png: ") {
		t.Errorf("exit status %d: %s", code, out)
	}
}

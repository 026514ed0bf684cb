// Cache marks the stable beginning of a conversation for the prompt cache of Anthropic and shows
// that each request repeats the one before it byte for byte: what changes is always at the end.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/toolpost/toolpost/agent"
	"github.com/toolpost/toolpost/invoke"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/provider"
	"github.com/toolpost/toolpost/sim"
	"github.com/toolpost/toolpost/tool"
)

func weather(_ context.Context, in struct{ City string }) (string, error) {
	return "sunny in " + in.City, nil
}

type spy struct{ last []byte } // compares each request with the one before it

func (s *spy) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := r.GetBody()
	if err != nil {
		return nil, err
	}
	sent, err := io.ReadAll(body)
	same := 0
	for same < min(len(sent), len(s.last)) && sent[same] == s.last[same] {
		same++
	}
	marks := bytes.Count(sent, []byte(`"cache_control"`))
	fmt.Println("marks:", marks, "repeated:", s.last != nil && same > len(s.last)*9/10)
	s.last = sent
	if err != nil {
		return nil, err
	}
	return http.DefaultTransport.RoundTrip(r)
}

func main() {
	server := httptest.NewServer(new(sim.Server)) // as strict as the vendor's
	defer server.Close()
	client := &provider.Client{HTTP: &http.Client{Transport: new(spy)}}
	model, err := client.Open("anthropic+" + server.URL + "#sim/native")
	if err != nil {
		log.Fatal(err)
	}
	handbook := llm.Text{Text: strings.Repeat("Answer in one sentence. ", 500)}
	mark := json.RawMessage(`{"type":"ephemeral"}`)
	handbook.Extra = llm.Extra{"messages": {"cache_control": mark}}
	look := tool.Func("get_weather", "Current weather in a city.", weather)
	a := &agent.Agent{Model: model, Tools: &invoke.Runner{Tools: tool.MustSet(look)}}
	task := llm.Text{Text: "Weather in Rome?"}
	first := llm.Message{Role: llm.RoleUser, Parts: []llm.Part{handbook, task}}
	done, err := a.Ask(context.Background(), first)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(done.Text)
}

// Cache has requests marked for the prompt cache of the vendor, and shows that each request repeats
// the one before it: what changes is at the end.
package main

import (
	"bytes"
	"context"
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
	"github.com/toolpost/toolpost/wire/format"
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
	if err != nil {
		return nil, err
	}
	same := 0
	for same < min(len(sent), len(s.last)) && sent[same] == s.last[same] {
		same++
	}
	marks := bytes.Count(sent, []byte(`"cache_control"`))
	fmt.Println("marks:", marks, "repeated:", s.last != nil && same > len(s.last)*9/10)
	s.last = sent
	return http.DefaultTransport.RoundTrip(r)
}

func main() {
	server := httptest.NewServer(new(sim.Server)) // as strict as the vendor's
	defer server.Close()
	client := &provider.Client{CacheMarks: true, HTTP: &http.Client{Transport: new(spy)}}
	client.Vendors = map[string]provider.Vendor{"anthropic": { // at its own address this is known
		BaseURL: server.URL + "/v1", Quirks: format.Quirks{Members: "cache_control"}}}
	model, err := client.Open("anthropic/sim/native")
	if err != nil {
		log.Fatal(err)
	}
	look := tool.Func("get_weather", "Current weather in a city.", weather)
	a := &agent.Agent{Model: model, Tools: &invoke.Runner{Tools: tool.MustSet(look)},
		System: strings.Repeat("Answer in one sentence. ", 500)}
	done, err := a.Ask(context.Background(), llm.User("Weather in Rome?"))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(done.Text)
}

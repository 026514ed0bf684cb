// Package conformance asks toolpost sim with the vendors' own Go clients.
package conformance

import (
	"context"
	"encoding/json"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/sim"
)

const (
	hello = "Hello there"
	one   = "What is the weather in Rome?"
	two   = "What is the weather in Rome? What is the weather in Paris?"
	sunny = "sunny, 25 degrees"
)

const (
	toolName = "get_weather"
	toolHelp = "Current weather in a city"
)

var city = map[string]any{
	"type":       "object",
	"properties": map[string]any{"city": map[string]any{"type": "string"}},
	"required":   []string{"city"},
}

// answer is what a client understood.
type answer struct {
	text   string
	cities []string // of the calls, in order
	output int      // tokens
}

// question is what a client is asked.
type question struct {
	model, text string
	tools       bool
	stream      bool
	result      string // if not empty: answer the calls with it and ask again
}

// client is a vendor's client: it asks, and reports the HTTP status of an
// error as the vendor's own error type has it.
type client struct {
	name   string
	native string // how it calls the model
	ask    func(ctx context.Context, url string, q question) (answer, error)
	status func(error) int
}

var clients = []client{
	{"openai chat", "sim/native", askChat, openaiStatus},
	{"openai responses", "sim/native", askResponses, openaiStatus},
	{"anthropic", "sim/native", askMessages, anthropicStatus},
	{"genai", "native", askGemini, geminiStatus},
	{"ollama", "sim/native", askOllama, ollamaStatus},
}

func TestVendorClients(t *testing.T) {
	server := httptest.NewServer(new(sim.Server))
	defer server.Close()
	for _, c := range clients {
		for _, stream := range []bool{false, true} {
			name := c.name
			if stream {
				name += " streaming"
			}
			t.Run(name, func(t *testing.T) { c.test(t, server.URL, stream) })
		}
	}
}

func (c client) test(t *testing.T, url string, stream bool) {
	ask := func(q question) answer {
		t.Helper()
		q.stream = stream
		if q.model == "" {
			q.model = c.native
		}
		a, err := c.ask(t.Context(), url, q)
		if err != nil {
			t.Fatalf("%+v: %v", q, err)
		}
		return a
	}
	if a := ask(question{text: hello}); !strings.Contains(a.text, "offline") || len(a.cities) > 0 || a.output == 0 {
		t.Errorf("text: %+v", a)
	}
	if a := ask(question{text: one, tools: true}); !slices.Equal(a.cities, []string{"Rome"}) {
		t.Errorf("a call: %+v", a)
	}
	if a := ask(question{text: two, tools: true}); !slices.Equal(a.cities, []string{"Rome", "Paris"}) {
		t.Errorf("parallel calls: %+v", a)
	}
	if a := ask(question{text: two, tools: true, result: sunny}); !strings.Contains(a.text, sunny) || len(a.cities) > 0 {
		t.Errorf("results: %+v", a)
	}
	for fault, want := range map[string]int{"+429": 429, "+500": 500, "+401": 401} {
		_, err := c.ask(t.Context(), url, question{model: c.native + fault, text: hello, stream: stream})
		if got := c.status(err); got != want {
			t.Errorf("%s: status %d, %v", fault, got, err)
		}
	}
	// The call arrives as text of a dialect, which no vendor's client reads.
	if a := ask(question{model: strings.Replace(c.native, "native", "hermes_json", 1), text: one, tools: true}); !strings.Contains(a.text, "<tool_call>") {
		t.Errorf("a dialect: %+v", a)
	}
}

func cityOf(args string) string {
	var v struct{ City string }
	if err := json.Unmarshal([]byte(args), &v); err != nil {
		return "not JSON: " + args
	}
	return v.City
}

package provider_test

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/catalog"
	"github.com/toolpost/toolpost/internal/testkit"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/provider"
	"github.com/toolpost/toolpost/sim"
	"github.com/toolpost/toolpost/wire"
)

// The table of switches: a conversation that a model of one vendor began goes on
// with a model of every other, in the middle of a turn and at its end, with
// everything a conversation may hold. The servers are strict: what a vendor's
// documentation forbids, they refuse.

// player is a model whose rules a strict server keeps.
type player struct {
	host
	plays string
	route provider.RouteKind // empty is the native one
}

var players = []player{
	{host{wire.Chat, "openai", "/v1", ""}, "gpt-4o", ""},
	{host{wire.Chat, "openai", "/v1", ""}, "o3", ""},
	{host{wire.Responses, "openai", "/v1", ""}, "gpt-5", ""},
	{host{wire.Responses, "openai", "/v1", ""}, "o3-pro", ""},
	{host{wire.Messages, "anthropic", "/v1", ""}, "claude-3-5-haiku-latest", ""},
	{host{wire.Messages, "anthropic", "/v1", ""}, "claude-sonnet-4-5", ""},
	{host{wire.Messages, "anthropic", "/v1", ""}, "claude-opus-4-7", ""},
	{host{wire.Messages, "bedrock-claude", "", ""}, "claude-sonnet-4-5", ""},
	{host{wire.Gemini, "gemini", "/v1beta", ""}, "gemini-2.5-pro", ""},
	{host{wire.Gemini, "gemini", "/v1beta", ""}, "gemini-3-pro-preview", ""},
	{host{wire.Ollama, "ollama", "/api", "format"}, "qwen3:8b", ""},
	{host{wire.Converse, "bedrock", "", ""}, "claude-sonnet-4-5", ""},
	{host{wire.Converse, "bedrock", "", ""}, "claude-opus-4-7", ""},
	{host{wire.Converse, "bedrock", "", ""}, "nova-2-lite", ""},
	{host{wire.Chat, "openai", "/v1", "response_format"}, "gpt-4o", provider.Constrained},
	{host{wire.Chat, "openai", "/v1", ""}, "gpt-4o", provider.Prompted},
	{host{wire.Responses, "openai", "/v1", "response_format"}, "gpt-5", provider.Constrained},
	{host{wire.Messages, "anthropic", "/v1", ""}, "claude-sonnet-4-5", provider.Prompted},
	{host{wire.Messages, "anthropic", "/v1", "response_format"}, "claude-opus-4-7", provider.Constrained},
	{host{wire.Gemini, "gemini", "/v1beta", ""}, "gemini-3-pro-preview", provider.Prompted},
	{host{wire.Gemini, "gemini", "/v1beta", "response_format"}, "gemini-2.5-pro", provider.Constrained},
	{host{wire.Ollama, "ollama", "/api", "format"}, "qwen3:8b", provider.Constrained},
	{host{wire.Ollama, "ollama", "/api", ""}, "qwen3:8b", provider.Prompted},
	{host{wire.Converse, "bedrock", "", ""}, "claude-sonnet-4-5", provider.Prompted},
	{host{wire.Converse, "bedrock", "", "response_format"}, "nova-2-lite", provider.Constrained},
}

func (p player) String() string {
	return strings.TrimSpace(fmt.Sprintf("%s/%s in %s %s", p.vendor, p.plays, p.wire, p.route))
}

// open opens the model at a strict server. What it can do is what the catalogue
// says of the model it plays.
func (p player) open(t *testing.T, server *httptest.Server, whole bool) llm.Model {
	t.Helper()
	id := p.vendor + "+" + server.URL + p.root + "#sim/native+strict=" + p.plays
	info := catalog.Default().Lookup(p.vendor + "/" + p.plays)
	info.ID, info.Wire, info.NativeTools = catalog.ID{Raw: id}, p.wire, catalog.Answer{Support: catalog.Yes}
	if p.constrain != "" {
		info.Constrain = p.constrain
	}
	client := &provider.Client{HTTP: server.Client(), Whole: whole, Route: p.route, Catalog: catalog.Default().With(info)}
	m, err := client.Open(id)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// extra is something that a conversation holds when the vendor is switched.
type extra struct {
	name string
	ask  func(*llm.Request)
	// part of the user's first message, and of the answer's turn.
	user, assistant []llm.Part
}

var png = []byte("\x89PNG\r\n\x1a\n0000")

var extras = []extra{
	{name: "nothing more"},
	{name: "thinking", ask: func(r *llm.Request) { r.Reasoning = &llm.Reasoning{Effort: "high"} }},
	{name: "counted thinking", ask: func(r *llm.Request) { r.Reasoning = &llm.Reasoning{Tokens: 3000} }},
	{name: "no thinking", ask: func(r *llm.Request) { r.Reasoning = &llm.Reasoning{Off: true} }},
	{name: "an image", user: []llm.Part{llm.Media{Kind: llm.Image, MIME: "image/png", Data: png}}},
	{name: "a document", user: []llm.Part{llm.Media{Kind: llm.Document, MIME: "application/pdf", Name: "report.v1.pdf", Data: []byte("%PDF-1.4")}}},
	{name: "a hosted call", assistant: hostedSearch},
	{name: "cache marks", user: []llm.Part{llm.Text{Text: "Keep this.", Extra: llm.Extra{
		wire.Messages: {"cache_control": json.RawMessage(`{"type":"ephemeral"}`)}, wire.Converse: {"cachePoint": json.RawMessage(`{"type":"default"}`)},
	}}}},
	{name: "sampling", ask: func(r *llm.Request) {
		hot, wide, few := 0.4, 0.8, 20
		r.Temperature, r.TopP, r.TopK = &hot, &wide, &few
	}},
	{name: "no limit", ask: func(r *llm.Request) { r.MaxTokens = 0 }},
	{name: "odd names", ask: func(r *llm.Request) {
		r.Tools = append(r.Tools, llm.ToolDef{Name: "files.read:all", Schema: weather.Schema}, llm.ToolDef{Name: "2nd." + strings.Repeat("x", 90), Schema: weather.Schema})
	}},
	{name: "empty text", assistant: []llm.Part{llm.Text{}}},
}

// hostedSearch is what a vendor that searches by itself leaves in an answer.
var hostedSearch = []llm.Part{
	llm.Call{ID: "srvtoolu_1", Name: llm.WebSearch, Hosted: true, Args: []byte(`{"query":"weather"}`), State: llm.State{Vendor: "anthropic/messages",
		Data: []byte(`{"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{"query":"weather"}}`)}},
	llm.Result{CallID: "srvtoolu_1", Name: llm.WebSearch, Hosted: true, State: llm.State{Vendor: "anthropic/messages",
		Data: []byte(`{"type":"web_search_tool_result","tool_use_id":"srvtoolu_1","content":[]}`)}},
	llm.Text{Text: "I searched."},
}

// caller calls the weather until it has the results, then it answers: with tools
// if it has some, else in the words that its prompt taught it.
func caller(ctx context.Context, req *llm.Request) iter.Seq2[llm.Event, error] {
	if last := req.Messages[len(req.Messages)-1]; last.Role != llm.RoleTool && !strings.Contains(last.Text(), "sunny") {
		return actor(ctx, req)
	}
	plain := req.Clone()
	plain.Messages = []llm.Message{llm.User("thank you")}
	plain.Tools, plain.System = nil, ""
	return actor(ctx, plain)
}

// exchange lets one model call and another speak about the results, and the other
// way round.
func (b extra) exchange(t *testing.T, one, other llm.Model) error {
	req := &llm.Request{Tools: []llm.ToolDef{weather, clock}, MaxTokens: 9000}
	req.Messages = []llm.Message{{Role: llm.RoleUser, Parts: append(slices.Clone(b.user), llm.Text{Text: "The weather in parallel, please."})}}
	if b.ask != nil {
		b.ask(req)
	}
	for _, pair := range [][2]llm.Model{{one, other}, {other, one}} {
		r, err := llm.Generate(t.Context(), pair[0], req)
		if err != nil || len(r.Message.Calls()) != 2 {
			return fmt.Errorf("asking: %d calls, %w", len(r.Message.Calls()), err)
		}
		r.Message.Parts = append(slices.Clone(b.assistant), r.Message.Parts...)
		var results []llm.Result
		for i, c := range r.Message.Calls() {
			parts := []llm.Part{llm.Text{Text: "sunny"}}
			if i == 1 {
				parts = nil // a tool may have nothing to say
			}
			results = append(results, llm.Result{CallID: c.ID, Name: c.Name, Parts: parts, Failed: i == 1})
		}
		req.Messages = append(req.Messages, r.Message, llm.Results(results...))
		if r, err = llm.Generate(t.Context(), pair[1], req); err != nil || !strings.Contains(r.Message.Text(), "warm") {
			return fmt.Errorf("answering: %q, %w", r.Message.Text(), err)
		}
		req.Messages = append(req.Messages, r.Message, llm.User("And again in parallel, please."))
	}
	return nil
}

// No vendor's rule is broken by any switch. Short runs try a quarter of the cells.
func TestTableOfSwitches(t *testing.T) {
	server := serve(t, &sim.Server{Model: llm.ModelFunc(caller)})
	cells := 0
	for i, a := range players {
		one := a.open(t, server, i%2 == 1)
		for k, p := range players {
			other := p.open(t, server, k%2 == 0)
			for n, b := range extras {
				if (a.route+p.route != "" || !testkit.IsLong()) && (i+k+n)%4 != 0 {
					continue // emulated routes have no rules of their own: a quarter each
				}
				cells++
				if err := b.exchange(t, one, other); err != nil {
					t.Errorf("%s to %s, %s: %v", a, p, b.name, err)
				}
			}
		}
	}
	t.Logf("%d cells", cells)
}

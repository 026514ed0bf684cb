package provider_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/catalog"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/provider"
	"github.com/toolpost/toolpost/wire"
)

// TestToolCost: a definition costs what the vendor's own form of it has, which differs
// from vendor to vendor; a model without native tools is told the words alone.
func TestToolCost(t *testing.T) {
	strict := true
	def := llm.ToolDef{Name: "get_weather", Description: "Current weather in a city.", Strict: &strict,
		Schema: []byte(`{"type":"object","properties":{"city":{"type":"string","description":"a city, such as Rome"}},"required":["city"],"additionalProperties":false}`)}
	costs := make(map[string]int)
	for vendor, format := range map[string]string{"openai": wire.Chat, "anthropic": wire.Messages, "gemini": wire.Gemini, "ollama": wire.Ollama} {
		id := vendor + "+http://127.0.0.1:9#model"
		info := catalog.Default().Lookup(id)
		info.NativeTools = catalog.Answer{Support: catalog.Yes}
		m, err := (&provider.Client{Catalog: catalog.Default().With(info)}).Open(id)
		if err != nil {
			t.Fatal(err)
		}
		cost := m.(*provider.Model).ToolCost()
		got := cost(def)
		req := &llm.Request{Messages: []llm.Message{llm.User("?")}, MaxTokens: 1}
		codec := wire.Codec{Format: m.(*provider.Model).Signer()[strings.IndexByte(m.(*provider.Model).Signer(), '/')+1:]}
		if codec.Format != format {
			t.Errorf("%s is asked in %s, not %s: the test compares another form", vendor, codec.Format, format)
		}
		without, _, err := codec.EncodeRequest(req, false)
		if err != nil {
			t.Fatal(err)
		}
		req.Tools = []llm.ToolDef{def}
		with, _, err := codec.EncodeRequest(req, false)
		if err != nil {
			t.Fatal(err)
		}
		want := llm.EstimateText(string(with)) - llm.EstimateText(string(without))
		if got < want*8/10 || got > want*12/10 || cost(def) != got {
			t.Errorf("%s: %d tokens, then %d; its form of the definition has %d", vendor, got, cost(def), want)
		}
		costs[vendor] = got
	}
	if costs["openai"] == costs["anthropic"] {
		t.Errorf("all vendors are taken for one: %v", costs)
	}
	m, err := new(provider.Client).Open("http://127.0.0.1:9/v1#sim/json_fence")
	if err != nil {
		t.Fatal(err)
	}
	if got := m.(*provider.Model).ToolCost()(def); got != llm.EstimateTool(def) {
		t.Errorf("a model that is told in words: %d, want %d", got, llm.EstimateTool(def))
	}
}

func BenchmarkToolCost(b *testing.B) {
	m, err := new(provider.Client).Open("anthropic/claude-opus-4-7")
	if err != nil {
		b.Skip(err)
	}
	defs := make([]llm.ToolDef, 500)
	for i := range defs {
		defs[i] = weather
		defs[i].Name = fmt.Sprint("tool_", i)
	}
	b.ReportAllocs()
	for b.Loop() {
		cost := m.(*provider.Model).ToolCost()
		for _, d := range defs {
			cost(d)
		}
	}
}

package catalog

import "testing"

// benchIDs are ids of every form. No single one decides the figure.
var benchIDs = []string{
	"gpt-4o", "claude-sonnet-4-5-20250929", "us.anthropic.claude-3-5-sonnet-20241022-v2:0", "llama3.3:70b",
	"openrouter/anthropic/claude-3.5-sonnet", "Qwen/Qwen3-235B-A22B-Instruct-2507", "accounts/fireworks/models/deepseek-v3p1",
	"ft:gpt-4o-2024-08-06:acme::abc123", "mistral:7b-instruct-v0.3-q4_K_M", "totally-unknown-model-v2",
}

func BenchmarkParseID(b *testing.B) {
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		ParseID(benchIDs[i%len(benchIDs)])
	}
}

// BenchmarkParseIDAndLookup measures the cost per request in a warm program.
func BenchmarkParseIDAndLookup(b *testing.B) {
	c := Default()
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		id := benchIDs[i%len(benchIDs)]
		ParseID(id)
		c.Lookup(id)
	}
}

// BenchmarkLookupNew is a lookup of a new id.
func BenchmarkLookupNew(b *testing.B) {
	c := Default()
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		c.lookup(benchIDs[i%len(benchIDs)])
	}
}

// BenchmarkLookup is a repeated lookup of an id.
func BenchmarkLookup(b *testing.B) {
	c := Default()
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		c.Lookup(benchIDs[i%len(benchIDs)])
	}
}

// BenchmarkLoad measures the additional cost of a program's first lookup.
func BenchmarkLoad(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := readVocab(namesYAML); err != nil {
			b.Fatal(err)
		}
		if _, err := parseFile("rules.yaml", rulesYAML); err != nil {
			b.Fatal(err)
		}
	}
}

// Package dialect_test compares the reader of dialects with the parsers of
// Ollama on the same streams. It is a module of its own so that the library
// does not depend on what it is compared with.
package dialect_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/ollama/ollama/api"
	"github.com/ollama/ollama/model/parsers"

	"github.com/toolpost/toolpost/dialect"
	"github.com/toolpost/toolpost/llm"
)

// streams are answers that Ollama's parsers read too.
var streams = []struct {
	name, parser string
	make         func(n int) string
}{
	{"text", "qwen3-coder", func(n int) string { return strings.Repeat("The quick brown fox jumps over the lazy dog again. ", n/51) }},
	{"xml", "qwen3-coder", func(n int) string {
		return "<tool_call>\n<function=write_file>\n<parameter=path>\na.txt\n</parameter>\n<parameter=content>\n" +
			strings.Repeat("a line of a file, quite ordinary\n", n/33) + "\n</parameter>\n</function>\n</tool_call>"
	}},
	{"json", "qwen3-vl-instruct", func(n int) string {
		return `<tool_call>{"name":"write_file","arguments":{"path":"a.txt","content":"` + strings.Repeat(`a line of a file, quite ordinary\n`, n/34) + `"}}</tool_call>`
	}},
}

const chunk = 16 // bytes: a few tokens

func chunks(text string, each func(string)) {
	for len(text) > chunk {
		each(text[:chunk])
		text = text[chunk:]
	}
	each(text)
}

func BenchmarkToolpost(b *testing.B) {
	p := dialect.Parser{Tools: []llm.ToolDef{{Name: "write_file", Schema: []byte(`{"type":"object","properties":{"path":{"type":"string"},"content":{"type":"string"}}}`)}}}
	run(b, func(_, text string) int {
		calls := 0
		for ev, err := range p.Parse(dialect.Cut(text, chunk)) {
			if err != nil {
				b.Fatal(err)
			}
			if _, ok := ev.(llm.Call); ok {
				calls++
			}
		}
		return calls
	})
}

func BenchmarkOllama(b *testing.B) {
	tool := api.Tool{Type: "function", Function: api.ToolFunction{Name: "write_file"}}
	run(b, func(name, text string) int {
		p := parsers.ParserForName(name)
		p.Init([]api.Tool{tool}, nil, nil)
		calls := 0
		add := func(s string, done bool) {
			_, _, found, err := p.Add(s, done)
			if err != nil {
				b.Fatal(err)
			}
			calls += len(found)
		}
		chunks(text, func(s string) { add(s, false) })
		add("", true)
		return calls
	})
}

func BenchmarkCopy(b *testing.B) {
	run(b, func(_, text string) int {
		var out strings.Builder
		chunks(text, func(s string) { out.WriteString(s) })
		return 0
	})
}

func run(b *testing.B, read func(parser, text string) int) {
	for _, s := range streams {
		for _, size := range []int{10_000, 100_000} {
			text := s.make(size)
			b.Run(fmt.Sprintf("%s/%d", s.name, size), func(b *testing.B) {
				b.ReportAllocs()
				b.SetBytes(int64(len(text)))
				calls := 0
				for b.Loop() {
					calls = read(s.parser, text)
				}
				b.ReportMetric(float64(calls), "calls")
			})
		}
	}
}

// Package dialect_test compares the reader of dialects with the parsers of
// Ollama on the same streams. It is a module of its own so that the library
// does not depend on what it is compared with.
package dialect_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/ollama/ollama/api"
	"github.com/ollama/ollama/model/parsers"

	"github.com/toolpost/toolpost/dialect"
	"github.com/toolpost/toolpost/llm"
)

// streams are answers that Ollama's parsers read too.
var streams = []struct {
	name, parser string
	calls        int
	make         func(n int) string
}{
	{"text", "qwen3-coder", 0, func(n int) string { return strings.Repeat("The quick brown fox jumps over the lazy dog again. ", n/51) }},
	{"xml", "qwen3-coder", 1, func(n int) string {
		return "<tool_call>\n<function=write_file>\n<parameter=path>\na.txt\n</parameter>\n<parameter=content>\n" +
			strings.Repeat("a line of a file, quite ordinary\n", n/33) + "\n</parameter>\n</function>\n</tool_call>"
	}},
	{"json", "qwen3-vl-instruct", 1, func(n int) string {
		return `<tool_call>{"name":"write_file","arguments":{"path":"a.txt","content":"` + strings.Repeat(`a line of a file, quite ordinary\n`, n/34) + `"}}</tool_call>`
	}},
}

const (
	chunk = 16 // bytes: a few tokens
	turns = 40 // of each reader, in TestRatios
)

var sizes = []int{10_000, 100_000}

func chunks(text string, each func(string)) {
	for len(text) > chunk {
		each(text[:chunk])
		text = text[chunk:]
	}
	each(text)
}

var tools = []llm.ToolDef{{Name: "write_file", Schema: []byte(`{"type":"object","properties":{"path":{"type":"string"},"content":{"type":"string"}}}`)}}

// readers read a stream and return how many calls they found.
var readers = []struct {
	name string
	read func(tb testing.TB, parser, text string) int
}{
	{"Toolpost", readToolpost},
	{"Ollama", readOllama},
	{"Copy", readCopy},
}

func readToolpost(tb testing.TB, _, text string) int {
	p := dialect.Parser{Tools: tools}
	calls := 0
	for ev, err := range p.Parse(dialect.Cut(text, chunk)) {
		if err != nil {
			tb.Fatal(err)
		}
		if _, ok := ev.(llm.Call); ok {
			calls++
		}
	}
	return calls
}

func readOllama(tb testing.TB, parser, text string) int {
	p := parsers.ParserForName(parser)
	p.Init([]api.Tool{{Type: "function", Function: api.ToolFunction{Name: "write_file"}}}, nil, nil)
	calls := 0
	add := func(s string, done bool) {
		_, _, found, err := p.Add(s, done)
		if err != nil {
			tb.Fatal(err)
		}
		calls += len(found)
	}
	chunks(text, func(s string) { add(s, false) })
	add("", true)
	return calls
}

// readCopy only copies the stream: nobody can be faster.
func readCopy(_ testing.TB, _, text string) int {
	var out strings.Builder
	chunks(text, func(s string) { out.WriteString(s) })
	return 0
}

func BenchmarkParsers(b *testing.B) {
	for _, r := range readers {
		for _, s := range streams {
			for _, size := range sizes {
				text := s.make(size)
				b.Run(fmt.Sprintf("%s/%s/%d", r.name, s.name, size), func(b *testing.B) {
					b.ReportAllocs()
					b.SetBytes(int64(len(text)))
					for b.Loop() {
						r.read(b, s.parser, text)
					}
				})
			}
		}
	}
}

// TestRatios prints how many times faster than Ollama's parsers the reader is.
// The readers take turns and the fastest turn of each counts, so that what else
// runs on the machine matters little. It gates nothing.
func TestRatios(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	for _, s := range streams {
		for _, size := range sizes {
			text := s.make(size)
			best := make(map[string]time.Duration)
			for range turns {
				for _, r := range readers {
					start := time.Now()
					calls := r.read(t, s.parser, text)
					took := time.Since(start)
					if r.name != "Copy" && calls != s.calls {
						t.Fatalf("%s found %d calls in %s", r.name, calls, s.name)
					}
					if best[r.name] == 0 || took < best[r.name] {
						best[r.name] = took
					}
				}
			}
			rate := func(name string) float64 { return float64(len(text)) / best[name].Seconds() / 1e6 }
			t.Logf("%-4s %7d bytes: %6.1f MB/s, Ollama %5.1f, %5.1f times; a copy %6.1f", s.name, len(text),
				rate("Toolpost"), rate("Ollama"), rate("Toolpost")/rate("Ollama"), rate("Copy"))
		}
	}
}

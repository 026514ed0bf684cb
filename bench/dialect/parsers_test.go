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
	"github.com/toolpost/toolpost/internal/linear"
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

const turns = 40 // of each reader, in TestRatios

var (
	sizes  = []int{10_000, 100_000}
	chunks = []int{4, 16, 64, 1024} // a token, a few, what proxies and servers put together
)

const tokenSized = 64 // the largest chunk of a few tokens

var tools = []llm.ToolDef{{Name: "write_file", Schema: []byte(`{"type":"object","properties":{"path":{"type":"string"},"content":{"type":"string"}}}`)}}

// readers read a stream and return how many calls they found.
var readers = [4]struct {
	name string
	read func(tb testing.TB, parser, text string, chunk int) int
}{
	{"Toolpost", readToolpost},
	{"Ollama", readOllama},
	{"Events", readEvents},
	{"Copy", readCopy},
}

func readToolpost(tb testing.TB, _, text string, chunk int) int {
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

func readOllama(tb testing.TB, parser, text string, chunk int) int {
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
	for s := range dialect.Cut(text, chunk) {
		add(s, false)
	}
	add("", true)
	return calls
}

// readEvents passes every chunk on as an event and looks at nothing: what an
// event costs, before anything is read.
func readEvents(_ testing.TB, _, text string, chunk int) int {
	for s := range dialect.Cut(text, chunk) {
		last = llm.TextDelta{Text: s}
	}
	return 0
}

var last llm.Event // kept, so that events are made

// readCopy only copies the stream.
func readCopy(_ testing.TB, _, text string, chunk int) int {
	var out strings.Builder
	for s := range dialect.Cut(text, chunk) {
		out.WriteString(s)
	}
	return 0
}

// each calls f for every stream, size and chunk.
func each(f func(name, parser, text string, chunk, calls int)) {
	for _, s := range streams {
		for _, size := range sizes {
			for _, chunk := range chunks {
				f(fmt.Sprintf("%s/%d/%d", s.name, size, chunk), s.parser, s.make(size), chunk, s.calls)
			}
		}
	}
}

func BenchmarkParsers(b *testing.B) {
	for _, r := range readers {
		each(func(name, parser, text string, chunk, _ int) {
			b.Run(r.name+"/"+name, func(b *testing.B) {
				b.ReportAllocs()
				b.SetBytes(int64(len(text)))
				for b.Loop() {
					r.read(b, parser, text, chunk)
				}
			})
		})
	}
}

// TestRatios prints how many times faster than Ollama's parsers the reader is.
// The readers take turns and the fastest turn of each counts, in processor time,
// so that what else runs on the machine matters little: a long turn is
// interrupted more often than a short one. It gates nothing.
func TestRatios(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	t.Log("stream/bytes/chunk    MB/s  Ollama   times  events    copy")
	kinds, all := make(map[string]*total), new(total)
	each(func(name, parser, text string, chunk, want int) {
		one := total{bytes: len(text), took: fastest(t, parser, text, chunk, want)}
		t.Log(one.line(name))
		if chunk <= tokenSized {
			kind, _, _ := strings.Cut(name, "/")
			if kinds[kind] == nil {
				kinds[kind] = new(total)
			}
			kinds[kind].add(one)
			all.add(one)
		}
	})
	t.Logf("all bytes over all time, in chunks of up to %d bytes:", tokenSized)
	for _, s := range streams {
		t.Log(kinds[s.name].line(s.name))
	}
	t.Log(all.line("together"))
}

// total is how long each reader took for some bytes.
type total struct {
	bytes int
	took  [4]time.Duration
}

func (t *total) add(u total) {
	t.bytes += u.bytes
	for i := range t.took {
		t.took[i] += u.took[i]
	}
}

// line returns the rates of the readers in MB/s, and how many times the second
// the first is.
func (t *total) line(name string) string {
	var rates [len(t.took)]float64
	for i, took := range t.took {
		rates[i] = float64(t.bytes) / took.Seconds() / 1e6
	}
	return fmt.Sprintf("%-18s %7.1f %7.1f %7.1f %7.1f %7.1f", name, rates[0], rates[1], rates[0]/rates[1], rates[2], rates[3])
}

// fastest returns the processor time of one reading in the fastest turn of each
// reader.
func fastest(t *testing.T, parser, text string, chunk, want int) (best [4]time.Duration) {
	rounds := max(1, 200_000/len(text)) // enough to be measured
	for turn := range turns {
		for i, r := range readers {
			took := linear.ProcessCPU(func() {
				for range rounds {
					if calls := r.read(t, parser, text, chunk); calls != want && i < 2 {
						t.Fatalf("%s found %d calls, not %d", r.name, calls, want)
					}
				}
			}) / time.Duration(rounds)
			if turn == 0 || took < best[i] {
				best[i] = took
			}
		}
	}
	return best
}

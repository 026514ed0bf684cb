package dialect_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/toolpost/toolpost/dialect"
	"github.com/toolpost/toolpost/llm"
)

// streams are what a model may write for a long time.
var streams = []struct {
	name string
	make func(n int) string
}{
	{"text", func(n int) string {
		return strings.Repeat("The quick brown fox jumps over the lazy dog, and then it is 3 < 4 again. It's fine.\n", n/84+1)[:n]
	}},
	{"json", func(n int) string {
		return `<tool_call>{"name":"write_file","arguments":{"path":"a.txt","content":"` + strings.Repeat(`line of text with \"quotes\" and some words\n`, n/44+1)[:n/44*44] + `"}}</tool_call>`
	}},
	{"xml", func(n int) string {
		return "<tool_call>\n<function=write_file>\n<parameter=path>\na.txt\n</parameter>\n<parameter=content>\n" +
			strings.Repeat("if a < b { return \"x\" } // and more text\n", n/41+1) + "\n</parameter>\n</function>\n</tool_call>"
	}},
	{"python", func(n int) string {
		return `[write_file(path="a.txt", content="` + strings.Repeat(`line of text with \"quotes\" and some words\n`, n/44+1) + `")]`
	}},
	{"thinking", func(n int) string {
		return "<think>" + strings.Repeat("Perhaps I should call <tool_call> or not; {\"name\": 1} is no call. ", n/64+1) + "</think>Done."
	}},
	{"markers", func(n int) string { return strings.Repeat("<tool_call> [TOOL_CALLS] {\"name\": <think ", n/40+1) }},
}

var writeFile = []llm.ToolDef{{Name: "write_file", Schema: []byte(`{"type":"object","properties":{"path":{"type":"string"},"content":{"type":"string"}}}`)}}

func drain(tb testing.TB, text string, chunk int) (events int) {
	p := dialect.Parser{Tools: writeFile}
	for _, err := range p.Parse(dialect.Cut(text, chunk)) {
		if err != nil {
			tb.Fatal(err)
		}
		events++
	}
	return events
}

func BenchmarkParse(b *testing.B) {
	for _, s := range streams {
		text := s.make(1 << 20)
		for _, chunk := range []int{16, 4096} {
			b.Run(fmt.Sprintf("%s/%d", s.name, chunk), func(b *testing.B) {
				b.ReportAllocs()
				b.SetBytes(int64(len(text)))
				events, rounds, start := 0, 0, cpuTime(b)
				for b.Loop() {
					events = drain(b, text, chunk)
					rounds++
				}
				b.ReportMetric(float64(events), "events")
				b.ReportMetric(float64(rounds*len(text))/1e6/(cpuTime(b)-start).Seconds(), "MB/cpu-s")
			})
		}
	}
}

// Ten times the text takes about ten times as long, fed byte by byte too. The
// figures are printed; a busy machine must not fail a test.
func TestLinear(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	for _, s := range streams {
		for _, chunk := range []int{1, 4096} {
			small, large := fastest(t, s.make(20_000), chunk), fastest(t, s.make(200_000), chunk)
			ratio := float64(large) / float64(small)
			t.Logf("%s in chunks of %d: %v for 20 kB, %v for 200 kB, ratio %.1f", s.name, chunk, small, large, ratio)
		}
	}
}

func fastest(t *testing.T, text string, chunk int) time.Duration {
	best := time.Hour
	for range 3 {
		start := time.Now()
		drain(t, text, chunk)
		best = min(best, time.Since(start))
	}
	return best
}

package dialect_test

import (
	"flag"
	"fmt"
	"math"
	"runtime"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/dialect"
	"github.com/toolpost/toolpost/internal/linear"
	"github.com/toolpost/toolpost/internal/testkit"
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
				events, rounds := 0, 0
				took := linear.ProcessCPU(func() {
					for b.Loop() {
						events = drain(b, text, chunk)
						rounds++
					}
				})
				b.ReportMetric(float64(events), "events")
				b.ReportMetric(float64(rounds*len(text))/1e6/took.Seconds(), "MB/cpu-s")
			})
		}
	}
}

// hostile are pieces that, repeated, make a careless reader look at the same
// bytes again: beginnings of calls, quotes that may end a string, white space
// that may be trimmed.
var hostile = []struct{ name, head, unit string }{
	{"brackets", "", "["},
	{"angles", "", "<"},
	{"braces", "", "{"},
	{"keys", "", `{"`},
	{"named keys", "", `{"name":`},
	{"names", "", "write_file\n"},
	{"names with parentheses", "", "write_file(\n"},
	{"fences", "", "```json\n"},
	{"backticks", "", "`"},
	{"spaces", "", " "},
	{"lines", "", "\n"},
	{"bars", "", "<|"},
	{"openers", "", "<tool_call>"},
	{"openers of thinking", "", "<think>"},
	{"thinking", "<think>", "<tool_call>"},
	{"calls in thinking", "<think>", `<tool_call>{"name":"write_file","arguments":{}}</tool_call>`},
	{"thinking after thinking", "", "<think>a</think>"},
	{"headers", "", "<|start|>assistant<|channel|>"},
	{"quotes", `<tool_call>{"name":"write_file","arguments":{"path":"`, `"`},
	{"quotes and commas", `<tool_call>{"name":"write_file","arguments":{"path":"`, `a", `},
	{"backslashes", `<tool_call>{"name":"write_file","arguments":{"path":"`, `\`},
	{"arguments before the name", `<tool_call>{"arguments":{"path":"`, "a "},
	{"angles in JSON", `<tool_call>{"name":"write_file","arguments":{"path":"`, `<`},
	{"markers in JSON", `<tool_call>{"name":"write_file","arguments":{"path":"`, `</tool_call>`},
	{"no JSON", `<tool_call>{"name":"write_file","arguments":x`, `<[]`},
	{"quoted arguments", `<tool_call>{"name":"write_file","arguments":"{\"path\":\"`, `\\n\"`},
	{"angles in an element", "<tool_call><function=write_file><parameter=path>", "<"},
	{"ends in an element", "<tool_call><function=write_file><parameter=path>", "</parameter>x"},
	{"lines in an element", "<tool_call><function=write_file><parameter=path>", "\n"},
	{"spaces in an element", `<invoke name="write_file"><parameter name="path">`, " "},
	{"children", "<write_file>\n<path>", "<path>"},
	{"text between parameters", "<tool_call><function=write_file>", "x"},
	{"parameters", "<tool_call><function=write_file>", "<parameter=path>a</parameter>"},
	{"Python strings", `[write_file(path="`, `" `},
	{"Python lists", `[write_file(path=`, `[`},
	{"Python calls", `[`, `write_file(path="a"), `},
	{"brace strings", `<|tool_call>call:write_file{path:<|"|>`, `<|`},
	{"brace words", `<|tool_call>call:write_file{path:`, "a "},
	{"brace lists", `<|tool_call>call:write_file{path:`, "["},
	{"prints", "", "print("},
	{"Python sets", `[write_file(path=`, `{`},
	{"functions in functions", "<tool_call>", `{"function":`},
	{"calls in calls", "<tool_call>", `{"tool_calls":[`},
	{"separators", "<｜tool▁calls▁begin｜>", "function<｜tool▁sep｜>"},
	{"typed children", `<invoke name="write_file">`, `<parameter name="path" type="dict">`},
	{"elements in elements", "<tool_call><function=write_file><parameters>", "<x>"},
	{"words between markers", "<|tool_calls_section_begin|>", "a <|tool_call_begin|>"},
}

// underRace says that the race detector is on.
var underRace bool

// Each event costs at most two allocations, however long the answer is, and
// text costs as many bytes per event at any length: only arguments are kept.
func TestAllocations(t *testing.T) {
	if underRace {
		t.Skip("the race detector allocates")
	}
	for _, s := range streams[:4] {
		short, long := costs(t, s.make(20_000)), costs(t, s.make(500_000))
		t.Logf("%-6s in chunks of 16: %.2f allocations and %3.0f bytes per event; at 25 times the length %.2f and %3.0f",
			s.name, short.count, short.bytes, long.count, long.bytes)
		if long.count > 2 {
			t.Errorf("%s: %.2f allocations per event", s.name, long.count)
		}
		if s.name == "text" && long.bytes > 1.1*short.bytes {
			t.Errorf("%s: %.0f bytes per event at first, %.0f later", s.name, short.bytes, long.bytes)
		}
	}
}

// cost is what an event costs.
type cost struct{ count, bytes float64 }

func costs(t *testing.T, text string) cost {
	var before, after runtime.MemStats
	drain(t, text, 16)
	runtime.ReadMemStats(&before)
	events := float64(drain(t, text, 16))
	runtime.ReadMemStats(&after)
	return cost{float64(after.Mallocs-before.Mallocs) / events, float64(after.TotalAlloc-before.TotalAlloc) / events}
}

var long = flag.Bool("long", false, "measure longer, and with texts of up to 10 MB; wrap 100,000 calls")

// Text and arguments in the chunks of a fast server. The figures are printed;
// a busy machine must not fail a test.
func TestRates(t *testing.T) {
	for _, s := range streams {
		text := s.make(100_000)
		t.Logf("%-8s in chunks of 4 kB: %6.1f MB/s", s.name, float64(len(text))/1e6/fastest(t, text, 4096))
	}
}

// Reading takes time as the text is long, fed byte by byte too. With -long the
// figures are printed.
func TestLinear(t *testing.T) {
	for _, s := range streams {
		for _, chunk := range []int{1, 4096} {
			grows(t, fmt.Sprintf("%s in pieces of %d", s.name, chunk), writeFile, chunk, 32<<10, s.make)
			if *long {
				t.Logf("%-26s %4d: %s", s.name, chunk, growth(t, s.make, chunk, 10_000_000))
			}
		}
	}
}

// What is hostile is linear too, and no text takes forever.
//
// The short run takes every third of the texts; TOOLPOST_LONG takes all.
func TestHostile(t *testing.T) {
	for i, h := range hostile {
		if i%3 != 0 && !testkit.IsLong() && !*long {
			continue
		}
		for _, chunk := range []int{1, 4096} {
			text := func(n int) string { return h.head + strings.Repeat(h.unit, n/len(h.unit)+1) }
			grows(t, fmt.Sprintf("%s in pieces of %d", h.name, chunk), writeFile, chunk, 8<<10, text)
			if *long {
				t.Logf("%-26s %4d: %s", h.name, chunk, growth(t, text, chunk, 1_000_000))
			}
		}
	}
}

// growth tells how much processor time texts of growing length take, from 1 kB
// to most, and how many times that of the one before.
func growth(t *testing.T, text func(n int) string, chunk, most int) string {
	var out strings.Builder
	last := 0.0
	for size := 1000; size <= most; size *= 10 {
		took := fastest(t, text(size), chunk)
		fmt.Fprintf(&out, "%8.2f ms", took*1e3)
		if last > 0 {
			fmt.Fprintf(&out, " (%4.1f)", took/last)
		}
		last = took
	}
	return fmt.Sprintf("%s, %6.1f MB/s", &out, float64(most)/1e6/last)
}

// fastest returns the seconds of processor time of the fastest of a few turns,
// each long enough to be measured.
func fastest(t *testing.T, text string, chunk int) float64 {
	best := math.Inf(1)
	rounds, turns := max(1, 20_000/len(text)), max(1, min(5, 1_000_000/len(text)))
	if *long {
		turns = max(3, min(100, 10_000_000/len(text)))
	}
	for range turns {
		took := linear.ProcessCPU(func() {
			for range rounds {
				drain(t, text, chunk)
			}
		})
		best = min(best, took.Seconds()/float64(rounds))
	}
	return best
}

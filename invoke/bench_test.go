package invoke_test

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/toolpost/toolpost/invoke"
	"github.com/toolpost/toolpost/journal"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/tool"
)

// yardstick returns how many nanoseconds the SHA-256 of 1,000 bytes takes at the
// moment. A call hashes about 700 bytes: beside this a reader can tell a slow
// machine from slow code.
func yardstick() float64 {
	const rounds = 1000
	var text [1000]byte
	start := time.Now()
	for range rounds {
		sum := sha256.Sum256(text[:])
		text[0] = sum[0]
	}
	return float64(time.Since(start)) / rounds
}

// benchmark runs b.N calls of a trivial tool, one per turn, in sessions of
// 10,000.
func benchmark(b *testing.B, t tool.Tool, open func() journal.Store) {
	r := &invoke.Runner{Tools: tool.MustSet(t)}
	var s *invoke.Session
	before := yardstick()
	defer func() { b.ReportMetric((before+yardstick())/2, "ns/sha256-of-1kB") }()
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		if i%10_000 == 0 {
			rec, err := journal.Open(context.Background(), open(), fmt.Sprintf("run%d", i))
			if err != nil {
				b.Fatal(err)
			}
			if s, err = r.Session(rec); err != nil {
				b.Fatal(err)
			}
		}
		for _, err := range s.Do(b.Context(), []llm.Call{call("", "echo", fmt.Sprintf(`{"text":"hello %d"}`, i))}) {
			if err != nil {
				b.Fatal(err)
			}
		}
	}
}

func BenchmarkTrivialCall(b *testing.B) {
	reading := echo() // with its schema, and nothing to do
	reading.Call = func(context.Context, json.RawMessage) (tool.Output, error) { return tool.Text("hello"), nil }
	writing := reading
	writing.Effects = 0
	b.Run("read-only", func(b *testing.B) {
		benchmark(b, reading, func() journal.Store { return new(journal.Memory) })
	})
	b.Run("with intent", func(b *testing.B) {
		benchmark(b, writing, func() journal.Store { return new(journal.Memory) })
	})
	for name, policy := range map[string]journal.Sync{"JSONL": journal.SyncNone, "JSONL with fsync": journal.SyncAll} {
		b.Run(name, func(b *testing.B) {
			benchmark(b, reading, func() journal.Store {
				d, err := journal.OpenDir(filepath.Join(b.TempDir(), "runs"))
				if err != nil {
					b.Fatal(err)
				}
				d.Sync = policy
				return d
			})
		})
	}
}

// BenchmarkParallelReads reports how much longer 64 reads of 300 ms take side
// by side than one does.
func BenchmarkParallelReads(b *testing.B) {
	slow := doer("slow", tool.ReadOnly, func(context.Context) (string, error) { time.Sleep(300 * time.Millisecond); return "", nil })
	r := &invoke.Runner{Tools: tool.MustSet(slow)}
	for b.Loop() {
		s, _ := session(b, r)
		var calls []llm.Call
		for i := range 64 {
			calls = append(calls, call("", "slow", fmt.Sprintf(`{"text":"%d"}`, i)))
		}
		start := time.Now()
		if _, err := s.Results(b.Context(), calls); err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(time.Since(start).Milliseconds()), "ms")
	}
}

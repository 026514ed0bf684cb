package wire

import (
	"bytes"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/toolpost/toolpost/llm"
	wireformat "github.com/toolpost/toolpost/wire/format"
)

// toolStream is a stream of n chunks that write the arguments of one call.
func toolStream(tb testing.TB, format string, n int) []byte {
	tb.Helper()
	var b bytes.Buffer
	enc := Codec{Format: format}.NewStream(&b, wireformat.Head{ID: "chatcmpl-9x8y7z", Model: "model-x", Created: 1700000000})
	var args strings.Builder
	send := func(ev llm.Event) {
		if err := enc.Write(ev); err != nil {
			tb.Fatal(err)
		}
	}
	send(llm.CallStart{ID: "call_1", Name: "write_file"})
	piece := func(s string) {
		args.WriteString(s)
		send(llm.CallDelta{ID: "call_1", Args: s})
	}
	piece(`{"text":"`)
	for i := range n - 2 {
		piece(fmt.Sprintf("word%d \\n", i))
	}
	piece(`"}`)
	send(llm.Call{ID: "call_1", Name: "write_file", Args: []byte(args.String())})
	send(llm.Finish{Reason: llm.ToolCalls})
	return b.Bytes()
}

func BenchmarkDecodeStream(b *testing.B) {
	for _, format := range []string{Chat, Messages, Responses, Converse} {
		b.Run(format, func(b *testing.B) {
			const n = 4000
			stream := toolStream(b, format, n)
			b.SetBytes(int64(len(stream)))
			b.ReportAllocs()
			for b.Loop() {
				deltas := 0
				for ev, err := range (Codec{Format: format}).DecodeStream(bytes.NewReader(stream)) {
					if err != nil {
						b.Fatal(err)
					}
					if _, ok := ev.(llm.CallDelta); ok {
						deltas++
					}
				}
				if deltas != n {
					b.Fatalf("%d deltas", deltas)
				}
			}
			b.ReportMetric(float64(n*b.N)/b.Elapsed().Seconds(), "chunks/s")
		})
	}
}

// underRace says that the race detector is on.
var underRace bool

// TestAllocations: at most two allocations a chunk.
func TestAllocations(t *testing.T) {
	if underRace {
		t.Skip("the race detector allocates, too; the plain run counts")
	}
	for _, format := range []string{Chat, Messages, Responses} {
		const n = 4000
		stream := toolStream(t, format, n)
		allocs := testing.AllocsPerRun(3, func() {
			for range (Codec{Format: format}).DecodeStream(bytes.NewReader(stream)) {
			}
		})
		t.Logf("%s: %.2f allocations a chunk", format, allocs/n)
		if allocs/n > 2 {
			t.Errorf("%s: %.2f allocations a chunk", format, allocs/n)
		}
	}
}

// TestWritingAStreamAllocatesNothingPerPiece: the room for the body grows a few times, and a piece of text costs nothing more.
func TestWritingAStreamAllocatesNothingPerPiece(t *testing.T) {
	if underRace {
		t.Skip("the race detector allocates, too; the plain run counts")
	}
	for _, format := range Formats() {
		const n = 1000
		var out bytes.Buffer
		allocs := testing.AllocsPerRun(3, func() {
			out.Reset()
			enc := Codec{Format: format}.NewStream(&out, wireformat.Head{ID: "i", Model: "m"})
			for range n {
				_ = enc.Write(llm.TextDelta{Text: "word "})
			}
			_ = enc.Write(llm.Finish{Reason: llm.Stop})
		})
		t.Logf("%s: %.2f allocations a piece", format, allocs/n)
		if allocs/n > 1.5 {
			t.Errorf("%s: %.2f allocations a piece", format, allocs/n)
		}
	}
}

func BenchmarkEncodeStream(b *testing.B) {
	for _, format := range Formats() {
		b.Run(format, func(b *testing.B) {
			b.ReportAllocs()
			var out bytes.Buffer
			for b.Loop() {
				out.Reset()
				enc := Codec{Format: format}.NewStream(&out, wireformat.Head{ID: "i", Model: "m"})
				for range 1000 {
					_ = enc.Write(llm.TextDelta{Text: "word "})
				}
				_ = enc.Write(llm.Finish{Reason: llm.Stop})
			}
		})
	}
}

// textStream is a stream of n chunks of text.
func textStream(tb testing.TB, format string, n int) []byte {
	tb.Helper()
	var b bytes.Buffer
	enc := Codec{Format: format}.NewStream(&b, wireformat.Head{ID: "chatcmpl-9x8y7z", Model: "model-x", Created: 1700000000})
	for range n {
		if err := enc.Write(llm.TextDelta{Text: "some words "}); err != nil {
			tb.Fatal(err)
		}
	}
	if err := enc.Write(llm.Finish{Reason: llm.Stop}); err != nil {
		tb.Fatal(err)
	}
	return b.Bytes()
}

// plainReader hides what else a reader can do, so that io.Copy really copies.
type plainReader struct{ io.Reader }

// BenchmarkRelay compares a relay that passes everything with a copy of the
// bytes, and with decoding and encoding them anew.
func BenchmarkRelay(b *testing.B) {
	for _, format := range Formats() {
		stream := textStream(b, format, 4000)
		c := Codec{Format: format}
		run := func(name string, once func(dst io.Writer, src io.Reader) error) {
			b.Run(format+"/"+name, func(b *testing.B) {
				b.SetBytes(int64(len(stream)))
				b.ReportAllocs()
				var out bytes.Buffer
				for b.Loop() {
					out.Reset()
					if err := once(&out, plainReader{bytes.NewReader(stream)}); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
		run("copy", func(dst io.Writer, src io.Reader) error {
			_, err := io.CopyBuffer(struct{ io.Writer }{dst}, src, make([]byte, 32<<10))
			return err
		})
		run("relay", func(dst io.Writer, src io.Reader) error { return c.Relay(dst, src, nil) })
		run("translate", func(dst io.Writer, src io.Reader) error {
			enc := c.NewStream(dst, wireformat.Head{})
			for ev, err := range c.DecodeStream(src) {
				if err != nil {
					return err
				}
				if err := enc.Write(ev); err != nil {
					return err
				}
			}
			return nil
		})
		run("decode", func(_ io.Writer, src io.Reader) error {
			for _, err := range c.DecodeStream(src) {
				if err != nil {
					return err
				}
			}
			return nil
		})
	}
}

// BenchmarkRequest reads and writes the requests of coding agents, in the format of the client and in another.
func BenchmarkRequest(b *testing.B) {
	files, err := filepath.Glob("testdata/agents/*.txtar")
	if err != nil || len(files) == 0 {
		b.Fatal(err)
	}
	for _, file := range files {
		ar, err := txtar.ParseFile(file)
		if err != nil {
			b.Fatal(err)
		}
		from, body := Codec{Format: ar.Files[0].Name}, ar.Files[0].Data
		name := strings.TrimSuffix(filepath.Base(file), ".txtar")
		b.Run(name+"/decode", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, _, err := from.DecodeRequest(body); err != nil {
					b.Fatal(err)
				}
			}
		})
		req, stream, err := from.DecodeRequest(body)
		if err != nil {
			b.Fatal(err)
		}
		for _, to := range []string{from.Format, Chat, Messages} {
			c := Codec{Format: to}
			req, _ := c.Portable(req)
			b.Run(name+"/"+to, func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					if _, _, err := c.EncodeRequest(req, stream); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

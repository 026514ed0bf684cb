// Package wire compares the codecs with the decoders of the vendors' own SDKs
// on the same bytes. It has a module of its own, so that the library does not
// depend on the SDKs.
package wire

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/anthropics/anthropic-sdk-go"
	anthropicstream "github.com/anthropics/anthropic-sdk-go/packages/ssestream"
	"github.com/openai/openai-go/v3"
	openaistream "github.com/openai/openai-go/v3/packages/ssestream"
	"github.com/openai/openai-go/v3/responses"

	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/wire"
	"github.com/toolpost/toolpost/wire/format"
)

const chunks = 4000

// stream writes one tool call of 4,000 pieces.
func stream(b *testing.B, name string) []byte {
	b.Helper()
	var out bytes.Buffer
	enc := wire.Codec{Format: name}.NewStream(&out, format.Head{ID: "chatcmpl-9x8y7z", Model: "model-x", Created: 1700000000})
	var args strings.Builder
	send := func(ev llm.Event) {
		if err := enc.Write(ev); err != nil {
			b.Fatal(err)
		}
	}
	piece := func(s string) {
		args.WriteString(s)
		send(llm.CallDelta{ID: "call_1", Args: s})
	}
	send(llm.CallStart{ID: "call_1", Name: "write_file"})
	piece(`{"text":"`)
	for i := range chunks - 2 {
		piece(fmt.Sprintf("word%d \\n", i))
	}
	piece(`"}`)
	send(llm.Call{ID: "call_1", Name: "write_file", Args: []byte(args.String())})
	send(llm.Finish{Reason: llm.ToolCalls})
	return out.Bytes()
}

func response(body []byte) *http.Response {
	return &http.Response{
		StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"text/event-stream"}},
		Body: io.NopCloser(bytes.NewReader(body)),
	}
}

// run measures a decoder, which returns the length of the arguments it put
// together.
func run(b *testing.B, format string, decode func(body []byte) (int, error)) {
	body := stream(b, format)
	want := 0
	for i := range chunks - 2 {
		want += len(fmt.Sprintf("word%d \\n", i))
	}
	want += len(`{"text":""}`)
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		got, err := decode(body)
		if err != nil || got != want {
			b.Fatalf("%d of %d bytes of arguments: %v", got, want, err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/chunks, "ns/chunk")
}

// ours decodes to events and keeps the arguments of the call.
func ours(format string) func([]byte) (int, error) {
	return func(body []byte) (int, error) {
		n := 0
		for ev, err := range (wire.Codec{Format: format}).DecodeStream(bytes.NewReader(body)) {
			if err != nil {
				return 0, err
			}
			if call, ok := ev.(llm.Call); ok {
				n += len(call.Args)
			}
		}
		return n, nil
	}
}

func BenchmarkChatToolpost(b *testing.B) { run(b, wire.Chat, ours(wire.Chat)) }

// BenchmarkChatSDK decodes chunks, as the SDK's stream does, and joins the
// arguments. The SDK's accumulator is measured apart.
func BenchmarkChatSDK(b *testing.B) {
	run(b, wire.Chat, func(body []byte) (int, error) {
		s := openaistream.NewStream[openai.ChatCompletionChunk](openaistream.NewDecoder(response(body)), nil)
		var args strings.Builder
		for s.Next() {
			for _, c := range s.Current().Choices {
				for _, t := range c.Delta.ToolCalls {
					args.WriteString(t.Function.Arguments)
				}
			}
		}
		return args.Len(), s.Err()
	})
}

func BenchmarkMessagesToolpost(b *testing.B) { run(b, wire.Messages, ours(wire.Messages)) }

func BenchmarkMessagesSDK(b *testing.B) {
	run(b, wire.Messages, func(body []byte) (int, error) {
		s := anthropicstream.NewStream[anthropic.MessageStreamEventUnion](anthropicstream.NewDecoder(response(body)), nil)
		var args strings.Builder
		for s.Next() {
			args.WriteString(s.Current().Delta.PartialJSON)
		}
		return args.Len(), s.Err()
	})
}

func BenchmarkResponsesToolpost(b *testing.B) { run(b, wire.Responses, ours(wire.Responses)) }

func BenchmarkResponsesSDK(b *testing.B) {
	run(b, wire.Responses, func(body []byte) (int, error) {
		s := openaistream.NewStream[responses.ResponseStreamEventUnion](openaistream.NewDecoder(response(body)), nil)
		n := 0
		for s.Next() {
			if ev := s.Current(); ev.Type == "response.function_call_arguments.delta" {
				n += len(ev.Delta)
			}
		}
		return n, s.Err()
	})
}

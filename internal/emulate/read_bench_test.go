package emulate

import (
	"strings"
	"testing"

	"github.com/toolpost/toolpost/llm"
)

// BenchmarkReadCalls reads answers of text and calls.
func BenchmarkReadCalls(b *testing.B) {
	call := "<tool_call>\n{\"name\": \"pay\", \"arguments\": {\"to\": \"bob\", \"amount\": 5}}\n</tool_call>\n"
	result := llm.Message{Role: llm.RoleTool, Parts: []llm.Part{llm.Result{CallID: "c", Name: "ping", Parts: []llm.Part{llm.Text{Text: "It is late."}}}}}
	for _, s := range []struct {
		name, text string
		messages   []llm.Message
	}{
		{"text", strings.Repeat("The quick brown fox jumps over it. ", 500), nil},
		{"call", call, nil},
		{"calls", strings.Repeat(call, 20), nil},
		{"calls behind a result", strings.Repeat(call, 20), []llm.Message{result}},
	} {
		b.Run(s.name, func(b *testing.B) {
			b.ReportAllocs()
			c := CallReader{Request: &llm.Request{Tools: echoTools, Messages: s.messages}, Tools: echoTools, Dialect: "hermes_json", Taught: true, Promotion: llm.PromoteAll}
			for b.Loop() {
				for range c.Read(say(s.text, 16, llm.Stop)) {
				}
			}
		})
	}
}

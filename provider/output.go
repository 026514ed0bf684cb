package provider

import (
	"iter"

	"github.com/toolpost/toolpost/llm"
)

// emitOutput is the tool with which a model gives its final answer.
const emitOutput = "emit_output"

// OutputWay is how the answer is held to a schema.
type OutputWay string

// The ways to hold an answer to a schema.
const (
	OutputNative   OutputWay = "native"      // by the vendor
	OutputEmit     OutputWay = "emit_output" // as the arguments of a terminal tool
	OutputPrompted OutputWay = "prompted"    // by asking for it
)

func (m *Model) planOutput(j *job) error { return nil }

func (m *Model) readOutput(j *job, req *llm.Request) reader {
	return func(raw iter.Seq2[llm.Event, error]) iter.Seq2[llm.Event, error] { return raw }
}

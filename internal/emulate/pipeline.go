package emulate

import (
	"iter"

	"github.com/toolpost/toolpost/internal/wire/history"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/schema"
)

// Answer describes how the answer to one request is read. Each field is a
// stage, and the zero value of a field leaves its stage out. The order of the
// fields is the order of the stages, from the server to the caller.
//
// [Answer.Pipeline] is the only place that puts stages together. Package
// provider fills in the fields for the route that it plans, [Emulation] for a
// model without tools, and [ReadCalls] for a model of which nothing is known.
// Servers and agents add their own stages as values in Caller.
type Answer struct {
	// Unchecked is for answers of models that no package of ours decodes: a call
	// whose arguments are not JSON becomes invalid.
	Unchecked bool
	// Constrained completes a value that the host held to a schema.
	Constrained Reader
	// Calls reads the calls in the text, and removes calls that are echoes.
	Calls *CallReader
	// Tokens restores the control tokens that were neutralised in the request.
	Tokens Reader
	// Aliases restores the caller's names and ids.
	Aliases *history.Aliases
	// Wrapped are the tools whose arguments had to be put into an object.
	Wrapped map[string]schema.Narrowed
	// Nullable are the tools whose optional parameters had to become nullable.
	Nullable map[string]*schema.Shape
	// Output gives the answer the form that the request asks for, step by step.
	Output []Reader
	// Demands is the request whose demands the answer has to meet, and Op the
	// operation of the error if it does not; see [Keep].
	Demands *llm.Request
	Op      string
	// Caller are the stages of the packages above.
	Caller []Stage
}

// Pipeline returns the stages in order.
func (a Answer) Pipeline() *Pipeline {
	p := &Pipeline{}
	if a.Unchecked {
		p.addReader(rejectBadArguments)
	}
	if a.Constrained != nil {
		p.addReader(eachAnswer(a.Constrained))
	}
	if a.Calls != nil {
		p.addStage(a.Calls.Begin)
	}
	if a.Tokens != nil {
		p.addReader(a.Tokens)
	}
	if a.Aliases != nil {
		p.addReader(a.Aliases.Stream)
	}
	if len(a.Wrapped) > 0 {
		p.addReader(eachAnswer(unwrapArguments(a.Wrapped)))
	}
	if len(a.Nullable) > 0 {
		p.addReader(eachAnswer(dropNulls(a.Nullable)))
	}
	for _, r := range a.Output {
		p.addReader(eachAnswer(r))
	}
	if a.Demands != nil {
		p.addStage(Keep(a.Op, a.Demands))
	}
	for _, s := range a.Caller {
		p.addStage(s)
	}
	return p
}

// Pipeline is the sequence of stages that one answer passes through: readers, and the stages after the last of them.
type Pipeline struct {
	readers []Reader
	stages  []Stage
}

func (p *Pipeline) addStage(s Stage) { p.stages = append(p.stages, s) }

func (p *Pipeline) addReader(r Reader) {
	for _, s := range p.stages {
		p.readers = append(p.readers, s.Read)
	}
	p.readers, p.stages = append(p.readers, r), nil
}

// Read returns the events of an answer after all stages.
func (p *Pipeline) Read(raw iter.Seq2[llm.Event, error]) iter.Seq2[llm.Event, error] {
	return func(yield func(llm.Event, error) bool) {
		source, t := p.Begin(raw, yield)
		defer t.Stop()
		source(t.Take)
		t.End()
	}
}

// Begin is Read for a caller that runs the answer itself, as Read does. Its events then reach out without a function of
// this package between those of raw and those of the caller, which keeps the stack of a stream small.
func (p *Pipeline) Begin(raw iter.Seq2[llm.Event, error], out func(llm.Event, error) bool) (source iter.Seq2[llm.Event, error], t Taker) {
	for _, r := range p.readers {
		raw = r(raw)
	}
	return raw, chainOf(p.stages, out)
}

// Push begins to read an answer whose events are handed over. It reports false if a step is a Reader, which needs a
// coroutine to wait for events.
func (p *Pipeline) Push(out func(llm.Event, error) bool) (Taker, bool) {
	if len(p.readers) > 0 {
		return nil, false
	}
	return chainOf(p.stages, out), true
}

package provider

import (
	"encoding/json"
	"fmt"
	"iter"
	"strings"

	"github.com/toolpost/toolpost/catalog"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/schema"
	"github.com/toolpost/toolpost/wire"
)

// emitOutput is the tool with which a model gives its final answer.
const emitOutput = "emit_output"

// OutputWay is how the answer is held to a schema.
type OutputWay string

// The ways to hold an answer to a schema, from the best to the last resort.
// Whichever is taken, the answer is checked.
const (
	OutputNative      OutputWay = "native"      // by the vendor
	OutputConstrained OutputWay = "constrained" // by the host, with its own field
	OutputEmit        OutputWay = "emit_output" // as the arguments of a terminal tool
	OutputPrompted    OutputWay = "prompted"    // by asking for it
)

// anyObject is the schema of an answer that may be any JSON object.
var anyObject = json.RawMessage(`{"type":"object"}`)

// outputWay chooses how to get an answer that matches a schema.
func (m *Model) outputWay(j *job) (OutputWay, string) {
	req, cond := j.req, m.conditions(j.req)
	tools := len(req.Tools) > 0 && !req.Choice.Forbids()
	if !tools {
		cond &^= catalog.WithTools
	}
	native, feature := m.info.JSONSchema.In(cond), wire.OutputSchema
	if len(req.Output.Schema) == 0 {
		native, feature = m.info.JSONMode.In(cond), wire.OutputAnyJSON
	}
	if !m.format().Has(feature) {
		native = catalog.No
	}
	switch {
	case j.route.Kind != Native && tools:
		return OutputEmit, "the tools are emulated, so the answer is one of them"
	case j.route.Kind != Native && m.info.Constrain != "":
		return OutputConstrained, "the host holds answers to a schema"
	case j.route.Kind != Native:
		return OutputPrompted, "nothing is known to hold the model to a schema"
	case native == catalog.Yes && (!tools || m.vendor.Both):
		return OutputNative, "the vendor holds the model to it"
	case !tools && m.info.Constrain != "":
		return OutputConstrained, "the host holds answers to a schema"
	case tools:
		return OutputEmit, "the vendor cannot hold an answer to a schema while tools are offered"
	case m.forces(j.req) == catalog.Yes:
		return OutputEmit, "a forced call holds the model to the schema"
	}
	return OutputPrompted, "nothing is known to hold the model to a schema"
}

// planOutput asks for an answer that matches the schema of the request.
func (m *Model) planOutput(j *job) error {
	out := j.req.Output
	if out == nil {
		return nil
	}
	if j.req.Choice.Mode == llm.MustCall { // this turn is for calls
		j.req.Output = nil
		return nil
	}
	way, why := m.outputWay(j)
	j.route.Output = way
	j.route.because("output: %s", why)
	n, err := m.client.narrowed.get(outputSchema(out), m.vendor.schemas(), m.strict() || way == OutputConstrained && m.vendor.Strict)
	if err != nil {
		return &llm.Error{Op: m.vendor.Name, Kind: llm.Invalid, Err: fmt.Errorf("the schema of the output: %w", err)}
	}
	if out.Strict && (way == OutputPrompted || len(n.Losses) > 0) {
		return &llm.Error{Op: m.vendor.Name, Kind: llm.Unsupported, Err: fmt.Errorf("%s cannot be held to the schema of the output without weakening it", m.model)}
	}
	for _, loss := range n.Losses {
		j.warn(llm.Degraded, "output", "%s: %s: %s", loss.Path, loss.Keyword, loss.Why)
	}
	switch way {
	case OutputNative:
		m.outputNatively(j, n)
	case OutputConstrained:
		j.output = n
		j.req.Output = nil
		return m.constrainOutput(j, n.Schema)
	case OutputEmit:
		m.emitOutput(j)
	case OutputPrompted:
		j.req.Output = nil
		j.instruct("Answer with one JSON value that matches this JSON Schema, and with nothing else, no explanation and no code fence:\n" + string(outputSchema(out)))
		j.warn(llm.Emulated, "output", "the schema is part of the prompt: %s", why)
	}
	return nil
}

func outputSchema(out *llm.OutputFormat) json.RawMessage {
	if len(out.Schema) == 0 {
		return anyObject
	}
	return out.Schema
}

// outputNatively hands the schema to the vendor.
func (m *Model) outputNatively(j *job, n schema.Narrowed) {
	if len(j.req.Output.Schema) == 0 {
		return
	}
	out := *j.req.Output
	out.Schema, out.Strict = n.Schema, n.Strict
	j.req.Output, j.output = &out, n
}

// emitOutput makes the answer the arguments of a tool.
func (m *Model) emitOutput(j *job) {
	out := j.req.Output
	def := llm.ToolDef{
		Name:        emitOutput,
		Description: strings.TrimSpace("Give the final answer. Call this once, when everything else is done, and call nothing beside it. " + out.Description),
		Schema:      outputSchema(out),
	}
	only := j.req.Choice.Forbids() || len(j.req.Tools) == 0
	j.req.Output = nil
	j.warn(llm.Emulated, "output", "the answer is asked for as the arguments of the tool %s", emitOutput)
	if only {
		j.req.Tools = []llm.ToolDef{def}
		j.req.Choice = llm.ToolChoice{Mode: llm.MustCall, Name: emitOutput}
		return
	}
	j.req.Tools = append(j.req.Tools, def)
	if j.req.Choice.Allowed != nil {
		j.req.Choice.Allowed = append(j.req.Choice.Allowed, emitOutput)
	}
	j.instruct("When you are done, give your final answer by calling the tool " + emitOutput + ". Do not answer in plain text.")
	if j.route.Kind != Native || m.forces(j.req) == catalog.Yes {
		j.req.Choice.Mode = llm.MustCall
	}
}

// instruct adds to the instructions of the request.
func (j *job) instruct(text string) {
	j.req.System = strings.TrimSpace(j.req.System + "\n\n" + text)
}

// readOutput returns the reader that gives the answer the form the caller
// asked for.
func (m *Model) readOutput(j *job, req *llm.Request) reader {
	var shape *schema.Shape
	if req.Output != nil {
		shape = schema.ShapeOf(req.Output.Schema)
	}
	switch {
	case j.route.Output == OutputEmit:
		return readEmitted
	case j.route.Output == OutputPrompted:
		return func(raw iter.Seq2[llm.Event, error]) iter.Seq2[llm.Event, error] { return mapText(raw, unfence) }
	case j.output.Wrapped != "":
		return func(raw iter.Seq2[llm.Event, error]) iter.Seq2[llm.Event, error] {
			return mapText(raw, func(s string) string {
				v, err := j.output.Unwrap(json.RawMessage(s))
				if err != nil {
					return s
				}
				return newNullFilter(shape).next(string(v))
			})
		}
	case j.output.Strict && m.vendor.schemas() == schema.OpenAI:
		return dropTextNulls(shape)
	}
	return func(raw iter.Seq2[llm.Event, error]) iter.Seq2[llm.Event, error] { return raw }
}

// mapText holds the text of an answer back until it is whole, and changes it.
func mapText(raw iter.Seq2[llm.Event, error], change func(string) string) iter.Seq2[llm.Event, error] {
	return func(yield func(llm.Event, error) bool) {
		var text strings.Builder
		flush := func(final bool) bool {
			s := text.String()
			text.Reset()
			if final {
				s = change(s)
			}
			return s == "" || yield(llm.TextDelta{Text: s}, nil)
		}
		for ev, err := range raw {
			if d, ok := ev.(llm.TextDelta); ok && err == nil && !d.About().Refusal {
				text.WriteString(d.Text)
				continue
			}
			_, last := ev.(llm.Finish)
			if (last || err != nil) && !flush(last) {
				return
			}
			if !yield(ev, err) {
				return
			}
		}
	}
}

// unfence takes the code fence, and the words around it, off a JSON value.
func unfence(s string) string {
	trimmed := strings.TrimSpace(s)
	if json.Valid([]byte(trimmed)) {
		return trimmed
	}
	if _, after, ok := strings.Cut(trimmed, "```"); ok {
		body, _, _ := strings.Cut(after, "```")
		if first, rest, ok := strings.Cut(body, "\n"); ok && !strings.ContainsAny(first, "{[\"") {
			body = rest
		}
		if body = strings.TrimSpace(body); json.Valid([]byte(body)) {
			return body
		}
	}
	return s
}

// readEmitted turns the call of the terminal tool into the answer.
func readEmitted(raw iter.Seq2[llm.Event, error]) iter.Seq2[llm.Event, error] {
	return func(yield func(llm.Event, error) bool) {
		e := &emitted{yield: yield}
		for ev, err := range raw {
			if err != nil {
				if e.say(false) {
					yield(nil, err)
				}
				return
			}
			if !e.event(ev) {
				return
			}
		}
	}
}

// emitted is one answer that may end in a call of the terminal tool.
type emitted struct {
	yield  func(llm.Event, error) bool
	id     string // of the terminal call
	answer *llm.Call
	given  int // how often the answer was given
	others int
	text   strings.Builder // what was said before any call
}

func (e *emitted) event(ev llm.Event) bool {
	switch ev := ev.(type) {
	case llm.TextDelta:
		if e.others == 0 && !ev.About().Refusal {
			e.text.WriteString(ev.Text)
			return true
		}
	case llm.CallStart:
		if ev.Name == emitOutput {
			e.id = ev.ID
			return true
		}
		return e.other(ev)
	case llm.CallDelta:
		if ev.ID == e.id {
			return true
		}
	case llm.Call:
		if ev.Name == emitOutput {
			e.answer = &ev
			e.given++
			return true
		}
		return e.other(ev)
	case llm.InvalidCall:
		if ev.Name == emitOutput {
			e.text.WriteString(ev.Raw)
			return true
		}
		return e.other(ev)
	case llm.Finish:
		return e.finish(ev)
	}
	return e.yield(ev, nil)
}

// other passes on a call of another tool, after what was said before it.
func (e *emitted) other(ev llm.Event) bool {
	e.others++
	return e.say(false) && e.yield(ev, nil)
}

// say passes on the text that was held. Before an answer it is thinking, so
// that the text of the message is the answer and nothing else.
func (e *emitted) say(aside bool) bool {
	s := e.text.String()
	e.text.Reset()
	switch {
	case s == "":
		return true
	case aside:
		return e.yield(llm.ThinkingDelta{Text: s}, nil)
	}
	return e.yield(llm.TextDelta{Text: s}, nil)
}

func (e *emitted) finish(f llm.Finish) bool {
	if e.given > 1 {
		w := llm.Warning{Code: llm.Ignored, Feature: "output", Detail: "the model gave its answer more than once; the last one counts"}
		if !e.yield(w, nil) {
			return false
		}
	}
	switch {
	case e.answer != nil && e.others == 0:
		f.Reason = llm.Stop
		return e.say(true) && e.yield(llm.TextDelta{Text: string(e.answer.Args)}, nil) && e.yield(f, nil)
	case e.answer != nil:
		w := llm.Warning{Code: llm.Ignored, Feature: "output", Detail: "the model gave its answer beside calls; the calls come first, and the answer has to be given again"}
		return e.yield(w, nil) && e.yield(f, nil)
	}
	text := unfence(e.text.String())
	e.text.Reset()
	e.text.WriteString(text)
	return e.say(false) && e.yield(f, nil)
}

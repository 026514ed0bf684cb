package provider

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/toolpost/toolpost/catalog"
	"github.com/toolpost/toolpost/emulate"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/schema"
	"github.com/toolpost/toolpost/wire"
)

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

// outputWay chooses how to get an answer that matches a schema.
func (m *Model) outputWay(j *job) (OutputWay, string) {
	req, cond := j.req, m.conditions(j.req)
	tools := len(req.Tools) > 0 && !req.Choice.Forbids() && j.route.Kind != Text
	if !tools {
		cond &^= catalog.WithTools
	}
	native, feature := m.info.JSONSchema.In(cond), wire.OutputSchema
	if len(req.Output.Schema) == 0 {
		native, feature = m.info.JSONMode.In(cond), wire.OutputAnyJSON
	}
	if !m.has(feature) || m.vendor.Options["output"] == Degraded || m.mustClose(req.Output.Schema) {
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

// mustClose reports whether the vendor would hold an answer only to a schema whose objects are all
// closed, which this one cannot be: "additionalProperties must be explicitly set to false".
func (m *Model) mustClose(s schema.Schema) bool {
	return len(s) > 0 && m.vendor.schemas() == schema.Anthropic && m.closesOutput() && !m.client.narrowed.get(s, schema.Anthropic, true).Strict
}

// closesOutput reports whether answers are held to schemas of the vendor's strict mode: where it has one, and where it takes
// no others.
func (m *Model) closesOutput() bool {
	return m.strict() || m.bounds().ClosedOutput && m.vendor.schemas() == schema.Anthropic && m.info.JSONSchema.Support == catalog.Yes
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
	if j.asIs && m.maybeHeld(j) {
		j.route.Output = OutputNative
		return nil
	}
	way, why := m.outputWay(j)
	j.route.Output = way
	j.route.because("output: %s", why)
	strict := !schema.AnyObject(emulate.OutputSchema(out)) && (m.closesOutput() || way == OutputConstrained && m.vendor.Strict) // else nothing is weakened
	n := m.client.narrowed.get(emulate.OutputSchema(out), m.vendor.schemas(), strict)
	if n.err != nil {
		return &llm.Error{Op: m.vendor.Name, Kind: llm.Invalid, Err: fmt.Errorf("the schema of the output: %w", n.err)}
	}
	if out.Strict && (way == OutputPrompted || len(n.Losses) > 0) {
		if !m.client.StrictByCheck {
			return &llm.Error{Op: m.vendor.Name, Kind: llm.Unsupported, Err: fmt.Errorf("%s cannot be held to the schema of the output without weakening it", m.model)}
		}
		j.warn(llm.Degraded, "output", "%s cannot be held to all of the strict schema: the answer is checked, and is an error if it does not match", m.model)
	}
	for _, loss := range n.Losses {
		j.warn(llm.Degraded, "output", "%s: %s: %s", cmp.Or(loss.Path, "schema"), loss.Keyword, loss.Why)
	}
	return m.askOutput(j, way, n.Narrowed)
}

// maybeHeld reports whether the vendor may hold the model to the schema of a request that is
// sent as it is: its format can say it, nobody knows better, and the schema needs no change.
func (m *Model) maybeHeld(j *job) bool {
	out, support, feature := j.req.Output, m.info.JSONSchema, wire.OutputSchema
	if len(out.Schema) == 0 {
		support, feature = m.info.JSONMode, wire.OutputAnyJSON
	}
	if support.In(m.conditions(j.req)) == catalog.No || !m.has(feature) || m.vendor.Options["output"] == Degraded {
		return false
	}
	n := m.client.narrowed.get(emulate.OutputSchema(out), m.vendor.schemas(), out.Strict && !schema.AnyObject(out.Schema))
	return n.err == nil && len(n.Losses) == 0 && n.Wrapped == ""
}

// askOutput asks for the answer in one of the ways.
func (m *Model) askOutput(j *job, way OutputWay, n schema.Narrowed) error {
	if way == OutputNative || way == OutputConstrained {
		m.narrowOutput(j, n)
	}
	switch {
	case way == OutputPrompted:
		j.answer = emulate.AnswerByPrompt(j.req)
		j.warn(llm.Emulated, "output", "the schema is part of the prompt: nothing is known to hold the model to a schema")
	case j.route.Kind != Native: // the answer is emulated together with the tools
	case way == OutputEmit:
		j.answer = emulate.AnswerByTool(j.req, m.forces(j.req) == catalog.Yes)
		j.warn(llm.Emulated, "output", "the answer is asked for as the arguments of the tool %s", emulate.FinalTool)
	case way == OutputConstrained:
		e := emulate.Emulation{Size: m.info.ID.Size, Host: m.host()}
		read, losses, err := e.AnswerBySchema(j.req)
		if err != nil {
			return err
		}
		for _, l := range losses {
			j.warn(llm.Degraded, "output", "%s: %s: %s", l.Path, l.Keyword, l.Why)
		}
		j.reads(emulate.EachAnswer(read))
	}
	return nil
}

// narrowOutput has the answer held to a schema that the vendor accepts.
func (m *Model) narrowOutput(j *job, n schema.Narrowed) {
	if len(j.req.Output.Schema) == 0 {
		return
	}
	out := *j.req.Output
	out.Schema, out.Strict = n.Schema, n.Strict
	j.req.Output, j.output = &out, n
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
	case j.answer != nil:
		return j.answer
	case j.output.Wrapped != "":
		return emulate.WholeText(func(s string) string {
			v, err := j.output.Unwrap(json.RawMessage(s))
			if err != nil {
				return s
			}
			return newNullFilter(shape).next(string(v))
		})
	case j.output.Strict && m.vendor.schemas() == schema.OpenAI:
		return dropTextNulls(shape)
	}
	return nil
}

package provider

import (
	"cmp"

	"github.com/toolpost/toolpost/catalog"
	"github.com/toolpost/toolpost/internal/emulate"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/schema"
	"github.com/toolpost/toolpost/wire/format"
)

// outputWay chooses how to get an answer that matches a schema.
func (p planner) outputWay() (string, string) {
	req, cond := p.req, p.conditions(p.req)
	tools := len(req.Tools) > 0 && !req.Choice.Forbids() && p.route.Kind != Text
	if !tools {
		cond &^= catalog.WithTools
	}
	native, feature := p.info.JSONSchema.In(cond), format.OutputSchema
	if len(req.Output.Schema) == 0 {
		native, feature = p.info.JSONMode.In(cond), format.OutputAnyJSON
	}
	if !p.has(feature) || p.vendor.Options["output"] == Degraded || p.mustClose(req.Output.Schema) {
		native = catalog.No
	}
	switch {
	case p.route.Kind != Native && tools:
		return outputEmit, "the tools are emulated, so the answer is one of them"
	case p.route.Kind != Native && p.info.Constrain != "":
		return outputConstrained, "the host holds answers to a schema"
	case p.route.Kind != Native:
		return outputPrompted, "nothing is known to hold the model to a schema"
	case native == catalog.Yes && (!tools || p.vendor.Both):
		return outputNative, "the vendor holds the model to it"
	case !tools && p.info.Constrain != "":
		return outputConstrained, "the host holds answers to a schema"
	case tools:
		return outputEmit, "the vendor cannot hold an answer to a schema while tools are offered"
	case p.forces(p.req) == catalog.Yes:
		return outputEmit, "a forced call holds the model to the schema"
	}
	return outputPrompted, "nothing is known to hold the model to a schema"
}

// mustClose reports whether the vendor would hold an answer only to a schema whose objects are all
// closed, which this one cannot be: "additionalProperties must be explicitly set to false".
func (p planner) mustClose(s schema.Schema) bool {
	return len(s) > 0 && p.vendor.schemas() == schema.Anthropic && p.closesOutput() && !p.client.narrowed.get(s, schema.Anthropic, true).Strict
}

// closesOutput reports whether answers are held to schemas of the vendor's strict mode: where it has one, and where it takes
// no others.
func (p planner) closesOutput() bool {
	return p.strict() || p.bounds().ClosedOutput && p.vendor.schemas() == schema.Anthropic && p.info.JSONSchema.Support == catalog.Yes
}

// outputSchema asks for an answer that matches the schema of the request.
func (p planner) outputSchema() {
	out := p.req.Output
	if out == nil {
		return
	}
	if p.req.Choice.Mode == llm.MustCall { // this turn is for calls
		p.req.Output = nil
		return
	}
	if p.asIs && p.maybeHeld() {
		p.route.Output = outputNative
		return
	}
	way, why := p.outputWay()
	p.route.Output = way
	p.route.because("output: %s", why)
	strict := !schema.AnyObject(emulate.OutputSchema(out)) && (p.closesOutput() || way == outputConstrained && p.vendor.Strict) // else nothing is weakened
	n := p.client.narrowed.get(emulate.OutputSchema(out), p.vendor.schemas(), strict)
	if n.err != nil {
		p.refuse(llm.Invalid, p.vendor.Name, "the schema of the output: %w", n.err)
		return
	}
	if out.Strict && (way == outputPrompted || len(n.Losses) > 0) {
		if !p.client.StrictByCheck {
			p.refuse(llm.Unsupported, p.vendor.Name, "%s cannot be held to the schema of the output without weakening it", p.model)
			return
		}
		p.warn(llm.Degraded, "output", "%s cannot be held to all of the strict schema: the answer is checked, and is an error if it does not match", p.model)
	}
	for _, loss := range n.Losses {
		p.warn(llm.Degraded, "output", "%s: %s: %s", cmp.Or(loss.Path, "schema"), loss.Keyword, loss.Why)
	}
	p.askOutput(way, n.Narrowed)
}

// maybeHeld reports whether the vendor may hold the model to the schema of a request
// that is sent unchanged: the format can express it, the catalogue does not deny it,
// and the schema needs no change.
func (p planner) maybeHeld() bool {
	out, support, feature := p.req.Output, p.info.JSONSchema, format.OutputSchema
	if len(out.Schema) == 0 {
		support, feature = p.info.JSONMode, format.OutputAnyJSON
	}
	if support.In(p.conditions(p.req)) == catalog.No || !p.has(feature) || p.vendor.Options["output"] == Degraded {
		return false
	}
	n := p.client.narrowed.get(emulate.OutputSchema(out), p.vendor.schemas(), out.Strict && !schema.AnyObject(out.Schema))
	return n.err == nil && len(n.Losses) == 0 && n.Wrapped == ""
}

// askOutput asks for the answer in one of the ways.
func (p planner) askOutput(way string, n schema.Narrowed) {
	if (way == outputNative || way == outputConstrained) && len(p.req.Output.Schema) > 0 {
		out := *p.req.Output
		out.Schema, out.Strict = n.Schema, n.Strict
		p.req.Output, p.output = &out, n
	}
	switch {
	case way == outputPrompted:
		p.answer.Output = []emulate.Reader{emulate.AnswerByPrompt(p.req)}
		p.warn(llm.Emulated, "output", "the schema is part of the prompt: nothing is known to hold the model to a schema")
	case p.route.Kind != Native: // the answer is emulated together with the tools
	case way == outputEmit:
		p.answer.Output = []emulate.Reader{emulate.AnswerByTool(p.req, p.forces(p.req) == catalog.Yes)}
		p.warn(llm.Emulated, "output", "the answer is asked for as the arguments of the tool %s", emulate.FinalTool)
	case way == outputConstrained:
		e := emulate.Emulation{Size: p.info.ID.Size, Host: constraint{p.info.Constrain, *p.format()}.host()}
		read, losses, err := e.AnswerBySchema(p.req)
		if err != nil {
			p.err = err
			return
		}
		for _, l := range losses {
			p.warn(llm.Degraded, "output", "%s: %s: %s", l.Path, l.Keyword, l.Why)
		}
		p.answer.Constrained = read
	}
}

// readOutput reverts the changes to the schema of the answer.
func (p planner) readOutput() {
	if p.asked.Output == nil {
		return
	}
	shape := schema.ShapeOf(p.asked.Output.Schema)
	switch {
	case p.output.Wrapped != "":
		p.answer.Output = append(p.answer.Output, emulate.UnwrapOutput(p.output, shape))
	case p.output.Strict && p.vendor.schemas() == schema.OpenAI:
		p.answer.Output = append(p.answer.Output, emulate.DropNulls(shape))
	}
}

// checkAnswer holds the answer to the demands of the request. A client that wrote the
// request for this vendor gets a second call of its answer, with a warning, even if
// it asked for one.
func (p planner) checkAnswer() {
	demands := p.asked
	if p.asIs && p.asked.OneCall {
		several := *p.asked
		several.OneCall = false
		demands = &several
	}
	p.answer.Demands, p.answer.Op = demands, p.vendor.Name
}

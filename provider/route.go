package provider

import (
	"fmt"
	"strings"

	"github.com/toolpost/toolpost/catalog"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/wire/format"
)

// Route is how a request is asked.
type Route struct {
	Kind RouteKind `json:"kind"`
	Wire string    `json:"wire"`
	// Constrain is the field with which the host forces output to fit a
	// schema, for Constrained.
	Constrain string `json:"constrain,omitempty"`
	// Style is the notation that is taught, and Dialect the notation that is expected
	// in text.
	Style   string `json:"style,omitempty"`
	Dialect string `json:"dialect,omitempty"`
	// Output is how the answer is held to a schema; empty if none is asked.
	Output string `json:"output,omitempty"`
	// Promotion is which text may become a call; empty if no tools are
	// offered.
	Promotion llm.Promotion `json:"text_calls,omitempty"`
	// Why gives the reasons, one sentence each.
	Why []string `json:"why"`

	promoted string // why Promotion
	explains bool   // somebody wants to know why
}

// String says the route in one line.
func (r Route) String() string {
	words := []string{string(r.Kind), "over", r.Wire}
	for _, w := range []struct{ label, value string }{{"constrained by", r.Constrain}, {"style", r.Style}, {"dialect", r.Dialect}, {"output", string(r.Output)}} {
		if w.value != "" {
			words = append(words, w.label, w.value)
		}
	}
	return strings.Join(words, " ")
}

// because gives a reason, if somebody wants to know.
func (r *Route) because(format string, args ...any) {
	if !r.explains {
		return
	}
	r.Why = append(r.Why, fmt.Sprintf(format, args...))
}

// conditions are the circumstances of a request that may take a capability
// away.
func (m *Model) conditions(req *llm.Request) catalog.Condition {
	var c catalog.Condition
	if thinks(req) {
		c |= catalog.Thinking
	}
	if len(req.Tools) > 0 {
		c |= catalog.WithTools
	}
	if !m.client.Whole {
		c |= catalog.Streaming
	}
	return c
}

// thinks reports whether a request asks the model to think.
func thinks(req *llm.Request) bool { return req.Reasoning != nil && !req.Reasoning.Off }

// choose picks the way for a request.
func (m *Model) choose(req *llm.Request, r *Route) {
	r.Wire, r.Dialect, r.Style, r.explains = m.wire, m.info.Dialect, m.client.Style, m.explains
	native := m.info.NativeTools.In(m.conditions(req) &^ catalog.WithTools)
	lesson, refused := m.client.learned.about(m.key())
	switch {
	case len(req.Tools) == 0 && native == catalog.Yes && !refused:
		r.Kind = Native
		r.because("no tools are offered")
	case len(req.Tools) == 0:
		r.Kind = Text
		r.because("no tools are offered, and the model may not know the roles of tools")
	case m.client.Route != "":
		r.Kind = m.client.Route
		r.because("the client demands it")
	case refused:
		m.emulated(r)
		r.because("the vendor said: %s", lesson)
	case native == catalog.Yes && m.forcesBySchema(req):
		r.Kind = Constrained
		r.because("the vendor cannot force a call, but its host holds answers to a schema%s", m.rule("constrained_output"))
	case native == catalog.Yes:
		r.Kind = Native
		r.because("the catalogue says that the model calls tools%s", m.rule("native_tools"))
	default:
		m.emulated(r)
		r.because("native tools: %s%s", native, m.rule("native_tools"))
	}
	if m.facts != nil {
		r.Why = append(r.Why, m.facts.why...)
	}
	if m.moved != "" {
		r.because("%s", m.moved)
	}
	if r.Kind == Constrained {
		r.Constrain = m.info.Constrain
	}
}

// forcesBySchema reports whether a call that the vendor cannot force is better
// had from a schema. While a model thinks, a schema would stop it from ending
// its thoughts.
func (m *Model) forcesBySchema(req *llm.Request) bool {
	return req.Choice.Mode == llm.MustCall && m.info.Constrain != "" && !thinks(req) && m.forces(req) == catalog.No
}

// forces reports whether the vendor can force a call in such a request.
func (m *Model) forces(req *llm.Request) catalog.Support {
	if !m.has(format.ChoiceRequired) {
		return catalog.No
	}
	return m.info.ToolChoiceRequired.In(m.conditions(req))
}

// emulated chooses between the emulations.
func (m *Model) emulated(r *Route) {
	r.Kind = Prompted
	if m.info.Constrain != "" {
		r.Kind = Constrained
		r.because("the host holds answers to a schema%s", m.rule("constrained_output"))
	}
}

// rule names the rule of the catalogue that gave a value.
func (m *Model) rule(field string) rule { return rule{m, field} }

// rule is looked for when it is said.
type rule struct {
	model *Model
	field string
}

func (r rule) String() string {
	for _, w := range r.model.info.Explain() {
		if w.Field == r.field && w.Rule != "" {
			return fmt.Sprintf(" (rule %s)", w.Rule)
		}
	}
	return ""
}

// outputWay is how the answer is held to a schema.
type outputWay = string

// The ways to hold an answer to a schema, from the best to the last resort.
// Whichever is taken, the answer is checked.
const (
	outputNative      outputWay = "native"      // by the vendor
	outputConstrained outputWay = "constrained" // by the host, with its own field
	outputEmit        outputWay = "emit_output" // as the arguments of a terminal tool
	outputPrompted    outputWay = "prompted"    // by asking for it
)

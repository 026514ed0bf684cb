package provider

import (
	"slices"

	"github.com/toolpost/toolpost/catalog"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/wire"
)

// planChoice does what the vendor cannot do about the choice of tools: it
// withholds what must not be called, and asks for what must be.
func (m *Model) planChoice(j *job) {
	if len(j.req.Tools) == 0 {
		return
	}
	ch := j.req.Choice
	switch {
	case ch.Forbids() && (m.vendor.NoNone || !m.has(wire.ChoiceNone)):
		j.req.Tools, j.req.Choice = nil, llm.ToolChoice{}
		j.warn(llm.Degraded, "tool_choice.none", "%s may not honour it; the tools are withheld", m.vendor.Name)
		return
	case ch.Forbids():
		j.req.Choice = llm.ToolChoice{Mode: llm.MustNotCall}
		return
	case ch.Allowed != nil && (m.vendor.NoAllowed || !m.has(wire.ChoiceAllowed)):
		m.withhold(j, ch.Allowed)
	}
	if ch.Mode == llm.MustCall && m.forces(j.req) == catalog.No {
		m.demand(j)
	}
	if j.req.OneCall && (!m.has(wire.OneCall) || m.vendor.Quirks.NoParallel) {
		j.req.OneCall = false
		j.warn(llm.Emulated, "one_call", "%s cannot be held to one call; only the first counts", m.vendor.Name)
	}
}

// withhold offers only the tools that may be called.
func (m *Model) withhold(j *job, allowed []string) {
	n := len(j.req.Tools)
	j.req.Tools = slices.DeleteFunc(j.req.Tools, func(t llm.ToolDef) bool {
		return t.Kind != llm.HostedTool && !slices.Contains(allowed, t.Name)
	})
	j.req.Choice.Allowed = nil
	if len(j.req.Tools) < n {
		j.warn(llm.Degraded, "tool_choice.allowed", "%s cannot be told which tools are allowed; the others are withheld", m.vendor.Name)
	}
}

// demand asks for a call where the vendor cannot force one, at all or while
// the model thinks. Whether it came is checked.
func (m *Model) demand(j *job) {
	name := j.req.Choice.Name
	text := "You must answer with a call of one of the tools, not with text."
	if name != "" {
		m.withhold(j, []string{name})
		text = "You must answer with a call of the tool " + name + ", not with text."
	}
	j.req.Choice.Mode, j.req.Choice.Name = llm.MayCall, ""
	j.instruct(text)
	why := "cannot force a call"
	if thinks(j.req) {
		why = "cannot force a call while the model thinks"
	}
	j.warn(llm.Emulated, "tool_choice", "%s %s; it is asked for one, and the answer is checked", m.vendor.Name, why)
}

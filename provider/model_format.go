package provider

import (
	"slices"

	"github.com/toolpost/toolpost/llm"
)

// For returns the model as a request of a client is asked: in the client's format, if the vendor serves the model in it,
// and in a format whose hosted tools it runs, if the request has some that it does not run otherwise. A format in the id
// of the model, and one that the catalogue sets for it, stay.
func (m *Model) For(format string, req *llm.Request) *Model {
	return m.in(format).forTools(req.Tools)
}

// in returns the model as it is asked in a format, and the model itself if it is not served in it.
func (m *Model) in(format string) *Model {
	if !m.servedIn(format) {
		return m
	}
	if known, ok := m.settled.formats.Load(format); ok {
		return known.(*Model)
	}
	out := *m
	out.wire = format
	out.settle()
	known, _ := m.settled.formats.LoadOrStore(format, &out)
	return known.(*Model)
}

// servedIn reports whether a model can be asked in another format than the one that was chosen for it. At another address
// than the vendor's own that is not known.
func (m *Model) servedIn(format string) bool {
	return format != m.wire && !m.vendor.moved && slices.Contains(m.vendor.Wires, format) && m.info.RuleOf("wire") == "default" && m.wire != m.info.ThinkingWire
}

// forTools returns the model in the first format in which it runs all hosted tools, and the model itself if there is none.
func (m *Model) forTools(tools []llm.ToolDef) *Model {
	lacks := func(m *Model) bool {
		return slices.ContainsFunc(tools, func(def llm.ToolDef) bool { return def.Kind == llm.HostedTool && m.runsHosted(def) != nil })
	}
	if !lacks(m) {
		return m
	}
	for _, format := range m.vendor.Wires {
		if other := m.in(format); other != m && !lacks(other) {
			return other
		}
	}
	return m
}

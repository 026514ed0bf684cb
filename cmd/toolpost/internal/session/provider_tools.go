package session

import (
	"errors"
	"fmt"
	"slices"

	"github.com/toolpost/toolpost/agent"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/cli"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/settings"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/provider"
	"github.com/toolpost/toolpost/tool"
)

// vendorTools are the tools that vendors run themselves.
var vendorTools = []string{llm.WebSearch, "web_fetch", "code_execution"}

// ProviderTools returns the tools that the vendor, a server or we could run, each with its lane. It adds vendors' tools
// that the setting does not name only if the run has a matching tool.
func (w *Session) ProviderTools() ([]agent.ProviderTool, error) {
	c, err := settings.ParseLanes(w.Lanes)
	if err != nil {
		return nil, err
	}
	// Tools that a vendor runs need no approval. They are chosen automatically only if the user allows network access
	// or sets the lanes.
	free := w.Sources["lanes"] != "" || slices.Contains(w.Allow, "net")
	out := slices.Clone(c.Tools)
	for i := range out {
		if out[i].Own != "" {
			own, ok := w.ToolSet.Lookup(out[i].Own)
			if !ok {
				return nil, fmt.Errorf("lanes: no tool is called %s%s", out[i].Own, cli.DidYouMean(out[i].Own, w.ToolSet.Names()))
			}
			out[i].Lane = agent.LaneLocal
			if own.Origin == tool.MCP {
				out[i].Lane = agent.LaneMCP
			}
		}
	}
	for _, name := range vendorTools {
		named := slices.ContainsFunc(out, func(t agent.ProviderTool) bool { return t.Name == name })
		if !named && hasToolOf(w.ToolSet, name) {
			out = append(out, agent.ProviderTool{Name: name, Lane: c.Overall, Uncontrolled: free})
		}
	}
	for i := range out {
		out[i].Uncontrolled = free
	}
	return out, nil
}

// hasToolOf reports whether a set has a replacement for a vendor's tool.
func hasToolOf(set *tool.Set, name string) bool {
	for t := range set.All() {
		if t.Name == name || t.Source != "" && t.Name == t.Source+"__"+name {
			return true
		}
	}
	return false
}

// hostedSupport reports why the provider of a model does not run a tool itself, or nil if it does. It assumes support
// if the user named the tool for a server explicitly.
func (w *Session) hostedSupport(tools []agent.ProviderTool) func(id string, def llm.ToolDef) error {
	return func(id string, def llm.ToolDef) error {
		m := w.Opened
		if id != w.Found.ID {
			var err error
			if m, err = w.client.Open(id); err != nil {
				return err
			}
		}
		own, ok := m.(*provider.Model)
		if !ok {
			return errors.New("the model is one of this program, which runs no tools itself")
		}
		if slices.ContainsFunc(tools, func(t agent.ProviderTool) bool { return t.Name == def.Name && t.Lane == agent.LaneNative }) {
			return own.Expresses(def)
		}
		return own.RunsHosted(def)
	}
}

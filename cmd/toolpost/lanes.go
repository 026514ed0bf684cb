package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/toolpost/toolpost/agent"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/cli"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/provider"
	"github.com/toolpost/toolpost/tool"
)

const lanesUsage = "who runs a tool that several could run: `LANE` or TOOL=LANE, where LANE is auto, native (the vendor), mcp, local or never; may be repeated"

// vendorTools are the tools that vendors run themselves.
var vendorTools = []string{llm.WebSearch, "web_fetch", "code_execution"}

// laneChoice selects who runs tools that several parties could run.
type laneChoice struct {
	overall agent.Lane
	tools   []agent.ProviderTool // the named tools, in order
}

// parseLanes parses the words of the setting: LANE for all tools, TOOL=LANE for one tool, TOOL=NAME to replace the
// vendor's tool by the tool NAME.
func parseLanes(words []string) (laneChoice, error) {
	c := laneChoice{overall: agent.LaneAuto}
	for _, word := range words {
		name, value, one := strings.Cut(word, "=")
		if !one {
			lane, err := agent.ParseLane(word)
			if err != nil || word == "" {
				return c, fmt.Errorf("%q is none of auto, native, mcp, local and never, and has no TOOL= before it", word)
			}
			c.overall = lane
			continue
		}
		t := agent.ProviderTool{Name: strings.TrimSpace(name)}
		if !tool.ValidName(t.Name) {
			return c, fmt.Errorf("%q names no tool", name)
		}
		if slices.ContainsFunc(c.tools, func(o agent.ProviderTool) bool { return o.Name == t.Name }) {
			return c, fmt.Errorf("%s is named twice", t.Name)
		}
		lane, err := agent.ParseLane(value)
		switch {
		case value == "":
			return c, fmt.Errorf("%s= says nothing", t.Name)
		case err == nil:
			t.Lane = lane
		case tool.ValidName(value):
			t.Own = value
		default:
			return c, fmt.Errorf("%q is neither a lane nor a tool", value)
		}
		c.tools = append(c.tools, t)
	}
	return c, nil
}

// laneTools returns the tools that the vendor, a server or we could run, each with its lane. It adds vendors' tools
// that the setting does not name only if the run has a matching tool.
func (w *wiring) laneTools() ([]agent.ProviderTool, error) {
	c, err := parseLanes(w.Lanes)
	if err != nil {
		return nil, err
	}
	// Tools that a vendor runs need no approval. They are chosen automatically only if the user allows network access
	// or sets the lanes.
	free := w.from["lanes"] != "" || slices.Contains(w.Allow, "net")
	out := slices.Clone(c.tools)
	for i := range out {
		if out[i].Own != "" {
			own, ok := w.tools.Lookup(out[i].Own)
			if !ok {
				return nil, fmt.Errorf("lanes: no tool is called %s%s", out[i].Own, cli.DidYouMean(out[i].Own, w.tools.Names()))
			}
			out[i].Lane = agent.LaneLocal
			if own.Origin == tool.MCP {
				out[i].Lane = agent.LaneMCP
			}
		}
	}
	for _, name := range vendorTools {
		named := slices.ContainsFunc(out, func(t agent.ProviderTool) bool { return t.Name == name })
		if !named && hasToolOf(w.tools, name) {
			out = append(out, agent.ProviderTool{Name: name, Lane: c.overall, Uncontrolled: free})
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
func (w *wiring) hostedSupport(tools []agent.ProviderTool) func(id string, def llm.ToolDef) error {
	return func(id string, def llm.ToolDef) error {
		m := w.model
		if id != w.found.ID {
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

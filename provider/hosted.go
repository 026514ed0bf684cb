package provider

import (
	"fmt"
	"slices"
	"strings"

	"github.com/toolpost/toolpost/catalog"
	"github.com/toolpost/toolpost/internal/wire/loss"
	"github.com/toolpost/toolpost/llm"
)

// RunsHosted reports why the model's vendor cannot run the hosted tool def itself, or nil
// if it can. What an account may use only the vendor knows.
func (m *Model) RunsHosted(def llm.ToolDef) error {
	return m.informed().forTools([]llm.ToolDef{def}).runsHosted(def)
}

// runsHosted is RunsHosted for the format that the model is asked in.
func (m *Model) runsHosted(def llm.ToolDef) error {
	switch {
	case def.Kind != llm.HostedTool:
		return fmt.Errorf("%s is not a tool of a provider", def.Name)
	case !m.vendor.Hosts:
		return fmt.Errorf("%s is not known to run tools itself", m.vendor.Name)
	case def.Name == llm.ToolSearch && m.info.ToolSearch.Support != catalog.Yes:
		return fmt.Errorf("the catalogue does not know that %s has a search for tools", m.model)
	case m.format().SearchModels && !strings.Contains(m.model, "search"):
		return fmt.Errorf("%s runs no tools for models that are asked in the chat format, except those made to search", m.vendor.Name)
	}
	req := &llm.Request{Model: m.model, Messages: []llm.Message{llm.User("?")}, Tools: []llm.ToolDef{def}, MaxTokens: 1}
	_, _, err := m.settled.codec.EncodeRequest(req, false)
	return err
}

// Expresses reports why the hosted tool def cannot be said in the format that the model
// is asked in, or nil if it can, whether or not the server knows the tool.
func (m *Model) Expresses(def llm.ToolDef) error {
	req := &llm.Request{Messages: []llm.Message{llm.User("?")}, Tools: []llm.ToolDef{def}, MaxTokens: 1}
	route, err := m.Explain(req)
	if err != nil {
		return err
	}
	if route.Kind != Native {
		return fmt.Errorf("%s is told about tools in words, and its server runs none", m.id)
	}
	_, _, err = m.settled.codec.EncodeRequest(req, false)
	return err
}

// Portable returns req without the hosted tools that cannot run, with a warning for
// each. A hosted tool cannot run if the vendor is not known to run it, if the format
// cannot express it, or if tools are taught in a prompt. It cannot run either if the
// model accepts hosted tools only alone, and the request has functions or a schema of
// the answer. Servers call Portable for clients of other vendors. The request is not
// changed.
func (m *Model) Portable(req *llm.Request) (*llm.Request, []llm.Warning) {
	m = m.informed().forTools(req.Tools)
	var r Route
	m.choose(req, &r)
	native, crowded := r.Kind == Native, m.crowded(req)
	return loss.WithoutHosted(req, func(def llm.ToolDef) error {
		if !native {
			return fmt.Errorf("%s is told about tools in words, and its server runs none", m.id)
		}
		if err := m.runsHosted(def); err != nil || !crowded {
			return err
		}
		return fmt.Errorf("%s takes it neither together with functions nor with a form of the answer", m.model)
	})
}

// crowded reports whether a request has functions or a schema of the answer that the
// model does not accept together with hosted tools.
func (m *Model) crowded(req *llm.Request) bool {
	return m.info.HostedBeside.In(m.conditions(req)) == catalog.No && (req.Output != nil || offersFunctions(req))
}

// offersFunctions reports whether a request has tools that the client runs.
func offersFunctions(req *llm.Request) bool {
	return slices.ContainsFunc(req.Tools, func(t llm.ToolDef) bool { return t.Kind != llm.HostedTool })
}

package provider

import (
	"fmt"

	"github.com/toolpost/toolpost/llm"
)

// RunsHosted reports why the model's vendor cannot run the hosted tool def itself, or nil
// if it can. What an account may use only the vendor knows.
func (m *Model) RunsHosted(def llm.ToolDef) error {
	m = m.informed()
	switch {
	case def.Kind != llm.HostedTool:
		return fmt.Errorf("%s is no tool of a provider", def.Name)
	case !m.vendor.Hosts:
		return fmt.Errorf("%s is not known to run tools itself", m.vendor.Name)
	}
	req := &llm.Request{Model: m.model, Messages: []llm.Message{llm.User("?")}, Tools: []llm.ToolDef{def}, MaxTokens: 1}
	_, _, err := m.codec().EncodeRequest(req, false)
	return err
}

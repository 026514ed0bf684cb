package provider

import (
	"sync"

	"github.com/toolpost/toolpost/llm"
)

// ToolCost returns a function for tool.Selection.CostOf: about how many tokens a
// definition has in the form that the vendor gets. For a model that is taught tools by
// a prompt, the function counts names, descriptions and schemas. It caches its results
// and is safe for concurrent use.
func (m *Model) ToolCost() func(llm.ToolDef) int {
	var mu sync.Mutex
	known := make(map[string]int)
	empty := -1
	return func(d llm.ToolDef) int {
		key := d.Name + "\x00" + d.Description + "\x00" + string(d.Schema)
		mu.Lock()
		defer mu.Unlock()
		if n, ok := known[key]; ok {
			return n
		}
		if empty < 0 {
			empty = 0
			if route, err := m.Explain(nil); err == nil && route.Kind == Native {
				empty = m.settled.tokensOf()
			}
		}
		n := llm.EstimateTool(d)
		if empty > 0 {
			if with := m.settled.tokensOf(d); with > empty {
				n = with - empty
			}
		}
		if len(known) < mostCosts {
			known[key] = n
		}
		return n
	}
}

// mostCosts bounds the definitions that are remembered.
const mostCosts = 20_000

// tokensOf returns the tokens of a request with these tools as the vendor is sent it, 0
// if they cannot be sent.
func (s *settled) tokensOf(tools ...llm.ToolDef) int {
	req := &llm.Request{Messages: []llm.Message{llm.User("?")}, Tools: tools, MaxTokens: 1}
	body, _, err := s.codec.EncodeRequest(req, false)
	if err != nil {
		return 0
	}
	return llm.EstimateText(string(body))
}

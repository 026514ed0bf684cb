package wire

import (
	"maps"
	"slices"

	"github.com/toolpost/toolpost/internal/js"
	"github.com/toolpost/toolpost/llm"
)

// The items of a search for tools. The vendor does one itself, or has the client do it: then the call has an id, and its
// output has the definitions of what was found.
const (
	searchCall   = "tool_search_call"
	searchOutput = "tool_search_output"
)

// foundField is the extra field of a tool whose definition stands in the output of a search.
const foundField = "tool_search"

// foundTools returns the tools that the output of a search defines.
func (r responses) foundTools(d *decoder, v []byte) []llm.ToolDef {
	if !js.Is(d.get(v, "type"), searchOutput) {
		return nil
	}
	var found llm.Request
	r.decodeTools(d, d.get(v, "tools"), &found)
	return found.Tools
}

// offerFound offers the tools that clients found. The vendor reads them where they were found; all others have only one
// place for tools.
func (r responses) offerFound(d *decoder, req *llm.Request) {
	type place struct{ name, space string }
	at := func(t llm.ToolDef) place { return place{t.Name, string(t.Extra[Responses][namespaceField])} }
	offered := make(map[place]bool)
	for _, t := range req.Tools {
		offered[at(t)] = true
	}
	for _, m := range req.Messages {
		for _, p := range m.Parts {
			res, ok := p.(llm.Result)
			if !ok || res.Hosted {
				continue
			}
			for _, t := range r.foundTools(d, res.State.Data) {
				if !offered[at(t)] {
					offered[at(t)] = true
					d.extraNamed(&t.Extra, foundField, []byte("true"))
					req.Tools = append(req.Tools, t)
				}
			}
		}
	}
}

// withoutFound returns the tools of a request without those that stand in the output of a search.
func withoutFound(e *encoder, req *llm.Request) []llm.ToolDef {
	marked := func(t llm.ToolDef) bool { return t.Extra[e.c.Format][foundField] != nil }
	if !slices.ContainsFunc(req.Tools, marked) {
		return req.Tools
	}
	there := slices.ContainsFunc(req.Messages, func(m llm.Message) bool {
		return slices.ContainsFunc(m.Parts, func(p llm.Part) bool {
			res, ok := p.(llm.Result)
			_, typ := e.ownType(res.State)
			return ok && typ == searchOutput
		})
	})
	var tools []llm.ToolDef
	for _, t := range req.Tools {
		if !marked(t) {
			tools = append(tools, t)
		} else if !there {
			t.Extra = maps.Clone(t.Extra)
			t.Extra[e.c.Format] = without(t.Extra[e.c.Format], foundField)
			tools = append(tools, t)
		}
	}
	return tools
}

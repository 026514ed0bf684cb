package responses

import (
	"maps"
	"slices"

	"github.com/toolpost/toolpost/internal/js"
	"github.com/toolpost/toolpost/internal/wire/loss"
	"github.com/toolpost/toolpost/internal/wire/names"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/wire/internal/codec"
)

// foundField is the extra field of a tool whose definition is in the output of a search.
const foundField = "tool_search"

// foundTools returns the tools that the output of a search defines.
func foundTools(d *codec.Decoder, v []byte) []llm.ToolDef {
	if !js.Is(d.Get(v, "type"), loss.SearchOutput) {
		return nil
	}
	var found llm.Request
	decodeTools(d, d.Get(v, "tools"), &found)
	return found.Tools
}

// offerFound offers the tools that clients found. The vendor reads them where they were found; all others have only one
// place for tools.
func offerFound(d *codec.Decoder, req *llm.Request) {
	type place struct{ name, space string }
	at := func(t llm.ToolDef) place {
		return place{t.Name, string(t.Extra[names.Responses][codec.NamespaceField])}
	}
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
			for _, t := range foundTools(d, res.State.Data) {
				if !offered[at(t)] {
					offered[at(t)] = true
					d.ExtraField(&t.Extra, foundField, []byte("true"))
					req.Tools = append(req.Tools, t)
				}
			}
		}
	}
}

// withoutFound returns the tools of a request without those in the output of a search.
func withoutFound(e *codec.Encoder, req *llm.Request) []llm.ToolDef {
	marked := func(t llm.ToolDef) bool { return t.Extra[e.Host.Format][foundField] != nil }
	if !slices.ContainsFunc(req.Tools, marked) {
		return req.Tools
	}
	there := slices.ContainsFunc(req.Messages, func(m llm.Message) bool {
		return slices.ContainsFunc(m.Parts, func(p llm.Part) bool {
			res, ok := p.(llm.Result)
			_, typ := ownType(e, res.State)
			return ok && typ == loss.SearchOutput
		})
	})
	var tools []llm.ToolDef
	for _, t := range req.Tools {
		if !marked(t) {
			tools = append(tools, t)
		} else if !there {
			t.Extra = maps.Clone(t.Extra)
			t.Extra[e.Host.Format] = codec.OmitFields(t.Extra[e.Host.Format], foundField)
			tools = append(tools, t)
		}
	}
	return tools
}

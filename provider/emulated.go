package provider

import (
	"encoding/json"
	"slices"

	"github.com/toolpost/toolpost/catalog"
	"github.com/toolpost/toolpost/internal/emulate"
	"github.com/toolpost/toolpost/internal/emulate/smallmodel"
	"github.com/toolpost/toolpost/internal/js"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/wire/format"
)

// emulate teaches the tools in a prompt.
func (p planner) emulate() {
	if p.route.Kind == Text {
		p.req.Tools = nil
	}
	plan, err := p.emulation().Plan(p.req)
	if err != nil {
		p.err = err
		return
	}
	if p.moved != "" {
		p.warn(llm.Compatibility, "wire", "%s", p.moved)
	}
	p.req = plan.Request
	p.warnings = append(p.warnings, plan.Warnings...)
	output := p.answer.Output // the form that the prompt asks for
	p.answer = plan.Answer
	p.answer.Output = append(p.answer.Output, output...)
	if plan.Dialect != "" {
		p.route.Dialect = plan.Dialect
	}
	if plan.Taught {
		p.warn(llm.Emulated, "tools", "the tools are taught in a prompt: %s", p.route)
	}
}

// emulation returns how a request is asked without tools.
func (p planner) emulation() emulate.Emulation {
	e := emulate.Emulation{
		Style: p.route.Style, Dialects: p.client.Dialects, Family: p.settled.family, Size: p.info.ID.Size, Context: p.info.ContextWindow,
		OneCall: p.info.ParallelTools.Support == catalog.No, Dialect: p.route.Dialect, Gate: emulate.Gate(p.client.Gate), Decider: smallmodel.Wording{},
		Promotion: p.route.Promotion, Why: p.route.promoted, Apart: p.vendor.Apart,
	}
	if e.Style == "" && p.info.Emulation != "json" { // everybody's default, which the family's own comes before
		e.Style = p.info.Emulation
		if e.Dialects == nil && !slices.Contains(emulate.Styles(), e.Style) { // a dialect, which the catalogue may name, too
			e.Dialects = p.client.dialects()
		}
	}
	switch {
	case p.route.Kind == Constrained:
		e.Host = constraint{p.info.Constrain, *p.format()}.host()
	case p.route.Output == outputConstrained: // only the answer is held to a schema
		e.Host, e.Gate = constraint{p.info.Constrain, *p.format()}.host(), emulate.GateOff
	}
	return e
}

// constraint holds an answer to a schema in the words of one host.
type constraint struct {
	field  string // of the request, as the catalogue names it
	format format.Properties
}

// The fields that hosts have.
const (
	jsonSchemaField = "json_schema"        // llama.cpp, which also takes a grammar
	structuredField = "structured_outputs" // vLLM
	grammarField    = "grammar"
	formatField     = "format" // Ollama, which has a word for any JSON
)

// carries reports whether a constraint of this host can travel in this format.
// llama.cpp drops what it does not know from Anthropic's.
func (c constraint) carries() bool {
	switch c.field {
	case jsonSchemaField, structuredField:
		return c.format.HostFields
	}
	return c.field != ""
}

// host returns how the host takes schemas and grammars.
func (c constraint) host() emulate.Host {
	switch c.field {
	case jsonSchemaField:
		return emulate.Host{
			Schema:  func(req *llm.Request, s json.RawMessage) { c.extra(req, jsonSchemaField, s) },
			Grammar: func(req *llm.Request, g string) { c.extra(req, grammarField, g) },
		}
	case structuredField:
		return emulate.Host{Schema: func(req *llm.Request, s json.RawMessage) {
			c.extra(req, structuredField, map[string]json.RawMessage{"json": s})
		}}
	case formatField:
		host := emulate.OutputHost
		host.AnyObject = func(req *llm.Request) { req.Output = &llm.OutputFormat{Name: "answer"} }
		return host
	}
	return emulate.OutputHost
}

// extra adds a field of the host to a request.
func (c constraint) extra(req *llm.Request, key string, value any) {
	req.Extra = req.Extra.Clone()
	if req.Extra == nil {
		req.Extra = llm.Extra{}
	}
	if req.Extra[c.format.Name] == nil {
		req.Extra[c.format.Name] = map[string]json.RawMessage{}
	}
	req.Extra[c.format.Name][key] = js.Marshal(value)
}

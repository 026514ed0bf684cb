package provider

import (
	"bytes"
	"encoding/json"

	"github.com/toolpost/toolpost/emulate"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/wire"
)

// constraint holds an answer to a schema in the words of one host.
type constraint struct {
	field  string // of the request, as the catalogue names it
	format wire.Properties
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

// host returns how the model's host takes schemas and grammars.
func (m *Model) host() emulate.Host { return constraint{m.info.Constrain, *m.format()}.host() }

// extra adds a field of the host to a request.
func (c constraint) extra(req *llm.Request, key string, value any) {
	req.Extra = req.Extra.Clone()
	if req.Extra == nil {
		req.Extra = llm.Extra{}
	}
	if req.Extra[c.format.Name] == nil {
		req.Extra[c.format.Name] = map[string]json.RawMessage{}
	}
	req.Extra[c.format.Name][key] = marshal(value)
}

// marshal writes a value that always has a JSON form, without the escapes that
// only HTML needs.
func marshal(v any) json.RawMessage {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return json.RawMessage("null")
	}
	return bytes.TrimSuffix(b.Bytes(), []byte{'\n'})
}

// Package toolfile reads files of tool definitions: the JSON of any vendor, the YAML of Toolpost and OpenAPI documents.
package toolfile

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/toolpost/toolpost/cmd/toolpost/internal/cli"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/tool"
	"github.com/toolpost/toolpost/tool/builtin"
	"github.com/toolpost/toolpost/tool/openapi"
)

// IsAPI reports whether a file of tools is an OpenAPI document, or a configuration that names one.
func IsAPI(text []byte) bool { return openapi.Is(text) || openapi.IsConfig(text) }

// api is an OpenAPI document as tools.
type api struct {
	doc    *openapi.Document
	Config openapi.Config
	Tools  []tool.Tool
	Losses []openapi.Loss
}

// ReadAPI reads an OpenAPI document, or a configuration that names a document in the same folder.
func ReadAPI(file string, text []byte) (*api, error) {
	a := new(api)
	var err error
	if !openapi.Is(text) {
		if a.Config, err = openapi.ParseConfig(text); err != nil {
			return nil, err
		}
		if strings.Contains(a.Config.File, "://") {
			return nil, fmt.Errorf("openapi: %s is an address, and nothing is fetched; save the document and name the file", a.Config.File)
		}
		if file == "-" {
			file = ""
		}
		document := a.Config.File
		if !filepath.IsAbs(document) {
			document = filepath.Join(filepath.Dir(file), document)
		}
		whole, err := cli.ReadBounded(document)
		if err != nil {
			return nil, err
		}
		text = []byte(whole)
	}
	if a.doc, err = openapi.Parse(text); err != nil {
		return nil, err
	}
	a.Tools, a.Losses, err = a.doc.Tools(a.Config, file)
	if err == nil && len(a.Tools) == 0 {
		err = errors.New("none of its operations can be a tool: " + a.Losses[0].String())
	}
	return a, err
}

// ParseDefinitions returns the tool definitions of a file as a model receives them. JSON may hold the definitions of
// any vendor, with vendor-specific keys. YAML is Toolpost's own strict form. An OpenAPI document, or a configuration
// that names one, gives one tool per operation.
func ParseDefinitions(file string, text []byte) ([]tool.Definition, error) {
	if IsAPI(text) {
		a, err := ReadAPI(file, text)
		if err != nil {
			return nil, err
		}
		defs := make([]tool.Definition, len(a.Tools))
		for i, t := range a.Tools {
			defs[i] = tool.Definition{ID: t.Name, ToolDef: llm.ToolDef{Name: t.Name, Description: t.Description, Schema: json.RawMessage(t.Input)}}
		}
		return defs, nil
	}
	if start := bytes.TrimSpace(text); len(start) == 0 || start[0] == '[' || start[0] == '{' {
		return tool.ParseDefs(text)
	}
	declared, err := builtin.ParseDeclared(text)
	if err != nil {
		return nil, err
	}
	defs := make([]tool.Definition, len(declared))
	for i, d := range declared {
		defs[i] = d.Definition
	}
	return defs, nil
}

func PlainDefs(defs []tool.Definition) []llm.ToolDef {
	out := make([]llm.ToolDef, len(defs))
	for i, d := range defs {
		out[i] = d.ToolDef
	}
	return out
}

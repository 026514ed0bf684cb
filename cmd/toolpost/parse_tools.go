package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/toolpost/toolpost/llm"
)

// toolList reads tools in the shapes people have them in: Toolpost's own,
// OpenAI's with a "function" inside, Anthropic's "input_schema", MCP's
// "inputSchema". Type words like dict or float in schemas are understood by
// whoever reads the schema.
type toolList []llm.ToolDef

type toolJSON struct {
	Name         string            `json:"name"`
	Description  string            `json:"description"`
	Parameters   json.RawMessage   `json:"parameters"`
	InputSchema  json.RawMessage   `json:"input_schema"`
	InputSchema2 json.RawMessage   `json:"inputSchema"`
	Schema       json.RawMessage   `json:"schema"`
	Examples     []json.RawMessage `json:"examples"`
	Function     *toolJSON         `json:"function"`
}

// UnmarshalJSON reads a list of tools; null leaves the list nil.
func (l *toolList) UnmarshalJSON(b []byte) error {
	if string(b) == "null" {
		return nil
	}
	var rows []toolJSON
	if err := json.Unmarshal(b, &rows); err != nil {
		return fmt.Errorf("tools: %w", err)
	}
	*l = make(toolList, 0, len(rows))
	for i, row := range rows {
		if row.Function != nil {
			row = *row.Function
		}
		if row.Name == "" {
			return fmt.Errorf("tools: number %d has no name", i+1)
		}
		*l = append(*l, row.def())
	}
	return nil
}

func (t toolJSON) def() llm.ToolDef {
	d := llm.ToolDef{Name: t.Name, Description: t.Description, Examples: t.Examples}
	for _, s := range []json.RawMessage{t.Parameters, t.InputSchema, t.InputSchema2, t.Schema} {
		if len(s) > 0 && string(s) != "null" {
			d.Schema = s
			break
		}
	}
	return d
}

// readTools reads a file that holds a list of tools, or an object with the
// list under "tools".
func readTools(file string) ([]llm.ToolDef, error) {
	text, err := readBounded(file)
	if err != nil {
		return nil, err
	}
	raw := bytes.TrimSpace([]byte(text))
	var list toolList
	if bytes.HasPrefix(raw, []byte("{")) {
		var doc struct {
			Tools *toolList `json:"tools"`
		}
		err = json.Unmarshal(raw, &doc)
		if err == nil && doc.Tools == nil {
			err = errors.New(`an object without a list under "tools"`)
		}
		list = *cmp.Or(doc.Tools, &list)
	} else {
		err = json.Unmarshal(raw, &list)
	}
	if err == nil && list == nil {
		err = errors.New("null is no list of tools")
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return list, nil
}

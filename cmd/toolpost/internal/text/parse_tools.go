package text

import (
	"fmt"
	"strings"

	"github.com/toolpost/toolpost/cmd/toolpost/internal/cli"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/toolfile"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/tool"
)

// toolList holds the tools of a batch row. If they are absent or null, it is nil and any name is a call. If the list is
// empty, no name is a call.
type toolList []llm.ToolDef

// UnmarshalJSON reads definitions in every form that [tool.ParseDefs] knows.
func (l *toolList) UnmarshalJSON(b []byte) error {
	if string(b) == "null" {
		return nil
	}
	if b[0] != '[' {
		return fmt.Errorf("tools: %.20s is no list", b)
	}
	list, err := parseTools(b)
	*l = list
	return err
}

// parseTools returns the definitions in text, without their ids. The list is never nil.
func parseTools(text []byte) ([]llm.ToolDef, error) {
	defs, err := tool.ParseDefs(text)
	list := make([]llm.ToolDef, 0, len(defs))
	for _, d := range defs {
		list = append(list, d.ToolDef)
	}
	return list, err
}

// readTools reads a file of definitions.
func readTools(file string) ([]llm.ToolDef, error) {
	text, err := cli.ReadBounded(file)
	if err != nil {
		return nil, err
	}
	if s := strings.TrimSpace(text); s == "" || s == "null" {
		return nil, fmt.Errorf("%s holds no list of tools", file)
	}
	defs, err := toolfile.ParseDefinitions(file, []byte(text))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return toolfile.PlainDefs(defs), nil
}

package toolset

import (
	"fmt"
	"maps"
	"slices"

	"github.com/spf13/cobra"

	"github.com/toolpost/toolpost/cmd/toolpost/internal/cli"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/settings"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/toolfile"
	"github.com/toolpost/toolpost/tool"
)

// ReadDefinitions reads the file of --tools; "-" is standard input. Without a name it returns the built-in tools.
func ReadDefinitions(cmd *cobra.Command, file string) ([]tool.Definition, error) {
	if file == "" {
		return builtinDefinitions()
	}
	text, err := cli.ReadNamed(cmd, file)
	if err != nil {
		return nil, err
	}
	defs, err := toolfile.ParseDefinitions(file, []byte(text))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	if len(defs) == 0 {
		return nil, fmt.Errorf("%s has no tools", file)
	}
	return defs, nil
}

func builtinDefinitions() ([]tool.Definition, error) {
	set, done, err := Open(All("."))
	if err != nil {
		return nil, err
	}
	defer done()
	var defs []tool.Definition
	for _, d := range set.Defs() {
		defs = append(defs, tool.Definition{ID: d.Name, ToolDef: d})
	}
	return defs, nil
}

// All returns settings with all built-in tools, with the file tools on dir, and the tools of the files.
func All(dir string, files ...string) *settings.ToolOptions {
	return &settings.ToolOptions{Root: dir, Allow: slices.Collect(maps.Keys(settings.Classes)), Tools: files}
}

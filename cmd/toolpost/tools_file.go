package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/tool"
	"github.com/toolpost/toolpost/tool/builtin"
)

// parseDefinitions returns what a model is told of the tools in a file. In JSON
// that may be the definitions of any vendor, with keys that only it knows; YAML
// is Toolpost's own form, and strict; an OpenAPI document, or a file that names
// one, gives a tool per operation.
func parseDefinitions(file string, text []byte) ([]tool.Definition, error) {
	if isAPI(text) {
		a, err := readAPI(file, text)
		if err != nil {
			return nil, err
		}
		defs := make([]tool.Definition, len(a.tools))
		for i, t := range a.tools {
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

// readDefinitions reads the file that --tools names; "-" is standard input, and
// without a name the built-in tools are meant.
func readDefinitions(cmd *cobra.Command, file string) ([]tool.Definition, error) {
	if file == "" {
		return builtinDefinitions()
	}
	text, err := readNamed(cmd, file)
	if err != nil {
		return nil, err
	}
	defs, err := parseDefinitions(file, []byte(text))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	if len(defs) == 0 {
		return nil, fmt.Errorf("%s has no tools", file)
	}
	return defs, nil
}

// readNamed reads a file under the bound of a batch's line; "-" is standard
// input.
func readNamed(cmd *cobra.Command, file string) (string, error) {
	if file == "-" {
		return readAll(standardInput(cmd), "standard input")
	}
	return readBounded(file)
}

func builtinDefinitions() ([]tool.Definition, error) {
	set, done, err := everyTool(".").toolSet()
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

func plainDefs(defs []tool.Definition) []llm.ToolDef {
	out := make([]llm.ToolDef, len(defs))
	for i, d := range defs {
		out[i] = d.ToolDef
	}
	return out
}

// everyTool are settings that offer every tool that comes with Toolpost, with
// the file tools on dir, and those of the files.
func everyTool(dir string, files ...string) *settings {
	return &settings{Root: dir, Allow: slices.Collect(keys(allowed)), Tools: files}
}

// replaceFile writes a file whole or not at all. A file that is there keeps its
// mode, and stays where a link to it leads.
func replaceFile(path string, content []byte, mode fs.FileMode) error {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	if info, err := os.Stat(path); err == nil {
		if !info.Mode().IsRegular() {
			return fmt.Errorf("%s is no file", path)
		}
		mode = info.Mode().Perm()
	} else if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	tmp, err := os.CreateTemp(filepath.Dir(path), ".tmp-*")
	if err != nil {
		return err
	}
	_, err = tmp.Write(content)
	err = errors.Join(err, tmp.Chmod(mode), tmp.Close())
	if err == nil {
		err = os.Rename(tmp.Name(), path)
	}
	if err != nil {
		os.Remove(tmp.Name())
	}
	return err
}

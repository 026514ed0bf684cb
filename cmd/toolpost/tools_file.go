package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/toolpost/toolpost/cmd/toolpost/internal/cli"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/toolfile"
	"github.com/toolpost/toolpost/tool"
)

// readDefinitions reads the file of --tools; "-" is standard input. Without a name it returns the built-in tools.
func readDefinitions(cmd *cobra.Command, file string) ([]tool.Definition, error) {
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

// everyTool returns settings with all built-in tools, with the file tools on dir, and the tools of the files.
func everyTool(dir string, files ...string) *settings {
	return &settings{Root: dir, Allow: slices.Collect(keys(allowed)), Tools: files}
}

// replaceFile replaces a file atomically. An existing file keeps its mode, and a symbolic link is followed.
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

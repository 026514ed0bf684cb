// Package toolset opens the tools of the settings: built-in tools, files and OpenAPI documents.
package toolset

import (
	"errors"
	"fmt"
	"slices"

	"github.com/toolpost/toolpost/cmd/toolpost/internal/cli"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/settings"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/toolfile"
	"github.com/toolpost/toolpost/tool"
	"github.com/toolpost/toolpost/tool/builtin"
)

// Open returns the tools that the settings offer to a model: the built-in read-only tools, those that --allow adds,
// and those of the files. The caller calls done.
func Open(s *settings.ToolOptions) (set *tool.Set, done func(), err error) {
	files, err := builtin.OpenFiles(s.Root)
	if err != nil {
		return nil, nil, fmt.Errorf("root: %w", err)
	}
	tools, err := List(s, files)
	if err == nil {
		set, err = tool.NewSet(tools...)
	}
	if err != nil {
		return nil, nil, errors.Join(err, files.Close())
	}
	return set, func() { files.Close() }, nil
}

func List(s *settings.ToolOptions, files *builtin.Files) ([]tool.Tool, error) {
	search, err := builtin.Search{Engine: "duckduckgo"}.Tool()
	if err != nil {
		return nil, err
	}
	offered := slices.DeleteFunc(append(files.Tools(), commandOf(s).Tool(), builtin.Fetch{}.Tool(), search), func(t tool.Tool) bool {
		for class, names := range settings.Classes {
			if slices.Contains(names, t.Name) {
				return !slices.Contains(s.Allow, class)
			}
		}
		return false
	})
	for _, file := range s.Tools {
		if offered, err = declareFile(s, offered, file); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
	}
	return offered, nil
}

// commandOf configures how programs run: under a supervisor that ends all their processes, and in a sandbox if the
// settings require it.
func commandOf(s *settings.ToolOptions) builtin.Command {
	return builtin.Command{Dir: s.Root, Supervised: true, Sandbox: s.Sandbox}
}

// declareFile adds the tools of a file. A declaration without an action changes the description of an existing tool.
func declareFile(s *settings.ToolOptions, tools []tool.Tool, file string) ([]tool.Tool, error) {
	text, err := cli.ReadBounded(file)
	if err != nil {
		return nil, err
	}
	return AddText(s, tools, file, []byte(text))
}

func AddText(s *settings.ToolOptions, tools []tool.Tool, file string, text []byte) ([]tool.Tool, error) {
	if toolfile.IsAPI(text) {
		return declareAPI(s, tools, file, text)
	}
	declared, err := builtin.ParseDeclared(text)
	if err != nil {
		return nil, err
	}
	if len(declared) == 0 {
		return nil, errors.New("it has no tools")
	}
	place := make(map[string]int, len(tools)+len(declared))
	for i, t := range tools {
		place[t.Name] = i
	}
	for _, d := range declared {
		s.ToolSecrets = append(s.ToolSecrets, d.Secrets()...)
		i, there := place[d.Name]
		switch {
		case there && d.Works():
			return nil, fmt.Errorf("%s is there already: a tool never hides another", d.Name)
		case there:
			tools[i] = d.Redescribe(tools[i])
			continue
		case !d.Works() && withheld(s, d.Name) != "":
			continue // describes a tool that is not offered now
		}
		t, err := d.Tool(commandOf(s), file)
		if err != nil {
			return nil, err
		}
		place[t.Name] = len(tools)
		tools = append(tools, t)
	}
	return tools, nil
}

// withheld returns the --allow class that a built-in tool needs and the settings lack, "" if there is none.
func withheld(s *settings.ToolOptions, name string) string {
	for class, names := range settings.Classes {
		if slices.Contains(names, name) && !slices.Contains(s.Allow, class) {
			return class
		}
	}
	return ""
}

// declareAPI adds the operations of an OpenAPI document.
func declareAPI(s *settings.ToolOptions, tools []tool.Tool, file string, text []byte) ([]tool.Tool, error) {
	a, err := toolfile.ReadAPI(file, text)
	if err != nil {
		return nil, err
	}
	s.ToolSecrets = append(s.ToolSecrets, a.Config.Secrets()...)
	return append(tools, a.Tools...), nil
}

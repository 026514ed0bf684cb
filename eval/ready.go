package eval

import (
	"embed"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/toolpost/toolpost/internal/near"
)

//go:embed suites/*.yaml
var readyFiles embed.FS

// ReadySuites returns the names of the suites that are a part of the program.
func ReadySuites() []string {
	files, err := fs.Glob(readyFiles, "suites/*.yaml")
	if err != nil {
		panic(err) // the pattern is constant
	}
	names := make([]string, len(files))
	for i, f := range files {
		names[i] = strings.TrimSuffix(strings.TrimPrefix(f, "suites/"), ".yaml")
	}
	return names
}

// ReadyText returns the text of a suite that is a part of the program, for readers and as the beginning of another.
func ReadyText(name string) ([]byte, error) {
	if !slices.Contains(ReadySuites(), name) {
		hint := ""
		if like := near.Names(name, ReadySuites(), 1); len(like) > 0 {
			hint = ", did you mean " + like[0] + "?"
		}
		return nil, fmt.Errorf("there is no ready suite %q%s; the suites are %s", name, hint, strings.Join(ReadySuites(), ", "))
	}
	return readyFiles.ReadFile("suites/" + name + ".yaml")
}

// Ready returns a suite that is a part of the program.
func Ready(name string) (*Suite, error) {
	text, err := ReadyText(name)
	if err != nil {
		return nil, err
	}
	s, err := new(Loader).Parse(name+".yaml", text)
	if err != nil {
		return nil, err
	}
	s.Source = name
	return s, nil
}

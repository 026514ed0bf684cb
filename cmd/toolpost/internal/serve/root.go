package serve

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	keyscmd "github.com/toolpost/toolpost/cmd/toolpost/internal/keys"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/settings"
	"github.com/toolpost/toolpost/gateway"
)

// folderTools are the built-in tools that work in the root folder.
var folderTools = []string{"list_files", "read_file", "search_files", "write_file", "edit_file", "run_command"}

// impliedRoot checks routes with tools for files when root is not set, so the tools work in the current folder of the
// gateway. It refuses the root of the file system, where services usually start, and warns about any other folder.
func (x *examination) impliedRoot() {
	if x.s.Root != "." || x.s.Sources["root"] != "" || x.Line("root") > 0 {
		return
	}
	here, err := os.Getwd()
	if err != nil {
		return // opening the root reports the error
	}
	for i, r := range x.s.Gateway.Routes {
		k := slices.IndexFunc(r.Served.Tools, func(name string) bool { return slices.Contains(folderTools, name) })
		if k < 0 {
			continue
		}
		if filepath.Dir(here) == here {
			x.AddError(&gateway.RouteError{Route: i, Model: r.Model, Setting: fmt.Sprintf("tools[%d]", k), Err: fmt.Errorf("tools: %s works in the folder root, which is not set, and the gateway starts in %s: clients could reach every file; set root at the top of the configuration", r.Served.Tools[k], here)})
			continue
		}
		x.Warn(fmt.Sprintf("gateway.routes[%d].tools[%d]", i, k), "%s works in %s, where the gateway starts, because root is not set; set it at the top of the configuration", r.Served.Tools[k], here)
	}
}

// ownPlaces returns the files and folders of the gateway itself, which are off limits for its tools. A client that may
// use a tool must not read keys or the data of other clients.
func ownPlaces(s *settings.Settings, cmd *cobra.Command) (list []string) {
	keys, _ := keyscmd.StoreName(cmd, &s.Gateway) // an error is reported elsewhere
	for _, name := range []string{keys, cmp.Or(os.Getenv(stateEnv), s.Gateway.Keys.State), s.Journal} {
		if file, ok := strings.CutPrefix(name, "sqlite:"); ok {
			for _, beside := range []string{"", "-wal", "-shm", "-journal"} {
				list = append(list, file+beside)
			}
		} else if name == s.Journal && !settings.IsPostgres(name) {
			list = append(list, name)
		}
	}
	list = append(list, s.File, s.Gateway.Ops.TLS.Key, settings.StateDir())
	if dir, err := os.UserConfigDir(); err == nil {
		list = append(list, filepath.Join(dir, "toolpost"))
	}
	return slices.DeleteFunc(list, func(place string) bool { return place == "" })
}

// offLimits returns the patterns for the places below a folder, in the form of builtin.OpenFiles. It refuses a folder
// that lies inside one of the places.
func offLimits(root string, places []string) (patterns []string, err error) {
	root, err = whereIs(root)
	if err != nil {
		return nil, err
	}
	for _, place := range places {
		at, err := whereIs(place)
		if err != nil {
			continue // the place does not exist
		}
		if inside, err := filepath.Rel(at, root); err == nil && filepath.IsLocal(inside) {
			return nil, fmt.Errorf("%s is, or lies in, %s, where the gateway keeps its own files; name another folder", root, place)
		}
		below, err := filepath.Rel(root, at)
		if err != nil || !filepath.IsLocal(below) {
			continue
		}
		folder := filepath.Base(filepath.Dir(below))
		if folder == "." { // the root itself has no name in a path
			folder = ""
		}
		patterns = append(patterns, literally.Replace(folder)+"/"+literally.Replace(filepath.Base(below)))
	}
	return patterns, nil
}

// literally escapes the special characters of patterns.
var literally = strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`)

// whereIs returns the absolute path of a file without symbolic links. The file itself may be missing, but not its
// folder.
func whereIs(file string) (string, error) {
	full, err := filepath.Abs(file)
	if err != nil {
		return "", err
	}
	if at, err := filepath.EvalSymlinks(full); err == nil {
		return at, nil
	}
	dir, err := filepath.EvalSymlinks(filepath.Dir(full))
	if err != nil {
		return full, nil
	}
	return filepath.Join(dir, filepath.Base(full)), nil
}

package builtin_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/internal/pinname"
	"github.com/toolpost/toolpost/tool"
	"github.com/toolpost/toolpost/tool/builtin"
)

// TestPathsOfCommandsAreBound: replacing a folder or a link on the way of an argument changes what a command is bound to.
// Files that appear or change do not.
func TestPathsOfCommandsAreBound(t *testing.T) {
	for _, c := range []struct {
		name, arg string
		swap      func() error
		differs   bool
	}{
		{"nothing", "docs/a.txt", func() error { return nil }, false},
		{"the file changes", "docs/a.txt", func() error { return os.WriteFile("docs/a.txt", []byte("new"), 0o600) }, false},
		{"the file appears", "docs/new.txt", func() error { return os.WriteFile("docs/new.txt", nil, 0o600) }, false},
		{"the folder appears", "made/new.txt", func() error { return os.Mkdir("made", 0o700) }, false},
		{"a word becomes a file", "word", func() error { return os.WriteFile("word", nil, 0o600) }, false},
		{"the folder is another one", "docs/a.txt", func() error { return errors.Join(os.Rename("docs", "old"), os.Rename("other", "docs")) }, true},
		{"the folder becomes a link", "docs/a.txt", func() error { return errors.Join(os.Rename("docs", "old"), os.Symlink("prod", "docs")) }, true},
		{"the folder itself", "docs", func() error { return errors.Join(os.Rename("docs", "old"), os.Symlink("prod", "docs")) }, true},
		{"the folder with a slash", "docs/", func() error { return errors.Join(os.Rename("docs", "old"), os.Symlink("prod", "docs")) }, true},
		{"the value of an option", "--out=docs/new.txt", func() error { return errors.Join(os.Rename("docs", "old"), os.Symlink("prod", "docs")) }, true},
		{"the value of a short option", "-odocs/new.txt", func() error { return errors.Join(os.Rename("docs", "old"), os.Symlink("prod", "docs")) }, true},
		{"a value behind a name", "of=docs/new.txt", func() error { return errors.Join(os.Rename("docs", "old"), os.Symlink("prod", "docs")) }, true},
		{"a file behind an at sign", "@docs/a.txt", func() error { return errors.Join(os.Rename("docs", "old"), os.Symlink("prod", "docs")) }, true},
		{"an option without a value", "-la", func() error { return errors.Join(os.Rename("docs", "old"), os.Symlink("prod", "docs")) }, false},
		{"a link leads elsewhere", "link/a.txt", func() error { return errors.Join(os.Remove("link"), os.Symlink("prod", "link")) }, true},
		{"a link becomes a folder", "link/a.txt", func() error { return errors.Join(os.Remove("link"), os.Mkdir("link", 0o700)) }, true},
		{"the file becomes a link", "docs/a.txt", func() error {
			return errors.Join(os.Remove("docs/a.txt"), os.Symlink("../prod/a.txt", "docs/a.txt"))
		}, true},
		{"the new file becomes a link", "docs/new.txt", func() error { return os.Symlink("../prod/a.txt", "docs/new.txt") }, true},
		{"the new file becomes a link to nothing", "docs/new.txt", func() error { return os.Symlink("../prod/new.txt", "docs/new.txt") }, true},
		{"a word becomes a link", "word", func() error { return os.Symlink("prod/a.txt", "word") }, true},
		{"a word becomes a link to nothing", "word", func() error { return os.Symlink("prod/new.txt", "word") }, true},
		{"dots", "docs/../docs/./a.txt", func() error { return errors.Join(os.Rename("docs", "old"), os.Symlink("prod", "docs")) }, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Chdir(t.TempDir())
			for _, dir := range []string{"docs", "other", "prod"} {
				if err := errors.Join(os.Mkdir(dir, 0o700), os.WriteFile(filepath.Join(dir, "a.txt"), nil, 0o600)); err != nil {
					t.Fatal(err)
				}
			}
			if err := os.Symlink("docs", "link"); err != nil {
				t.Skip(err)
			}
			args, _ := json.Marshal(map[string]any{"program": "ls", "args": []string{c.arg}})
			bound := func() []tool.Pin {
				pins, err := builtin.Command{Dir: "."}.Tool().Bind(t.Context(), args)
				if err != nil {
					t.Fatal(err)
				}
				return pins
			}
			before := bound()
			if err := c.swap(); err != nil {
				t.Fatal(err)
			}
			after := bound()
			differs := slices.ContainsFunc(before, func(p tool.Pin) bool { return !slices.Contains(after, p) }) ||
				slices.ContainsFunc(after, func(p tool.Pin) bool { return strings.HasPrefix(p.Name, pinname.Path) && !slices.Contains(before, p) })
			if differs != c.differs {
				t.Errorf("differs: %v\n%q\n%q", differs, before, after)
			}
		})
	}
}

package codingagents

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/toolpost/toolpost/cmd/toolpost/internal/cli"
)

// Prepared is how an agent is started.
type Prepared struct {
	Args, Env []string
	without   []string
	overlay   string   // the folder of the configuration, "" if the usual one is used
	usual     string   // the usual folder
	own       []string // the edited copies in the overlay
}

// Keep moves what the agent made in its folder to the usual one, such as its conversations. The edited copies stay
// behind.
func (p Prepared) Keep() error {
	if p.overlay == "" {
		return nil
	}
	return filepath.WalkDir(p.overlay, func(file string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() || slices.Contains(p.own, file) {
			return err
		}
		rest, err := filepath.Rel(p.overlay, file)
		if err != nil {
			return err
		}
		to := filepath.Join(p.usual, rest)
		if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		if os.Rename(file, to) == nil {
			return nil
		}
		from, err := os.Open(file) // another file system
		if err != nil {
			return err
		}
		defer from.Close()
		copied, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, info.Mode().Perm())
		if err != nil {
			return err
		}
		_, err = io.Copy(copied, from)
		return errors.Join(err, copied.Close())
	})
}

// Environ returns an environment with the variables of the agent.
func (p Prepared) Environ(base []string) []string {
	out := slices.DeleteFunc(slices.Clone(base), func(line string) bool {
		name, _, _ := strings.Cut(line, "=")
		return slices.Contains(p.without, name) || slices.ContainsFunc(p.Env, func(own string) bool { return strings.HasPrefix(own, name+"=") })
	})
	return append(out, p.Env...)
}

// Prepare writes the files of an agent into a separate folder. Its usual files are only read.
func (a Agent) Prepare(dir string, v Values) (p Prepared, err error) {
	configs, err := a.Configs(v)
	if err != nil {
		return p, err
	}
	p.without = a.Launch.Without
	top := filepath.Join(dir, "config")
	overlay := filepath.Join(top, a.Launch.OverlayIn)
	for i, c := range configs {
		old, err := cli.ReadFile(Place(c.Path), maxFile)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return p, err
		}
		text, err := c.Edited(old)
		if err != nil {
			text = []byte(c.Text()) // without the other settings of the user
		}
		file := filepath.Join(dir, filepath.Base(c.Path))
		if i > 0 {
			file = filepath.Join(dir, "2-"+filepath.Base(c.Path))
		}
		if a.Launch.Overlay != "" {
			rest, ok := strings.CutPrefix(c.Path, a.Launch.OverlayOf+"/")
			if !ok {
				continue
			}
			if err := linkBeside(Place(a.Launch.OverlayOf+"/"), overlay, rest); err != nil {
				return p, err
			}
			file = filepath.Join(overlay, filepath.FromSlash(rest))
			p.own = append(p.own, file)
		}
		if err := os.WriteFile(file, text, 0o600); err != nil {
			return p, err
		}
		v.Copies = append(v.Copies, file)
	}
	p.Args = a.Lines(a.Launch.Args, v)
	p.Env = a.Lines(append(slices.Clone(a.Env), a.Launch.Env...), v)
	if a.Launch.Overlay != "" {
		p.overlay, p.usual = overlay, Place(a.Launch.OverlayOf+"/")
		p.Env = append(p.Env, a.Launch.Overlay+"="+top)
	}
	return p, nil
}

// linkBeside makes a folder with links to everything in another folder, except for one file below it.
func linkBeside(from, to, file string) error {
	if err := os.MkdirAll(to, 0o700); err != nil {
		return err
	}
	first, rest, deeper := strings.Cut(file, "/")
	list, err := os.ReadDir(from)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, e := range list {
		if e.Name() == first {
			continue
		}
		target, err := filepath.Abs(filepath.Join(from, e.Name()))
		if err != nil {
			return err
		}
		if err := os.Symlink(target, filepath.Join(to, e.Name())); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	if deeper {
		return linkBeside(filepath.Join(from, first), filepath.Join(to, first), rest)
	}
	return nil
}

package builtin

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/toolpost/toolpost/tool"
)

// jail gives access to the files below one folder and to no others. The
// operating system's boundary (os.Root) keeps every access inside, even if the
// tree changes meanwhile. The rest of this file protects files inside the
// folder, and explains refusals.
type jail struct {
	root    *os.Root
	blocked nameSet
}

// shortNames are the additional names that Windows gives to long names. The
// long name cannot be derived from the short one.
const shortNames = "*~[0-9]*"

// maxLinks limits the symbolic links on one path.
const maxLinks = 20

// openJail opens a folder.
func openJail(dir string, blocked []string) (*jail, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	names := slices.Clone(blockedNames)
	if runtime.GOOS == "windows" {
		names = append(names, shortNames)
	}
	for _, pattern := range blocked {
		if _, err := path.Match(pattern, ""); err != nil {
			root.Close()
			return nil, errors.New("builtin: " + pattern + " is not a pattern for file names")
		}
		names = append(names, fold(pattern))
	}
	return &jail{root: root, blocked: newNameSet(names)}, nil
}

// place is the target of a path: the folders on the way, held open, and a name
// in the last of them. Operations act on that folder, even if its path later
// leads elsewhere. Close it when done.
type place struct {
	jail  *jail
	asked string     // the unchanged path of the caller
	dirs  []*os.Root // from the jail's own down
	parts []string   // the names of dirs after the first
	links int
	name  string      // the last name; empty if the path leads to the last of dirs
	info  fs.FileInfo // the file under that name; nil if there is none
}

// Close closes the folders.
func (p *place) Close() {
	for _, d := range p.dirs[1:] {
		d.Close()
	}
}

// dir is the folder that the path leads to or whose name it leads to.
func (p *place) dir() *os.Root { return p.dirs[len(p.dirs)-1] }

// path is the way from the root without links.
func (p *place) path() string {
	if at := path.Join(append(p.parts, p.name)...); at != "" {
		return at
	}
	return "."
}

// resolve follows a path one step after the other, links included. The last
// name need not exist. With make, missing folders on the way are created.
func (j *jail) resolve(name string, make bool) (*place, error) {
	clean, err := j.local(name)
	if err != nil {
		return nil, err
	}
	p := &place{jail: j, asked: name, dirs: []*os.Root{j.root}}
	for rest := split(clean); len(rest) > 0; {
		if rest, err = p.step(rest[0], rest[1:], make); err != nil {
			p.Close()
			return nil, err
		}
	}
	return p, nil
}

// split returns the parts of a path, without empty parts and dots.
func split(path string) []string {
	return slices.DeleteFunc(strings.Split(filepath.ToSlash(path), "/"), func(part string) bool { return part == "" || part == "." })
}

// step follows one part of a path and returns the remaining parts. A link puts
// its parts in front of them.
func (p *place) step(part string, rest []string, make bool) ([]string, error) {
	if part == ".." {
		if len(p.parts) == 0 {
			return nil, p.jail.outside(p.asked)
		}
		p.dir().Close()
		p.dirs, p.parts = p.dirs[:len(p.dirs)-1], p.parts[:len(p.parts)-1]
		return rest, nil
	}
	if err := p.jail.allowed(p.asked, path.Join(append(p.parts, part)...)); err != nil {
		return nil, err
	}
	info, err := p.dir().Lstat(part)
	if errors.Is(err, fs.ErrNotExist) && len(rest) > 0 && make {
		if err = p.dir().Mkdir(part, 0o777); err == nil || errors.Is(err, fs.ErrExist) {
			info, err = p.dir().Lstat(part)
		}
	}
	switch {
	case errors.Is(err, fs.ErrNotExist) && len(rest) == 0:
		p.name = part
		return nil, nil
	case err != nil:
		return nil, p.jail.fail(p.asked, err)
	case info.Mode()&fs.ModeSymlink != 0:
		return p.follow(part, rest)
	case info.IsDir():
		next, err := enter(p.dir(), part, info)
		if err != nil {
			return nil, p.jail.fail(p.asked, err)
		}
		p.dirs, p.parts = append(p.dirs, next), append(p.parts, part)
		return rest, nil
	case len(rest) > 0:
		return nil, withFix(tool.Errorf(tool.NotFound, "there is no %s: %s is a file", p.asked, part), "Use list_files or search_files to find the right path.")
	}
	p.name, p.info = part, info
	return nil, nil
}

// follow returns the parts of a link's target, and then the remaining parts.
func (p *place) follow(part string, rest []string) ([]string, error) {
	if p.links++; p.links > maxLinks {
		return nil, tool.Errorf(tool.Permission, "%s goes through more than %d links", p.asked, maxLinks)
	}
	target, err := p.dir().Readlink(part)
	if err != nil {
		return nil, p.jail.fail(p.asked, err)
	}
	if filepath.IsAbs(target) || strings.HasPrefix(target, "/") {
		return nil, p.jail.outside(p.asked)
	}
	return append(split(target), rest...), nil
}

// errChanged reports that the file at a path has been replaced since it was examined.
var errChanged = errors.New("it changed while it was being opened")

// enter opens the folder in dir that info describes. If the name now belongs to
// another file, such as a link, it is not entered.
func enter(dir *os.Root, name string, info fs.FileInfo) (*os.Root, error) {
	next, err := dir.OpenRoot(name)
	if err != nil {
		return nil, err
	}
	opened, err := next.Stat(".")
	if err == nil && !os.SameFile(info, opened) {
		err = errChanged
	}
	if err != nil {
		next.Close()
		return nil, err
	}
	return next, nil
}

// local checks the text of a path before the file system is accessed.
func (j *jail) local(name string) (string, error) {
	switch {
	case name == "":
		return ".", nil
	case len(name) > 4096 || !utf8.ValidString(name) || strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r == 0x7f }):
		return "", tool.Errorf(tool.Validation, "%.100q is not a path", name)
	case strings.HasPrefix(name, "~"), strings.HasPrefix(name, "/"), strings.HasPrefix(name, `\`), hasDrive(name), filepath.IsAbs(name):
		return "", withFix(tool.Errorf(tool.Permission, "%s is not a path below the working folder", name),
			"Use a path relative to the working folder, like docs/notes.md.")
	case runtime.GOOS != "windows" && strings.Contains(name, `\`):
		return "", withFix(tool.Errorf(tool.Validation, "%s has a backslash", name), "Separate folders with /.")
	case !filepath.IsLocal(filepath.FromSlash(name)):
		return "", j.outside(name)
	}
	clean := filepath.Clean(filepath.FromSlash(name))
	return clean, j.allowed(name, filepath.ToSlash(clean))
}

// hasDrive recognises C: and the like on every system.
func hasDrive(name string) bool {
	return len(name) >= 2 && name[1] == ':' && (name[0]|0x20 >= 'a' && name[0]|0x20 <= 'z')
}

// allowed refuses paths with a part that is blocked.
func (j *jail) allowed(name, clean string) error {
	folder := ""
	for part := range strings.SplitSeq(clean, "/") {
		if j.blocks(folder, part) {
			return withFix(tool.Errorf(tool.Permission, "%s is off limits: files like %s may hold secrets", name, part), "Go on without it. If it is needed, ask the user for what you need to know.")
		}
		folder = part
	}
	return nil
}

// open opens the regular file at a place for reading.
func (p *place) open() (*os.File, error) {
	switch {
	case p.name == "":
		return nil, withFix(tool.Errorf(tool.Validation, "%s is a folder", p.asked), "Use list_files for folders.")
	case p.info == nil:
		return nil, p.jail.fail(p.asked, fs.ErrNotExist)
	case !p.info.Mode().IsRegular():
		return nil, tool.Errorf(tool.Permission, "%s is not a regular file", p.asked)
	}
	f, err := openFile(p.dir(), p.name, p.info)
	if err != nil {
		return nil, p.jail.fail(p.asked, err)
	}
	return f, nil
}

// openFile opens the file in dir that info describes. It refuses another file
// that now has its name.
func openFile(dir *os.Root, name string, info fs.FileInfo) (*os.File, error) {
	f, err := dir.OpenFile(name, os.O_RDONLY|nonblock, 0)
	if err != nil {
		return nil, err
	}
	opened, err := f.Stat()
	if err == nil && !os.SameFile(info, opened) {
		err = errChanged
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// read returns at most limit bytes of the file at a place and its whole size.
func (p *place) read(limit int64) (data []byte, size int64, err error) {
	f, err := p.open()
	if err != nil {
		return nil, 0, err
	}
	data, size, err = readSome(f, limit)
	if err != nil {
		return nil, 0, p.jail.fail(p.asked, err)
	}
	return data, size, nil
}

// readSome returns at most limit bytes of a file and its whole size, and closes
// it.
func readSome(f *os.File, limit int64) (data []byte, size int64, err error) {
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, 0, err
	}
	data, err = io.ReadAll(io.LimitReader(f, limit))
	return data, max(info.Size(), int64(len(data))), err
}

// entry is a result of a walk: a name in a folder that is held open.
type entry struct {
	path string
	dir  *os.Root
	info fs.FileInfo
}

// read returns at most limit bytes of the file that was found and its size.
func (e entry) read(limit int64) (data []byte, size int64, err error) {
	f, err := openFile(e.dir, e.info.Name(), e.info)
	if err != nil {
		return nil, 0, err
	}
	return readSome(f, limit)
}

// walk visits the entries below a folder in order of name, without following
// links, and counts the blocked ones. An error of the folder itself ends it;
// unreadable entries below are skipped. SkipAll ends it early.
func (j *jail) walk(ctx context.Context, dir *os.Root, at string, depth int, hidden *int, visit func(entry) error) error {
	f, err := dir.Open(".")
	if err != nil {
		return err
	}
	names, err := f.Readdirnames(-1)
	f.Close()
	if err != nil {
		return err
	}
	slices.Sort(names)
	for _, name := range names {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if j.blocks(at, name) {
			*hidden++
			continue
		}
		info, err := dir.Lstat(name)
		if err != nil {
			continue
		}
		e := entry{path: path.Join(at, name), dir: dir, info: info}
		if err := visit(e); err != nil {
			return err
		}
		if info.IsDir() && depth > 1 {
			if err := j.descend(ctx, e, depth-1, hidden, visit); err != nil {
				return err
			}
		}
	}
	return nil
}

// descend walks through a folder that a walk has found.
func (j *jail) descend(ctx context.Context, e entry, depth int, hidden *int, visit func(entry) error) error {
	next, err := enter(e.dir, e.info.Name(), e.info)
	if err != nil {
		return nil
	}
	defer next.Close()
	var stopped error
	err = j.walk(ctx, next, e.path, depth, hidden, func(e entry) error {
		stopped = visit(e)
		return stopped
	})
	if stopped == nil && ctx.Err() == nil {
		return nil // the folder cannot be read
	}
	return err
}

func (j *jail) outside(name string) error {
	return withFix(tool.Errorf(tool.Permission, "%s leads out of the working folder", name),
		"Stay below the working folder. Use list_files to see what is there.")
}

// fail turns an error of the file system into one a model can act on, without
// the machine's own paths.
func (j *jail) fail(name string, err error) error {
	switch {
	case errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded):
		return err // the caller gives the reason
	case errors.Is(err, fs.ErrNotExist):
		return withFix(tool.Errorf(tool.NotFound, "there is no %s", name), "Use list_files or search_files to find the right path.")
	case errors.Is(err, errChanged):
		return tool.Errorf(tool.Execution, "%s changed while it was being opened", name)
	case errors.Is(err, fs.ErrPermission):
		return tool.Errorf(tool.Permission, "the system does not permit access to %s", name)
	case strings.Contains(err.Error(), "escapes"):
		return j.outside(name)
	}
	cause := err
	var wrapped *fs.PathError
	if errors.As(err, &wrapped) {
		cause = wrapped.Err
	}
	return tool.Errorf(tool.Execution, "%s: %v", name, cause)
}

func withFix(e *tool.Error, fix string) *tool.Error {
	e.Fix = fix
	return e
}

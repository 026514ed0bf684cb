package builtin

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"strings"
	"unicode/utf8"

	"github.com/toolpost/toolpost/tool"
)

// jail gives access to the files below one folder and to no others. The
// operating system's own boundary (os.Root) keeps every access inside,
// whatever happens to the tree meanwhile; the rest of this file is about
// what must not be touched inside, and about saying why.
type jail struct {
	root    *os.Root
	blocked []string
}

// blockedNames are the names of files and folders that hold secrets or are
// nobody's business, in lower case. They match any part of a path.
var blockedNames = []string{
	".env", ".env.*", ".envrc", ".git", ".hg", ".svn", ".ssh", ".gnupg", ".aws", ".azure", ".kube", ".docker", ".npmrc", ".pypirc", ".netrc", "_netrc",
	".git-credentials", ".pgpass", ".htpasswd", "*.pem", "*.key", "*.p12", "*.pfx", "*.jks", "*.keystore", "*.kdbx", "id_rsa*", "id_dsa*", "id_ecdsa*", "id_ed25519*",
	"secrets", "secrets.*", "credentials", "credentials.*", ".secrets", "node_modules",
}

// maxLinks bounds the symbolic links that one path may go through.
const maxLinks = 20

// openJail opens a folder.
func openJail(dir string, blocked []string) (*jail, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	j := &jail{root: root, blocked: blockedNames}
	for _, pattern := range blocked {
		if _, err := path.Match(pattern, ""); err != nil {
			root.Close()
			return nil, errors.New("builtin: " + pattern + " is no pattern for file names")
		}
		j.blocked = append(j.blocked[:len(j.blocked):len(j.blocked)], strings.ToLower(pattern))
	}
	return j, nil
}

// resolve returns where name leads inside the folder, with all links followed.
// The last part need not exist.
func (j *jail) resolve(name string) (string, error) {
	clean, err := j.local(name)
	if err != nil {
		return "", err
	}
	rest := strings.Split(filepath.ToSlash(clean), "/")
	at, links := ".", 0
	for len(rest) > 0 {
		next := path.Join(at, rest[0])
		rest = rest[1:]
		if next == ".." || strings.HasPrefix(next, "../") {
			return "", j.outside(name)
		}
		info, err := j.root.Lstat(filepath.FromSlash(next))
		if errors.Is(err, fs.ErrNotExist) && len(rest) == 0 {
			at = next
			break
		}
		if err != nil {
			return "", j.fail(name, err)
		}
		if info.Mode()&fs.ModeSymlink == 0 {
			at = next
			continue
		}
		if links++; links > maxLinks {
			return "", tool.Errorf(tool.Permission, "%s goes through more than %d links", name, maxLinks)
		}
		target, err := j.root.Readlink(filepath.FromSlash(next))
		if err != nil {
			return "", j.fail(name, err)
		}
		if filepath.IsAbs(target) || strings.HasPrefix(target, "/") {
			return "", j.outside(name)
		}
		rest = append(strings.Split(filepath.ToSlash(target), "/"), rest...)
	}
	if err := j.allowed(name, at); err != nil {
		return "", err
	}
	return filepath.FromSlash(at), nil
}

// local checks the words of a path before anything is looked at.
func (j *jail) local(name string) (string, error) {
	switch {
	case name == "":
		return ".", nil
	case len(name) > 4096 || !utf8.ValidString(name) || strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r == 0x7f }):
		return "", tool.Errorf(tool.Validation, "%.100q is no path", name)
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
	for part := range strings.SplitSeq(strings.ToLower(clean), "/") {
		if j.blocks(part) {
			return withFix(tool.Errorf(tool.Permission, "%s is off limits: files like %s may hold secrets", name, part), "Go on without it. If it is needed, ask the user for what you need to know.")
		}
	}
	return nil
}

func (j *jail) blocks(part string) bool {
	// Windows drops trailing dots and spaces and opens streams after a colon.
	part, _, _ = strings.Cut(strings.TrimRight(part, ". "), ":")
	for _, pattern := range j.blocked {
		if ok, _ := path.Match(pattern, part); ok {
			return true
		}
	}
	return false
}

// open opens a regular file for reading and makes sure that it is still the
// file that was checked: a link put there meanwhile is noticed.
func (j *jail) open(name string) (*os.File, string, error) {
	at, err := j.resolve(name)
	if err != nil {
		return nil, "", err
	}
	f, err := j.root.OpenFile(at, os.O_RDONLY|nonblock, 0)
	if err != nil {
		return nil, "", j.fail(name, err)
	}
	if err := j.same(name, at, f); err != nil {
		f.Close()
		return nil, "", err
	}
	return f, at, nil
}

// same checks that f is the regular file that stands at a path without links.
func (j *jail) same(name, at string, f *os.File) error {
	opened, err := f.Stat()
	if err != nil {
		return j.fail(name, err)
	}
	if opened.IsDir() {
		return withFix(tool.Errorf(tool.Validation, "%s is a folder", name), "Use list_files for folders.")
	}
	if !opened.Mode().IsRegular() {
		return tool.Errorf(tool.Permission, "%s is not a regular file", name)
	}
	again, err := j.resolve(name)
	if err != nil {
		return err
	}
	there, err := j.root.Lstat(at)
	if err != nil || again != at || !os.SameFile(opened, there) {
		return tool.Errorf(tool.Execution, "%s changed while it was being opened", name)
	}
	return nil
}

// read returns at most limit bytes of a file and its whole size.
func (j *jail) read(name string, limit int64) (data []byte, size int64, at string, err error) {
	f, at, err := j.open(name)
	if err != nil {
		return nil, 0, "", err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, 0, "", j.fail(name, err)
	}
	data, err = io.ReadAll(io.LimitReader(f, limit))
	if err != nil {
		return nil, 0, "", j.fail(name, err)
	}
	return data, max(info.Size(), int64(len(data))), at, nil
}

func (j *jail) outside(name string) error {
	return withFix(tool.Errorf(tool.Permission, "%s leads out of the working folder", name),
		"Stay below the working folder. Use list_files to see what is there.")
}

// fail turns an error of the file system into one a model can act on, without
// the machine's own paths.
func (j *jail) fail(name string, err error) error {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return withFix(tool.Errorf(tool.NotFound, "there is no %s", name), "Use list_files or search_files to find the right path.")
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

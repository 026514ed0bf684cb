package builtin

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/toolpost/toolpost/internal/pinname"
	"github.com/toolpost/toolpost/tool"
)

// pins returns where a path of a call leads, the content of the file there, and the identity of each folder on the
// way that exists.
func (f *Files) pins(name string) ([]tool.Pin, error) {
	at := name
	p, err := f.jail.resolve(name, false)
	for up := path.Clean(filepath.ToSlash(name)); missing(err) && up != "."; { // its folder is missing
		up = path.Dir(up)
		p, err = f.jail.resolve(up, false)
	}
	if err != nil {
		return nil, err
	}
	defer p.Close()
	if at, err = f.target(name); err != nil {
		return nil, err
	}
	pins := []tool.Pin{{Name: pinname.File, Value: at}, {Name: pinname.Content + path.Clean(filepath.ToSlash(name)), Value: f.contentID(p, at)}}
	for i, dir := range p.dirs {
		info, err := dir.Stat(".")
		if err != nil {
			return nil, f.jail.fail(name, err)
		}
		folder := path.Join(p.parts[:i]...)
		if folder == "" {
			folder = "."
		}
		pins = append(pins, tool.Pin{Name: pinname.Folder + folder, Value: folderID(info)})
	}
	return pins, nil
}

// contentID identifies the content of the file at a place. Our own writes do not change it.
func (f *Files) contentID(p *place, at string) string {
	var sum [sha256.Size]byte
	if p.info != nil && p.info.Mode().IsRegular() {
		data, _, err := p.read(maxEdit + 1)
		if err != nil {
			return "unreadable"
		}
		sum = content(data, true)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if o, ok := f.own[at]; ok && o.after == sum {
		sum = o.before
	}
	return hex.EncodeToString(sum[:])
}

// target returns the path of a file with links followed; it and its folders need not exist.
func (f *Files) target(name string) (string, error) {
	p, err := f.jail.resolve(name, false)
	if missing(err) {
		return f.unmade(name)
	}
	if err != nil {
		return "", err
	}
	defer p.Close()
	return p.path(), nil
}

// findProgram returns the file of a program that runs in dir.
func findProgram(dir, name string) (string, error) {
	file := name
	if strings.ContainsRune(filepath.ToSlash(name), '/') && !filepath.IsAbs(name) {
		file = filepath.Join(dir, name)
		if abs, err := filepath.Abs(file); err == nil {
			file = abs // LookPath searches the PATH for a name without a slash
		}
	}
	found, err := exec.LookPath(file)
	if err != nil {
		return "", tool.Errorf(tool.NotFound, "%s cannot be run: %v", name, startError(err))
	}
	return filepath.Abs(found)
}

// maxHashed limits the files of a command line that are hashed, and the size of each.
const (
	maxHashedFiles = 32
	maxHashedSize  = 64 << 20
)

// maxPath limits the length of an argument that may be a path.
const maxPath = 1024

// argumentPaths returns the parts of an argument that may be a path: all of it, what follows an equals sign, or a short
// option, or an at sign.
func argumentPaths(arg string) []string {
	var all []string
	if !strings.HasPrefix(arg, "-") {
		all = append(all, arg)
	}
	if _, value, ok := strings.Cut(arg, "="); ok {
		all = append(all, value)
	} else if len(arg) > 2 && arg[0] == '-' && arg[1] != '-' {
		all = append(all, arg[2:])
	}
	for _, one := range all {
		if file, ok := strings.CutPrefix(one, "@"); ok {
			all = append(all, file)
		}
	}
	return slices.DeleteFunc(all, func(one string) bool {
		return one == "" || len(one) > maxPath || strings.ContainsAny(one, "\n\x00")
	})
}

// pathPins returns where a path in an argument leads: the identity of each folder on the way that
// exists, and the place itself if there is a link on the way. An argument whose first part does not exist
// is not a path.
func pathPins(root, arg string) []tool.Pin {
	at := filepath.Clean(arg)
	if !filepath.IsAbs(at) {
		at = filepath.Join(root, at)
	}
	rest := "" // what does not exist
	real, err := filepath.EvalSymlinks(at)
	for dir := at; err != nil; real, err = filepath.EvalSymlinks(dir) {
		if link, bad := os.Readlink(dir); bad == nil { // it leads to what does not exist
			return []tool.Pin{{Name: pinname.Path + arg, Value: link + rest}}
		}
		parent := filepath.Dir(dir)
		if !errors.Is(err, fs.ErrNotExist) || parent == root || parent == filepath.Dir(parent) {
			return nil
		}
		rest, dir = string(filepath.Separator)+filepath.Base(dir)+rest, parent
	}
	var pins []tool.Pin
	if real+rest != at {
		pins = append(pins, tool.Pin{Name: pinname.Path + arg, Value: real + rest})
	}
	for dir := real; dir != root && dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		if info, err := os.Stat(dir); err == nil && info.IsDir() {
			name := dir
			if rel, err := filepath.Rel(root, dir); err == nil && filepath.IsLocal(rel) {
				name = rel
			}
			pins = append(pins, tool.Pin{Name: pinname.Folder + filepath.ToSlash(name), Value: folderID(info)})
		}
	}
	return pins
}

// commandPins returns the pins of a command line: the line, its folder, where its
// program is, where its paths lead, and the content of each program file below the folder:
// the program itself, and arguments that can be run or that an interpreter reads.
func commandPins(p tool.Preview) ([]tool.Pin, error) {
	pins := p.Pins()
	root := p.Folder()
	info, err := os.Stat(root)
	if err != nil {
		return nil, tool.Errorf(tool.NotFound, "the folder of the program cannot be opened: %v", err)
	}
	pins = append(pins, tool.Pin{Name: pinname.Folder + ".", Value: folderID(info)})
	file, err := findProgram(root, p.Command[0])
	if err != nil {
		return nil, err
	}
	value := file
	if sum, ok := hashBelow(root, file); ok {
		value += " " + sum
	}
	pins = append(pins, tool.Pin{Name: pinname.Program + p.Command[0], Value: value})
	for _, arg := range p.Command[1:min(len(p.Command), maxHashedFiles+1)] {
		for _, at := range argumentPaths(arg) {
			pins = append(pins, pathPins(root, at)...)
		}
	}
	script := isInterpreter(file) // its first argument that is a file
	for _, arg := range p.Command[1:min(len(p.Command), maxHashedFiles+1)] {
		for _, name := range argumentPaths(arg) {
			at := name
			if !filepath.IsAbs(at) {
				at = filepath.Join(root, at)
			}
			info, err := os.Stat(at)
			if err != nil || !info.Mode().IsRegular() || !script && !runnable(at, info) {
				continue
			}
			if sum, ok := hashBelow(root, at); ok {
				pins = append(pins, tool.Pin{Name: pinname.Program + name, Value: sum})
				script = false
			}
		}
	}
	return pins, nil
}

// interpreters are programs whose first file argument is a program.
var interpreters = []string{"sh", "bash", "dash", "zsh", "ksh", "fish", "python", "pypy", "node", "deno", "bun", "ruby", "perl", "php", "lua", "Rscript", "awk", "gawk",
	"pwsh", "powershell", "cmd", "env", "sudo", "nice", "timeout", "xargs", "make", "go", "java", "tclsh", "osascript", "source"}

func isInterpreter(file string) bool {
	name := strings.TrimSuffix(filepath.Base(file), ".exe")
	return slices.Contains(interpreters, strings.TrimRight(name, ".0123456789"))
}

// runnable reports whether a file can be run: by its mode, or by its first line.
func runnable(at string, info fs.FileInfo) bool {
	if info.Mode().Perm()&0o111 != 0 {
		return true
	}
	f, err := os.Open(at)
	if err != nil {
		return false
	}
	defer f.Close()
	head, _ := bufio.NewReaderSize(f, 16).Peek(2)
	return string(head) == "#!"
}

// hashBelow returns the hash of a regular file below root; ok is false for any other.
func hashBelow(root, at string) (sum string, ok bool) {
	real, err := filepath.EvalSymlinks(at)
	if err != nil {
		return "", false
	}
	if rel, err := filepath.Rel(root, real); err != nil || !filepath.IsLocal(rel) {
		return "", false
	}
	f, err := os.OpenFile(real, os.O_RDONLY|nonblock, 0)
	if err != nil {
		return "unreadable", true
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return "", false
	}
	h := sha256.New()
	if _, err := io.Copy(h, io.LimitReader(f, maxHashedSize)); err != nil {
		return "unreadable", true
	}
	return hex.EncodeToString(h.Sum(nil)), true
}

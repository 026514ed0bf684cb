package tool

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/toolpost/toolpost/internal/pinname"
)

// Preview describes the effects of a call, for a person who decides about it. It
// is as complete as the arguments: an effect whose field is empty does not
// happen.
type Preview struct {
	// Command is the program with its arguments. Dir is its working folder, and
	// Input its standard input.
	Command    []string
	Dir, Input string
	// AnyProgram means that the call itself chose the program.
	AnyProgram bool
	// Files are the files that would change.
	Files []FileChange
	// Request is the method and the address of a request over the network.
	// Arguments that are not part of the address are sent with it.
	Request string
}

// FileChange is a text file before and after a call.
type FileChange struct {
	// Path is where the file is below the folder of the tool, with links
	// followed and slashes between its parts.
	Path string
	// New means that there is no such file yet; Before is empty then.
	New           bool
	Before, After string
}

// Pin is something that a call acts on and that its arguments do not fix: the folder
// of a file, a program, an address. See [Tool.Bind].
type Pin struct {
	// Name says what it is, for people: "command", "address", "file",
	// "folder docs", "program ./build.sh".
	Name string
	// Value differs if the thing is another one.
	Value string
}

// Folder returns the absolute path of Dir with links followed, as far as it exists: however
// the folder is named, one folder has one path.
func (p Preview) Folder() string {
	dir, err := filepath.Abs(p.Dir)
	if err != nil {
		return p.Dir
	}
	if resolved, err := filepath.EvalSymlinks(dir); err == nil {
		return resolved
	}
	return dir
}

// Pins returns the pins that a preview has by itself.
func (p Preview) Pins() []Pin {
	var pins []Pin
	if len(p.Command) > 0 {
		line, _ := json.Marshal(append([]string{p.Folder(), p.Input}, p.Command...))
		pins = append(pins, Pin{pinname.Command, string(line)})
	}
	if p.Request != "" {
		pins = append(pins, Pin{pinname.Address, p.Request})
	}
	for i, f := range p.Files {
		name := pinname.File
		if i > 0 {
			name = fmt.Sprintf("%s %d", pinname.File, i+1)
		}
		pins = append(pins, Pin{name, f.Path})
	}
	return pins
}

// String returns what would run, for lists of calls: the command line, the request or
// the files; "" if the preview has none of them.
func (p Preview) String() string {
	switch {
	case len(p.Command) > 0:
		words := make([]string, len(p.Command))
		for i, w := range p.Command {
			if words[i] = w; w == "" || strings.ContainsFunc(w, func(r rune) bool { return r <= ' ' || strings.ContainsRune("'\"\\$&|;<>()*?#~`", r) }) {
				words[i] = strconv.Quote(w)
			}
		}
		return strings.Join(words, " ")
	case p.Request != "":
		return p.Request
	case len(p.Files) > 0:
		words := make([]string, len(p.Files))
		for i, f := range p.Files {
			words[i] = f.Path
		}
		return "change " + strings.Join(words, ", ")
	}
	return ""
}

package ask

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/toolpost/toolpost/cmd/toolpost/internal/cli"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/view"
	"github.com/toolpost/toolpost/internal/pinname"
	"github.com/toolpost/toolpost/journal"
	"github.com/toolpost/toolpost/tool"
)

// scope is the reach of a permission. Narrower scopes have lower values.
type scope uint8

const (
	thisCall    scope = iota // the same tool with the same arguments and effect
	thisProgram              // the same program with any arguments
	ThisFolder               // changes to files below the same folder
	ThisTool
	Anything
)

// Grant is a permission for future calls.
type Grant struct {
	Scope   scope
	Tool    string
	shown   string       // the call, for thisCall
	hash    journal.Hash // of the arguments
	program string
	folder  string
	bound   string // what the call acts on: all of it for thisCall, else the program file, the folders or the server
}

// maxScope limits the name of a program or folder in a permission, because people do not read a name that fills the
// screen.
const maxScope = 200

// scopes returns the permissions that can be given with a call, the narrowest first.
func (p *Proposal) scopes() []Grant {
	out := []Grant{{Scope: thisCall, Tool: p.Tool, hash: p.ParamsHash, shown: p.short(), bound: p.acts("")}}
	if p.preview.AnyProgram && len(p.preview.Command[0]) <= maxScope {
		out = append(out, Grant{Scope: thisProgram, Tool: p.Tool, program: p.preview.Command[0], bound: p.program()})
	}
	if len(p.preview.Files) > 0 {
		if folder := path.Dir(p.preview.Files[0].Path); len(folder) <= maxScope {
			out = append(out, Grant{Scope: ThisFolder, folder: folder, bound: p.folders(folder)})
		}
	}
	return append(out, Grant{Scope: ThisTool, Tool: p.Tool, bound: p.acts(serverPin)}, Grant{Scope: Anything})
}

// serverPin precedes the name of the server that offers a tool.
const serverPin = "server "

// program returns the hash of the program file, "" for programs outside the folder of the tools.
func (p *Proposal) program() string { return string(p.Bound[pinname.Program+p.preview.Command[0]]) }

// acts returns what the call acts on, restricted to names with a prefix.
func (p *Proposal) acts(prefix string) string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(p.Bound)) {
		if strings.HasPrefix(name, prefix) {
			fmt.Fprintf(&b, "%s %s\n", name, p.Bound[name])
		}
	}
	return b.String()
}

// folders returns the identity of a folder and of those above it, as far as they exist.
func (p *Proposal) folders(folder string) string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(p.Bound)) {
		if at, ok := strings.CutPrefix(name, pinname.Folder); ok && (at == folder || below(folder, at)) {
			fmt.Fprintf(&b, "%s %s\n", name, p.Bound[name])
		}
	}
	return b.String()
}

// short returns the call in one line.
func (p *Proposal) short() string {
	text := (&view.Call{Args: string(p.Args), Phase: view.CallOver}).ShownArgs(2 * view.MaxArgs)
	if len(p.preview.Command) > 0 {
		text = cli.OneLine(cli.RevealedName(cli.ShellLine(p.preview.Command)), view.MaxArgs)
	}
	return p.Tool + " " + text
}

// covers reports whether g allows a call.
func (g Grant) covers(p *Proposal) bool {
	switch g.Scope {
	case thisCall:
		return g.Tool == p.Tool && g.hash == p.ParamsHash && g.bound == p.acts("")
	case thisProgram:
		return g.Tool == p.Tool && p.preview.AnyProgram && g.program == p.preview.Command[0] && g.bound == p.program()
	case ThisFolder:
		return strings.HasPrefix(p.folders(g.folder), g.bound) && len(p.preview.Files) > 0 && !slices.ContainsFunc(p.preview.Files, func(f tool.FileChange) bool { return !below(f.Path, g.folder) })
	case ThisTool:
		return g.Tool == p.Tool && g.bound == p.acts(serverPin)
	case Anything:
		return true
	}
	return false
}

func below(file, folder string) bool {
	return folder == "." || strings.HasPrefix(file, folder+"/")
}

// runners are programs whose arguments are, or name, another program.
var runners = strings.Fields("sh bash zsh dash ksh fish busybox env sudo doas su xargs nohup nice timeout setsid find make ssh docker go npx awk sed perl python python3 ruby node deno bun php lua osascript cmd cmd.exe powershell powershell.exe pwsh")

// String describes the calls that g allows.
func (g Grant) String() string {
	switch g.Scope {
	case thisCall:
		return "this call again: " + g.shown
	case thisProgram:
		text := "the program " + cli.RevealedName(g.program) + ", whatever its arguments"
		if slices.Contains(runners, strings.ToLower(path.Base(g.program))) {
			text += ", which can be any other program"
		}
		return text
	case ThisFolder:
		if g.folder == "." {
			return "changes to every file that tools can see"
		}
		return "changes to every file below " + cli.RevealedName(g.folder)
	case ThisTool:
		return "every call of " + g.Tool
	}
	return "everything that would be asked about"
}

// Grants holds the permissions that were given and not revoked. They end with the process.
type Grants struct {
	mu  sync.Mutex
	all []Grant
}

func (g *Grants) add(one Grant) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !slices.Contains(g.all, one) {
		g.all = append(g.all, one)
	}
}

// find returns the first permission that covers a call.
func (g *Grants) find(p *Proposal) (Grant, bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if i := slices.IndexFunc(g.all, func(one Grant) bool { return one.covers(p) }); i >= 0 {
		return g.all[i], true
	}
	return Grant{}, false
}

// List returns the permissions in the order in which they were given.
func (g *Grants) List() []Grant {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Clone(g.all)
}

// Drop revokes the permission with an index from 0, or all permissions if i is negative.
func (g *Grants) Drop(i int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if i < 0 {
		g.all = nil
		return
	}
	g.all = slices.Delete(g.all, i, i+1)
}

package main

import (
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/toolpost/toolpost/cmd/toolpost/internal/cli"
	"github.com/toolpost/toolpost/journal"
	"github.com/toolpost/toolpost/tool"
)

// scope is the reach of a permission. Narrower scopes have lower values.
type scope uint8

const (
	thisCall    scope = iota // the same tool with the same arguments
	thisProgram              // the same program with any arguments
	thisFolder               // changes to files below the same folder
	thisTool
	anything
)

// grant is a permission for future calls.
type grant struct {
	scope   scope
	tool    string
	shown   string       // the call, for thisCall
	hash    journal.Hash // of the arguments
	program string
	folder  string
}

// maxScope limits the name of a program or folder in a permission, because people do not read a name that fills the
// screen.
const maxScope = 200

// scopes returns the permissions that can be given with a call, the narrowest first.
func (p *proposal) scopes() []grant {
	out := []grant{{scope: thisCall, tool: p.Tool, hash: p.ParamsHash, shown: p.short()}}
	if p.plan.AnyProgram && len(p.plan.Command[0]) <= maxScope {
		out = append(out, grant{scope: thisProgram, tool: p.Tool, program: p.plan.Command[0]})
	}
	if len(p.plan.Files) > 0 {
		if folder := path.Dir(p.plan.Files[0].Path); len(folder) <= maxScope {
			out = append(out, grant{scope: thisFolder, folder: folder})
		}
	}
	return append(out, grant{scope: thisTool, tool: p.Tool}, grant{scope: anything})
}

// short returns the call in one line.
func (p *proposal) short() string {
	text := (&callView{args: string(p.Args), phase: over}).shownArgs(0)
	if len(p.plan.Command) > 0 {
		text = cli.OneLine(cli.Revealed(cli.ShellLine(p.plan.Command)), maxArgs)
	}
	return p.Tool + " " + text
}

// covers reports whether g allows a call.
func (g grant) covers(p *proposal) bool {
	switch g.scope {
	case thisCall:
		return g.tool == p.Tool && g.hash == p.ParamsHash
	case thisProgram:
		return g.tool == p.Tool && p.plan.AnyProgram && g.program == p.plan.Command[0]
	case thisFolder:
		return len(p.plan.Files) > 0 && !slices.ContainsFunc(p.plan.Files, func(f tool.FileChange) bool { return !below(f.Path, g.folder) })
	case thisTool:
		return g.tool == p.Tool
	case anything:
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
func (g grant) String() string {
	switch g.scope {
	case thisCall:
		return "this call again: " + g.shown
	case thisProgram:
		text := "the program " + cli.Revealed(g.program) + ", whatever its arguments"
		if slices.Contains(runners, strings.ToLower(path.Base(g.program))) {
			text += ", which can be any other program"
		}
		return text
	case thisFolder:
		if g.folder == "." {
			return "changes to every file that tools can see"
		}
		return "changes to every file below " + cli.Revealed(g.folder)
	case thisTool:
		return "every call of " + g.tool
	}
	return "everything that would be asked about"
}

// grants holds the permissions that were given and not revoked. They end with the process.
type grants struct {
	mu  sync.Mutex
	all []grant
}

func (g *grants) add(one grant) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !slices.Contains(g.all, one) {
		g.all = append(g.all, one)
	}
}

// find returns the first permission that covers a call.
func (g *grants) find(p *proposal) (grant, bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if i := slices.IndexFunc(g.all, func(one grant) bool { return one.covers(p) }); i >= 0 {
		return g.all[i], true
	}
	return grant{}, false
}

// list returns the permissions in the order in which they were given.
func (g *grants) list() []grant {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Clone(g.all)
}

// drop revokes the permission with an index from 0, or all permissions if i is negative.
func (g *grants) drop(i int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if i < 0 {
		g.all = nil
		return
	}
	g.all = slices.Delete(g.all, i, i+1)
}

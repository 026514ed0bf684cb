package ask

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"github.com/toolpost/toolpost/cmd/toolpost/internal/cli"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/term"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/view"
	"github.com/toolpost/toolpost/invoke"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/tool"
)

// Proposal is a call that needs approval, with a preview of its effects.
type Proposal struct {
	invoke.Question
	preview tool.Preview
	rows    []row
}

// row is a line of a proposal. Its mark precedes every screen row of the line. Text of the call therefore cannot
// imitate a row of Toolpost.
type row struct {
	mark, text string
	style      func(cli.Palette, string) string // nil for plain text
}

// Propose builds the proposal for a question. Without a preview from the tool it shows the arguments.
func Propose(ctx context.Context, tools *tool.Set, q invoke.Question) *Proposal {
	p := &Proposal{Question: q}
	t, _ := tools.Lookup(q.Tool)
	var err error
	if t.Preview != nil {
		p.preview, err = t.Preview(ctx, q.Args)
	}
	switch {
	case err == nil && len(p.preview.Command) > 0:
		p.command()
	case err == nil && len(p.preview.Files) > 0:
		p.files()
	default:
		p.arguments(t)
	}
	if err != nil {
		p.preview = tool.Preview{}
		p.add("! ", "it will fail: "+err.Error(), cli.Palette.Yellow)
	}
	if plain, _ := invoke.AllowOwn(ctx, t, llm.Call{}); q.Why() != plain.Reason {
		p.add("! ", q.Why(), cli.Palette.Yellow)
	}
	return p
}

// add adds a row for each line of a text that may hold names, paths, hosts and programs.
func (p *Proposal) add(mark, text string, style func(cli.Palette, string) string) {
	p.lines(mark, cli.RevealedName(text), style)
}

// prose adds a row for each line of ordinary text.
func (p *Proposal) prose(mark, text string, style func(cli.Palette, string) string) {
	p.lines(mark, cli.RevealedText(text), style)
}

func (p *Proposal) lines(mark, text string, style func(cli.Palette, string) string) {
	for line := range strings.SplitSeq(text, "\n") {
		p.rows = append(p.rows, row{mark, line, style})
	}
}

func (p *Proposal) title(text string) { p.add("? ", text, cli.Palette.Bold) }

// command shows a program with its arguments and its standard input.
func (p *Proposal) command() {
	p.title(p.Tool + ": run this program in " + folder(p.preview.Dir))
	p.add("  $ ", cli.ShellLine(p.preview.Command), nil)
	if p.preview.Input != "" {
		p.add("  ", cli.Count(len(p.preview.Input), "byte")+" of standard input:", cli.Palette.Dim)
		p.prose("  │ ", p.preview.Input, nil)
	}
}

// folder returns the absolute path of a folder, or "this folder".
func folder(dir string) string {
	if abs, err := filepath.Abs(dir); err == nil {
		dir = abs
	}
	if here, err := os.Getwd(); err == nil && here == dir {
		return "this folder"
	}
	return dir
}

// marks are the marks and styles for the lines of a difference.
var marks = map[byte]row{
	' ': {mark: "    "},
	'@': {mark: "  @ ", style: cli.Palette.Cyan},
	'+': {mark: "  + ", style: cli.Palette.Green},
	'-': {mark: "  - ", style: cli.Palette.Red},
}

// files shows the changes to files.
func (p *Proposal) files() {
	for _, f := range p.preview.Files {
		lines := term.Difference(f.Before, f.After)
		added, removed := 0, 0
		for _, line := range lines {
			switch line.Mark {
			case '+':
				added++
			case '-':
				removed++
			}
		}
		switch {
		case f.New:
			p.title(fmt.Sprintf("%s: new file %s, %s", p.Tool, f.Path, cli.Count(added, "line")))
		case f.Before == f.After:
			p.title(fmt.Sprintf("%s: %s stays as it is", p.Tool, f.Path))
		default:
			p.title(fmt.Sprintf("%s: change %s, %s added and %d removed", p.Tool, f.Path, cli.Count(added, "line"), removed))
		}
		for _, line := range lines {
			as := marks[line.Mark]
			p.prose(as.mark, line.Text, as.style)
		}
	}
}

// arguments shows the arguments of a call without a preview.
func (p *Proposal) arguments(t tool.Tool) {
	title := p.Tool
	if t.Origin != tool.Builtin && t.Source != "" {
		title += " from " + t.Source
	}
	if p.preview.Request != "" {
		p.title(title + ": send this request")
		p.add("  > ", p.preview.Request, nil)
	} else {
		p.title(title + ": call it with these arguments")
	}
	names := view.KeyOrder(string(p.Args))
	values := make(map[string]json.RawMessage)
	if json.Unmarshal(p.Args, &values) != nil || len(names) != len(values) { // not an object, or duplicate names
		p.add("  │ ", string(p.Args), nil)
		return
	}
	for _, name := range names {
		var text string
		if json.Unmarshal(values[name], &text) == nil && strings.Contains(text, "\n") {
			p.add("  │ ", fmt.Sprintf("%s: %s, %s", name, cli.Count(len(text), "byte"), cli.Count(len(term.TextLines(text)), "line")), nil)
			p.prose("  │   ", text, nil)
			continue
		}
		p.add("  │ ", name+": "+string(values[name]), nil)
	}
}

// screen returns the rows for a screen of the given width. It never drops characters.
func (p *Proposal) screen(c cli.Palette, width int) []string {
	var out []string
	for _, r := range p.rows {
		mark, style := r.mark, r.style
		if style == nil {
			style = func(_ cli.Palette, s string) string { return s }
		}
		room := max(8, width-1-ansi.StringWidth(mark))
		for piece := range strings.SplitSeq(ansi.Hardwrap(r.text, room, true), "\n") {
			if mark == "? " {
				out = append(out, c.Yellow("?")+" "+style(c, piece))
				mark = "  "
				continue
			}
			out = append(out, c.Dim(mark)+style(c, piece))
			if mark = r.mark; strings.Contains("? $ ! ", strings.TrimLeft(mark, " ")) {
				mark = strings.Repeat(" ", ansi.StringWidth(mark))
			}
		}
	}
	return out
}

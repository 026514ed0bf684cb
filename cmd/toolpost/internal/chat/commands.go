package chat

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/toolpost/toolpost/cmd/toolpost/internal/ask"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/cli"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/openmodel"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/settings"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/view"
	"github.com/toolpost/toolpost/invoke"
	"github.com/toolpost/toolpost/llm"
)

// slash is a slash command of the conversation.
type slash struct {
	name, args, help string
	do               func(c *chat, arg string) tea.Cmd
	anytime          bool // also during a turn
}

// slashes returns the commands of chat. It is a function because /help lists the commands itself.
func slashes() []slash {
	return []slash{
		{"/model", "[ID]", "show the model, or go on with another one", (*chat).switchModel, false},
		{"/models", "", "list the models that can be asked here and now", (*chat).listModels, true},
		{"/tools", "[revoke N|all]", "list the tools and what you allowed, or take it back", (*chat).listTools, true},
		{"/prompt", "[SERVER:NAME …]", "list the prompts of MCP servers, or send one; arguments are NAME=VALUE", (*chat).prompt, false},
		{"/receipts", "", "list the records of this conversation", (*chat).listReceipts, true},
		{"/save", "FILE", "write the conversation to a new file, as Markdown", (*chat).save, true},
		{"/clear", "", "begin a new conversation; what was recorded stays", (*chat).clear, false},
		{"/retry", "", "take back the last turn and ask again", (*chat).retry, false},
		{"/help", "", "show this", (*chat).help, true},
		{"/quit", "", "leave (Ctrl-D does too)", func(*chat, string) tea.Cmd { return tea.Quit }, false},
	}
}

// anytime reports whether a line is a command that may run during a turn.
func anytime(line string) bool {
	name, _, _ := strings.Cut(line, " ")
	return slices.ContainsFunc(slashes(), func(s slash) bool { return s.name == name && s.anytime })
}

// command runs a line that starts with a slash.
func (c *chat) command(line string) tea.Cmd {
	c.log.Add(view.Said, cli.Printable(line))
	name, arg, _ := strings.Cut(line, " ")
	all := slashes()
	if i := slices.IndexFunc(all, func(s slash) bool { return s.name == name }); i >= 0 {
		return all[i].do(c, strings.TrimSpace(arg))
	}
	var names []string
	for _, s := range all {
		names = append(names, s.name)
	}
	hint := cli.DidYouMean(name, names)
	if hint == "" {
		hint = ";"
	}
	c.log.Add(view.Noted, "unknown command "+cli.Printable(name)+hint+" /help lists them")
	return nil
}

func (c *chat) help(string) tea.Cmd {
	var b strings.Builder
	for _, s := range slashes() {
		fmt.Fprintf(&b, "%-22s %s\n", s.name+" "+s.args, s.help)
	}
	b.WriteString("\nEnter sends, or waits for the end of a turn · Ctrl-J new line · Tab completes\n↑ ↓ what you said before · Page Up, Page Down scroll\nCtrl-C interrupts a turn · Ctrl-L redraws the screen")
	c.log.Add(view.ShownAs, b.String())
	return nil
}

// prompt sends a prompt of a server, or lists all.
func (c *chat) prompt(arg string) tea.Cmd {
	if arg == "" {
		ctx, w := c.ctx, c.w
		return func() tea.Msg { return notice(w.ListPrompts(ctx)) }
	}
	return c.fetch(func(ctx context.Context) (llm.Message, error) { return c.w.ServerPrompt(ctx, arg) })
}

// notice is a text for the screen.
type notice string

// fetched reports that a message is complete that has parts of a server.
type fetched struct {
	msg llm.Message
	err error
}

// fetch has a message completed in the background, like a turn that can be interrupted.
func (c *chat) fetch(get func(context.Context) (llm.Message, error)) tea.Cmd {
	ctx, stop := context.WithCancel(c.ctx)
	c.stop, c.began = stop, time.Now()
	return tea.Batch(ask.Tick(), func() tea.Msg {
		defer stop()
		msg, err := get(ctx)
		return fetched{msg, err}
	})
}

// fetched begins a turn with a message, or reports why there is none.
func (c *chat) fetched(f fetched) tea.Cmd {
	c.stop = nil
	if f.err != nil {
		c.log.Add(view.ShownAs, c.p.Red("✗ ")+cli.Printable(f.err.Error()))
		return c.next()
	}
	return c.begin(f.msg)
}

// switchModel continues with another model and keeps the conversation.
func (c *chat) switchModel(id string) tea.Cmd {
	if id == "" {
		c.log.Add(view.Noted, c.w.Found.ID+", "+c.w.Found.Why)
		c.aboutModel()
		return nil
	}
	if err := c.w.Use(c.ctx, openmodel.Choice{ID: id, Why: "chosen here"}); err != nil {
		c.log.Add(view.ShownAs, c.p.Red("✗ ")+cli.Printable(cli.Plain(err)))
		return nil
	}
	c.log.Add(view.Noted, "going on with "+c.w.Found.ID)
	c.aboutModel()
	return nil
}

// aboutModel shows what the model is taken for and what it can do.
func (c *chat) aboutModel() {
	if custom := c.w.Custom(); custom != "" {
		c.log.Add(view.Noted, cli.Printable(custom))
	}
	if can := c.w.Abilities(); can != "" {
		c.log.Add(view.Noted, "it has "+cli.Printable(can))
	}
}

// listTools shows the tools and the permissions, or revokes permissions.
func (c *chat) listTools(arg string) tea.Cmd {
	if arg != "" {
		c.log.Add(view.Noted, c.revoke(arg))
		return nil
	}
	granted := c.Grants.List()
	var rows [][3]string // name, policy, description
	var widths [2]int
	for t := range c.w.ToolSet.All() {
		row := [3]string{t.Name, "allowed", cli.FirstLine(t.Description, 100)}
		if d, _ := invoke.AllowOwn(c.ctx, t, llm.Call{}); d.Verdict != invoke.Allow {
			row[1] = c.asks(t.Name, granted)
		}
		for i := range widths {
			widths[i] = max(widths[i], len(row[i]))
		}
		rows = append(rows, row)
	}
	var b strings.Builder
	for _, row := range rows {
		line := c.p.Bold(fmt.Sprintf("%-*s", widths[0], row[0])) + "  " + c.p.Yellow(fmt.Sprintf("%-*s", widths[1], row[1])) + "  " + c.p.Dim(row[2])
		b.WriteString(ansi.Truncate(line, max(20, c.width), "…") + "\n")
	}
	root := c.w.Root
	if root == "." {
		root = "this folder"
	}
	b.WriteString(c.p.Dim("file tools see files below " + root))
	if len(granted) > 0 {
		b.WriteString("\n\nyou allowed, until you leave:")
	}
	for i, g := range granted {
		fmt.Fprintf(&b, "\n%3d %s", i+1, g)
	}
	if len(granted) > 0 {
		b.WriteString("\n" + c.p.Dim("/tools revoke 1 takes one back, /tools revoke all everything"))
	}
	c.log.Add(view.ShownAs, b.String())
	return nil
}

// asks describes whether the person is asked before a tool runs that may change things.
func (c *chat) asks(name string, granted []ask.Grant) string {
	covers := func(g ask.Grant, broad bool) bool {
		return g.Scope == ask.Anything || g.Tool == name && (g.Scope == ask.ThisTool) == broad || !broad && g.Scope == ask.ThisFolder && slices.Contains(settings.Classes["write"], name)
	}
	switch {
	case c.Yes:
		return "allowed by --yes"
	case slices.ContainsFunc(granted, func(g ask.Grant) bool { return covers(g, true) }):
		return "allowed"
	case slices.ContainsFunc(granted, func(g ask.Grant) bool { return covers(g, false) }):
		return "asks, except below"
	}
	return "asks first"
}

// revoke takes back permissions and returns a message about it.
func (c *chat) revoke(arg string) string {
	which, ok := strings.CutPrefix(arg, "revoke ")
	granted := c.Grants.List()
	n, err := strconv.Atoi(strings.TrimSpace(which))
	switch {
	case ok && strings.TrimSpace(which) == "all":
		c.Grants.Drop(-1)
		return "everything is asked about again"
	case !ok || err != nil || n < 1 || n > len(granted):
		return "/tools revoke takes a number from the list of /tools, or all"
	}
	c.Grants.Drop(n - 1)
	return "no longer allowed: " + granted[n-1].String()
}

func (c *chat) listReceipts(string) tea.Cmd {
	if len(c.runs) == 0 {
		c.log.Add(view.Noted, "nothing is recorded yet")
		return nil
	}
	c.log.Add(view.ShownAs, "toolpost receipts verify "+strings.Join(c.runs, c.journal+"\ntoolpost receipts verify ")+c.journal)
	return nil
}

// retry drops the last turn and asks again.
func (c *chat) retry(string) tea.Cmd {
	if c.last == nil {
		c.log.Add(view.Noted, "nothing was asked yet")
		return nil
	}
	c.messages, c.whole = c.before, c.previous
	return c.begin(*c.last)
}

// maxHistory limits the number of remembered inputs.
const maxHistory = 500

func historyFile() string { return filepath.Join(settings.StateDir(), "chat_history.jsonl") }

// loadHistory returns the inputs of earlier conversations, or nil if they cannot be read.
func loadHistory() []string {
	f, err := os.Open(historyFile())
	if err != nil {
		return nil
	}
	defer f.Close()
	var out []string
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 2*cli.MaxTask)
	for lines.Scan() {
		var text string
		if json.Unmarshal(lines.Bytes(), &text) == nil {
			out = append(out, text)
		}
	}
	return out[max(0, len(out)-maxHistory):]
}

// remember adds to the history of this conversation and later ones. Errors while writing the history are ignored.
func (c *chat) remember(text string) {
	if n := len(c.history); n == 0 || c.history[n-1] != text {
		c.history = append(c.history, text)
		saveHistory(c.history)
	}
	c.at, c.draft = len(c.history), ""
}

func saveHistory(history []string) {
	var b strings.Builder
	for _, text := range history[max(0, len(history)-maxHistory):] {
		line, _ := json.Marshal(text)
		b.Write(append(line, '\n'))
	}
	file := historyFile()
	if os.MkdirAll(filepath.Dir(file), 0o700) == nil {
		_ = os.WriteFile(file, []byte(b.String()), 0o600)
	}
}

// modelsFound reports the usable models to the screen.
type modelsFound []openmodel.Choice

// listModels lists the usable models. It asks the servers in the background.
func (c *chat) listModels(string) tea.Cmd {
	ctx, s := c.ctx, c.w.Settings
	return func() tea.Msg { return modelsFound(openmodel.Usable(ctx, &s.ModelOptions)) }
}

// showModels shows the result of listModels.
func (c *chat) showModels(models modelsFound) {
	var b strings.Builder
	c.served = nil
	for _, m := range models {
		c.served = append(c.served, m.ID)
		mark := "  "
		if m.ID == c.w.Found.ID {
			mark = "→ "
		}
		fmt.Fprintf(&b, "%s%s %s\n", mark, c.p.Bold(cli.Printable(m.ID)), c.p.Dim(cli.Printable(m.Why)))
	}
	b.WriteString(c.p.Dim("/model ID continues with another one"))
	c.log.Add(view.ShownAs, b.String())
}

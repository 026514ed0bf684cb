package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/toolpost/toolpost/provider"
	"github.com/toolpost/toolpost/tool"
)

// slash is a command that is typed into the conversation.
type slash struct {
	name, args, help string
	do               func(c *chat, arg string) tea.Cmd
}

// slashes are the commands of chat. (A function, because /help shows them.)
func slashes() []slash {
	return []slash{
		{"/model", "[ID]", "show the model, or go on with another one", (*chat).switchModel},
		{"/tools", "", "list the tools and what they may do", (*chat).listTools},
		{"/receipts", "", "list the records of this conversation", (*chat).listReceipts},
		{"/retry", "", "take back the last turn and ask again", (*chat).retry},
		{"/help", "", "show this", (*chat).help},
		{"/quit", "", "leave (Ctrl-D does too)", func(*chat, string) tea.Cmd { return tea.Quit }},
	}
}

// command does what a line that starts with a slash says.
func (c *chat) command(line string) tea.Cmd {
	c.log.add(said, printable(line))
	name, arg, _ := strings.Cut(line, " ")
	all := slashes()
	if i := slices.IndexFunc(all, func(s slash) bool { return s.name == name }); i >= 0 {
		return all[i].do(c, strings.TrimSpace(arg))
	}
	c.log.add(noted, name+" is no command; /help lists them")
	return nil
}

func (c *chat) help(string) tea.Cmd {
	var b strings.Builder
	for _, s := range slashes() {
		fmt.Fprintf(&b, "%-16s %s\n", s.name+" "+s.args, s.help)
	}
	b.WriteString("\nEnter sends · Ctrl-J new line · ↑ ↓ what you said before · Page Up, Page Down scroll\nCtrl-C interrupts a turn · Ctrl-L draws the screen anew")
	c.log.add(shownAs, b.String())
	return nil
}

// switchModel goes on with another model; the conversation stays.
func (c *chat) switchModel(id string) tea.Cmd {
	if id == "" {
		c.log.add(noted, c.w.found.ID+", "+c.w.found.Why+c.route())
		return nil
	}
	if err := c.w.use(found{id, "chosen here"}); err != nil {
		c.log.add(shownAs, c.p.red("✗ ")+printable(err.Error()))
		return nil
	}
	c.log.add(noted, "going on with "+id+c.route())
	if m, ok := c.w.model.(*provider.Model); ok {
		for _, w := range m.Info().Warnings() {
			c.log.add(noted, string(w.Code)+" "+w.Feature+": "+w.Detail)
		}
	}
	return nil
}

// route says how the model is taught tools.
func (c *chat) route() string {
	m, ok := c.w.model.(*provider.Model)
	if !ok {
		return ""
	}
	r, err := m.Explain(nil)
	if err != nil {
		return ""
	}
	return "; tools: " + r.String()
}

func (c *chat) listTools(string) tea.Cmd {
	var b strings.Builder
	for t := range c.w.tools.All() {
		asks := ""
		if !t.Effects.Has(tool.ReadOnly) || t.Origin == tool.Builtin && !t.Effects.Has(tool.Local) {
			asks = c.p.yellow(" asks first")
		}
		fmt.Fprintf(&b, "%s%s %s\n", c.p.bold(fmt.Sprintf("%-14s", t.Name)), asks, c.p.dim(firstLine(t.Description, 60)))
	}
	fmt.Fprintf(&b, "below %s", c.w.Root)
	c.log.add(shownAs, b.String())
	return nil
}

func (c *chat) listReceipts(string) tea.Cmd {
	if len(c.runs) == 0 {
		c.log.add(noted, "nothing is recorded yet")
		return nil
	}
	c.log.add(shownAs, "toolpost receipts verify "+strings.Join(c.runs, "\ntoolpost receipts verify "))
	return nil
}

// retry takes back the last turn and asks again.
func (c *chat) retry(string) tea.Cmd {
	if c.last == "" {
		c.log.add(noted, "nothing was asked yet")
		return nil
	}
	c.messages = c.before
	return c.begin(c.last)
}

// maxHistory bounds what is remembered of what a person typed.
const maxHistory = 500

func historyFile() string { return filepath.Join(stateDir(), "chat_history.jsonl") }

// loadHistory returns what was typed in earlier conversations; none if it
// cannot be read.
func loadHistory() []string {
	f, err := os.Open(historyFile())
	if err != nil {
		return nil
	}
	defer f.Close()
	var out []string
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 2*maxTask)
	for lines.Scan() {
		var text string
		if json.Unmarshal(lines.Bytes(), &text) == nil {
			out = append(out, text)
		}
	}
	return out[max(0, len(out)-maxHistory):]
}

// remember adds to the history, for this conversation and the next ones. A
// history that cannot be written is no reason to stop.
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

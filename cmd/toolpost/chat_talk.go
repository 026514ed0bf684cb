package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/toolpost/toolpost/cmd/toolpost/internal/cli"
	"github.com/toolpost/toolpost/llm"
)

// sayable returns a message as the screen shows it: its text and the names of its attachments.
func sayable(msg llm.Message) string {
	var lines []string
	for _, p := range msg.Parts {
		switch p := p.(type) {
		case llm.Text:
			text, _, attached := strings.Cut(p.Text, "\n```")
			if name, ok := strings.CutPrefix(text, "\n\nThe content of "); ok && attached {
				lines = append(lines, "[text "+strings.TrimSuffix(name, ":")+"]")
				continue
			}
			lines = append(lines, p.Text)
		case llm.Media:
			lines = append(lines, fmt.Sprintf("[%s %s, %s]", p.Kind, p.Name, p.MIME))
		}
	}
	return cli.Printable(strings.TrimSpace(strings.Join(lines, "\n")))
}

// maxRecounted is how many messages of an earlier conversation are shown.
const maxRecounted = 50

// recount shows the messages of an earlier conversation.
func (t *transcript) recount(messages []llm.Message) {
	if n := len(messages) - maxRecounted; n > 0 {
		t.add(noted, fmt.Sprintf("%d earlier messages are not shown", n))
		messages = messages[n:]
	}
	for _, m := range messages {
		switch m.Role {
		case llm.RoleUser:
			t.add(said, sayable(m))
		case llm.RoleAssistant:
			if text := m.Text(); strings.TrimSpace(text) != "" {
				t.grow(answered, text)
			}
			for _, call := range m.Calls() {
				t.add(noted, "called "+callLine(call))
			}
		}
	}
}

// callLine formats a call in one line.
func callLine(call llm.Call) string {
	return firstLine(cli.Printable(call.Name+" "+string(call.Args)), 100)
}

// clear starts a new conversation. Permissions and records are kept.
func (c *chat) clear(string) tea.Cmd {
	c.messages, c.before, c.last, c.open, c.parent = nil, nil, nil, "", ""
	c.whole, c.previous = nil, nil
	c.log.items = nil
	c.log.add(noted, "a new conversation with "+c.w.found.ID)
	return tea.ClearScreen
}

// save writes the conversation to a new file.
func (c *chat) save(file string) tea.Cmd {
	switch err := c.write(file); {
	case file == "":
		c.log.add(noted, "/save takes the name of a file that is not there yet")
	case errors.Is(err, fs.ErrExist):
		c.log.add(noted, cli.Printable(file)+" is there already; give another name")
	case err != nil:
		c.log.add(shownAs, c.p.Red("✗ ")+cli.Printable(err.Error()))
	default:
		c.log.add(noted, fmt.Sprintf("%s written to %s, readable by you alone", counted(len(c.whole), "message"), cli.Printable(file)))
	}
	return nil
}

func (c *chat) write(file string) error {
	if file == "" {
		return nil
	}
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString(c.w.keep.Clean(asMarkdown(c.w.found.ID, c.whole)).String())
	return errors.Join(err, f.Close())
}

// asMarkdown formats a conversation as Markdown.
func asMarkdown(model string, messages []llm.Message) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# A conversation with %s\n", model)
	speaker := ""
	for _, m := range messages {
		who := map[llm.Role]string{llm.RoleUser: "You", llm.RoleAssistant: "Model"}[m.Role]
		for _, p := range m.Parts {
			text := ""
			switch p := p.(type) {
			case llm.Text:
				text = strings.TrimSpace(p.Text)
			case llm.Media:
				text = fmt.Sprintf("[%s %s, %s]", p.Kind, p.Name, p.MIME)
			case llm.Call:
				text = "> called " + callLine(p)
			}
			if text == "" || who == "" {
				continue
			}
			if who != speaker {
				fmt.Fprintf(&b, "\n## %s\n", who)
				speaker = who
			}
			fmt.Fprintf(&b, "\n%s\n", text)
		}
	}
	return b.String()
}

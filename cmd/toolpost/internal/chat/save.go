package chat

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/toolpost/toolpost/cmd/toolpost/internal/cli"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/view"
	"github.com/toolpost/toolpost/llm"
)

// clear starts a new conversation. Permissions and records are kept.
func (c *chat) clear(string) tea.Cmd {
	c.messages, c.before, c.last, c.open, c.parent = nil, nil, nil, "", ""
	c.whole, c.previous = nil, nil
	c.log.Items = nil
	c.log.Add(view.Noted, "a new conversation with "+c.w.Found.ID)
	return tea.ClearScreen
}

// save writes the conversation to a new file.
func (c *chat) save(file string) tea.Cmd {
	switch err := c.write(file); {
	case file == "":
		c.log.Add(view.Noted, "/save takes the name of a file that is not there yet")
	case errors.Is(err, fs.ErrExist):
		c.log.Add(view.Noted, cli.Printable(file)+" is there already; give another name")
	case err != nil:
		c.log.Add(view.ShownAs, c.p.Red("✗ ")+cli.Printable(cli.Plain(err)))
	default:
		c.log.Add(view.Noted, fmt.Sprintf("%s written to %s, readable by you alone", cli.Count(len(c.whole), "message"), cli.Printable(file)))
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
	_, err = f.WriteString(c.w.KnownSecrets.Clean(asMarkdown(c.w.Found.ID, c.whole)).String())
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
				text = "> called " + view.CallLine(p)
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

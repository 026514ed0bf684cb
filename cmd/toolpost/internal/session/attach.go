package session

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/toolpost/toolpost/cmd/toolpost/internal/cli"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/mcpservers"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/task"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/mcpbridge/client"
)

// mention matches @server:uri.
var mention = regexp.MustCompile(`(?:^|\s)@([A-Za-z0-9_-]+):(\S+)`)

// Mentions returns the resources that a text names as @server:uri. Names of other things than servers are text.
func (w *Session) Mentions(text string) (out [][2]string) {
	if w.Bridge == nil {
		return nil
	}
	names := w.Bridge.Names()
	for _, m := range mention.FindAllStringSubmatch(text, -1) {
		one := [2]string{m[1], strings.TrimRight(m[2], ".,;!?)'\"")}
		if slices.Contains(names, m[1]) && one[1] != "" && !slices.Contains(out, one) {
			out = append(out, one)
		}
	}
	return out
}

// Attach adds the resources that the user's own text names as @server:uri to a message. They are documents.
func (w *Session) Attach(ctx context.Context, msg llm.Message) (llm.Message, error) {
	var parts []llm.Part
	for _, p := range msg.Parts {
		text, ok := p.(llm.Text)
		if !ok || text.Origin != "" {
			continue
		}
		for _, m := range w.Mentions(text.Text) {
			if len(parts) >= task.MaxAttached {
				return msg, fmt.Errorf("more than %d resources are named", task.MaxAttached)
			}
			more, err := w.readResource(ctx, m[0], m[1])
			if err != nil {
				return msg, w.RedactError(fmt.Errorf("@%s:%s: %w", m[0], m[1], err))
			}
			parts = append(parts, more...)
		}
	}
	if len(parts) > 0 {
		msg.Parts = append(slices.Clone(msg.Parts), parts...)
	}
	return msg, nil
}

func (w *Session) readResource(ctx context.Context, server, uri string) ([]llm.Part, error) {
	contents, err := w.Bridge.ReadResource(ctx, server, uri)
	if err != nil {
		return nil, err
	}
	if len(contents) == 0 {
		return nil, errors.New("the resource has no content")
	}
	var parts []llm.Part
	for _, c := range contents {
		data := c.Data
		if data == nil {
			data = []byte(w.Redact(c.Text))
		}
		part, err := task.Attachment(server+":"+c.URI, data)
		if err != nil {
			return nil, err
		}
		parts = append(parts, part)
	}
	return parts, nil
}

// ServerPrompt returns a prompt of a server as a message: "server:name key=value …". Its text is a document: the server
// wrote it, and the user chose it.
func (w *Session) ServerPrompt(ctx context.Context, arg string) (llm.Message, error) {
	words, err := mcpservers.SplitWords(arg)
	if err != nil || len(words) == 0 {
		return llm.Message{}, errors.New("/prompt takes SERVER:NAME, and arguments as NAME=VALUE")
	}
	server, name, ok := strings.Cut(words[0], ":")
	if !ok || w.Bridge == nil || !slices.Contains(w.Bridge.Names(), server) {
		return llm.Message{}, fmt.Errorf("%s does not begin with the name of a server", words[0])
	}
	arguments := make(map[string]string)
	for _, word := range words[1:] {
		key, value, ok := strings.Cut(word, "=")
		if !ok {
			return llm.Message{}, fmt.Errorf("%s is not NAME=VALUE", word)
		}
		arguments[key] = value
	}
	all, err := w.Bridge.Prompts(ctx, server)
	if err != nil {
		return llm.Message{}, w.RedactError(err)
	}
	i := slices.IndexFunc(all, func(p client.ServerPrompt) bool { return p.Name == name })
	if i < 0 {
		var names []string
		for _, p := range all {
			names = append(names, p.Name)
		}
		if name == "" {
			return llm.Message{}, fmt.Errorf("name a prompt of server %s: %s", server, strings.Join(names, ", "))
		}
		return llm.Message{}, fmt.Errorf("server %s has no prompt %s%s", server, name, cli.DidYouMean(name, names))
	}
	for _, a := range all[i].Arguments {
		if _, given := arguments[a.Name]; a.Required && !given {
			return llm.Message{}, fmt.Errorf("the prompt needs %s=…: %s", a.Name, a.Description)
		}
	}
	messages, err := w.Bridge.Prompt(ctx, server, name, arguments)
	if err != nil {
		return llm.Message{}, w.RedactError(err)
	}
	out := llm.Message{Role: llm.RoleUser, Parts: []llm.Part{llm.Text{Text: fmt.Sprintf("Follow the prompt %s of the server %s:", name, server)}}}
	for _, m := range messages {
		if text, ok := m.Parts[0].(llm.Text); ok {
			text.Text = "\n\n" + map[bool]string{true: "(assistant) "}[m.Role == llm.RoleAssistant] + text.Text
			m.Parts[0] = text
		}
		out.Parts = append(out.Parts, m.Parts...)
	}
	return out, nil
}

// ListPrompts lists the prompts of all servers in lines.
func (w *Session) ListPrompts(ctx context.Context) string {
	var b strings.Builder
	if w.Bridge == nil {
		return "there are no MCP servers"
	}
	for _, server := range w.Bridge.Names() {
		all, err := w.Bridge.Prompts(ctx, server)
		if err != nil && !errors.Is(err, client.ErrNoFeature) {
			fmt.Fprintf(&b, "%s: %v\n", server, w.RedactError(err))
		}
		for _, p := range all {
			fmt.Fprintf(&b, "%s:%s", server, p.Name)
			for _, a := range p.Arguments {
				fmt.Fprintf(&b, map[bool]string{true: " %s=…", false: " [%s=…]"}[a.Required], a.Name)
			}
			fmt.Fprintf(&b, "  %s\n", w.Redact(p.Description))
		}
	}
	if b.Len() == 0 {
		return "the servers have no prompts"
	}
	return strings.TrimSuffix(b.String(), "\n")
}

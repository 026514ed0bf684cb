package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolpost/toolpost/internal/clip"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/mcpbridge/config"
	"github.com/toolpost/toolpost/mcpbridge/internal/convert"
	"github.com/toolpost/toolpost/mcpbridge/internal/rpc"
	"github.com/toolpost/toolpost/mcpbridge/internal/toollist"
	"github.com/toolpost/toolpost/tool"
)

// readResource is the name of the tool that reads the resources of a server.
const readResource = "read_resource"

// The bounds of lists of resources and prompts.
const (
	maxFeaturePages = 20
	maxFeatures     = 500
	maxFeatureName  = 300
)

// ErrNoFeature means that a server has no resources, or no prompts.
var ErrNoFeature = errors.New("the server does not have that")

// Resource is a resource of a server, or a template for the addresses of several.
type Resource struct {
	URI, Name, Description, MIME string
	Template                     bool
}

// ResourceContent is the content of a resource: text, or data.
type ResourceContent struct {
	URI, MIME, Text string
	Data            []byte
}

// ServerPrompt is a prompt of a server.
type ServerPrompt struct {
	Name, Description string
	Arguments         []PromptArgument
}

// PromptArgument is an argument of a prompt.
type PromptArgument struct {
	Name, Description string
	Required          bool
}

// Names returns the names of the servers that may be used.
func (s *Servers) Names() []string {
	var out []string
	for _, l := range s.enabled() {
		out = append(out, l.Name)
	}
	return out
}

// Resources lists the resources of a server. Text of the server is cleaned and bounded.
func (s *Servers) Resources(ctx context.Context, server string) ([]Resource, error) {
	l, err := s.named(server)
	if err != nil {
		return nil, err
	}
	var out []Resource
	err = l.ask(ctx, func(c *mcp.ServerCapabilities) bool { return c.Resources != nil }, func(ctx context.Context, session *mcp.ClientSession) error {
		out, err = l.resources(ctx, session)
		return err
	})
	return out, err
}

// ReadResource reads a resource of a server.
func (s *Servers) ReadResource(ctx context.Context, server, uri string) ([]ResourceContent, error) {
	l, err := s.named(server)
	if err != nil {
		return nil, err
	}
	var out []ResourceContent
	err = l.ask(ctx, func(c *mcp.ServerCapabilities) bool { return c.Resources != nil }, func(ctx context.Context, session *mcp.ClientSession) error {
		res, err := session.ReadResource(ctx, &mcp.ReadResourceParams{URI: uri})
		if err != nil {
			return err
		}
		for i, c := range res.Contents {
			if c != nil && i < convert.MaxParts {
				out = append(out, ResourceContent{URI: clean(c.URI), MIME: clean(c.MIMEType), Text: c.Text, Data: c.Blob})
			}
		}
		return nil
	})
	return out, err
}

// Prompts lists the prompts of a server.
func (s *Servers) Prompts(ctx context.Context, server string) ([]ServerPrompt, error) {
	l, err := s.named(server)
	if err != nil {
		return nil, err
	}
	var out []ServerPrompt
	err = l.ask(ctx, func(c *mcp.ServerCapabilities) bool { return c.Prompts != nil }, func(ctx context.Context, session *mcp.ClientSession) error {
		return pages(func(cursor string) (string, error) {
			res, err := session.ListPrompts(ctx, &mcp.ListPromptsParams{Cursor: cursor})
			if err != nil {
				return "", err
			}
			for _, p := range res.Prompts {
				if p == nil || len(out) == maxFeatures {
					continue
				}
				one := ServerPrompt{Name: clean(p.Name), Description: clean(p.Description)}
				for _, a := range p.Arguments {
					if a != nil {
						one.Arguments = append(one.Arguments, PromptArgument{clean(a.Name), clean(a.Description), a.Required})
					}
				}
				out = append(out, one)
			}
			return res.NextCursor, nil
		})
	})
	return out, err
}

// Prompt returns the messages of a prompt. Their text is of the server: it has the origin of a document.
func (s *Servers) Prompt(ctx context.Context, server, name string, arguments map[string]string) ([]llm.Message, error) {
	l, err := s.named(server)
	if err != nil {
		return nil, err
	}
	var out []llm.Message
	err = l.ask(ctx, func(c *mcp.ServerCapabilities) bool { return c.Prompts != nil }, func(ctx context.Context, session *mcp.ClientSession) error {
		res, err := session.GetPrompt(ctx, &mcp.GetPromptParams{Name: name, Arguments: arguments})
		if err != nil {
			return err
		}
		for i, m := range res.Messages {
			if m == nil || i == convert.MaxParts {
				continue
			}
			part := convert.Part(m.Content)
			if text, ok := part.(llm.Text); ok {
				part = llm.Text{Text: l.RedactHidden(text.Text), Origin: llm.OriginDocument}
			}
			role := llm.RoleUser
			if m.Role == "assistant" {
				role = llm.RoleAssistant
			}
			out = append(out, llm.Message{Role: role, Parts: []llm.Part{part}})
		}
		return nil
	})
	return out, err
}

// ask makes requests of a server that has what they need. They take no longer than a call may take.
func (l *remote) ask(ctx context.Context, has func(*mcp.ServerCapabilities) bool, do func(ctx context.Context, session *mcp.ClientSession) error) error {
	live, err := l.connect(ctx)
	if err != nil {
		return fmt.Errorf("mcp: server %s: %w", l.Name, err)
	}
	if c := live.session.InitializeResult().Capabilities; c == nil || !has(c) {
		return fmt.Errorf("mcp: server %s: %w", l.Name, ErrNoFeature)
	}
	f := live.calls.begin(ctx, l.CallTimeout())
	defer live.calls.end(f)
	err = do(f.ctx, live.session)
	if err == nil {
		return nil
	}
	f.late = ctx.Err() == nil && f.ctx.Err() != nil
	return l.failure(ctx, live, f, tool.ReadOnly|tool.Idempotent, err)
}

// pages reads the pages of a list.
func pages(read func(cursor string) (next string, err error)) error {
	cursor := ""
	for range maxFeaturePages {
		next, err := read(cursor)
		if err != nil || next == "" || next == cursor {
			return err
		}
		cursor = next
	}
	return nil // the rest is left out
}

// clean returns a text of a server in one line.
func clean(text string) string {
	return clip.Bytes(strings.ReplaceAll(rpc.PlainText(text), "\n", " "), maxFeatureName)
}

func (l *remote) resources(ctx context.Context, session *mcp.ClientSession) (out []Resource, err error) {
	add := func(r Resource) {
		if len(out) < maxFeatures {
			out = append(out, Resource{clean(r.URI), clean(r.Name), clean(r.Description), clean(r.MIME), r.Template})
		}
	}
	err = pages(func(cursor string) (string, error) {
		res, err := session.ListResources(ctx, &mcp.ListResourcesParams{Cursor: cursor})
		if err != nil {
			return "", err
		}
		for _, r := range res.Resources {
			if r != nil {
				add(Resource{URI: r.URI, Name: r.Name, Description: r.Description, MIME: r.MIMEType})
			}
		}
		return res.NextCursor, nil
	})
	if err != nil {
		return nil, err
	}
	_ = pages(func(cursor string) (string, error) { // servers without templates may refuse to list them
		res, err := session.ListResourceTemplates(ctx, &mcp.ListResourceTemplatesParams{Cursor: cursor})
		if err != nil {
			return "", err
		}
		for _, r := range res.ResourceTemplates {
			if r != nil {
				add(Resource{URI: r.URITemplate, Name: r.Name, Description: r.Description, MIME: r.MIMEType, Template: true})
			}
		}
		return res.NextCursor, nil
	})
	return out, nil
}

// resourceTool returns the tool that lists and reads the resources of a server. It may read anything that the server can
// reach, so a person is asked unless the server is trusted.
func (l *remote) resourceTool() tool.Tool {
	t := tool.Tool{
		Name:        tool.SafeName(l.Name + toollist.Separator + readResource),
		Description: "Read a resource of the server " + l.Name + " by its URI, for example one that a result links to. Without a URI, list the resources.",
		Input:       []byte(`{"type":"object","properties":{"uri":{"type":"string","description":"the URI of the resource"}}}`),
		Origin:      tool.MCP, Source: l.Name, Timeout: l.CallTimeout() + l.ConnectTimeout() + personTime,
	}
	if l.Trust == config.TrustAnnotations {
		t.Effects = tool.ReadOnly
	}
	t.Call = func(ctx context.Context, args json.RawMessage) (tool.Output, error) {
		var given struct{ URI string }
		if err := json.Unmarshal(args, &given); err != nil {
			return tool.Output{}, tool.Errorf(tool.Validation, "the arguments cannot be read: %v", err)
		}
		l.mu.Lock()
		l.used = true
		l.mu.Unlock()
		if given.URI == "" {
			return l.listForModel(ctx)
		}
		contents, err := l.host.ReadResource(ctx, l.Name, given.URI)
		if err != nil {
			return tool.Output{}, err
		}
		var out tool.Output
		var content []mcp.Content
		for _, c := range contents {
			out.Parts = append(out.Parts, convert.ResourcePart(c.URI, c.MIME, c.Text, c.Data))
			content = append(content, &mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: c.URI, MIMEType: c.MIME, Text: c.Text, Blob: c.Data}})
		}
		convert.Keep(ctx, content, out, l.hides)
		return out, nil
	}
	return t
}

// listForModel is the result of the tool without a URI.
func (l *remote) listForModel(ctx context.Context) (tool.Output, error) {
	list, err := l.host.Resources(ctx, l.Name)
	if err != nil {
		return tool.Output{}, err
	}
	var b strings.Builder
	for _, r := range list {
		fmt.Fprintf(&b, "%s%s: %s\n", r.URI, map[bool]string{true: " (a template)"}[r.Template], strings.TrimSpace(r.Name+" "+r.Description))
	}
	if len(list) == 0 {
		b.WriteString("The server lists no resources.")
	}
	return tool.Output{Parts: []llm.Part{llm.Text{Text: b.String()}}}, nil
}

// offersResources reports whether the tool for resources is offered.
func (l *remote) offersResources(taken map[string]bool) bool {
	return l.record.Resources && l.Uses(readResource) && !taken[tool.SafeName(l.Name+toollist.Separator+readResource)] &&
		!slices.ContainsFunc(l.list.Defs, func(d config.ServerTool) bool { return d.Name == readResource })
}

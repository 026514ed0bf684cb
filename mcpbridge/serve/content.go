package serve

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolpost/toolpost/internal/clip"
	"github.com/toolpost/toolpost/mcpbridge/internal/rpc"
)

// ServedResource is content that clients may read. A URI with a name in braces, like notes://{id}, is a template.
type ServedResource struct {
	URI, Name, Description, MIME string
	// Read returns the content of a URI. An error that is [fs.ErrNotExist] means that there is none.
	Read func(ctx context.Context, uri string) (string, error)
}

// ServedPrompt is a text that clients may offer to their users.
type ServedPrompt struct {
	Name, Description string
	Arguments         []ServedArgument
	// Fill returns the text with the values of the arguments.
	Fill func(values map[string]string) (string, error)
}

// ServedArgument is a value that a [ServedPrompt] takes.
type ServedArgument struct {
	Name, Description string
	Required          bool
}

// capabilities are what a service declares: areas without content are not declared.
func (o ServiceOptions) capabilities() *mcp.ServerCapabilities {
	c := &mcp.ServerCapabilities{Tools: &mcp.ToolCapabilities{ListChanged: true}}
	if len(o.Resources) > 0 {
		c.Resources = &mcp.ResourceCapabilities{}
	}
	if len(o.Prompts) > 0 {
		c.Prompts = &mcp.PromptCapabilities{}
	}
	return c
}

// addContent adds the resources and prompts of the options to the server.
func (s *Service) addContent() {
	for _, r := range s.options.Resources {
		read := func(ctx context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
			text, err := r.Read(ctx, req.Params.URI)
			switch {
			case errors.Is(err, fs.ErrNotExist):
				return nil, mcp.ResourceNotFoundError(req.Params.URI)
			case err == nil && len(text) > rpc.MaxFrame/2:
				err = fmt.Errorf("it has %d bytes, and at most %d are served", len(text), rpc.MaxFrame/2)
			}
			if err != nil {
				s.options.Failed(fmt.Errorf("a client cannot read %s: %w", clip.Bytes(rpc.PlainText(req.Params.URI), 200), err))
				return nil, &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "the resource cannot be read"}
			}
			return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: req.Params.URI, MIMEType: r.MIME, Text: text}}}, nil
		}
		if strings.Contains(r.URI, "{") {
			s.server.AddResourceTemplate(&mcp.ResourceTemplate{URITemplate: r.URI, Name: r.Name, Description: r.Description, MIMEType: r.MIME}, read)
		} else {
			s.server.AddResource(&mcp.Resource{URI: r.URI, Name: r.Name, Description: r.Description, MIMEType: r.MIME}, read)
		}
	}
	for _, p := range s.options.Prompts {
		def := &mcp.Prompt{Name: p.Name, Description: p.Description}
		for _, a := range p.Arguments {
			def.Arguments = append(def.Arguments, &mcp.PromptArgument{Name: a.Name, Description: a.Description, Required: a.Required})
		}
		s.server.AddPrompt(def, func(_ context.Context, req *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
			text, err := p.Fill(req.Params.Arguments)
			if err != nil {
				return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: err.Error()}
			}
			return &mcp.GetPromptResult{Description: p.Description, Messages: []*mcp.PromptMessage{{Role: "user", Content: &mcp.TextContent{Text: text}}}}, nil
		})
	}
}

// refuseUndeclared refuses the methods of capabilities that the server does not declare. The SDK answers some of them with
// an empty list.
func (s *Service) refuseUndeclared(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		area, action, _ := strings.Cut(method, "/")
		served := true
		switch area {
		case "prompts":
			served = len(s.options.Prompts) > 0
		case "resources":
			served = len(s.options.Resources) > 0 && action != "subscribe" && action != "unsubscribe"
		case "completion", "logging":
			served = false
		}
		if !served {
			return nil, &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: fmt.Sprintf("method %q is not served here", clip.Bytes(rpc.PlainText(method), 60))}
		}
		return next(ctx, method, req)
	}
}

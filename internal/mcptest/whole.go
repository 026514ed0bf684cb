//lint:file-ignore SA1019 a relay passes on what later revisions no longer have, too

package mcptest

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// LongText is the result of the tool long of a whole server: longer than a
// model would be shown.
var LongText = strings.Repeat("0123456789", 10_000)

// Whole is a server with all features: those of [Ordinary], prompts, resources,
// completion, logging, and tools that ask the client for a model's answer and
// for its roots.
func Whole() *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "whole", Version: "7"}, &mcp.ServerOptions{
		Instructions:       "Use me well.",
		SubscribeHandler:   func(context.Context, *mcp.SubscribeRequest) error { return nil },
		UnsubscribeHandler: func(context.Context, *mcp.UnsubscribeRequest) error { return nil },
		CompletionHandler: func(_ context.Context, req *mcp.CompleteRequest) (*mcp.CompleteResult, error) {
			return &mcp.CompleteResult{Completion: mcp.CompletionResultDetails{Values: []string{req.Params.Argument.Value + "-completed"}}}, nil
		},
	})
	fill(s)
	s.AddPrompt(&mcp.Prompt{Name: "greet", Arguments: []*mcp.PromptArgument{{Name: "who", Required: true}}},
		func(_ context.Context, req *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
			return &mcp.GetPromptResult{Messages: []*mcp.PromptMessage{{Role: "user", Content: &mcp.TextContent{Text: "Greet " + req.Params.Arguments["who"]}}}}, nil
		})
	read := func(_ context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: req.Params.URI, MIMEType: "text/plain", Text: "content of " + req.Params.URI}}}, nil
	}
	s.AddResource(&mcp.Resource{URI: "test://notes", Name: "notes"}, read)
	s.AddResourceTemplate(&mcp.ResourceTemplate{URITemplate: "test://items/{id}", Name: "items"}, read)
	addTalking(s)
	mcp.AddTool(s, &mcp.Tool{Name: "long", Description: "Return a long text."},
		func(context.Context, *mcp.CallToolRequest, empty) (*mcp.CallToolResult, any, error) {
			return text(LongText), nil, nil
		})
	s.AddTool(&mcp.Tool{Name: "exact", Description: "Return a large number.", InputSchema: json.RawMessage(`{"type":"object","properties":{"zeta":{"type":"integer","maximum":9007199254740993},"alpha":{"type":"integer"}}}`)},
		func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: string(req.Params.Arguments)}},
				StructuredContent: json.RawMessage(`{"n":9007199254740993,"b":1.0,"a":2}`), Meta: mcp.Meta{"example.org/own": "kept"}}, nil
		})
	mcp.AddTool(s, &mcp.Tool{Name: "touch", Description: "Change the notes."},
		func(ctx context.Context, _ *mcp.CallToolRequest, _ empty) (*mcp.CallToolResult, any, error) {
			return text("touched"), nil, s.ResourceUpdated(ctx, &mcp.ResourceUpdatedNotificationParams{URI: "test://notes"})
		})
	return s
}

// addTalking adds tools that need the client.
func addTalking(s *mcp.Server) {
	mcp.AddTool(s, &mcp.Tool{Name: "log", Description: "Write a log."},
		func(ctx context.Context, req *mcp.CallToolRequest, _ empty) (*mcp.CallToolResult, any, error) {
			return text("logged"), nil, req.Session.Log(ctx, &mcp.LoggingMessageParams{Level: "error", Data: "something happened"})
		})
	mcp.AddTool(s, &mcp.Tool{Name: "sample", Description: "Ask the client's model."},
		func(_ context.Context, req *mcp.CallToolRequest, _ empty) (*mcp.CallToolResult, any, error) {
			switch res := req.Params.InputResponses["model"].(type) {
			case *mcp.CreateMessageWithToolsResult:
				return text("the model said " + res.Content[0].(*mcp.TextContent).Text), nil, nil
			case *mcp.CreateMessageResult:
				return text("the model said " + res.Content.(*mcp.TextContent).Text), nil, nil
			}
			question := &mcp.CreateMessageParams{MaxTokens: 5, Messages: []*mcp.SamplingMessage{{Role: "user", Content: &mcp.TextContent{Text: "hello?"}}}}
			return &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{"model": question}}, nil, nil
		})
	mcp.AddTool(s, &mcp.Tool{Name: "roots", Description: "List the client's roots."},
		func(_ context.Context, req *mcp.CallToolRequest, _ empty) (*mcp.CallToolResult, any, error) {
			if res, ok := req.Params.InputResponses["roots"].(*mcp.ListRootsResult); ok {
				return text(fmt.Sprintf("%d root: %s", len(res.Roots), res.Roots[0].URI)), nil, nil
			}
			return &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{"roots": &mcp.ListRootsParams{}}}, nil, nil
		})
}

package mcptest

//lint:file-ignore SA1019 sampling is deprecated by the newest revision, and servers of all revisions ask.

import (
	"context"
	"fmt"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

type sampleInput struct {
	Times  int    `json:"times"`
	Prompt string `json:"prompt,omitempty"`
	Image  bool   `json:"image,omitempty"`
}

// addSampling adds a tool that asks the client's model, in the form of the protocol revision in use, and returns the
// answer or the error.
func addSampling(s *mcp.Server) {
	mcp.AddTool(s, &mcp.Tool{Name: "sample", Description: "Ask the model."},
		func(ctx context.Context, req *mcp.CallToolRequest, in sampleInput) (*mcp.CallToolResult, any, error) {
			question := &mcp.CreateMessageParams{SystemPrompt: "Be short.", MaxTokens: 100_000, Messages: []*mcp.SamplingMessage{{Role: "user", Content: &mcp.TextContent{Text: in.Prompt}}}}
			if in.Image {
				question.Messages[0].Content = &mcp.ImageContent{MIMEType: "image/png", Data: Pixel}
			}
			if req.Session.InitializeParams().ProtocolVersion >= "2026" {
				return sampleNow(req, in.Times, question)
			}
			var said []string
			for range in.Times {
				res, err := req.Session.CreateMessage(ctx, question)
				if err != nil {
					said = append(said, err.Error())
					continue
				}
				said = append(said, sampledText(res))
			}
			return text(strings.Join(said, "; ")), nil, nil
		})
}

// sampleNow asks with a result that asks for input, all questions at once.
func sampleNow(req *mcp.CallToolRequest, times int, question *mcp.CreateMessageParams) (*mcp.CallToolResult, any, error) {
	if len(req.Params.InputResponses) == 0 {
		asks := mcp.InputRequestMap{}
		for i := range times {
			asks[fmt.Sprint("q", i)] = question
		}
		return &mcp.CallToolResult{InputRequests: asks}, nil, nil
	}
	var said []string
	for i := range times {
		switch res := req.Params.InputResponses[fmt.Sprint("q", i)].(type) {
		case *mcp.CreateMessageResult:
			said = append(said, sampledText(res))
		case *mcp.CreateMessageWithToolsResult:
			for _, c := range res.Content {
				if t, ok := c.(*mcp.TextContent); ok {
					said = append(said, t.Text)
				}
			}
		}
	}
	return text(strings.Join(said, "; ")), nil, nil
}

func sampledText(res *mcp.CreateMessageResult) string {
	if t, ok := res.Content.(*mcp.TextContent); ok {
		return t.Text
	}
	return "no text"
}

package conformance

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"
	ollama "github.com/ollama/ollama/api"
	"google.golang.org/genai"
)

func anthropicStatus(err error) int {
	var e *anthropic.Error
	if errors.As(err, &e) {
		return e.StatusCode
	}
	return 0
}

func askMessages(ctx context.Context, url string, q question) (answer, error) {
	client := anthropic.NewClient(option.WithBaseURL(url), option.WithAPIKey("none"), option.WithMaxRetries(0))
	params := anthropic.MessageNewParams{
		Model:     anthropic.Model(q.model),
		MaxTokens: 1024,
		Messages:  []anthropic.MessageParam{anthropic.NewUserMessage(anthropic.NewTextBlock(q.text))},
	}
	if q.tools {
		params.Tools = []anthropic.ToolUnionParam{{OfTool: &anthropic.ToolParam{
			Name: toolName, Description: anthropic.String(toolHelp),
			InputSchema: anthropic.ToolInputSchemaParam{Properties: city["properties"], Required: []string{"city"}},
		}}}
	}
	got, err := message(ctx, client, params, q.stream)
	if err == nil && q.result != "" {
		params.Messages = append(params.Messages, got.ToParam())
		var blocks []anthropic.ContentBlockParamUnion
		for _, b := range got.Content {
			if b.Type == "tool_use" {
				blocks = append(blocks, anthropic.NewToolResultBlock(b.ID, q.result, false))
			}
		}
		params.Messages = append(params.Messages, anthropic.NewUserMessage(blocks...))
		got, err = message(ctx, client, params, q.stream)
	}
	if err != nil {
		return answer{}, err
	}
	a := answer{output: int(got.Usage.OutputTokens)}
	for _, b := range got.Content {
		switch b.Type {
		case "text":
			a.text += b.Text
		case "tool_use":
			a.cities = append(a.cities, cityOf(string(b.Input)))
		}
	}
	return a, nil
}

func message(ctx context.Context, client anthropic.Client, params anthropic.MessageNewParams, stream bool) (*anthropic.Message, error) {
	if !stream {
		return client.Messages.New(ctx, params)
	}
	events := client.Messages.NewStreaming(ctx, params)
	defer events.Close()
	var whole anthropic.Message
	for events.Next() {
		if err := whole.Accumulate(events.Current()); err != nil {
			return nil, err
		}
	}
	return &whole, events.Err()
}

func geminiStatus(err error) int {
	var e genai.APIError
	if errors.As(err, &e) {
		return e.Code
	}
	return 0
}

func askGemini(ctx context.Context, url string, q question) (answer, error) {
	client, err := genai.NewClient(ctx, &genai.ClientConfig{APIKey: "none", Backend: genai.BackendGeminiAPI, HTTPOptions: genai.HTTPOptions{BaseURL: url}})
	if err != nil {
		return answer{}, err
	}
	config := new(genai.GenerateContentConfig)
	if q.tools {
		config.Tools = []*genai.Tool{{FunctionDeclarations: []*genai.FunctionDeclaration{{Name: toolName, Description: toolHelp, ParametersJsonSchema: city}}}}
	}
	contents := genai.Text(q.text)
	got, err := generate(ctx, client, q.model, contents, config, q.stream)
	if err == nil && q.result != "" {
		asked := &genai.Content{Role: genai.RoleModel}
		reply := &genai.Content{Role: genai.RoleUser}
		for _, c := range got.calls {
			asked.Parts = append(asked.Parts, &genai.Part{FunctionCall: c})
			reply.Parts = append(reply.Parts, &genai.Part{FunctionResponse: &genai.FunctionResponse{ID: c.ID, Name: c.Name, Response: map[string]any{"output": q.result}}})
		}
		got, err = generate(ctx, client, q.model, append(contents, asked, reply), config, q.stream)
	}
	if err != nil {
		return answer{}, err
	}
	a := answer{text: got.text, output: got.output}
	for _, c := range got.calls {
		args, _ := json.Marshal(c.Args)
		a.cities = append(a.cities, cityOf(string(args)))
	}
	return a, nil
}

type generated struct {
	text   string
	calls  []*genai.FunctionCall
	output int
}

func (g *generated) add(r *genai.GenerateContentResponse) {
	for _, c := range r.Candidates {
		if c.Content == nil {
			continue
		}
		for _, p := range c.Content.Parts {
			g.text += p.Text
			if p.FunctionCall != nil {
				g.calls = append(g.calls, p.FunctionCall)
			}
		}
	}
	if r.UsageMetadata != nil {
		g.output = int(r.UsageMetadata.CandidatesTokenCount)
	}
}

func generate(ctx context.Context, client *genai.Client, model string, contents []*genai.Content, config *genai.GenerateContentConfig, stream bool) (generated, error) {
	var g generated
	if !stream {
		r, err := client.Models.GenerateContent(ctx, model, contents, config)
		if err == nil {
			g.add(r)
		}
		return g, err
	}
	for r, err := range client.Models.GenerateContentStream(ctx, model, contents, config) {
		if err != nil {
			return g, err
		}
		g.add(r)
	}
	return g, nil
}

func ollamaStatus(err error) int {
	var e ollama.StatusError
	if errors.As(err, &e) {
		return e.StatusCode
	}
	var auth ollama.AuthorizationError
	if errors.As(err, &auth) {
		return auth.StatusCode
	}
	return 0
}

func askOllama(ctx context.Context, address string, q question) (answer, error) {
	base, err := url.Parse(address)
	if err != nil {
		return answer{}, err
	}
	client := ollama.NewClient(base, http.DefaultClient)
	req := &ollama.ChatRequest{Model: q.model, Stream: &q.stream, Messages: []ollama.Message{{Role: "user", Content: q.text}}}
	if q.tools {
		schema, _ := json.Marshal(city)
		tool := ollama.Tool{Type: "function", Function: ollama.ToolFunction{Name: toolName, Description: toolHelp}}
		if err := json.Unmarshal(schema, &tool.Function.Parameters); err != nil {
			return answer{}, err
		}
		req.Tools = ollama.Tools{tool}
	}
	got, err := chat(ctx, client, req)
	if err == nil && q.result != "" {
		req.Messages = append(req.Messages, got.Message)
		for _, c := range got.Message.ToolCalls {
			req.Messages = append(req.Messages, ollama.Message{Role: "tool", ToolName: c.Function.Name, ToolCallID: c.ID, Content: q.result})
		}
		got, err = chat(ctx, client, req)
	}
	if err != nil {
		return answer{}, err
	}
	a := answer{text: got.Message.Content, output: got.EvalCount}
	for _, c := range got.Message.ToolCalls {
		args, _ := json.Marshal(c.Function.Arguments)
		a.cities = append(a.cities, cityOf(string(args)))
	}
	return a, nil
}

func chat(ctx context.Context, client *ollama.Client, req *ollama.ChatRequest) (ollama.ChatResponse, error) {
	var whole ollama.ChatResponse
	err := client.Chat(ctx, req, func(r ollama.ChatResponse) error {
		r.Message.Content = whole.Message.Content + r.Message.Content
		r.Message.ToolCalls = append(whole.Message.ToolCalls, r.Message.ToolCalls...)
		whole = r
		return nil
	})
	return whole, err
}

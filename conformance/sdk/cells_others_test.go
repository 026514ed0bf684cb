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

func (s session) anthropic() anthropic.Client {
	opts := []option.RequestOption{option.WithBaseURL(s.url), option.WithAPIKey("none")}
	if !s.retries {
		opts = append(opts, option.WithMaxRetries(0))
	}
	return anthropic.NewClient(opts...)
}

func cellMessages(ctx context.Context, s session, request json.RawMessage) (*got, error) {
	var params anthropic.MessageNewParams
	if err := json.Unmarshal(request, &params); err != nil {
		return nil, err
	}
	params.Model = anthropic.Model(s.model)
	whole, err := s.message(ctx, params)
	if whole == nil {
		return nil, err
	}
	g := &got{id: whole.ID, finish: string(whole.StopReason), input: int(whole.Usage.InputTokens), output: int(whole.Usage.OutputTokens)}
	var results []anthropic.ContentBlockParamUnion
	for _, b := range whole.Content {
		switch b.Type {
		case "text":
			g.text += b.Text
		case "thinking":
			g.thinking += b.Thinking
			g.signed = b.Signature != ""
		case "tool_use":
			g.calls = append(g.calls, [2]string{b.Name, string(b.Input)})
		}
	}
	g.next = func(result string) any {
		for _, b := range whole.Content {
			if b.Type == "tool_use" {
				results = append(results, anthropic.NewToolResultBlock(b.ID, result, false))
			}
		}
		params.Messages = append(params.Messages, whole.ToParam(), anthropic.NewUserMessage(results...))
		return params
	}
	return g, err
}

func (s session) message(ctx context.Context, params anthropic.MessageNewParams) (*anthropic.Message, error) {
	client := s.anthropic()
	if !s.stream {
		return client.Messages.New(ctx, params)
	}
	events := client.Messages.NewStreaming(ctx, params)
	defer events.Close()
	var whole anthropic.Message
	ended := false
	for events.Next() {
		ev := events.Current()
		if err := whole.Accumulate(ev); err != nil {
			return nil, err
		}
		if ev.Type == "content_block_delta" {
			s.begun()
		}
		ended = ended || ev.Type == "message_stop"
	}
	err := events.Err()
	if err == nil && !ended {
		err = errors.New("the stream has no end")
	}
	return &whole, err
}

func countMessages(ctx context.Context, s session, request json.RawMessage) (int, error) {
	var params anthropic.MessageCountTokensParams
	if err := json.Unmarshal(request, &params); err != nil {
		return 0, err
	}
	params.Model = anthropic.Model(s.model)
	client := s.anthropic()
	r, err := client.Messages.CountTokens(ctx, params)
	if err != nil {
		return 0, err
	}
	return int(r.InputTokens), nil
}

func modelAnthropic(ctx context.Context, s session) (string, error) {
	client := s.anthropic()
	m, err := client.Models.Get(ctx, s.model, anthropic.ModelGetParams{})
	if err != nil {
		return "", err
	}
	return m.ID, nil
}

func (s session) gemini(ctx context.Context) (*genai.Client, error) {
	options := genai.HTTPOptions{BaseURL: s.url}
	if s.retries {
		options.RetryOptions = &genai.HTTPRetryOptions{Attempts: genai.Ptr[int32](3)}
	}
	return genai.NewClient(ctx, &genai.ClientConfig{APIKey: "none", Backend: genai.BackendGeminiAPI, HTTPOptions: options})
}

// geminiRequest is a request in the form of the client.
type geminiRequest struct {
	Contents []*genai.Content             `json:"contents"`
	Config   *genai.GenerateContentConfig `json:"config,omitempty"`
}

func cellGemini(ctx context.Context, s session, request json.RawMessage) (*got, error) {
	var req geminiRequest
	if err := json.Unmarshal(request, &req); err != nil {
		return nil, err
	}
	client, err := s.gemini(ctx)
	if err != nil {
		return nil, err
	}
	g := new(got)
	said := &genai.Content{Role: genai.RoleModel}
	if s.stream {
		for r, err := range client.Models.GenerateContentStream(ctx, s.model, req.Contents, req.Config) {
			if err != nil {
				return g, err
			}
			g.addGemini(r, said)
			s.begun()
		}
		if g.finish == "" {
			return g, errors.New("the stream has no end")
		}
	} else {
		r, err := client.Models.GenerateContent(ctx, s.model, req.Contents, req.Config)
		if err != nil {
			return nil, err
		}
		g.addGemini(r, said)
	}
	g.next = func(result string) any {
		results := &genai.Content{Role: genai.RoleUser}
		for _, p := range said.Parts {
			if c := p.FunctionCall; c != nil {
				results.Parts = append(results.Parts, &genai.Part{FunctionResponse: &genai.FunctionResponse{ID: c.ID, Name: c.Name, Response: map[string]any{"output": result}}})
			}
		}
		req.Contents = append(req.Contents, said, results)
		return req
	}
	return g, nil
}

func (g *got) addGemini(r *genai.GenerateContentResponse, said *genai.Content) {
	g.id = r.ResponseID
	for _, c := range r.Candidates {
		if c.FinishReason != "" {
			g.finish = string(c.FinishReason)
		}
		if c.Content == nil {
			continue
		}
		said.Parts = append(said.Parts, c.Content.Parts...)
		for _, p := range c.Content.Parts {
			g.signed = g.signed || len(p.ThoughtSignature) > 0
			switch {
			case p.Thought:
				g.thinking += p.Text
			case p.FunctionCall != nil:
				args, _ := json.Marshal(p.FunctionCall.Args) // it was JSON before
				g.calls = append(g.calls, [2]string{p.FunctionCall.Name, string(args)})
			default:
				g.text += p.Text
			}
		}
	}
	if u := r.UsageMetadata; u != nil {
		g.input, g.output = int(u.PromptTokenCount), int(u.CandidatesTokenCount)
	}
}

func countGemini(ctx context.Context, s session, request json.RawMessage) (int, error) {
	var req geminiRequest
	if err := json.Unmarshal(request, &req); err != nil {
		return 0, err
	}
	client, err := s.gemini(ctx)
	if err != nil {
		return 0, err
	}
	r, err := client.Models.CountTokens(ctx, s.model, req.Contents, nil)
	if err != nil {
		return 0, err
	}
	return int(r.TotalTokens), nil
}

func modelGemini(ctx context.Context, s session) (string, error) {
	client, err := s.gemini(ctx)
	if err != nil {
		return "", err
	}
	m, err := client.Models.Get(ctx, s.model, nil)
	if err != nil {
		return "", err
	}
	return m.Name, nil
}

func cellOllama(ctx context.Context, s session, request json.RawMessage) (*got, error) {
	base, err := url.Parse(s.url)
	if err != nil {
		return nil, err
	}
	var req ollama.ChatRequest
	if err := json.Unmarshal(request, &req); err != nil {
		return nil, err
	}
	req.Model, req.Stream = s.model, &s.stream
	var whole ollama.ChatResponse
	g := new(got)
	err = ollama.NewClient(base, http.DefaultClient).Chat(ctx, &req, func(r ollama.ChatResponse) error {
		s.begun()
		r.Message.Content = whole.Message.Content + r.Message.Content
		r.Message.Thinking = whole.Message.Thinking + r.Message.Thinking
		r.Message.ToolCalls = append(whole.Message.ToolCalls, r.Message.ToolCalls...)
		whole = r
		return nil
	})
	g.text, g.thinking, g.finish = whole.Message.Content, whole.Message.Thinking, whole.DoneReason
	g.input, g.output = whole.PromptEvalCount, whole.EvalCount
	if err == nil && !whole.Done {
		err = errors.New("the stream has no end")
	}
	for _, c := range whole.Message.ToolCalls {
		args, _ := json.Marshal(c.Function.Arguments) // it was JSON before
		g.calls = append(g.calls, [2]string{c.Function.Name, string(args)})
	}
	g.next = func(result string) any {
		req.Messages = append(req.Messages, whole.Message)
		for _, c := range whole.Message.ToolCalls {
			req.Messages = append(req.Messages, ollama.Message{Role: "tool", ToolName: c.Function.Name, ToolCallID: c.ID, Content: result})
		}
		return req
	}
	return g, err
}

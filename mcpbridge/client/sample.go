package client

//lint:file-ignore SA1019 sampling is deprecated by the newest revision, and servers of all revisions ask.

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/mcpbridge/internal/rpc"
	"github.com/toolpost/toolpost/tool"
)

// The bounds of what a server may ask the model.
const (
	maxSamples      = 5        // in one call of a tool
	maxSampleTokens = 2_000    // of one answer
	maxSampleBytes  = 64 << 10 // of one question
	maxSampleTurns  = 32
)

// sampling reports whether the server may ask the model of the run, and why not.
func (l *remote) sampling() error {
	switch {
	case !l.Sampling:
		return fmt.Errorf("this server may not ask the model: sampling is not set for it")
	case l.host.options.Sample == nil:
		return fmt.Errorf("there is no model to ask here")
	}
	return nil
}

// noSampling is what the SDK says for a client whose model may not be asked.
const noSampling = "client does not support CreateMessage"

// refused is the protocol's error for a question that is not passed on.
func refused(why error) error {
	return &jsonrpc.Error{Code: -1, Message: "sampling is refused: " + why.Error()}
}

// refuseSampling tells a server that may not ask the model why: it asks although we
// never said that it can.
func (l *remote) refuseSampling(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		if method == "sampling/createMessage" {
			if why := l.sampling(); why != nil {
				return nil, refused(why)
			}
		}
		return next(ctx, method, req)
	}
}

// allowSampling offers a server that it may ask the model, if it may.
func (l *remote) allowSampling(live *liveSession, o *mcp.ClientOptions) {
	if l.sampling() == nil {
		o.CreateMessageHandler = func(ctx context.Context, req *mcp.CreateMessageRequest) (*mcp.CreateMessageResult, error) {
			return l.sample(ctx, live, req.Params)
		}
	}
}

// sample has the model of the run answer a server, in the middle of a call. The question is separate
// from our conversation and has no tools. Number and length of the questions of a call are bounded.
// The receipt of the call reports that the model was asked.
func (l *remote) sample(ctx context.Context, live *liveSession, p *mcp.CreateMessageParams) (*mcp.CreateMessageResult, error) {
	if why := l.sampling(); why != nil {
		return nil, refused(why)
	}
	f := live.calls.asking(ctx)
	if f == nil || p == nil {
		return nil, refused(fmt.Errorf("it belongs to no call, or to several"))
	}
	req, err := question(p)
	if err != nil {
		return nil, refused(err)
	}
	n := f.samples.Add(1)
	if n > maxSamples {
		return nil, refused(fmt.Errorf("a call may ask %d times", maxSamples))
	}
	tool.ReportProgress(f.caller, tool.Progress{Message: fmt.Sprintf("MCP server %s asks the model (%d of %d)", l.Name, n, maxSamples)})
	res, err := l.host.options.Sample(f.ctx, l.Name, req)
	if err != nil {
		return nil, refused(fmt.Errorf("the model could not be asked: %s", l.Redact(err.Error())))
	}
	f.asked(l.Name, res)
	out := &mcp.CreateMessageResult{Role: "assistant", Model: res.Start.Model, StopReason: "endTurn", Content: &mcp.TextContent{Text: res.Message.Text()}}
	if res.Finish.Reason == llm.Length {
		out.StopReason = "maxTokens"
	}
	return out, nil
}

// question makes a request of what a server asks, within the bounds.
func question(p *mcp.CreateMessageParams) (*llm.Request, error) {
	req := &llm.Request{System: rpc.PlainText(p.SystemPrompt), MaxTokens: maxSampleTokens, Stop: p.StopSequences}
	if p.MaxTokens > 0 && p.MaxTokens < maxSampleTokens {
		req.MaxTokens = int(p.MaxTokens)
	}
	if p.Temperature > 0 && p.Temperature <= 2 {
		req.Temperature = &p.Temperature
	}
	size := len(req.System)
	if len(p.Messages) == 0 || len(p.Messages) > maxSampleTurns || len(p.StopSequences) > 4 {
		return nil, fmt.Errorf("a question has 1 to %d messages and at most 4 stop sequences", maxSampleTurns)
	}
	for _, m := range p.Messages {
		text, ok := m.Content.(*mcp.TextContent)
		if !ok {
			return nil, fmt.Errorf("only text can be asked")
		}
		role := llm.RoleUser
		if m.Role == "assistant" {
			role = llm.RoleAssistant
		}
		said := rpc.PlainText(text.Text)
		size += len(said)
		req.Messages = append(req.Messages, llm.Message{Role: role, Parts: []llm.Part{llm.Text{Text: said, Origin: llm.OriginDocument}}})
	}
	if size > maxSampleBytes {
		return nil, fmt.Errorf("a question has at most %d bytes", maxSampleBytes)
	}
	return req, nil
}

// asked notes a question for the receipt.
func (f *activeCall) asked(server string, res *llm.Response) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.usage = f.usage.Add(res.Finish.Usage)
	f.effects = append(f.effects, tool.SideEffect{Type: "model_asked", Path: server, Detail: map[string]json.RawMessage{
		"input_tokens": json.RawMessage(strconv.Itoa(res.Finish.Usage.Input)), "output_tokens": json.RawMessage(strconv.Itoa(res.Finish.Usage.Output)),
	}})
}

// used adds what the call used of the model to its output.
func (f *activeCall) used(out tool.Output) tool.Output {
	f.mu.Lock()
	defer f.mu.Unlock()
	out.Usage, out.Did = out.Usage.Add(f.usage), append(out.Did, f.effects...)
	return out
}

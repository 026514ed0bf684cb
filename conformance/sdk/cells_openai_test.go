package conformance

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/packages/param"
	"github.com/openai/openai-go/v3/responses"
)

func (s session) openai() (openai.Client, []option.RequestOption) {
	opts := []option.RequestOption{option.WithBaseURL(s.url + "/v1"), option.WithAPIKey("none")}
	if !s.retries {
		opts = append(opts, option.WithMaxRetries(0))
	}
	var more []option.RequestOption
	for key, value := range s.extra {
		more = append(more, option.WithJSONSet(key, value))
	}
	return openai.NewClient(opts...), more
}

// paramsOf reads a request into the client's own type. Where that does not keep all
// of it, as it does not of some unions, the request itself is sent.
func paramsOf[P param.ParamStruct, PP param.InferPtr[P]](s session, request json.RawMessage) (P, error) {
	var params P
	var named map[string]any
	if err := json.Unmarshal(request, &named); err != nil {
		return params, err
	}
	named["model"] = s.model
	body, err := json.Marshal(named)
	if err != nil {
		return params, err
	}
	if err := json.Unmarshal(body, &params); err != nil {
		return params, err
	}
	if again, err := json.Marshal(params); err == nil && sameJSON(again, body) {
		return params, nil
	}
	return param.Override[P, PP](json.RawMessage(body)), nil
}

// openaiWords is what the vendor's error says.
func openaiWords(err error) string {
	var e *openai.Error
	if errors.As(err, &e) {
		return e.Message
	}
	return ""
}

func cellChat(ctx context.Context, s session, request json.RawMessage) (*got, error) {
	params, err := paramsOf[openai.ChatCompletionNewParams](s, request)
	if err != nil {
		return nil, err
	}
	client, more := s.openai()
	whole, err := s.chat(ctx, client, params, more)
	if whole == nil || len(whole.Choices) == 0 {
		return nil, err
	}
	message := whole.Choices[0].Message
	g := &got{
		id: whole.ID, text: message.Content, finish: whole.Choices[0].FinishReason,
		input: int(whole.Usage.PromptTokens), output: int(whole.Usage.CompletionTokens),
	}
	for _, c := range message.ToolCalls {
		g.calls = append(g.calls, [2]string{c.Function.Name, c.Function.Arguments})
	}
	g.next = func(result string) any {
		next := map[string]any{}
		if json.Unmarshal(request, &next) != nil {
			return nil
		}
		said := append(next["messages"].([]any), message.ToParam())
		for _, c := range message.ToolCalls {
			said = append(said, openai.ToolMessage(result, c.ID))
		}
		next["messages"] = said
		return next
	}
	if err == nil && whole.Created == 0 {
		err = errors.New("the answer was made at no time")
	}
	return g, err
}

func (s session) chat(ctx context.Context, client openai.Client, params openai.ChatCompletionNewParams, more []option.RequestOption) (*openai.ChatCompletion, error) {
	if !s.stream {
		return client.Chat.Completions.New(ctx, params, more...)
	}
	more = append(more, option.WithJSONSet("stream_options", map[string]any{"include_usage": true}))
	var acc openai.ChatCompletionAccumulator
	chunks := client.Chat.Completions.NewStreaming(ctx, params, more...)
	defer chunks.Close()
	for chunks.Next() {
		if !acc.AddChunk(chunks.Current()) {
			return nil, errors.New("the accumulator refused a chunk")
		}
		if len(acc.Choices) > 0 && acc.Choices[0].Message.Content != "" {
			s.begun()
		}
	}
	err := chunks.Err()
	if err == nil && (len(acc.Choices) == 0 || acc.Choices[0].FinishReason == "") {
		err = errors.New("the stream ended without a reason")
	}
	return &acc.ChatCompletion, err
}

func cellResponses(ctx context.Context, s session, request json.RawMessage) (*got, error) {
	params, err := paramsOf[responses.ResponseNewParams](s, request)
	if err != nil {
		return nil, err
	}
	client, more := s.openai()
	whole, text, err := s.respond(ctx, client, params, more)
	if whole == nil {
		return &got{text: text}, err
	}
	g := gotResponse(whole)
	g.next = func(result string) any {
		next := map[string]any{}
		if json.Unmarshal(request, &next) != nil {
			return nil
		}
		input := []any{map[string]any{"role": "user", "content": next["input"]}}
		for _, item := range whole.Output {
			input = append(input, json.RawMessage(item.RawJSON()))
		}
		for _, item := range whole.Output {
			if item.Type == "function_call" {
				input = append(input, map[string]any{"type": "function_call_output", "call_id": item.CallID, "output": result})
			}
		}
		next["input"] = input
		return next
	}
	return g, err
}

func gotResponse(whole *responses.Response) *got {
	g := &got{id: whole.ID, text: whole.OutputText(), finish: string(whole.Status), input: int(whole.Usage.InputTokens), output: int(whole.Usage.OutputTokens)}
	if reason := whole.IncompleteDetails.Reason; reason != "" {
		g.finish = reason
	}
	for _, item := range whole.Output {
		switch item.Type {
		case "function_call":
			g.calls = append(g.calls, [2]string{item.Name, item.AsFunctionCall().Arguments})
		case "reasoning":
			for _, part := range item.AsReasoning().Summary {
				g.thinking += part.Text
			}
			g.signed = item.AsReasoning().EncryptedContent != ""
		}
	}
	return g
}

// respond asks, and checks of a stream that every item has one id.
func (s session) respond(ctx context.Context, client openai.Client, params responses.ResponseNewParams, more []option.RequestOption) (whole *responses.Response, text string, err error) {
	if !s.stream {
		whole, err = client.Responses.New(ctx, params, more...)
		return whole, "", err
	}
	events := client.Responses.NewStreaming(ctx, params, more...)
	defer events.Close()
	items := map[int64]string{}
	parts := 0
	for events.Next() {
		ev := events.Current()
		switch ev.Type {
		case "response.output_text.delta":
			text += ev.Delta
			s.begun()
		case "response.output_item.added":
			items[ev.OutputIndex] = ev.Item.ID
		case "response.output_item.done":
			if items[ev.OutputIndex] != ev.Item.ID {
				return nil, text, fmt.Errorf("an item begins as %s and ends as %s", items[ev.OutputIndex], ev.Item.ID)
			}
		case "response.reasoning_summary_part.added":
			parts++
		case "response.reasoning_summary_part.done":
			parts--
		case "response.completed", "response.incomplete":
			r := ev.Response
			whole = &r
		case "error":
			return nil, text, errors.New(ev.Message)
		}
	}
	switch err := events.Err(); {
	case err != nil:
		return nil, text, err
	case whole == nil:
		return nil, text, errors.New("the stream has no end")
	case parts != 0:
		return nil, text, errors.New("a part of a summary has no end")
	}
	return whole, text, nil
}

func countResponses(ctx context.Context, s session, request json.RawMessage) (int, error) {
	params, err := paramsOf[responses.InputTokenCountParams](s, request)
	if err != nil {
		return 0, err
	}
	client, _ := s.openai()
	r, err := client.Responses.InputTokens.Count(ctx, params)
	if err != nil {
		return 0, err
	}
	return int(r.InputTokens), nil
}

// retrieved asks for an answer again by its id, and deletes it.
func retrieved(ctx context.Context, s session, request json.RawMessage, want expectation) error {
	first, err := cellResponses(ctx, s, request)
	if err != nil {
		return err
	}
	client, _ := s.openai()
	again, err := client.Responses.Get(ctx, first.id, responses.ResponseGetParams{})
	if err != nil {
		return err
	}
	if err := want.compare(gotResponse(again), nil, nil); err != nil {
		return err
	}
	if err := client.Responses.Delete(ctx, first.id); err != nil {
		return err
	}
	if _, err := client.Responses.Get(ctx, first.id, responses.ResponseGetParams{}); openaiStatus(err) != 404 {
		return fmt.Errorf("what was deleted is there: %w", err)
	}
	return nil
}

func modelOpenAI(ctx context.Context, s session) (string, error) {
	client, _ := s.openai()
	m, err := client.Models.Get(ctx, s.model)
	if err != nil {
		return "", err
	}
	return m.ID, nil
}

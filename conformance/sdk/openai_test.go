package conformance

import (
	"context"
	"errors"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/responses"
	"github.com/openai/openai-go/v3/shared"
)

func openaiClient(url string) openai.Client {
	return openai.NewClient(option.WithBaseURL(url+"/v1"), option.WithAPIKey("none"), option.WithMaxRetries(0))
}

func openaiStatus(err error) int {
	var e *openai.Error
	if errors.As(err, &e) {
		return e.StatusCode
	}
	return 0
}

func askChat(ctx context.Context, url string, q question) (answer, error) {
	client := openaiClient(url)
	params := openai.ChatCompletionNewParams{
		Model:    q.model,
		Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage(q.text)},
	}
	if q.tools {
		params.Tools = []openai.ChatCompletionToolUnionParam{openai.ChatCompletionFunctionTool(shared.FunctionDefinitionParam{
			Name: toolName, Description: openai.String(toolHelp), Parameters: city,
		})}
	}
	got, err := completeChat(ctx, client, params, q.stream)
	if err == nil && q.result != "" {
		params.Messages = append(params.Messages, got.Choices[0].Message.ToParam())
		for _, c := range got.Choices[0].Message.ToolCalls {
			params.Messages = append(params.Messages, openai.ToolMessage(q.result, c.ID))
		}
		got, err = completeChat(ctx, client, params, q.stream)
	}
	if err != nil {
		return answer{}, err
	}
	a := answer{text: got.Choices[0].Message.Content, output: int(got.Usage.CompletionTokens)}
	for _, c := range got.Choices[0].Message.ToolCalls {
		a.cities = append(a.cities, cityOf(c.Function.Arguments))
	}
	return a, nil
}

func completeChat(ctx context.Context, client openai.Client, params openai.ChatCompletionNewParams, stream bool) (*openai.ChatCompletion, error) {
	if !stream {
		return client.Chat.Completions.New(ctx, params)
	}
	params.StreamOptions = openai.ChatCompletionStreamOptionsParam{IncludeUsage: openai.Bool(true)}
	var acc openai.ChatCompletionAccumulator
	chunks := client.Chat.Completions.NewStreaming(ctx, params)
	defer chunks.Close()
	for chunks.Next() {
		if !acc.AddChunk(chunks.Current()) {
			return nil, errors.New("the SDK's accumulator refused a chunk")
		}
	}
	return &acc.ChatCompletion, chunks.Err()
}

func askResponses(ctx context.Context, url string, q question) (answer, error) {
	client := openaiClient(url)
	items := []responses.ResponseInputItemUnionParam{responses.ResponseInputItemParamOfMessage(q.text, responses.EasyInputMessageRoleUser)}
	params := responses.ResponseNewParams{Model: q.model}
	if q.tools {
		params.Tools = []responses.ToolUnionParam{{OfFunction: &responses.FunctionToolParam{
			Name: toolName, Description: openai.String(toolHelp), Parameters: city,
		}}}
	}
	params.Input = responses.ResponseNewParamsInputUnion{OfInputItemList: items}
	got, err := respond(ctx, client, params, q.stream)
	if err == nil && q.result != "" {
		for _, item := range got.Output {
			if item.Type == "function_call" {
				c := item.AsFunctionCall()
				items = append(items,
					responses.ResponseInputItemParamOfFunctionCall(c.Arguments, c.CallID, c.Name),
					responses.ResponseInputItemUnionParam{OfFunctionCallOutput: &responses.ResponseInputItemFunctionCallOutputParam{
						CallID: openai.String(c.CallID),
						Output: responses.ResponseInputItemFunctionCallOutputOutputUnionParam{OfString: openai.String(q.result)},
					}})
			}
		}
		params.Input = responses.ResponseNewParamsInputUnion{OfInputItemList: items}
		got, err = respond(ctx, client, params, q.stream)
	}
	if err != nil {
		return answer{}, err
	}
	a := answer{text: got.OutputText(), output: int(got.Usage.OutputTokens)}
	for _, item := range got.Output {
		if item.Type == "function_call" {
			a.cities = append(a.cities, cityOf(item.AsFunctionCall().Arguments))
		}
	}
	return a, nil
}

func respond(ctx context.Context, client openai.Client, params responses.ResponseNewParams, stream bool) (*responses.Response, error) {
	if !stream {
		return client.Responses.New(ctx, params)
	}
	events := client.Responses.NewStreaming(ctx, params)
	defer events.Close()
	var last *responses.Response
	for events.Next() {
		if ev := events.Current(); ev.Type == "response.completed" {
			last = &ev.Response
		}
	}
	if events.Err() == nil && last == nil {
		return nil, errors.New("no response.completed in the stream")
	}
	return last, events.Err()
}

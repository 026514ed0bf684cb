package conformance

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/service/bedrockruntime"
	"github.com/aws/aws-sdk-go-v2/service/bedrockruntime/document"
	"github.com/aws/aws-sdk-go-v2/service/bedrockruntime/types"
)

// converseRequest is a request as the table has it. The client's own types cannot be read
// from JSON.
type converseRequest struct {
	Messages        []converseMessage    `json:"messages"`
	System          []converseBlock      `json:"system,omitempty"`
	InferenceConfig *converseLimits      `json:"inferenceConfig,omitempty"`
	ToolConfig      *converseTools       `json:"toolConfig,omitempty"`
	OutputConfig    *converseOutputShape `json:"outputConfig,omitempty"`
}

type converseMessage struct {
	Role    string          `json:"role"`
	Content []converseBlock `json:"content"`
}

// converseBlock is a block of content: one of its members.
type converseBlock struct {
	Text      *string        `json:"text,omitempty"`
	Image     *converseFile  `json:"image,omitempty"`
	Document  *converseFile  `json:"document,omitempty"`
	Call      *converseCall  `json:"toolUse,omitempty"`
	Result    *converseReply `json:"toolResult,omitempty"`
	Reasoning *struct {
		Text converseThought `json:"reasoningText"`
	} `json:"reasoningContent,omitempty"`
}

type converseThought struct {
	Text      string `json:"text"`
	Signature string `json:"signature,omitempty"`
}

type converseFile struct {
	Format string `json:"format"`
	Name   string `json:"name,omitempty"`
	Source struct {
		Bytes []byte `json:"bytes"`
	} `json:"source"`
}

type converseCall struct {
	ToolUseID string `json:"toolUseId"`
	Name      string `json:"name"`
	Input     any    `json:"input"`
}

type converseReply struct {
	ToolUseID string          `json:"toolUseId"`
	Content   []converseBlock `json:"content"`
}

type converseLimits struct {
	MaxTokens     *int32   `json:"maxTokens,omitempty"`
	StopSequences []string `json:"stopSequences,omitempty"`
}

type converseTools struct {
	Tools []struct {
		ToolSpec struct {
			Name, Description string
			InputSchema       struct {
				JSON any `json:"json"`
			} `json:"inputSchema"`
		} `json:"toolSpec"`
	} `json:"tools"`
	ToolChoice *struct {
		Any  *struct{}              `json:"any,omitempty"`
		Tool *struct{ Name string } `json:"tool,omitempty"`
	} `json:"toolChoice,omitempty"`
}

type converseOutputShape struct {
	TextFormat struct {
		Structure struct {
			JSONSchema struct{ Name, Schema string } `json:"jsonSchema"`
		} `json:"structure"`
	} `json:"textFormat"`
}

// ownBody sends a request with a body of its own. The client closes the body that it made as soon as
// the answer has begun, and where the server is faster than the end of its own writing, net/http
// gives up the connection for it.
type ownBody struct{}

func (ownBody) Do(r *http.Request) (*http.Response, error) {
	if r.Body != nil {
		b, err := io.ReadAll(r.Body)
		if err != nil {
			return nil, err
		}
		r.Body = io.NopCloser(bytes.NewReader(b))
	}
	return http.DefaultClient.Do(r)
}

func (s session) amazon() *bedrockruntime.Client {
	return bedrockruntime.New(bedrockruntime.Options{
		Region: "us-east-1", BaseEndpoint: aws.String(s.url),
		Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return aws.Credentials{AccessKeyID: "AKIDEXAMPLE", SecretAccessKey: "any"}, nil
		}),
		HTTPClient:       ownBody{},
		RetryMaxAttempts: map[bool]int{false: 1, true: 3}[s.retries],
	})
}

func (b converseBlock) block() (types.ContentBlock, error) {
	switch {
	case b.Text != nil:
		return &types.ContentBlockMemberText{Value: *b.Text}, nil
	case b.Image != nil:
		return &types.ContentBlockMemberImage{Value: types.ImageBlock{Format: types.ImageFormat(b.Image.Format), Source: &types.ImageSourceMemberBytes{Value: b.Image.Source.Bytes}}}, nil
	case b.Document != nil:
		return &types.ContentBlockMemberDocument{Value: types.DocumentBlock{Format: types.DocumentFormat(b.Document.Format), Name: aws.String(b.Document.Name), Source: &types.DocumentSourceMemberBytes{Value: b.Document.Source.Bytes}}}, nil
	case b.Call != nil:
		return &types.ContentBlockMemberToolUse{Value: types.ToolUseBlock{ToolUseId: aws.String(b.Call.ToolUseID), Name: aws.String(b.Call.Name), Input: document.NewLazyDocument(b.Call.Input)}}, nil
	case b.Result != nil:
		out := types.ToolResultBlock{ToolUseId: aws.String(b.Result.ToolUseID)}
		for _, c := range b.Result.Content {
			out.Content = append(out.Content, &types.ToolResultContentBlockMemberText{Value: *c.Text})
		}
		return &types.ContentBlockMemberToolResult{Value: out}, nil
	case b.Reasoning != nil:
		text := types.ReasoningTextBlock{Text: aws.String(b.Reasoning.Text.Text), Signature: aws.String(b.Reasoning.Text.Signature)}
		return &types.ContentBlockMemberReasoningContent{Value: &types.ReasoningContentBlockMemberReasoningText{Value: text}}, nil
	}
	return nil, fmt.Errorf("a block of no kind: %+v", b)
}

func (r converseRequest) messages() ([]types.Message, error) {
	var out []types.Message
	for _, m := range r.Messages {
		message := types.Message{Role: types.ConversationRole(m.Role)}
		for _, b := range m.Content {
			block, err := b.block()
			if err != nil {
				return nil, err
			}
			message.Content = append(message.Content, block)
		}
		out = append(out, message)
	}
	return out, nil
}

func (r converseRequest) tools() *types.ToolConfiguration {
	if r.ToolConfig == nil {
		return nil
	}
	out := new(types.ToolConfiguration)
	for _, t := range r.ToolConfig.Tools {
		out.Tools = append(out.Tools, &types.ToolMemberToolSpec{Value: types.ToolSpecification{
			Name: aws.String(t.ToolSpec.Name), Description: aws.String(t.ToolSpec.Description),
			InputSchema: &types.ToolInputSchemaMemberJson{Value: document.NewLazyDocument(t.ToolSpec.InputSchema.JSON)},
		}})
	}
	switch c := r.ToolConfig.ToolChoice; {
	case c == nil:
	case c.Any != nil:
		out.ToolChoice = &types.ToolChoiceMemberAny{}
	case c.Tool != nil:
		out.ToolChoice = &types.ToolChoiceMemberTool{Value: types.SpecificToolChoice{Name: aws.String(c.Tool.Name)}}
	}
	return out
}

// input is the request as the client takes it.
func (r converseRequest) input(model string) (*bedrockruntime.ConverseInput, error) {
	messages, err := r.messages()
	in := &bedrockruntime.ConverseInput{ModelId: aws.String(model), Messages: messages, ToolConfig: r.tools()}
	for _, b := range r.System {
		in.System = append(in.System, &types.SystemContentBlockMemberText{Value: *b.Text})
	}
	if c := r.InferenceConfig; c != nil {
		in.InferenceConfig = &types.InferenceConfiguration{MaxTokens: c.MaxTokens, StopSequences: c.StopSequences}
	}
	if o := r.OutputConfig; o != nil {
		shape := o.TextFormat.Structure.JSONSchema
		in.OutputConfig = &types.OutputConfig{TextFormat: &types.OutputFormat{Type: types.OutputFormatTypeJsonSchema,
			Structure: &types.OutputFormatStructureMemberJsonSchema{Value: types.JsonSchemaDefinition{Name: aws.String(shape.Name), Schema: aws.String(shape.Schema)}}}}
	}
	return in, err
}

// converseAnswer is what an answer says, whole or streamed.
type converseAnswer struct {
	blocks []converseBlock
	stop   string
	usage  *types.TokenUsage
}

func cellConverse(ctx context.Context, s session, request json.RawMessage) (*got, error) {
	var r converseRequest
	if err := json.Unmarshal(request, &r); err != nil {
		return nil, err
	}
	in, err := r.input(s.model)
	if err != nil {
		return nil, err
	}
	var a converseAnswer
	if s.stream {
		err = a.stream(ctx, s, in)
	} else {
		err = a.whole(ctx, s, in)
	}
	g := &got{finish: a.stop}
	if a.usage != nil {
		g.input, g.output = int(*a.usage.InputTokens), int(*a.usage.OutputTokens)
	}
	var results []converseBlock
	for _, b := range a.blocks {
		switch {
		case b.Text != nil:
			g.text += *b.Text
		case b.Reasoning != nil:
			g.thinking += b.Reasoning.Text.Text
			g.signed = b.Reasoning.Text.Signature != ""
		case b.Call != nil:
			args, _ := json.Marshal(b.Call.Input) // it was JSON before
			g.calls = append(g.calls, [2]string{b.Call.Name, string(args)})
		}
	}
	g.next = func(result string) any {
		for _, b := range a.blocks {
			if b.Call != nil {
				results = append(results, converseBlock{Result: &converseReply{b.Call.ToolUseID, []converseBlock{{Text: &result}}}})
			}
		}
		r.Messages = append(r.Messages, converseMessage{"assistant", a.blocks}, converseMessage{"user", results})
		return r
	}
	return g, err
}

func (a *converseAnswer) whole(ctx context.Context, s session, in *bedrockruntime.ConverseInput) error {
	out, err := s.amazon().Converse(ctx, in)
	if err != nil {
		return err
	}
	message, ok := out.Output.(*types.ConverseOutputMemberMessage)
	if !ok {
		return fmt.Errorf("the answer is a %T", out.Output)
	}
	a.stop, a.usage = string(out.StopReason), out.Usage
	for _, b := range message.Value.Content {
		switch b := b.(type) {
		case *types.ContentBlockMemberText:
			a.blocks = append(a.blocks, converseBlock{Text: &b.Value})
		case *types.ContentBlockMemberToolUse:
			call := &converseCall{ToolUseID: *b.Value.ToolUseId, Name: *b.Value.Name}
			if err := b.Value.Input.UnmarshalSmithyDocument(&call.Input); err != nil {
				return err
			}
			a.blocks = append(a.blocks, converseBlock{Call: call})
		case *types.ContentBlockMemberReasoningContent:
			if text, ok := b.Value.(*types.ReasoningContentBlockMemberReasoningText); ok {
				a.blocks = append(a.blocks, thoughtBlock(*text.Value.Text, aws.ToString(text.Value.Signature)))
			}
		}
	}
	return nil
}

func thoughtBlock(text, signature string) converseBlock {
	var b converseBlock
	b.Reasoning = &struct {
		Text converseThought `json:"reasoningText"`
	}{converseThought{text, signature}}
	return b
}

func (a *converseAnswer) stream(ctx context.Context, s session, in *bedrockruntime.ConverseInput) error {
	out, err := s.amazon().ConverseStream(ctx, &bedrockruntime.ConverseStreamInput{ModelId: in.ModelId, Messages: in.Messages, System: in.System,
		InferenceConfig: in.InferenceConfig, ToolConfig: in.ToolConfig, OutputConfig: in.OutputConfig})
	if err != nil {
		return err
	}
	events := out.GetStream()
	defer events.Close()
	blocks := map[int32]*converseBlock{}
	args := map[int32]string{}
	for ev := range events.Events() {
		switch ev := ev.(type) {
		case *types.ConverseStreamOutputMemberContentBlockStart:
			if use, ok := ev.Value.Start.(*types.ContentBlockStartMemberToolUse); ok {
				blocks[*ev.Value.ContentBlockIndex] = &converseBlock{Call: &converseCall{ToolUseID: *use.Value.ToolUseId, Name: *use.Value.Name}}
			}
		case *types.ConverseStreamOutputMemberContentBlockDelta:
			s.begun()
			addDelta(blocks, args, *ev.Value.ContentBlockIndex, ev.Value.Delta)
		case *types.ConverseStreamOutputMemberMessageStop:
			a.stop = string(ev.Value.StopReason)
		case *types.ConverseStreamOutputMemberMetadata:
			a.usage = ev.Value.Usage
		}
	}
	for _, i := range slices.Sorted(maps.Keys(blocks)) {
		if b := blocks[i]; b.Call != nil {
			_ = json.Unmarshal([]byte(args[i]), &b.Call.Input) // compared later
		}
		a.blocks = append(a.blocks, *blocks[i])
	}
	if err := events.Err(); err != nil {
		return err
	}
	if a.stop == "" || a.usage == nil {
		return cmpErr(ctx.Err(), errors.New("the stream has no end"))
	}
	return nil
}

func cmpErr(first, second error) error {
	if first != nil {
		return first
	}
	return second
}

// addDelta adds a piece to its block.
func addDelta(blocks map[int32]*converseBlock, args map[int32]string, i int32, delta types.ContentBlockDelta) {
	switch d := delta.(type) {
	case *types.ContentBlockDeltaMemberText:
		if blocks[i] == nil {
			blocks[i] = &converseBlock{Text: new(string)}
		}
		*blocks[i].Text += d.Value
	case *types.ContentBlockDeltaMemberToolUse:
		args[i] += *d.Value.Input
	case *types.ContentBlockDeltaMemberReasoningContent:
		if blocks[i] == nil {
			blocks[i] = new(thoughtBlock("", ""))
		}
		switch p := d.Value.(type) {
		case *types.ReasoningContentBlockDeltaMemberText:
			blocks[i].Reasoning.Text.Text += p.Value
		case *types.ReasoningContentBlockDeltaMemberSignature:
			blocks[i].Reasoning.Text.Signature += p.Value
		}
	}
}

func countConverse(ctx context.Context, s session, request json.RawMessage) (int, error) {
	var r converseRequest
	if err := json.Unmarshal(request, &r); err != nil {
		return 0, err
	}
	in, err := r.input(s.model)
	if err != nil {
		return 0, err
	}
	out, err := s.amazon().CountTokens(ctx, &bedrockruntime.CountTokensInput{ModelId: in.ModelId, Input: &types.CountTokensInputMemberConverse{Value: types.ConverseTokensRequest{Messages: in.Messages, System: in.System, ToolConfig: in.ToolConfig}}})
	if err != nil {
		return 0, err
	}
	return int(*out.InputTokens), nil
}

func amazonStatus(err error) int {
	if e, ok := errors.AsType[*awshttp.ResponseError](err); ok {
		return e.HTTPStatusCode()
	}
	return 0
}

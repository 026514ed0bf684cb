package client

//lint:file-ignore SA1019 sampling and roots are deprecated by the newest revision, and servers of all revisions ask.

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolpost/toolpost/internal/clip"
	"github.com/toolpost/toolpost/mcpbridge/internal/connection"
	"github.com/toolpost/toolpost/mcpbridge/internal/rpc"
	"github.com/toolpost/toolpost/tool"
)

// The bounds of the pause between two polls of a task, and the pause if the server does not name one.
const (
	minPoll     = 50 * time.Millisecond
	maxPoll     = 30 * time.Second
	defaultPoll = time.Second
)

// task calls a tool that may run as a task: the server answers at once, and is polled until the tool has ended. In revision
// 2025-11-25 the client asks for a task, and reads its result with another request. In 2026-07-28 the server decides, and
// the state of the task has the result, and questions.
type task struct {
	*remote
	live    *liveSession
	limit   time.Duration // of the call; the server may forget the task after it
	request bool          // the client asks for a task
}

// taskState is what a server says of a task.
type taskState struct {
	mcp.ResultBase
	TaskID  string  `json:"taskId"`
	Status  string  `json:"status"`
	Message string  `json:"statusMessage"`
	Poll    float64 `json:"pollInterval"` // in milliseconds

	// Since 2026-07-28:
	PollMs   float64             `json:"pollIntervalMs"`
	Result   json.RawMessage     `json:"result"`
	Error    *jsonrpc.Error      `json:"error"`
	Requests mcp.InputRequestMap `json:"inputRequests"`
}

// taskParams name a task.
type taskParams struct {
	mcp.ParamsBase
	TaskID string `json:"taskId"`
}

// taskAnswers are the parameters of answers to the questions of a task.
type taskAnswers struct {
	mcp.ParamsBase
	TaskID    string               `json:"taskId"`
	Responses mcp.InputResponseMap `json:"inputResponses"`
}

// taskCall are the parameters of a call as a task.
type taskCall struct {
	mcp.CallToolParams
	Task struct {
		TTL int64 `json:"ttl"` // in milliseconds
	} `json:"task"`
}

// taskError is why the result of a task is unknown. The task has begun, so the call is not repeated, and the cause is kept
// from code that would repeat it.
type taskError struct{ text string }

func (e *taskError) Error() string { return e.text }

// lifetimeKey is the key of how long the server keeps the task of a call, in the context of the call.
type lifetimeKey struct{}

// allowTasks lets a client call tools as tasks.
func allowTasks(c *mcp.Client) {
	_ = mcp.AddSendingCustomMethod[*taskParams, *taskState](c, "tasks/get") // no standard methods of the SDK
	_ = mcp.AddSendingCustomMethod[*taskParams, *taskState](c, "tasks/cancel")
	_ = mcp.AddSendingCustomMethod[*taskParams, *mcp.CallToolResult](c, "tasks/result")
	_ = mcp.AddSendingCustomMethod[*taskAnswers, *taskState](c, "tasks/update")
	c.AddSendingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			p, is := req.GetParams().(*mcp.CallToolParams)
			session, of := req.GetSession().(*mcp.ClientSession)
			if lifetime, ok := ctx.Value(lifetimeKey{}).(time.Duration); ok && is && of {
				call := &taskCall{CallToolParams: *p}
				call.Task.TTL = lifetime.Milliseconds()
				req = &mcp.ClientRequest[*taskCall]{Session: session, Params: call}
			}
			return next(ctx, method, req)
		}
	})
}

// run calls a tool. A task that is not waited for any more is cancelled.
func (t task) run(ctx context.Context, params *mcp.CallToolParams) (*mcp.CallToolResult, error) {
	calling := ctx
	if t.request {
		calling = context.WithValue(ctx, lifetimeKey{}, t.limit+maxPoll)
	}
	res, err := t.live.session.CallTool(calling, params)
	if err != nil {
		return nil, err
	}
	var made struct {
		Type string     `json:"resultType"`
		Task *taskState `json:"task"`
		taskState
	}
	text, _ := res.Meta[rpc.ExactResult].(string)
	if json.Unmarshal([]byte(text), &made) != nil {
		return res, nil
	}
	state, read := made.Task, t.readResult
	if made.Type == "task" {
		state, read = &made.taskState, inlineResult
	} else if !t.request {
		state = nil
	}
	if state == nil || state.TaskID == "" {
		return res, nil // the tool has run at once, or the reader of results explains what is wrong
	}
	ctx = connection.WithName(ctx, state.TaskID)
	res, err = t.follow(ctx, state, read)
	if err != nil && ctx.Err() != nil {
		t.cancel(ctx, state.TaskID)
	}
	return res, err
}

// readResult reads the result of a task that has ended. The result of one that asks something is waited for: the server asks
// while it is.
func (t task) readResult(ctx context.Context, state *taskState) (*mcp.CallToolResult, error) {
	res, err := mcp.CallCustomMethod[*taskParams, *mcp.CallToolResult](ctx, t.live.session, "tasks/result", &taskParams{TaskID: state.TaskID})
	if err != nil && (state.Status != "failed" || connection.AnsweredError(err) == nil) {
		err = t.lost(ctx, err)
	}
	return res, err
}

// inlineResult is the result in the state of a task that has ended, nil if the task asks something first.
func inlineResult(_ context.Context, state *taskState) (*mcp.CallToolResult, error) {
	switch {
	case state.Status == "input_required":
		return nil, nil
	case state.Status == "failed" && state.Error != nil:
		return nil, state.Error
	}
	res := new(mcp.CallToolResult)
	if len(state.Result) == 0 || state.Result[0] != '{' || json.Unmarshal(rpc.KeepExact(state.Result), res) != nil {
		return nil, &taskError{"its result cannot be read"}
	}
	return res, nil
}

// follow polls a task until it has ended, and reads its result.
func (t task) follow(ctx context.Context, state *taskState, read func(context.Context, *taskState) (*mcp.CallToolResult, error)) (*mcp.CallToolResult, error) {
	id, message, answered := state.TaskID, "", make(map[string]bool)
	for {
		if state.Message != message {
			message = state.Message
			tool.ReportProgress(ctx, tool.Progress{Message: clip.Bytes(rpc.PlainText(message), 400)})
		}
		switch state.Status {
		case "completed", "failed", "input_required":
			if res, err := read(ctx, state); res != nil || err != nil {
				return res, err
			}
			if err := t.answer(ctx, id, state.Requests, answered); err != nil {
				return nil, err
			}
		case "cancelled":
			return nil, &taskError{"has cancelled it" + said(message)}
		case "working":
		default:
			return nil, &taskError{fmt.Sprintf("its status %q is not known here", clip.Bytes(rpc.PlainText(state.Status), 60))}
		}
		select {
		case <-time.After(state.pause()):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		next, err := mcp.CallCustomMethod[*taskParams, *taskState](ctx, t.live.session, "tasks/get", &taskParams{TaskID: id})
		if err != nil {
			return nil, t.lost(ctx, err)
		}
		state = next
	}
}

// maxTaskQuestions bounds the questions of a task.
const maxTaskQuestions = 32

// answer answers the questions of a task, each once.
func (t task) answer(ctx context.Context, id string, requests mcp.InputRequestMap, answered map[string]bool) error {
	responses := make(mcp.InputResponseMap)
	for _, key := range slices.Sorted(maps.Keys(requests)) {
		if answered[key] {
			continue
		}
		if answered[key] = true; len(answered) > maxTaskQuestions {
			return &taskError{fmt.Sprintf("it asks more than %d questions", maxTaskQuestions)}
		}
		switch p := requests[key].(type) {
		case *mcp.ElicitParams:
			res, err := t.elicit(ctx, t.live, p)
			if err != nil || ctx.Err() != nil {
				return cmp.Or(ctx.Err(), err)
			}
			responses[key] = res
		case *mcp.CreateMessageWithToolsParams:
			var plain mcp.CreateMessageParams // without tools
			text, err := json.Marshal(p)
			if err == nil {
				err = json.Unmarshal(text, &plain)
			}
			res, refusal := (*mcp.CreateMessageResult)(nil), err
			if err == nil {
				res, refusal = t.sample(ctx, t.live, &plain)
			}
			if refusal != nil {
				return &taskError{"it asks the model: " + refusal.Error()}
			}
			responses[key] = res
		default:
			responses[key] = &mcp.ListRootsResult{Roots: []*mcp.Root{}}
		}
	}
	if len(responses) == 0 {
		return nil
	}
	_, err := mcp.CallCustomMethod[*taskAnswers, *taskState](ctx, t.live.session, "tasks/update", &taskAnswers{TaskID: id, Responses: responses})
	if err != nil {
		return t.lost(ctx, err)
	}
	return nil
}

// lost is the error of a task whose server does not tell its state.
func (t task) lost(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if connection.Lost(err) && !errors.Is(err, mcp.ErrSessionMissing) {
		return err
	}
	return &taskError{"its state cannot be read: " + connection.PlainError(err)}
}

// cancel has the server cancel a task.
func (t task) cancel(ctx context.Context, id string) {
	ctx, end := context.WithTimeout(context.WithoutCancel(ctx), rpc.Patience)
	defer end()
	// A server that refuses lets the task run: the outcome of the call is unknown in any case.
	_, _ = mcp.CallCustomMethod[*taskParams, *taskState](ctx, t.live.session, "tasks/cancel", &taskParams{TaskID: id})
}

// pause is how long to wait before the next poll.
func (s *taskState) pause() time.Duration {
	poll := max(s.Poll, s.PollMs)
	if poll <= 0 {
		return defaultPoll
	}
	return max(minPoll, time.Duration(min(poll, float64(maxPoll.Milliseconds())))*time.Millisecond)
}

// said is what a server says of a state, after a colon.
func said(message string) string {
	if message == "" {
		return ""
	}
	return ": " + rpc.PlainText(message)
}

package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

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

// task calls a tool as a task: the server answers at once, is polled until the tool has ended, and has the result then.
type task struct {
	session *mcp.ClientSession
	limit   time.Duration // of the call; the server may forget the task after it
}

// taskState is what a server says of a task.
type taskState struct {
	mcp.ResultBase
	TaskID  string  `json:"taskId"`
	Status  string  `json:"status"`
	Message string  `json:"statusMessage"`
	Poll    float64 `json:"pollInterval"` // in milliseconds
}

// taskParams name a task.
type taskParams struct {
	mcp.ParamsBase
	TaskID string `json:"taskId"`
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
	res, err := t.session.CallTool(context.WithValue(ctx, lifetimeKey{}, t.limit+maxPoll), params)
	if err != nil {
		return nil, err
	}
	var made struct{ Task *taskState }
	text, _ := res.Meta[rpc.ExactResult].(string)
	if json.Unmarshal([]byte(text), &made) != nil || made.Task == nil || made.Task.TaskID == "" {
		return res, nil // the tool has run at once, or the reader of results explains what is wrong
	}
	res, err = t.follow(ctx, made.Task)
	if err != nil && ctx.Err() != nil {
		t.cancel(ctx, made.Task.TaskID)
	}
	return res, err
}

// follow polls a task until it has ended, and reads its result. The result of a task that asks something is waited for: the
// server asks while it is.
func (t task) follow(ctx context.Context, state *taskState) (*mcp.CallToolResult, error) {
	id, message := state.TaskID, ""
	for {
		if state.Message != message {
			message = state.Message
			tool.ReportProgress(ctx, tool.Progress{Message: clip.Bytes(rpc.PlainText(message), 400)})
		}
		switch state.Status {
		case "completed", "failed", "input_required":
			res, err := mcp.CallCustomMethod[*taskParams, *mcp.CallToolResult](ctx, t.session, "tasks/result", &taskParams{TaskID: id})
			if err != nil && (state.Status != "failed" || connection.AnsweredError(err) == nil) {
				err = t.lost(ctx, err)
			}
			return res, err
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
		next, err := mcp.CallCustomMethod[*taskParams, *taskState](ctx, t.session, "tasks/get", &taskParams{TaskID: id})
		if err != nil {
			return nil, t.lost(ctx, err)
		}
		state = next
	}
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
	_, _ = mcp.CallCustomMethod[*taskParams, *taskState](ctx, t.session, "tasks/cancel", &taskParams{TaskID: id})
}

// pause is how long to wait before the next poll.
func (s *taskState) pause() time.Duration {
	if s.Poll <= 0 {
		return defaultPoll
	}
	return max(minPoll, time.Duration(min(s.Poll, float64(maxPoll.Milliseconds())))*time.Millisecond)
}

// said is what a server says of a state, after a colon.
func said(message string) string {
	if message == "" {
		return ""
	}
	return ": " + rpc.PlainText(message)
}

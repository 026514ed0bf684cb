package agent

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/toolpost/toolpost/invoke"
	"github.com/toolpost/toolpost/journal"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/schema"
	"github.com/toolpost/toolpost/tool"
)

// Inside is an event of a run inside a call; see [Agent.Tool].
type Inside struct {
	CallID string    // of the call
	Run    string    // that the event is of
	Event  llm.Event // also another Inside
}

// EventType returns "inside".
func (Inside) EventType() string { return "inside" }

// MarshalJSON writes the event inside with its type.
func (e Inside) MarshalJSON() ([]byte, error) {
	inner, err := llm.MarshalEvent(e.Event)
	if err != nil {
		return nil, err
	}
	return json.Marshal(struct {
		CallID string          `json:"call_id"`
		Run    string          `json:"run"`
		Event  json.RawMessage `json:"inner"`
	}{e.CallID, e.Run, inner})
}

// subTask is the schema of the arguments of an agent that is a tool.
var subTask = schema.Schema(`{"type":"object","properties":{"task":{"type":"string","description":"What is to be done, with everything that has to be known for it."}},"required":["task"],"additionalProperties":false}`)

// Tool returns a tool that gives a task to a and returns its answer.
//
// A call of it is a separate run with the settings of a, inside the run that makes the call. The
// record names the outer run as its parent, its events are passed on as [Inside], and its usage is
// added to the usage of the call. The rest of every budget of both runs limits it (calls, bytes,
// time, tokens and money), and it is cancelled with the call. If one of its calls needs a person,
// a's own Approve is asked. Without one, or if that has not decided yet, the Approve of the outer
// run is asked, and the outer run waits.
//
// With a Store the inner run is named after the call's idempotency key. A call that
// repeats a call of unknown outcome continues its run.
//
// The tool is read-only if all tools of a are. Its Timeout is 30 minutes.
func (a *Agent) Tool(name, description string) tool.Tool {
	t := tool.New(name, description, subTask, func(ctx context.Context, args json.RawMessage) (tool.Output, error) {
		var in struct {
			Task string `json:"task"`
		}
		if err := json.Unmarshal(args, &in); err != nil {
			return tool.Output{}, tool.Errorf(tool.Validation, "the task cannot be read: %w", err)
		}
		return a.inside(ctx, name, in.Task)
	})
	t.HonoursKeys, t.Timeout = a.Store != nil, subTimeout
	t.Effects = tool.ReadOnly // and not Local: it asks a model
	for own := range a.set().All() {
		t.Effects &= own.Effects
	}
	return t
}

// subTimeout is how long a run inside a call may take, unless the program says
// otherwise.
const subTimeout = 30 * time.Minute

// inside does a task as part of a call.
func (a *Agent) inside(ctx context.Context, name, task string) (tool.Output, error) {
	info := tool.InfoOf(ctx)
	sub := *a
	var asked error // what the run outside has to wait for
	if a.Tools != nil {
		sub.Tools = a.Tools.With(a.Tools.Tools)
		sub.Tools.Approve = askOutside(ctx, name, a.Tools.Approve, &asked)
	}
	sub.Parent = cmp.Or(info.Run, a.Parent)
	run := cmp.Or(subRun(info), journal.NewRun())
	sub.NewRun = func() string { return run }
	done, err := sub.take(ctx, info.Call, run, task)
	out := tool.Text(done.Text)
	out.Usage, out.Structured = done.Usage, done.Value
	for _, did := range done.Did {
		out.Did = append(out.Did, tool.SideEffect(did))
	}
	switch {
	case done.Status == StatusPending && asked != nil:
		return tool.Output{}, asked
	case done.Status == StatusPending:
		return out, tool.Errorf(tool.Permission, "it waits for a person as run %s", run)
	case err != nil && ctx.Err() != nil:
		return out, ctx.Err()
	case err != nil:
		e := tool.Errorf(tool.Execution, "%s could not do it: %w", name, err)
		return out, e
	}
	return out, nil
}

// take runs or resumes a run inside a call, and passes its events on. A run that
// has ended answers with what it answered.
func (a *Agent) take(ctx context.Context, call, run, task string) (Done, error) {
	var done Done
	events := a.Run(ctx, llm.User("", llm.Text{Text: task, Origin: llm.OriginModel}))
	if a.Store != nil {
		p, err := readRun(journal.Whole(a.Store.Read(ctx, run, 0)))
		switch {
		case err != nil:
			return done, err
		case p.ended:
			if outer := enclosing(ctx); outer != nil {
				outer.charge(p.cost, p.unpriced) // the process that spent it has not told this one
			}
			return p.result(run)
		case p.begun:
			events = a.Resume(ctx, run)
		}
	}
	for ev, err := range events {
		if err != nil {
			return done, err
		}
		if d, ok := ev.(Done); ok {
			done = d
		}
		tool.Emit(ctx, Inside{CallID: call, Run: run, Event: ev})
	}
	return done, nil
}

// subRun names the run inside a call, "" if the run outside is not recorded.
func subRun(info tool.Info) string {
	if info.Run == "" {
		return ""
	}
	run := info.Run + "." + strings.Map(func(r rune) rune {
		if r < 0x80 && (r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' || r == '-') {
			return r
		}
		return -1
	}, info.Key)
	if journal.ValidRun(run) != nil {
		return ""
	}
	return run
}

// consentSchema is what a person answers about a call of a run inside.
var consentSchema = json.RawMessage(`{"additionalProperties":false,"properties":{"allowed":{"type":"boolean"},"by":{"type":"string"},"reason":{"type":"string"}},"required":["allowed"],"type":"object"}`)

// askOutside returns an Approve for the calls of a run inside a call of ctx. What
// its own Approve does not decide becomes a question of the call outside.
func askOutside(ctx context.Context, name string, own func(context.Context, invoke.Question) (journal.Approval, error), asked *error) func(context.Context, invoke.Question) (journal.Approval, error) {
	return func(inner context.Context, q invoke.Question) (journal.Approval, error) {
		var pending *invoke.PendingError
		if own != nil {
			a, err := own(inner, q)
			if !errors.As(err, &pending) {
				return a, err
			}
		}
		if q.Prompt > 0 {
			return forwarded(ctx, q, tool.Prompt{Message: fmt.Sprintf("%s asks for %s (%s): %s", name, q.Tool, q.CallID, q.Message), Schema: q.Schema, Held: q.Held}, asked, nil)
		}
		args, err := journal.Canonical(q.Args) // the question is recognised by its words
		if err != nil {
			return journal.Approval{}, err
		}
		message := fmt.Sprintf("%s wants to call %s (%s) with %s: %s", name, q.Tool, q.CallID, args, q.Reason)
		return forwarded(ctx, q, tool.Prompt{Message: message, Schema: consentSchema}, asked, func(a *journal.Approval) error {
			var says struct {
				Allowed bool   `json:"allowed"`
				By      string `json:"by"`
				Reason  string `json:"reason"`
			}
			if err := json.Unmarshal(a.Value, &says); err != nil {
				return err
			}
			a.Allowed, a.By, a.Reason, a.Value = says.Allowed, cmp.Or(says.By, a.By), says.Reason, nil
			return nil
		})
	}
}

// forwarded asks a person through the call outside. Without an answer yet, the run
// inside waits, and asked is what the call outside returns.
func forwarded(ctx context.Context, q invoke.Question, p tool.Prompt, asked *error, read func(*journal.Approval) error) (journal.Approval, error) {
	v, err := tool.Ask(ctx, p)
	var refused *tool.Error
	switch {
	case errors.As(err, &refused):
		return journal.Approval{}, err
	case err != nil:
		*asked = err
		return journal.Approval{}, new(invoke.PendingError)
	}
	a := q.Answer(true, "a person", "")
	a.Value = v
	if read != nil {
		err = read(&a)
	}
	return a, err
}

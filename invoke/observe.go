package invoke

import (
	"cmp"
	"context"
	"errors"

	"github.com/toolpost/toolpost/internal/observe/observing"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/observe"
)

// observe tells the observer, if there is one, that a call begins.
func (d *batch) observe(j *job) {
	if observe.From(d.ctx) == nil {
		return
	}
	d.cancellable() // the call's context must end with it
	ctx, call := observing.BeginTool(d.ctx, observe.ToolCall{Run: j.info.Run, Turn: j.info.Turn, ID: j.call.ID, Tool: j.call.Name, Args: j.args,
		Dialect: j.call.Provenance.Dialect, Source: j.call.Provenance.Source()})
	j.seen = &seen{ctx, call}
}

// context returns the context in which a call runs.
func (d *batch) context(j *job) context.Context {
	if j.seen == nil {
		return d.ctx
	}
	return j.seen.ctx
}

// decided says whether a call may run.
func (d *batch) decided(j *job, allowed bool, by, reason string, emit func(llm.Event)) {
	if j.seen != nil {
		j.seen.call.Allowed, j.seen.call.By, j.seen.call.Reason = allowed, by, reason
	}
	emit(Decided{CallID: j.call.ID, Tool: j.tool.Name, Allowed: allowed, By: by, Reason: reason})
}

// declined says that a question of a tool is not answered.
func (d *batch) declined(j *job, q Question, by, reason string, emit func(llm.Event)) {
	emit(Decided{CallID: j.call.ID, Tool: j.tool.Name, By: by, Reason: reason, Prompt: cmp.Or(q.Message, "a question without text")})
}

// observed tells the observer how a call ended.
func (d *batch) observed(j *job, o *Outcome) {
	if j.seen == nil {
		return
	}
	c, r := j.seen.call, &o.Receipt
	c.Args, c.Result, c.Effects, c.Repairs = j.args, o.Result, j.tool.Effects.String(), r.Repairs
	c.Attempts, c.Cached, c.Status, c.ExitCode = r.Attempts, r.Cached, string(r.Status), r.ExitCode
	c.ParamsHash, c.OutputHash, c.Receipt = string(r.ParamsHash), string(r.OutputHash), string(r.Entry)
	c.OutputBytes, c.Truncated = r.OutputBytes, r.Truncated
	if r.Usage != nil {
		c.Usage = *r.Usage
	}
	var err error
	if o.Error != nil {
		err, c.Code = o.Error, string(o.Error.Code)
	}
	observing.End(j.seen.ctx, c, err)
	j.seen = nil
}

// unobserve ends the spans that are still open.
func (d *batch) unobserve() {
	for i := range d.jobs {
		j := &d.jobs[i]
		if j.seen == nil {
			continue
		}
		j.seen.call.Status = "not_run"
		err := errors.New("invoke: the calls before it could not be recorded")
		if d.waits() {
			j.seen.call.Status, err = "waiting", nil
		}
		observing.End(j.seen.ctx, j.seen.call, err)
		j.seen = nil
	}
}

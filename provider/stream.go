package provider

import (
	"context"
	"errors"
	"iter"

	"github.com/toolpost/toolpost/internal/observe/observing"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/observe"
)

// Stream answers req; see llm.Model and the package comment.
func (m *Model) Stream(ctx context.Context, req *llm.Request) iter.Seq2[llm.Event, error] {
	if ctx == nil {
		panic("provider: the context of Stream is nil; pass context.Background()")
	}
	return func(yield func(llm.Event, error) bool) {
		if observe.From(ctx) == nil {
			m.run(ctx, req, yield)
			return
		}
		observing.Question(ctx, m.id, req, m.runObserved, yield)
	}
}

// runObserved is run for an observer.
func (m *Model) runObserved(ctx context.Context, req *llm.Request) iter.Seq2[llm.Event, error] {
	return func(yield func(llm.Event, error) bool) { m.run(ctx, req, yield) }
}

// Explain returns how req would be asked, without a request. A nil req is a request
// with one tool.
func (m *Model) Explain(req *llm.Request) (Route, error) {
	if req == nil {
		req = &llm.Request{Messages: []llm.Message{llm.User("")}, Tools: []llm.ToolDef{{Name: "tool"}}}
	}
	asked := *m.informed()
	asked.explains = true
	j, err := asked.plan(req)
	if err != nil {
		return Route{}, err
	}
	return j.route, nil
}

// run asks the model. If the vendor reports missing tool calling, it asks again by
// prompt.
func (m *Model) run(ctx context.Context, req *llm.Request, yield func(llm.Event, error) bool) {
	m = m.discovered(ctx, req)
	req, stripped := m.client.redactRequest(&m.target, req)
	j, err := m.plan(req)
	if err != nil {
		yield(nil, err)
		return
	}
	j.warnings = append(j.warnings, stripped...)
	again, ok := m.attempt(ctx, j, yield)
	if !ok {
		return
	}
	if j, err = m.plan(req); err != nil {
		yield(nil, errors.Join(again, err))
		return
	}
	j.warn(llm.Degraded, "tools", "the vendor has no tools for this model (%v); it is asked by prompt from now on. To know it from the start, put this into models.yaml: %q: {native_tools: false}", again, m.catalogID(m.id))
	m.attempt(ctx, j, yield)
}

// observed reports the route to an observer.
func (m *Model) observed(ctx context.Context, j *job) {
	if c := observing.CallOf(ctx); c != nil {
		c.Vendor, c.Name, c.Host, c.Wire, c.Route = m.vendor.Name, m.model, m.base.Host, j.route.Wire, string(j.route.Kind)
	}
}

// attempt asks in one way. It reports an error, and true, if another way is
// open and nothing has been said yet.
func (m *Model) attempt(ctx context.Context, j *job, yield func(llm.Event, error) bool) (error, bool) {
	m.observed(ctx, j)
	j.whole = j.whole || m.asksWhole(ctx, j)
	for _, w := range j.warnings {
		if !yield(w, nil) {
			return nil, false
		}
	}
	began := false
	for ev, err := range j.answer.Pipeline().Read(m.send(ctx, j)) {
		if err != nil && !began && j.route.Kind == Native && m.learn(j, err) {
			return err, true
		}
		began = began || err == nil && llm.Begins(ev)
		if !yield(ev, err) || err != nil {
			return nil, false
		}
	}
	return nil, false
}

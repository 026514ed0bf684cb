package provider

import (
	"context"
	"errors"
	"iter"
	"slices"
	"strings"

	"github.com/toolpost/toolpost/internal/observe/observing"
	"github.com/toolpost/toolpost/internal/requestctx"
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
	asked := *m.informed().forTools(req.Tools)
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
	m = m.discovered(ctx, req).forTools(req.Tools)
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
	source, t := j.answer.Pipeline().Begin(m.send(ctx, j), yield)
	defer t.Stop()
	for ev, err := range source {
		if err != nil && !began && j.route.Kind == Native && m.learn(j, err) {
			return err, true
		}
		began = began || err == nil && llm.Begins(ev)
		if !t.Take(ev, err) {
			return nil, false
		}
	}
	t.End()
	return nil, false
}

// send asks the vendor and yields its answer. What fails before the first
// event is sent again.
func (m *Model) send(ctx context.Context, j *job) iter.Seq2[llm.Event, error] {
	return func(yield func(llm.Event, error) bool) {
		body, warnings, err := j.codec.EncodeRequest(j.req, !j.whole)
		if err != nil {
			yield(nil, err)
			return
		}
		body, foreign := m.client.redactBody(&m.target, body)
		for _, w := range slices.Concat(warnings, m.client.overheard(&m.target), foreign) {
			if !yield(w, nil) {
				return
			}
		}
		if j.whole && !m.client.Whole {
			m.persistWhole(ctx, j, body, yield)
			return
		}
		m.persist(ctx, j, body, yield)
	}
}

// asksWhole reports whether a request is sent for a document although the client asks for
// streams. Where tools are taught in a prompt, the answer is streamed, because it may be given up after a call.
func (m *Model) asksWhole(ctx context.Context, j *job) bool {
	if !requestctx.Whole(ctx) || j.route.Kind == Prompted || j.route.Kind == Constrained {
		return false
	}
	_, streams := m.client.streamers.Load(m.key())
	return !streams
}

// persistWhole is persist for an answer in one document. It asks for a stream if the vendor
// refuses to answer with a document.
func (m *Model) persistWhole(ctx context.Context, j *job, body []byte, yield func(llm.Event, error) bool) {
	refused := false
	m.persist(ctx, j, body, func(ev llm.Event, err error) bool {
		if refused = refusesWhole(err); refused {
			return false
		}
		return yield(ev, err)
	})
	if !refused {
		return
	}
	m.client.streamers.Store(m.key(), true)
	j.whole = false
	body, _, err := j.codec.EncodeRequest(j.req, true)
	if err != nil {
		yield(nil, err)
		return
	}
	body, _ = m.client.redactBody(&m.target, body)
	m.persist(ctx, j, body, yield)
}

// refusesWhole reports whether a vendor refused a request because it was not for a stream:
// "This model only support stream mode", "Requests with max_tokens > 4096 must have stream=true".
func refusesWhole(err error) bool {
	var e *llm.Error
	return errors.As(err, &e) && e.Status/100 == 4 && (e.Kind == llm.Invalid || e.Kind == llm.Unsupported) && strings.Contains(strings.ToLower(e.Error()), "stream")
}

// learn remembers an error about missing tool calling. It reports whether err is such
// an error and the request has tools.
func (m *Model) learn(j *job, err error) bool {
	if len(j.req.Tools) == 0 || m.client.Route != "" || !saysNoTools(err) {
		return false
	}
	var e *llm.Error
	errors.As(err, &e)
	text := e.Error()
	record := Record{ID: m.catalogID(m.id), Values: map[string]string{"native_tools": "false"}, Why: text[:min(len(text), 300)]}
	m.client.learned.said.Store(m.key(), record)
	return true
}

package provider

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"

	"github.com/toolpost/toolpost/catalog"
	"github.com/toolpost/toolpost/emulate"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/observe"
	"github.com/toolpost/toolpost/schema"
	"github.com/toolpost/toolpost/wire"
)

// reader turns one stream of events into another. It keeps the promises of
// package llm: it passes on the one error last, and stops when told to.
type reader = emulate.Reader

// job is a request ready to be sent, and how to read its answer.
type job struct {
	route    Route
	asked    *llm.Request // as the caller asked
	req      *llm.Request // in the vendor's terms
	codec    wire.Codec
	steps    []step                     // from the wire to the caller
	asks     bool                       // one of them cannot be handed its events
	unwrap   map[string]schema.Narrowed // tools whose arguments had to be put into an object
	nullable map[string]*schema.Shape   // tools whose optional parameters had to become nullable
	output   schema.Narrowed            // of the answer, if the vendor holds the model to it
	answer   reader                     // of an answer that the vendor does not hold to its schema; nil if there is none
	warnings []llm.Warning
	tap      io.Writer   // gets a copy of the answer's body; nil for nobody
	asIs     bool        // the request is good as it is: what it does not ask for is not added
	whole    bool        // the answer is asked for in one piece
	relay    *relay      // not nil: the bytes of the answer go to a client as they are
	header   http.Header // of the client, that goes with a relayed request
}

func (j *job) warn(code llm.WarningCode, feature, format string, args ...any) {
	j.warnings = append(j.warnings, llm.Warning{Code: code, Feature: feature, Detail: fmt.Sprintf(format, args...)})
}

// warnTool is warn about the definition of a tool.
func (j *job) warnTool(tool string, code llm.WarningCode, feature, format string, args ...any) {
	j.warnings = append(j.warnings, llm.Warning{Code: code, Feature: feature, Detail: fmt.Sprintf(format, args...), Tool: tool})
}

// step is a reader of an answer: one that can be handed its events, or one that asks for them.
type step struct {
	stage emulate.Stage
	asks  reader
}

// reads adds a reader.
func (j *job) reads(r reader) {
	j.steps, j.asks = append(j.steps, step{asks: r}), true
}

// takes adds a reader that can be handed its events.
func (j *job) takes(s emulate.Stage) {
	j.steps = append(j.steps, step{stage: s})
}

// stages returns the readers of a job none of which asks.
func (j *job) stages() []emulate.Stage {
	list := make([]emulate.Stage, 0, len(j.steps)+1)
	for _, s := range j.steps {
		list = append(list, s.stage)
	}
	return list
}

// read returns the events of an answer in the caller's terms.
func (j *job) read(raw iter.Seq2[llm.Event, error]) iter.Seq2[llm.Event, error] {
	for _, s := range j.steps {
		if s.asks != nil {
			raw = s.asks(raw)
		} else {
			raw = s.stage.Read(raw)
		}
	}
	return raw
}

// plan decides how to ask and writes the request in the vendor's terms. The
// caller's request is not changed.
func (m *Model) plan(req *llm.Request) (*job, error) { return m.planned(req, false) }

// newJob returns the job of a request, with nothing planned but its route.
func (m *Model) newJob(req *llm.Request, asIs bool) *job {
	j := &job{asked: req, whole: m.client.Whole, asIs: asIs}
	m.choose(req, &j.route)
	j.codec = m.settled.codec
	if asIs && j.route.Kind == Text && countCalls(req) == 0 { // nothing in it has to do with tools
		j.route.Kind = Native
	}
	j.warnings = append(j.warnings, m.settled.unknown...)
	j.req = req.Clone()
	j.req.Model = m.model
	return j
}

// planned is plan. As it is, a request gets nothing that it does not need.
func (m *Model) planned(req *llm.Request, asIs bool) (*job, error) {
	if err := emulate.Check("provider", req); err != nil {
		return nil, err
	}
	j := m.newJob(req, asIs)
	if err := m.options(j); err != nil {
		return nil, err
	}
	m.heal(j)
	j.codec.Calls = llm.CallsBefore(j.req.Messages)
	if err := m.planOutput(j); err != nil {
		return nil, err
	}
	m.defineTools(j)
	var err error
	if j.route.Kind == Native {
		err = m.planNative(j)
	} else {
		err = m.planEmulated(j)
	}
	if err != nil {
		return nil, err
	}
	m.boundTexts(j)
	if output := m.readOutput(j, req); output != nil {
		j.reads(emulate.EachAnswer(output))
	}
	j.takes(emulate.Keep(m.vendor.Name, j.promised()))
	return j, nil
}

// defineTools says what the client's tools take that only another vendor's models know by their type.
func (m *Model) defineTools(j *job) {
	codec := j.codec
	if j.route.Kind != Native { // told in words
		codec = wire.Codec{}
	}
	j.req.Tools = codec.DefineTools(j.req.Tools)
}

// promised is the request whose promises are kept. One call is left to a vendor that is sent the request as it is: its
// second call reaches a client who speaks its format, with a warning (see lockstep), and is not taken away.
//
//go:noinline
func (j *job) promised() *llm.Request {
	if !j.asIs || !j.asked.OneCall {
		return j.asked
	}
	any := *j.asked
	any.OneCall = false
	return &any
}

// planNative hands the tools to the vendor.
func (m *Model) planNative(j *job) error {
	if !m.freeTools() {
		for i := range j.req.Tools {
			if t := &j.req.Tools[i]; t.Kind == llm.FreeTool {
				j.warn(llm.Degraded, "tools.free_text", "%s has functions only; the text of %s is the argument %q", m.vendor.Name, t.Name, wire.FreeInput)
			}
		}
	}
	m.planChoice(j)
	m.standIns(j)
	m.besideFunctions(j)
	if err := m.narrowTools(j); err != nil {
		return err
	}
	m.planReaders(j)
	return nil
}

// planReaders writes the request in the vendor's words, and says how its answer is read back.
func (m *Model) planReaders(j *job) {
	var aliases *wire.Aliases
	var restored reader
	if !m.vendor.Apart {
		j.req, restored = emulate.FamilyTokens(m.settled.family).Guard(j.req)
	}
	j.req, aliases = m.rules().Apply(j.req)
	if len(j.req.Tools) > 0 { // calls that the vendor left in the text, as far as the promotion of the route allows
		j.takes(m.callReader(j).Begin)
	}
	if restored != nil {
		j.reads(restored)
	}
	if aliases != nil {
		j.reads(aliases.Stream)
	}
	if len(j.unwrap) > 0 {
		j.reads(emulate.EachAnswer(unwrapArgs(j.unwrap)))
	}
	if len(j.nullable) > 0 {
		j.reads(emulate.EachAnswer(dropNulls(j.nullable)))
	}
}

// freeTools reports whether the vendor has tools that take free text.
func (m *Model) freeTools() bool { return m.vendor.freeTools(m.format()) }

// rules are the vendor's demands on names and ids.
func (m *Model) rules() wire.Rules {
	return wire.Rules{
		Name: m.info.ToolName, ID: m.info.CallID, IDForm: m.info.CallIDForm,
		LetterFirst: m.format().LetterFirst,
		NoFreeTools: !m.freeTools(),
	}
}

// planEmulated teaches the tools in a prompt.
func (m *Model) planEmulated(j *job) error {
	if j.route.Kind == Text {
		j.req.Tools = nil
	}
	plan, err := m.emulation(j).Plan(j.req)
	if err != nil {
		return err
	}
	if m.moved != "" {
		j.warn(llm.Compatibility, "wire", "%s", m.moved)
	}
	j.req = plan.Request
	j.warnings = append(j.warnings, plan.Warnings...)
	j.reads(plan.Read)
	if plan.Dialect != "" {
		j.route.Dialect = plan.Dialect
	}
	if plan.Taught {
		j.warn(llm.Emulated, "tools", "the tools are taught in a prompt: %s", j.route)
	}
	return nil
}

// emulation says how a request is asked without tools.
func (m *Model) emulation(j *job) emulate.Emulation {
	e := emulate.Emulation{
		Style: j.route.Style, Dialects: m.client.Dialects, Family: m.settled.family, Size: m.info.ID.Size, Context: m.info.ContextWindow,
		OneCall: m.info.ParallelTools.Support == catalog.No, Dialect: j.route.Dialect, Gate: m.client.Gate,
		Promotion: j.route.Promotion, Why: j.route.promoted, Apart: m.vendor.Apart,
	}
	if e.Style == "" && m.info.Emulation != "json" { // everybody's default, which the family's own comes before
		e.Style = m.info.Emulation
	}
	switch {
	case j.route.Kind == Constrained:
		e.Host = m.host()
	case j.route.Output == OutputConstrained: // only the answer is held to a schema
		e.Host, e.Gate = m.host(), emulate.GateOff
	}
	return e
}

// countCalls counts the calls of a conversation. It is not inlined: plans are made deep in the stack of a
// request, and a stack that had to grow once is held as long as an answer takes.
//
//go:noinline
func countCalls(req *llm.Request) int {
	n := 0
	for _, msg := range req.Messages {
		for _, p := range msg.Parts {
			if c, ok := p.(llm.Call); ok && !c.Hosted {
				n++
			}
		}
	}
	return n
}

// run asks, and asks in another way if the vendor says that it has no tools.
func (m *Model) run(ctx context.Context, req *llm.Request, yield func(llm.Event, error) bool) {
	m = m.discovered(ctx, req)
	req, stripped := m.redactRequest(req)
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

// observed tells whoever observes how the model is asked.
func (m *Model) observed(ctx context.Context, j *job) {
	if c := observe.CallOf(ctx); c != nil {
		c.Vendor, c.Name, c.Host, c.Wire, c.Route = m.vendor.Name, m.model, m.base.Host, j.route.Wire, string(j.route.Kind)
	}
}

// attempt asks in one way. It reports an error, and true, if another way is
// open and nothing has been said yet.
func (m *Model) attempt(ctx context.Context, j *job, yield func(llm.Event, error) bool) (error, bool) {
	m.observed(ctx, j)
	for _, w := range j.warnings {
		if !yield(w, nil) {
			return nil, false
		}
	}
	began := false
	for ev, err := range j.read(m.send(ctx, j)) {
		if err != nil && !began && j.route.Kind == Native && m.learn(j, err) {
			return err, true
		}
		began = began || err == nil && begins(ev)
		if !yield(ev, err) || err != nil {
			return nil, false
		}
	}
	return nil, false
}

// begins reports whether an event is part of the answer.
func begins(ev llm.Event) bool {
	_, retrying := ev.(RequestRetry)
	return llm.Begins(ev) && !retrying
}

// key is under what the client remembers what it learned about a model.
func (m *Model) key() string { return m.settled.key }

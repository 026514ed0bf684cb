package gateway

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/toolpost/toolpost/dialect"
	"github.com/toolpost/toolpost/gateway/internal/conversation"
	"github.com/toolpost/toolpost/gateway/internal/exchange"
	"github.com/toolpost/toolpost/internal/js"
	"github.com/toolpost/toolpost/internal/wire/history"
	"github.com/toolpost/toolpost/llm"
)

// reaskings is how often a model is asked again about invalid calls.
const reaskings = 2

// askChecked asks like askUpstreams. On routes with [Reask], it holds the calls of an answer until all of them match their
// schemas. A model with an invalid call is told why and asked again. The client sees only the text of the failed
// attempts. If the calls stay invalid, the request fails.
func (p *prepared) askChecked(req *llm.Request, each func(llm.Event) error) error {
	if !p.reasks(req) {
		if len(req.Tools) > 0 {
			held := *req // the model is not asked whether it means a doubtful call, so the client gets it as text
			held.HoldDoubtful = true
			req = &held
		}
		return p.askUpstreams(req, each)
	}
	return p.askUntilFit(req, each)
}

// askUntilFit asks until all calls of an answer match their schemas.
func (p *prepared) askUntilFit(req *llm.Request, each func(llm.Event) error) error {
	p.holds = true
	defer func() { p.holds = false }()
	if req.RetryBudget == nil {
		budgeted := *req
		budgeted.RetryBudget = llm.NewRetryBudget(reaskings)
		req = &budgeted
	}
	r := reasking{check: checking{tools: req.Tools, validators: &p.checks}, each: each}
	for try := 0; ; try++ {
		if req.HoldDoubtful == r.asked {
			held := *req
			held.HoldDoubtful = !r.asked
			req = &held
		}
		r.calls, r.finish, r.faults, r.said = nil, llm.Finish{}, nil, llm.Builder{}
		r.wrong, r.held, r.late = 0, nil, nil
		r.data = exchange.NewDataAnswer(req.Output != nil, each)
		if err := p.askUpstreams(req, r.take); err != nil {
			return err
		}
		r.usage = r.usage.Add(r.finish.Usage)
		if len(r.faults) == 0 {
			return r.release()
		}
		p.measured.invalid += r.wrong
		p.Metrics.Invalid.Add(float64(r.wrong), p.trace.Route, "schema")
		if r.finish.Reason == llm.Length || !req.RetryBudget.Take() {
			if r.wrong == 0 {
				return r.release()
			}
			p.measured.usage = r.usage
			return &llm.Error{Op: "gateway", Kind: llm.Malformed, Err: fmt.Errorf("the model was asked %d times, and its calls do not fit: %s", try+1, r.first())}
		}
		if err := cmp.Or(r.showLate(false), r.data.Release(false)); err != nil {
			return err
		}
		p.measured.usage = r.usage
		p.Warn(llm.Warning{Code: llm.Degraded, Feature: "tools", Detail: "the model was asked again: " + r.first()})
		req, r.asked = r.next(req), r.asked || len(r.faults) > r.wrong
	}
}

// reasks reports whether calls must match their schemas. It reports false for requests for several answers, because
// each answer would need a separate conversation; their calls are annotated instead.
func (p *prepared) reasks(req *llm.Request) bool {
	return p.routeOf(&p.ways[0]).Check == Reask && len(req.Tools) > 0 && req.N <= 1
}

// reasking is a model request that is repeated until the calls of its answer match their schemas.
type reasking struct {
	check   checking
	each    func(llm.Event) error
	started string // id of the answer that the client knows
	begun   bool
	asked   bool      // the model was asked whether it means a call
	usage   llm.Usage // total of all attempts

	// State of the current attempt:
	calls  []llm.Call
	faults map[int]string // by index of the call
	wrong  int            // number of faults that are not only doubts
	held   map[int]bool   // indexes of the doubtful calls that became text unless the model confirms them
	late   []llm.Event    // the first held call and what followed it, without other calls
	said   llm.Builder
	finish llm.Finish
	data   exchange.DataAnswer
}

// take passes on everything except calls.
func (r *reasking) take(ev llm.Event) error {
	if held, ok := ev.(heldCall); ok {
		if r.held == nil {
			r.held = make(map[int]bool)
		}
		r.held[len(r.calls)] = true
		r.late = append(r.late, held)
		ev = *held.Call
	}
	r.said.Add(ev)
	switch ev := ev.(type) {
	case llm.Start:
		if r.begun {
			return nil
		}
		r.begun, r.started = true, ev.ID
	case llm.CallStart, llm.CallDelta:
		return nil
	case llm.Call:
		doubt, doubts := ev.Provenance.Doubt()
		switch fault := r.check.fault(ev); {
		case fault != nil:
			if r.note(fault.Detail); !r.held[len(r.calls)] {
				r.wrong++
			}
		case doubts && !r.asked:
			r.note("the call " + ev.ID + " may not be meant: " + dialect.WhyDoubtful(doubt) + ". Did you intend to call " + ev.Name + "? If not, answer without it")
		}
		r.calls = append(r.calls, ev)
		return nil
	case llm.Finish:
		r.finish = ev
		return nil
	}
	if len(r.late) > 0 {
		r.late = append(r.late, ev)
		return nil
	}
	return r.data.Show(ev)
}

// showLate shows what followed the first held call. asText shows the held calls as well, each with a warning.
func (r *reasking) showLate(asText bool) error {
	for _, ev := range r.late {
		held, ok := ev.(heldCall)
		text, isText := ev.(llm.TextDelta)
		if !asText && (ok || isText && text.Part == nil && strings.TrimSpace(text.Text) == "") {
			continue
		}
		if ok {
			warning := llm.Warning{Code: llm.SuspectedCall, Feature: held.Name, Detail: "a call is shown as text, because the model could not be asked: " + held.Problem}
			if err := r.data.Show(warning); err != nil {
				return err
			}
			ev = llm.TextDelta{Text: held.Raw}
		}
		if err := r.data.Show(ev); err != nil {
			return err
		}
	}
	return nil
}

// note records what is wrong with the next call.
func (r *reasking) note(fault string) {
	if r.faults == nil {
		r.faults = make(map[int]string)
	}
	r.faults[len(r.calls)] = fault
}

// first returns the problem of the first invalid call.
func (r *reasking) first() string {
	for i := range r.calls {
		if fault, ok := r.faults[i]; ok {
			return fault
		}
	}
	return ""
}

// release passes on the valid calls and the end of the answer. A call that is still held is text.
func (r *reasking) release() error {
	if err := cmp.Or(r.showLate(true), r.data.Release(true)); err != nil {
		return err
	}
	for i, c := range r.calls {
		if r.held[i] {
			continue
		}
		for _, ev := range []llm.Event{llm.CallStart{ID: c.ID, Name: c.Name, Kind: c.Kind, Extra: c.Extra}, llm.CallDelta{ID: c.ID, Args: string(c.Args)}, c} {
			if err := r.each(ev); err != nil {
				return err
			}
		}
	}
	if r.finish.Reason == llm.ToolCalls && len(r.held) > 0 && len(r.held) == len(r.calls) {
		r.finish.Reason, r.finish.Raw = llm.Stop, ""
	}
	r.finish.Usage = r.usage
	if r.started != "" {
		r.finish.ID = r.started
	}
	return r.each(r.finish)
}

// next returns the follow-up request that tells the model about the errors. All calls of the answer are discarded, and
// the model sends the valid ones again. No call runs twice.
func (r *reasking) next(req *llm.Request) *llm.Request {
	var results []llm.Result
	for i, c := range r.calls {
		text := "The call was not run, because another call of the same answer is wrong. Send it again as it is."
		if fault, wrong := r.faults[i]; wrong {
			text = "The call was not run: " + strings.TrimPrefix(fault, "the call "+c.ID+" ") + ". Send it again, corrected."
		}
		results = append(results, llm.Result{CallID: c.ID, Name: c.Name, Failed: true, Parts: []llm.Part{llm.Text{Text: text}}})
	}
	said := r.said.Response().Message
	for i, p := range said.Parts { // history repair would drop a call whose arguments are not an object
		if c, ok := p.(llm.Call); ok && c.Kind == llm.FunctionTool && js.Kind(js.Trim(c.Args)) != '{' {
			c.Args = append(append([]byte(`{"`+history.FreeInput+`":`), c.Args...), '}')
			said.Parts[i] = c
		}
	}
	out := req.Clone()
	out.Messages = append(out.Messages, said, conversation.ResultMessage(results))
	return out
}

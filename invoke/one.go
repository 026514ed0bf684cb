package invoke

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/toolpost/toolpost/journal"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/tool"
)

// one takes a call that may run through the remaining steps and gives it its
// outcome. It returns an error if the call could not be recorded.
func (d *batch) one(j *job, emit func(llm.Event)) error {
	s := d.s
	if e := s.affordable(d.ctx); e != nil {
		return d.settle(j, refused(e), emit)
	}
	if out, ok := s.recall(j); ok {
		return d.settle(j, &ending{out: out, status: journal.OK, cached: true}, emit)
	}
	pass, e := s.runner.admit(j.tool.Name)
	if e != nil {
		return d.settle(j, refused(e), emit)
	}
	used := false
	defer func() {
		if !used { // also if emit panicked
			pass.drop()
		}
	}()
	if stop, err := d.intend(j, emit); stop {
		return err
	}
	var end ending
	d.execute(j, &end, emit)
	if j.waits || j.settled != nil { // for a person
		return end.fault
	}
	used = true
	pass.done(end.err)
	s.remember(j, &end)
	return d.settle(j, &end, emit)
}

// intend writes the intent of a call that may change things. It reports whether
// the call must not run.
func (d *batch) intend(j *job, emit func(llm.Event)) (stop bool, err error) {
	if j.tool.Effects.Has(tool.ReadOnly) {
		return false, nil
	}
	var entry journal.Hash
	if rec := d.s.rec; rec != nil {
		in := journal.Intent{Call: j.call.ID, StepID: d.s.Step, Tool: j.tool.Name, Args: j.args, ParamsHash: j.hash, Effects: j.tool.Effects.String(), Approval: j.consent}
		if j.info.Key != j.call.ID {
			in.Key = j.info.Key
		}
		if in.Repeats, err = d.granted(j); err != nil {
			return true, err
		}
		e, err := rec.Intent(d.ctx, in)
		if err != nil {
			return true, d.notIntended(j, err, emit)
		}
		entry = e.Hash
	}
	j.begun = true
	emit(Intended{j.call.ID, j.tool.Name, entry})
	return false, nil
}

// notIntended ends a call whose intent could not be recorded.
func (d *batch) notIntended(j *job, err error, emit func(llm.Event)) error {
	var lost *journal.UnknownOutcomeError
	switch {
	case errors.As(err, &lost):
		return d.lost(j, emit)
	case errors.Is(err, journal.ErrTwice):
		j.twice = true
		return d.settle(j, refused(tool.Errorf(tool.Validation, "a call with id %s was made before; it is not run again", j.call.ID)), emit)
	case d.ctx.Err() != nil:
		j.twice = true // the intent may be on record, so a refusal must not be
		return d.settle(j, refused(notBegun()), emit)
	}
	return fmt.Errorf("invoke: the intent of %s could not be recorded, so it was not run: %w", j.tool.Name, err)
}

// granted records that a person wants another attempt of the call that j repeats,
// and returns the id of that call.
func (d *batch) granted(j *job) (repeats string, err error) {
	d.s.mu.Lock()
	a, ok := d.s.again[j.call.ID]
	delete(d.s.again, j.call.ID)
	d.s.mu.Unlock()
	if !ok {
		return "", nil
	}
	a.Tool, a.ParamsHash, a.Allowed, a.Scope = j.tool.Name, j.hash, true, journal.ScopeRepeat
	_, err = d.s.record(d.ctx, journal.KindApproval, a)
	return a.Call, err
}

// Repeat permits the call id to be another attempt of the earlier call of; by is
// who permits it. The permission is recorded before the intent, because a record
// accepts a second intent for a call only with such a permission.
func (s *Session) Repeat(id, of, by string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.again == nil {
		s.again = make(map[string]journal.Approval)
	}
	s.again[id] = journal.Approval{Call: of, By: by}
}

// abandoned reports whether an earlier process announced a call and did not settle it. A call whose question waits is
// taken up.
func (s *Session) abandoned(j *job) bool {
	if s.rec == nil || !slices.ContainsFunc(s.rec.Unknown(), func(in journal.Intent) bool { return in.Call == j.call.ID }) {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return !slices.ContainsFunc(s.waiting, func(q Question) bool { return q.CallID == j.call.ID })
}

// lost ends a call that an earlier process announced: whether it took effect is
// unknown, and it is not run again.
func (d *batch) lost(j *job, emit func(llm.Event)) error {
	return d.settle(j, &ending{err: uncertain(), status: journal.Unknown}, emit)
}

// reject ends a call that was refused before the plan was made.
func (d *batch) reject(j *job, e *tool.Error) error {
	err := d.settle(j, refused(e), d.emit)
	j.outcome = j.settled
	return err
}

// settle formats the result, writes the receipt and gives the call its outcome. It
// may change end.
func (d *batch) settle(j *job, end *ending, emit func(llm.Event)) error {
	s := d.s
	s.structure(j, end, emit)
	hash, err := journal.OutputHash(end.out.Parts, failure(end.err))
	if err != nil { // it ran, and that must be on record even if its output cannot be
		end.out.Parts, end.status = nil, journal.Failed
		end.err = tool.Errorf(tool.Execution, "it ran, and what it returned has no form that can be recorded: %w", err)
		if hash, err = journal.OutputHash(nil, failure(end.err)); err != nil {
			return fmt.Errorf("invoke: the output of %s: %w", j.tool.Name, err)
		}
	}
	if end.status != journal.Refused {
		s.mu.Lock()
		s.loop.result(j.place, hash)
		s.mu.Unlock()
	}
	if n := s.withhold(end); n > 0 {
		emit(llm.Warning{Code: llm.Stripped, Feature: j.call.Name, Detail: fmt.Sprintf("its result held %d times a key of this program, which was taken out", n)})
	}
	s.doubtIf(j, end.status)
	kept := new(struct { // one piece of memory instead of two
		result llm.Result
		part   [1]llm.Part
	})
	view := view{parts: kept.part[:0]}
	s.view(j, end, hash, &view)
	if view.cut != nil {
		emit(*view.cut)
	}
	kept.result = llm.Result{CallID: j.call.ID, Name: j.call.Name, Parts: view.parts, Failed: end.err != nil}
	o := Outcome{Index: j.index, Call: j.call, Result: kept.result, Receipt: s.receipt(j, end, &view, hash), Structured: end.out.Structured, Error: end.err}
	o.Receipt.Result = &kept.result
	if s.rec != nil && !j.twice {
		if o.Receipt, err = s.rec.Receipt(d.ctx, o.Receipt); err != nil {
			return fmt.Errorf("invoke: the receipt of %s could not be recorded: %w", j.tool.Name, err)
		}
		s.forget(j.call.ID)
	}
	if end.err != nil {
		j.failed = true
		o.Attempt, o.Next = j.attempt, next(j, end)
	}
	if err := s.learn(d.ctx, &o, len(j.repairs)); err != nil {
		return err
	}
	emit(Ended{j.call.ID, j.tool.Name, end.status, end.took})
	j.settled = o
	d.observed(j, &o)
	return nil
}

// next is what to try after a failure: the runtime's own attempts count, too,
// and a call that may have taken effect is not simply sent again.
func next(j *job, end *ending) tool.Strategy {
	n := end.err.Next(max(j.attempt, end.attempts))
	if n == tool.Same && end.status != journal.Refused && mayHaveActed(end.err, j.tool.Effects) {
		return tool.Escalate
	}
	return n
}

func failure(e *tool.Error) string {
	if e == nil {
		return ""
	}
	return cmp.Or(e.Message, string(e.Code))
}

func (s *Session) receipt(j *job, end *ending, view *view, hash journal.Hash) journal.Receipt {
	rec := journal.Receipt{
		Call: j.call.ID, StepID: s.Step, Tool: j.call.Name, Args: j.args, ParamsHash: j.hash, OutputHash: hash,
		Status: end.status, LatencyMS: end.took.Milliseconds(), ExitCode: end.out.ExitCode, Attempts: end.attempts,
		Dialect: j.call.Provenance.Dialect, Source: source(j.call), Repairs: j.repairs, Approval: j.approval, Cached: end.cached,
		OutputBytes: view.bytes + end.out.Omitted, OmittedBytes: end.out.Omitted, ShownBytes: view.shown, Truncated: view.cut != nil || end.out.Omitted > 0,
	}
	if j.tool.SourceHash != "" {
		rec.Server = &journal.ToolServer{Name: j.tool.Source, List: journal.Hash(j.tool.SourceHash)}
	}
	if view.cut != nil {
		rec.Spill = view.cut.Spill
	}
	for _, d := range end.delays {
		rec.DelaysMS = append(rec.DelaysMS, d.Milliseconds())
	}
	if !end.out.Usage.IsZero() {
		usage := end.out.Usage // a copy only if there is any
		rec.Usage = &usage
	}
	for _, did := range end.out.Did {
		rec.SideEffects = append(rec.SideEffects, journal.SideEffect(did))
	}
	if e := end.err; e != nil {
		rec.Error = &journal.Failure{Code: string(e.Code), Message: e.Message, Recoverable: e.Recoverable, Strategy: string(next(j, end))}
		if end.status != journal.Failed {
			rec.Reason = e.Message
		}
	}
	return rec
}

// source returns where a call was found, or "" for a native tool call.
func source(c llm.Call) llm.Source {
	if s := c.Provenance.Source(); s != llm.NativeSource {
		return s
	}
	return ""
}

// learn records how the call ended, for statistics, if the session has a task or
// a model. Nothing reads it during the run.
func (s *Session) learn(ctx context.Context, o *Outcome, repairs int) error {
	if s.Task == "" && s.Model == "" {
		return nil
	}
	out := journal.OutcomeRecord{Task: s.Task, Call: o.Call.ID, Tool: o.Call.Name, Model: s.Model, Success: o.Error == nil, Repairs: repairs, Attempt: max(o.Attempt, 1)}
	if o.Error != nil {
		out.Code = string(o.Error.Code)
	}
	_, err := s.record(ctx, journal.KindOutcome, out)
	return err
}

// affordable returns why another call cannot run: the run was cancelled or
// stopped, or its budget is used up, or that of a run that it is part of.
func (s *Session) affordable(ctx context.Context) *tool.Error {
	if ctx.Err() != nil {
		return notBegun()
	}
	var inside time.Duration // of the call that s is part of, which counts when it is over
	for at := s; at != nil; at = at.parent {
		if what := at.exhausted(inside); what != "" {
			return stop("the budget of " + what + " is used up")
		}
		if at.parent != nil {
			inside = at.parent.runner.took(at.began)
		}
	}
	for at := s; at != nil; at = at.parent {
		at.mu.Lock()
		at.spent.Calls++
		at.mu.Unlock()
	}
	return nil
}

// exhausted returns which limit the session has reached, or "". A call that is still
// running has taken the given time so far.
func (s *Session) exhausted(inside time.Duration) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	b := s.runner.Budget
	switch {
	case b.Calls > 0 && s.spent.Calls >= b.Calls:
		return fmt.Sprintf("%d calls", b.Calls)
	case b.Time > 0 && s.spent.Time+inside >= b.Time:
		return b.Time.String()
	case b.Bytes > 0 && s.spent.Bytes >= b.Bytes:
		return fmt.Sprintf("%d bytes of results", b.Bytes)
	}
	return ""
}

// Spent returns what the session has used of its budget.
func (s *Session) Spent() Budget {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.spent
}

// recall returns the cached output of the same call, if nothing may have changed
// since.
func (s *Session) recall(j *job) (tool.Output, bool) {
	if !s.runner.Cache || !j.tool.Effects.Has(tool.ReadOnly) {
		return tool.Output{}, false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	c, ok := s.cache[j.tool.Name+" "+string(j.hash)]
	return c.out, ok && c.era == s.era
}

// remember counts what a call cost and caches the result of a read-only one. A
// call that may have changed something invalidates the whole cache.
func (s *Session) remember(j *job, end *ending) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.spent.Time += end.took
	s.spent.Bytes += size(end.out.Parts)
	for at := s.parent; at != nil; at = at.parent {
		at.mu.Lock()
		at.spent.Bytes += size(end.out.Parts)
		at.mu.Unlock()
	}
	if !j.tool.Effects.Has(tool.ReadOnly) {
		s.era++
		return
	}
	if s.runner.Cache && end.err == nil {
		if s.cache == nil {
			s.cache = make(map[string]cached)
		}
		s.cache[j.tool.Name+" "+string(j.hash)] = cached{end.out, s.era}
	}
}

package invoke

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/toolpost/toolpost/journal"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/tool"
)

// Grant decides in advance about calls a policy will ask about: calls of
// a.Tool with arguments of a.ParamsHash, only the one with id a.Call if that is
// set, until a.Expires. A later grant counts before an earlier one.
func (s *Session) Grant(a journal.Approval) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.grants = append(s.grants, grant{a, ""})
}

// Recall tells the session what an earlier process recorded about calls that are
// not over: an entry with a question that waits, or with a decision. Other
// entries mean nothing to it.
func (s *Session) Recall(e journal.Entry) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch e.Kind {
	case journal.KindQuestion:
		var q journal.QuestionRecord
		if err := e.Decode(&q); err != nil {
			return err
		}
		s.waiting = append(s.waiting, QuestionOf(q))
	case journal.KindApproval:
		var a journal.Approval
		if err := e.Decode(&a); err != nil {
			return err
		}
		if a.Call != "" && (a.Scope != journal.ScopeRepeat || a.Prompt > 0) && s.counts(a) {
			s.grants = append(s.grants, grant{a, e.Hash})
		}
	case journal.KindReceipt, journal.KindRefusal:
		var r journal.Receipt
		if err := e.Decode(&r); err != nil {
			return err
		}
		if r.Interrupted() { // it may run again, but not with the approval that it had
			s.waiting = slices.DeleteFunc(s.waiting, func(q Question) bool { return q.CallID == r.Call })
			s.grants = slices.DeleteFunc(s.grants, func(g grant) bool { return g.Call == r.Call && g.entry != "" })
		}
	}
	return nil
}

// counts reports whether a decision of an earlier process still counts. An approval
// given at the screen of a process ends with that process: it counts later only if it
// answers a question that was left waiting.
func (s *Session) counts(a journal.Approval) bool {
	return !a.Allowed || a.Prompt > 0 || slices.ContainsFunc(s.waiting, func(q Question) bool {
		return q.CallID == a.Call && q.ParamsHash == a.ParamsHash && q.Prompt == 0
	})
}

// granted returns the decision that covers q. If an approval on record does not, because
// the effect of the call is another one now, lost tells what changed.
func (s *Session) granted(q Question) (g *grant, lost string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := len(s.grants) - 1; i >= 0; i-- {
		a := s.grants[i]
		if !covers(a.Approval, q, s.runner.now()) || q.Changed != "" && a.Allowed && a.entry != "" {
			continue
		}
		if a.entry != "" && a.Allowed && q.Prompt == 0 {
			if what := changes(a.Bound, q.Bound); what != "" {
				lost = cmp.Or(lost, what)
				continue
			}
		}
		return &a, ""
	}
	return nil, lost
}

// before returns the question if it is on record.
func (s *Session) before(q Question) (Question, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.IndexFunc(s.waiting, func(w Question) bool {
		return w.CallID == q.CallID && w.ParamsHash == q.ParamsHash && w.Prompt == q.Prompt && (q.Prompt > 0 || changes(w.Bound, q.Bound) == "")
	})
	if i < 0 {
		return q, false
	}
	q.Until, q.Waited = s.waiting[i].Until, true // asking again does not extend the time
	return q, true
}

// ask has a person decide whether a call may run.
func (d *batch) ask(j *job, q Question) error {
	if e := d.shown(j); e != nil {
		return d.reject(j, e)
	}
	q.CallID, q.Tool, q.Args, q.ParamsHash, q.Effects = j.call.ID, j.tool.Name, slices.Clone(j.args), j.hash, j.tool.Effects
	if e := d.bind(j, &q); e != nil && !d.follows(j) {
		if d.ctx.Err() != nil {
			e = notBegun()
		}
		return d.reject(j, e)
	}
	a, by, err := d.answer(j, q, d.emit)
	if a == nil || err != nil {
		j.outcome = j.settled
		return err
	}
	j.approval, j.consent, j.bound, j.repeats = &a.Approval, a.entry, q.Bound, q.Repeats
	j.answers = nil
	if !a.Allowed {
		return d.refuse(j, by, refusal(a.Approval))
	}
	if len(a.Args) > 0 {
		if e := d.edit(j, a.Approval); e != nil {
			return d.reject(j, e)
		}
		j.bound, _ = d.effect(j) // an error comes back when it is about to run
	}
	d.decided(j, true, by, a.Reason, d.emit)
	return d.prompts(j)
}

// answer returns the decision about q, from a grant or from a person, and who
// made it. It is on record. Without one, the job waits or has its outcome.
func (d *batch) answer(j *job, q Question, emit func(llm.Event)) (a *grant, by string, err error) {
	s := d.s
	q, known := s.before(q)
	a, lost := s.granted(q)
	if lost != "" {
		q.Changed = lost
		q.Reason = q.Why()
	}
	if a != nil {
		by = "grant"
		if a.entry != "" {
			return a, cmp.Or(a.By, by), nil
		}
	} else if late, over := q.Expired(s.runner.now()); known && over {
		a, by = &grant{Approval: late}, ByDeadline
	} else {
		answer, why := d.person(j, q, known, emit)
		if answer == nil {
			return nil, "", why
		}
		a, by = &grant{Approval: *answer}, answer.By
	}
	a.Bound = q.Bound
	if known && q.Prompt > 0 {
		a.Scope = journal.ScopeRepeat // the call has an intent, and is begun again
	}
	a.entry, err = s.record(d.ctx, journal.KindApproval, a.Approval)
	return a, by, err
}

// person asks Approve. Without an answer, the job waits or has its outcome.
func (d *batch) person(j *job, q Question, known bool, emit func(llm.Event)) (*journal.Approval, error) {
	r := d.s.runner
	no := func(by, reason, quote string) error {
		if q.Prompt > 0 {
			d.declined(j, q, by, reason, emit)
		} else {
			d.decided(j, false, by, reason, emit)
		}
		return d.settle(j, refusedPrompt(q, reason, quote), emit)
	}
	cancelled := func() error {
		if j.begun || q.Held || q.Prompt > 0 && q.Repeats != "" { // its intent is on record, and somebody may be at work on it
			return d.settle(j, &ending{err: uncertain(), status: journal.Unknown}, emit)
		}
		return d.settle(j, refused(notBegun()), emit)
	}
	if r.Approve == nil {
		reason := strings.TrimSuffix("a person has to allow it, and nobody can be asked: "+q.Reason, ": ")
		return nil, no("policy", reason, q.Message)
	}
	emit(Asked{q})
	if d.ctx.Err() != nil {
		return nil, cancelled()
	}
	answer, pending, why := d.consult(d.ctx, q)
	switch {
	case pending != nil && d.s.rec != nil:
		return nil, d.wait(j, q, known, pending.Until, emit)
	case pending == nil && d.ctx.Err() != nil && !answer.Allowed: // a resumed run asks again
		return nil, cancelled()
	case why != "":
		return nil, no("policy", why, "")
	}
	return &answer, nil
}

// consult has Approve answer a question. Without an answer it returns why; pending is set if the question may wait.
func (d *batch) consult(ctx context.Context, q Question) (answer journal.Approval, pending *PendingError, why string) {
	r := d.s.runner
	d.s.asking.Lock()
	answer, err := recovered(func() (journal.Approval, error) { return r.Approve(ctx, q) })
	d.s.asking.Unlock()
	switch {
	case errors.As(err, &pending):
		return answer, pending, "a person has to allow it, and the run cannot wait, because it is not recorded"
	case err != nil:
		return journal.Approval{}, nil, "a person has to allow it, and asking failed: " + err.Error()
	case !covers(answer, q, r.now()):
		return journal.Approval{}, nil, "the approval is for another call or other arguments, or has expired"
	}
	return answer, nil, ""
}

// inPlace has a person answer a question that a running tool holds. A refusal does not end the call: the tool has
// begun, and says itself how it ends. If the question waits for another process, so does the call, and to answer it is
// to consent that the call is made again.
func (d *batch) inPlace(e *execution, j *job, h *heldQuestion, emit func(llm.Event)) error {
	q := Question{Message: h.prompt.Message}
	refuse := func(by, why string) {
		d.declined(j, q, by, why, emit)
		h.reply <- heldReply{err: tool.Errorf(tool.Permission, "%s", why)}
	}
	if len(j.answers) >= maxPrompts {
		refuse("policy", fmt.Sprintf("%s asked more than %d questions", j.tool.Name, maxPrompts))
		return nil
	}
	ctx, cancel := context.WithCancel(h.ctx)
	defer cancel()
	defer context.AfterFunc(e, cancel)()
	j.prompted = max(j.prompted, len(j.answers)) + 1
	q = Question{CallID: j.call.ID, Tool: j.tool.Name, Args: slices.Clone(j.args), ParamsHash: j.hash, Effects: j.tool.Effects,
		Prompt: j.prompted, Message: h.prompt.Message, Schema: h.prompt.Schema, Held: true}
	emit(Asked{q})
	answer, pending, why := d.consult(ctx, q)
	switch {
	case ctx.Err() != nil && !answer.Allowed:
		h.reply <- heldReply{err: context.Cause(ctx)}
		return nil
	case pending != nil && d.s.rec != nil:
		q.Repeats = q.CallID
		err := d.wait(j, q, false, pending.Until, emit)
		h.reply <- heldReply{err: &promptError{q.Prompt, h.prompt, false}}
		return err
	case why != "":
		refuse("policy", why)
		return nil
	}
	if _, err := d.s.record(d.ctx, journal.KindApproval, answer); err != nil {
		h.reply <- heldReply{err: err}
		return err
	}
	switch problem := q.Fault(answer.Value); {
	case !answer.Allowed:
		refuse(cmp.Or(answer.By, "a person"), refusal(answer))
	case problem != "":
		refuse(cmp.Or(answer.By, "a person"), "the answer does not match what was asked: "+problem)
	default:
		j.answers = append(j.answers, answer)
		h.reply <- heldReply{value: answer.Value}
	}
	return nil
}

// wait puts a question on record, unless it is. The job is not begun, or its
// tool has said that it did nothing yet.
func (d *batch) wait(j *job, q Question, known bool, until time.Time, emit func(llm.Event)) error {
	j.waits = true
	if !known {
		q.Until = until.UTC()
		if until.IsZero() {
			q.Until = time.Time{}
		}
		if _, err := d.s.record(d.ctx, journal.KindQuestion, q.asked()); err != nil {
			return err
		}
	}
	emit(Waiting{q})
	return nil
}

// edit gives a call the arguments that a person wants instead. They are checked
// like those of the model, and the policy may refuse them.
func (d *batch) edit(j *job, a journal.Approval) *tool.Error {
	before := j.args
	j.args, j.hash = a.Args, journal.ParamsHash(a.Args)
	e := whole(j)
	if e == nil {
		e = d.validate(j)
	}
	if e == nil {
		e = d.shown(j)
	}
	if e != nil {
		e.Message = fmt.Sprintf("%s gave other arguments, which are not valid: %s", cmp.Or(a.By, "a person"), e.Message)
		e.Fix = "The call was not run. Ask the user how to go on."
		return e
	}
	decision, err := d.decide(j)
	if err != nil || decision.Verdict == Refuse {
		return tool.Errorf(tool.Permission, "%s gave other arguments, which the policy does not allow: %s", cmp.Or(a.By, "a person"), cmp.Or(decision.Reason, "it could not decide"))
	}
	d.s.repeats(j)
	if string(before) != string(j.args) {
		j.lesson = fmt.Sprintf("%s changed the arguments; it was run with %s", cmp.Or(a.By, "a person"), j.args)
	}
	return nil
}

// prompts takes up the questions that the tool of a call asked before the run was
// interrupted.
func (d *batch) prompts(j *job) error {
	d.s.mu.Lock()
	var open []Question
	for _, q := range d.s.waiting {
		if q.CallID == j.call.ID && q.Prompt > 0 {
			open = append(open, q)
		}
	}
	for _, g := range d.s.grants { // a question that was answered at once is not among the questions
		asked := slices.ContainsFunc(open, func(q Question) bool { return q.Prompt == g.Prompt })
		if g.Call == j.call.ID && g.Prompt > 0 && g.Allowed && !asked {
			j.answers = append(j.answers, g.Approval)
		}
	}
	d.s.mu.Unlock()
	for _, q := range open {
		if over, err := d.prompt(j, q, d.emit); over || err != nil {
			j.outcome = j.settled
			return err
		}
	}
	return nil
}

// prompt has a person answer a question of the tool. It reports whether the call is
// over, or over for now: the person declined, or has not answered yet.
func (d *batch) prompt(j *job, q Question, emit func(llm.Event)) (over bool, err error) {
	q.CallID, q.Tool, q.Args, q.ParamsHash, q.Effects = j.call.ID, j.tool.Name, slices.Clone(j.args), j.hash, j.tool.Effects
	a, _, err := d.answer(j, q, emit)
	if a == nil {
		return true, err
	}
	why, problem := "", ""
	if !a.Allowed {
		why = refusal(a.Approval)
	} else if problem = q.Fault(a.Value); problem != "" {
		why = "the answer does not match what was asked"
	}
	if why != "" {
		d.declined(j, q, cmp.Or(a.By, "a person"), strings.TrimSuffix(why+": "+problem, ": "), emit)
		return true, d.settle(j, refusedPrompt(q, why, problem), emit)
	}
	j.answers = append(j.answers, a.Approval)
	return false, err
}

// refusedPrompt is the end of a call whose question a person refused. The tool of a question that was held had begun.
// quote is what the tool said about it. It is output of the tool, not part of our text.
func refusedPrompt(q Question, why, quote string) *ending {
	end := refused(tool.Errorf(tool.Permission, "%s", why))
	if q.Prompt > 0 && q.Repeats != "" {
		end = &ending{err: uncertain(), status: journal.Unknown}
		end.err.Message = why + "; the tool had begun before it asked, and its outcome is unknown"
	}
	if quote != "" {
		end.out.Parts = []llm.Part{llm.Text{Text: quote, Origin: llm.OriginResult}}
	}
	return end
}

// repeats gives a call its idempotency key. It returns why a person has to be
// asked: the call may do again what one of unknown outcome did.
func (s *Session) repeats(j *job) string {
	j.info.Key = j.call.ID
	if j.tool.Effects.Has(tool.ReadOnly) {
		return ""
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	key, known := s.doubts[doubt{j.tool.Name, j.hash}]
	if !known || key == j.call.ID {
		return ""
	}
	j.info.Key = key
	if _, wanted := s.again[j.call.ID]; wanted || j.tool.HonoursKeys || j.tool.Effects.Has(tool.Idempotent) {
		return ""
	}
	return fmt.Sprintf("the same call of %s was begun before (%s) and its outcome is unknown, so this may do it twice", j.tool.Name, key)
}

// doubtIf remembers a call whose outcome is unknown, and forgets the calls that it
// repeats once it is done.
func (s *Session) doubtIf(j *job, status journal.Status) {
	if j.tool.Effects.Has(tool.ReadOnly) {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	d := doubt{j.tool.Name, j.hash}
	switch status {
	case journal.Unknown, journal.Abandoned:
		if s.doubts == nil {
			s.doubts = make(map[doubt]string)
		}
		s.doubts[d] = cmp.Or(j.info.Key, j.call.ID)
	case journal.OK:
		delete(s.doubts, d)
	}
}

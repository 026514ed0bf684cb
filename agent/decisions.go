package agent

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/toolpost/toolpost/internal/child"
	"github.com/toolpost/toolpost/invoke"
	"github.com/toolpost/toolpost/journal"
	"github.com/toolpost/toolpost/schema"
)

// Grant is a person's decision about a call that a run waits for. The zero value
// of Allowed refuses.
type Grant struct {
	// Call is the id of the call, as Done.Waiting or [Waiting] has it.
	Call string `json:"call"`
	// ParamsHash is that of the arguments the person was shown. If it is not
	// empty, the decision counts for these arguments only.
	ParamsHash journal.Hash `json:"params_hash,omitempty"`
	Allowed    bool         `json:"allowed"`
	By         string       `json:"by,omitempty"`     // who decided
	Reason     string       `json:"reason,omitempty"` // told to the model if the call is refused
	// Args replace the arguments of the call; nil keeps them.
	// They must match the tool's schema.
	Args json.RawMessage `json:"args,omitempty"`
	// Value answers a question that the tool asked. It must match the schema of
	// the question.
	Value json.RawMessage `json:"value,omitempty"`
}

// ErrNotWaiting is the error of deciding about a call that the run does not wait
// for.
var ErrNotWaiting = errors.New("agent: the run does not wait for a decision about that call")

// ErrTooLate is the error of [Decide] after the time of a question was over. The
// call is refused.
var ErrTooLate = errors.New("agent: the time to decide is over, so the call is refused")

// Waiting returns the questions that a run waits for a person to answer, in the
// order of its calls. It changes nothing and needs no agent. A run that does not
// wait has none.
func Waiting(ctx context.Context, store journal.Store, run string) ([]invoke.Question, error) {
	p, err := readRun(journal.Whole(store.Read(ctx, run, 0)))
	if err != nil {
		return nil, err
	}
	return p.waiting()
}

// Decide records decisions about calls that a run waits for, and runs nothing. The next resume of
// the run uses them. It returns a *[journal.HeldError] if another process owns the run,
// [ErrNotWaiting] if the run does not wait for one of the calls, and [ErrTooLate] if the time of one
// is over; then all others are recorded.
func Decide(ctx context.Context, store journal.Store, run string, grants ...Grant) error {
	if q, err := Waiting(ctx, store, run); err != nil || len(q) == 0 { // also a run that is not there must not begin
		return cmp.Or(err, fmt.Errorf("%w: run %s waits for none", ErrNotWaiting, run))
	}
	rec, err := journal.Open(ctx, store, run)
	if err != nil {
		return err
	}
	defer rec.Close(ctx)
	p, err := readRun(journal.Whole(store.Read(ctx, run, 0)))
	if err != nil {
		return err
	}
	decisions, err := p.decide(run, grants, time.Now())
	if err != nil {
		return err
	}
	var late error
	for _, a := range decisions {
		if _, err := rec.Write(ctx, journal.KindApproval, a); err != nil {
			return err
		}
		if a.By == invoke.ByDeadline {
			late = fmt.Errorf("%w: %s of run %s, %s", ErrTooLate, a.Call, run, a.Reason)
		}
	}
	return cmp.Or(late, rec.Close(ctx))
}

// waiting returns the recorded questions without an answer.
func (p *recordedRun) waiting() ([]invoke.Question, error) {
	var open []invoke.Question
	for _, e := range p.consent {
		switch e.Kind {
		case journal.KindQuestion:
			var q journal.QuestionRecord
			if err := e.Decode(&q); err != nil {
				return nil, err
			}
			open = slices.DeleteFunc(open, func(o invoke.Question) bool { return o.CallID == q.Call && o.Prompt == q.Prompt }) // asked again
			if _, settled := p.receipts[q.Call]; !settled || p.unfinished[q.Call] {
				open = append(open, invoke.QuestionOf(q))
			}
		case journal.KindApproval:
			var a journal.Approval
			if err := e.Decode(&a); err != nil {
				return nil, err
			}
			open = slices.DeleteFunc(open, func(q invoke.Question) bool { return q.CallID == a.Call && q.Prompt == a.Prompt })
		case journal.KindReceipt, journal.KindRefusal: // interrupted: a resumed run asks again
			var r journal.Receipt
			if err := e.Decode(&r); err != nil {
				return nil, err
			}
			open = slices.DeleteFunc(open, func(q invoke.Question) bool { return q.CallID == r.Call })
		}
	}
	return open, nil
}

// decide turns decisions by call into what the record holds about the questions
// that wait. A decision that comes too late is a refusal.
func (p *recordedRun) decide(run string, grants []Grant, now time.Time) ([]journal.Approval, error) {
	if len(grants) == 0 {
		return nil, nil
	}
	open, err := p.waiting()
	if err != nil {
		return nil, err
	}
	var out []journal.Approval
	for _, g := range grants {
		i := slices.IndexFunc(open, func(q invoke.Question) bool { return q.CallID == g.Call })
		if i < 0 {
			return nil, fmt.Errorf("%w: %s of run %s", ErrNotWaiting, g.Call, run)
		}
		q := open[i]
		open = slices.Delete(open, i, i+1)
		a, late := q.Expired(now)
		if !late {
			if err := p.check(q, g); err != nil {
				return nil, err
			}
			a = q.Answer(g.Allowed, cmp.Or(g.By, "a person"), g.Reason)
			a.Args, a.Value = g.Args, g.Value
		}
		if q.Prompt > 0 {
			a.Scope = journal.ScopeRepeat // the tool is begun again
		}
		out = append(out, a)
	}
	return out, nil
}

// steers reports whether a terminal obeys r in a text of several lines.
func steers(r rune) bool { return child.IsControl(r) && !strings.ContainsRune("\n\r\t", r) }

// check refuses a decision that cannot be meant, and one whose words would steer the terminal of who reads the record.
func (p *recordedRun) check(q invoke.Question, g Grant) error {
	switch {
	case strings.ContainsFunc(g.By, child.IsControl) || !utf8.ValidString(g.By):
		return fmt.Errorf("agent: by, who decides about call %s, has something that cannot be printed: %.60q; write the name that the record will show", g.Call, g.By)
	case strings.ContainsFunc(g.Reason, steers) || !utf8.ValidString(g.Reason):
		return fmt.Errorf("agent: the reason of the decision about call %s has something that cannot be printed: %.60q", g.Call, g.Reason)
	case g.ParamsHash != "" && g.ParamsHash != q.ParamsHash:
		return fmt.Errorf("agent: the decision about call %s is for other arguments than the call has", g.Call)
	case !g.Allowed:
		return nil
	case q.Prompt > 0:
		if problem := q.Fault(g.Value); problem != "" {
			return fmt.Errorf("agent: the answer to call %s does not match what was asked: %s", g.Call, problem)
		}
		return nil
	case len(g.Args) == 0:
		return nil
	}
	if _, err := journal.Canonical(g.Args); err != nil { // the record could not hold these exact arguments
		return fmt.Errorf("agent: the arguments for call %s cannot be recorded as they are: %s", g.Call, strings.TrimPrefix(err.Error(), "journal: "))
	}
	for _, d := range p.begin.Lanes.Defs {
		if d.Name != q.Tool {
			continue
		}
		compiled, err := schema.Compile(d.Schema)
		if err != nil {
			return nil // the tool validates its arguments itself
		}
		if faults := compiled.Check(g.Args).Faults; len(faults) > 0 {
			return fmt.Errorf("agent: the arguments given for call %s are not valid: %s", g.Call, faults[0].Message)
		}
	}
	return nil
}

// now is the time that deadlines are held against: that of the runner.
func (a *Agent) now() time.Time {
	if a.Tools != nil && a.Tools.Now != nil {
		return a.Tools.Now()
	}
	return time.Now()
}

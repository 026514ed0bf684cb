package invoke

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	"github.com/toolpost/toolpost/journal"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/tool"
)

// invalidCodes are the error codes of calls that could not be read, by reason.
var invalidCodes = map[llm.InvalidReason]tool.Code{llm.NotAllowed: tool.Permission}

// Refuse answers a call that cannot be run because it could not be read. It records
// the model's text and the reason, and returns the outcome with the result for the
// model. Nothing is run.
func (s *Session) Refuse(ctx context.Context, c llm.InvalidCall) (Outcome, error) {
	if !s.busy.TryLock() {
		return Outcome{}, errors.New("invoke: a Do of the session is running")
	}
	defer s.busy.Unlock()
	call := llm.Call{ID: c.ID, Name: c.Name, Args: json.RawMessage(c.Raw), Provenance: c.Provenance}
	d := &batch{s: s, ctx: ctx, abandoned: true}
	defer d.end()
	d.jobs = d.only[:]
	j := &d.jobs[0]
	*j = job{call: call, args: call.Args, tool: tool.Tool{Name: c.Name}, repairs: c.Provenance.Repairs, place: -1}
	d.identify(j)
	d.observe(j)
	j.hash = journal.ParamsHash(j.args)
	if j.fail == nil {
		code := invalidCodes[c.Reason]
		if code == "" {
			code = tool.Validation
		}
		j.fail = tool.Errorf(code, "%s", c.Problem)
		switch {
		case len(c.Nearest) > 0:
			j.fail.Fix = "Did you mean " + strings.Join(c.Nearest, ", ") + "? Call a tool by exactly its name."
		case c.Reason == llm.UnknownTool:
			j.fail.Fix = "Call one of the tools that are offered by exactly its name, or answer without one."
		default:
			j.fail.Fix = "Send the whole call again, complete and in the right form."
		}
	}
	note := journal.RepairRecord{Call: j.call.ID, Tool: c.Name, Dialect: c.Provenance.Dialect, Repairs: c.Provenance.Repairs, Raw: c.Raw, Problem: c.Problem}
	if _, err := s.record(ctx, journal.KindRepair, note); err != nil {
		return Outcome{}, err
	}
	if err := d.reject(j, j.fail); err != nil {
		return Outcome{}, err
	}
	s.count(j)
	return j.outcome.(Outcome), nil
}

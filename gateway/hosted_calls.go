package gateway

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"

	"github.com/toolpost/toolpost/gateway/internal/clientio"
	"github.com/toolpost/toolpost/gateway/internal/exchange"
	"github.com/toolpost/toolpost/invoke"
	"github.com/toolpost/toolpost/journal"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/tool"
)

// ProgressHeader is a request header with which a client asks for the progress of the gateway's tools in its stream.
// Any value except 0 and false turns it on. Each report is a [ToolProgress] as JSON: an event "toolpost" in formats
// with named events (Messages, Responses, Converse), otherwise the field "toolpost" of a chunk without other content.
const ProgressHeader = "Toolpost-Progress"

// ToolProgress is one progress report.
type ToolProgress struct {
	Type   string `json:"type"` // started, progress, refused, waiting or ended
	CallID string `json:"call_id"`
	Tool   string `json:"tool"`
	// Message is the progress text of the tool, or the reason why the call was refused or waits.
	Message string         `json:"message,omitempty"`
	Status  journal.Status `json:"status,omitempty"`  // once the call has ended
	TookMS  *int64         `json:"took_ms,omitempty"` // once the call has ended; nil before
	Run     string         `json:"run,omitempty"`     // run id of the record: this request, or the request in which the call began to wait
}

// maxProgress limits the length of a progress message.
const maxProgress = 2000

// do returns the results of calls in order. It runs only the calls without a known result.
func (s *serving) do(calls []llm.Call) ([]llm.Result, error) {
	if err := s.recallPending(calls); err != nil {
		return nil, err
	}
	results := make([]llm.Result, len(calls))
	var fresh []llm.Call // calls that must be run
	var at []int
	for i, c := range calls {
		r, known, err := s.answered(c)
		switch {
		case err != nil:
			return nil, err
		case known:
			results[i] = r
		default:
			fresh, at = append(fresh, c), append(at, i)
		}
	}
	if len(fresh) == 0 {
		return results, nil
	}
	given, err := s.execute(fresh)
	for k, r := range given {
		results[at[k]] = r
	}
	return results, err
}

// answered returns the result of a call that must not run: the client's key may not use the tool, or the call waited
// for a person before.
func (s *serving) answered(c llm.Call) (llm.Result, bool, error) {
	if _, ok := s.set.Lookup(c.Name); !ok && s.withheld(c.Name) {
		s.notRun(c, "there is no such tool here")
		return failedResult(c, "The call was not run: there is no such tool here."), true, nil
	}
	return s.decided(c)
}

// execute runs calls and returns their results in order.
func (s *serving) execute(calls []llm.Call) ([]llm.Result, error) {
	if err := s.claimRun(calls); err != nil {
		return nil, err
	}
	if err := s.begin(); err != nil {
		return nil, err
	}
	s.session.Turn++
	s.session.Also(s.finder())
	results := make([]llm.Result, len(calls))
	known := make([]bool, len(calls)) // by index: the call has a result
	s.calls = calls
	for ev, err := range s.session.Do(context.WithValue(s.x.Context(), askerKey{}, asker{s: s}), calls) {
		if err != nil {
			return nil, s.broken(err)
		}
		switch ev := ev.(type) {
		case invoke.Outcome:
			results[ev.Index], known[ev.Index] = s.redact(ev.Result), true
			if s.same[ev.Call.ID] == nil {
				s.ended(ev.Call, &ev.Receipt, s.x.ID)
			}
			if ev.Call.Name == tool.FinderName && !ev.Result.Failed {
				s.find(ev.Call)
			}
		case invoke.Intended:
			s.intends()
		case invoke.Waiting:
			i := slices.IndexFunc(calls, func(c llm.Call) bool { return c.ID == ev.CallID })
			known[i] = true
			if results[i], err = s.waits(calls[i], ev.Question); err != nil {
				return nil, err
			}
		case invoke.Stopped:
			s.stopped = ev.Reason
		default:
			if err := s.tell(ev); err != nil {
				return nil, err
			}
		}
	}
	if s.x.Context().Err() != nil {
		return nil, clientio.ErrGone
	}
	for i, c := range calls {
		if !known[i] {
			results[i] = s.left(c)
		}
	}
	return results, s.sameWaits(calls, results)
}

// left returns the result of a call that was not run.
func (s *serving) left(c llm.Call) llm.Result {
	if s.tools.Approvals == nil {
		s.notRun(c, "somebody would have to agree to it, and nobody can be asked here")
		return failedResult(c, "The call was not run: somebody would have to agree to it, and nobody can be asked here.")
	}
	s.notRun(c, "another call of the same answer awaits a person's approval")
	return failedResult(c, "The call was not run, because another call of the same answer awaits a person's approval. Send it again by itself.")
}

// sameWaits sets the results of calls for which an equal call waits already.
func (s *serving) sameWaits(calls []llm.Call, results []llm.Result) (err error) {
	for i, c := range calls {
		if p := s.same[c.ID]; p != nil && err == nil {
			results[i], err = s.waiting(c, p.Run, p.Call.ID, p.Until)
		}
	}
	return err
}

// intends records that a tool may change something from now on.
func (s *serving) intends() {
	if s.x.repeat != nil {
		s.x.repeat.Changed = true
	}
}

// broken returns the error of a session that cannot continue.
func (s *serving) broken(err error) error {
	if s.x.Context().Err() != nil {
		return clientio.ErrGone
	}
	return &llm.Error{Op: "gateway", Kind: llm.Server, Status: http.StatusInternalServerError, Err: fmt.Errorf("the calls of the model could not be run: %w", err)}
}

// begin opens the session and the record of the request at the first call.
func (s *serving) begin() error {
	if s.session != nil {
		return nil
	}
	var err error
	if s.tools.Record != nil {
		if s.rec, err = s.tools.Record(s.x.Context(), ServedRun{ID: s.x.ID, Team: s.x.Owner, Route: s.to.Route.Name}); err != nil {
			return s.broken(err)
		}
	}
	if s.session, err = s.runner.Session(s.rec); err != nil {
		return s.broken(err)
	}
	s.session.Model = s.to.ID
	return nil
}

// end closes the record, once. It seals the record if the request succeeded and no call waits for a person.
func (s *serving) end(failed error) {
	if s.rec == nil {
		return
	}
	ctx := context.WithoutCancel(s.x.Context()) // also write if the client is gone
	var err error
	if failed == nil && !s.waited {
		_, err = s.rec.Seal(ctx)
	}
	err = errors.Join(err, s.rec.Close(ctx))
	s.rec = nil
	if err != nil {
		s.x.settings.Log.Error("the record of a request", "id", s.x.ID, "error", err.Error()) // the client has its answer
	}
}

// finder returns the set with the search tool, or nil if all tools are offered.
func (s *serving) finder() *tool.Set {
	if s.kept == s.set {
		return nil
	}
	offered := s.offer()
	set, err := tool.NewSet(s.set.Finder(func(name string) bool { return named(offered, name) }))
	if err != nil {
		return nil
	}
	return set
}

// find adds the tools that a find_tools call finds to the offered tools.
func (s *serving) find(c llm.Call) {
	offered := s.offer()
	for _, i := range s.set.Ranker().Found(c.Args, func(name string) bool { return named(offered, name) }) {
		if name := s.set.Names()[i]; !slices.Contains(s.found, name) {
			s.found = append(s.found, name)
		}
	}
}

// redact removes known secret values from a result, because the upstream is another host.
func (s *serving) redact(r llm.Result) llm.Result {
	secrets := s.runner.Output.Secrets
	if secrets == nil {
		return r
	}
	r.Parts = slices.Clone(r.Parts)
	for i, p := range r.Parts {
		if t, ok := p.(llm.Text); ok {
			t.Text, _ = secrets.RedactValues(t.Text)
			r.Parts[i] = t
		}
	}
	return r
}

// tell reports the progress of a call to a client that asked for it.
func (s *serving) tell(ev llm.Event) error {
	p := ToolProgress{Run: s.x.ID}
	switch ev := ev.(type) {
	case invoke.Started:
		p.Type, p.CallID, p.Tool = "started", ev.CallID, ev.Tool
	case invoke.Progress:
		p.Type, p.CallID, p.Tool, p.Message = "progress", ev.CallID, ev.Tool, ev.Message
	case invoke.Decided:
		if ev.Allowed {
			return nil
		}
		p.Type, p.CallID, p.Tool, p.Message = "refused", ev.CallID, ev.Tool, ev.Reason
	case invoke.Ended:
		took := ev.Took.Milliseconds()
		p.Type, p.CallID, p.Tool, p.Status, p.TookMS = "ended", ev.CallID, ev.Tool, ev.Status, &took
	default:
		return nil
	}
	return s.progress(p)
}

// progress sends a report to a client that asked for it. The event or field has a form that the format allows for
// unknown types, because strict clients reject anything else.
func (s *serving) progress(p ToolProgress) error {
	if s.x.Stream == nil || !asksProgress(s.x.HTTP) {
		return nil
	}
	p.Message = s.runner.Output.Secrets.Clean(p.Message).Cut(maxProgress)
	data, err := json.Marshal(p)
	if err != nil {
		return err
	}
	return s.x.Stream.Write(llm.UnknownEvent{Format: s.x.Codec.Format, Type: "toolpost", Raw: data})
}

func asksProgress(r *http.Request) bool {
	v := r.Header.Get(ProgressHeader)
	return v != "" && v != "0" && v != "false"
}

// endings are the messages for clients and the log about calls of the gateway's tools that did not succeed.
var endings = map[journal.Status]struct {
	code llm.WarningCode
	says string // follows the name of the call
	log  string
}{
	journal.Refused:   {llm.RefusedCall, "was refused", "a call of a tool was refused"},
	journal.Failed:    {llm.FailedCall, "failed", "a call of a tool failed"},
	journal.Abandoned: {llm.FailedCall, "was given up while it ran", "a call of a tool was given up while it ran"},
	journal.Unknown:   {llm.FailedCall, "was begun, and nobody knows how it ended", "nobody knows how a call of a tool ended"},
}

// ended counts a finished call. If the call did not succeed, it logs this and warns the client.
func (s *serving) ended(c llm.Call, r *journal.Receipt, run string) {
	s.x.Metrics.HostedCalls.Add(1, s.to.Route.Name, string(r.Status))
	e, bad := endings[r.Status]
	if !bad {
		return
	}
	s.toldEnding(c, r, run)
	attrs := append([]slog.Attr{slog.String("id", s.x.ID), slog.String("run", run), slog.String("call", c.ID), slog.String("tool", c.Name), slog.String("route", s.to.Route.Name)}, s.x.LogAttrs()...)
	if r.Error != nil {
		attrs = append(attrs, slog.String("code", r.Error.Code))
	}
	if r.Status == journal.Refused {
		attrs = append(attrs, slog.String("reason", s.runner.Output.Secrets.Clean(r.Reason).Cut(exchange.MaxWarning)))
	}
	s.x.settings.Log.LogAttrs(s.x.Context(), slog.LevelWarn, e.log, attrs...)
}

// toldEnding queues a warning for the client if a call did not succeed.
func (s *serving) toldEnding(c llm.Call, r *journal.Receipt, run string) {
	e, bad := endings[r.Status]
	if !bad {
		return
	}
	why := r.Reason
	if r.Error != nil {
		why = cmp.Or(why, r.Error.Message)
	}
	if why = s.runner.Output.Secrets.Clean(why).Cut(exchange.MaxWarning); why != "" {
		why = ": " + why
	}
	name := c.Name
	if s.withheld(name) { // clients must not learn this name
		name = "tools"
	}
	s.pend = append(s.pend, llm.Warning{Code: e.code, Feature: name, Detail: fmt.Sprintf("the call %s of %s %s%s", c.ID, run, e.says, why)})
}

// notRun reports a call that was not run to the log and the client.
func (s *serving) notRun(c llm.Call, why string) {
	s.ended(c, &journal.Receipt{Status: journal.Refused, Reason: why}, s.x.ID)
}

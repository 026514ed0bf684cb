package gateway

import (
	"cmp"
	"fmt"
	"log/slog"

	"github.com/toolpost/toolpost/gateway/internal/exchange"
	"github.com/toolpost/toolpost/journal"
	"github.com/toolpost/toolpost/llm"
)

// endings are what clients and the log are told about calls of the gateway's tools that did not go well.
var endings = map[journal.Status]struct {
	code llm.WarningCode
	says string // of the call
	log  string
}{
	journal.Refused:   {llm.RefusedCall, "was refused", "a call of a tool was refused"},
	journal.Failed:    {llm.FailedCall, "failed", "a call of a tool failed"},
	journal.Abandoned: {llm.FailedCall, "was given up while it ran", "a call of a tool was given up while it ran"},
	journal.Unknown:   {llm.FailedCall, "was begun, and nobody knows how it ended", "nobody knows how a call of a tool ended"},
}

// ended counts a call that is over. What did not go well is in the log, and the client is told.
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

// toldEnding has the client told of a call that did not go well; of others it says nothing.
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
	if s.withheld(name) { // which clients do not learn
		name = "tools"
	}
	s.pend = append(s.pend, llm.Warning{Code: e.code, Feature: name, Detail: fmt.Sprintf("the call %s of %s %s%s", c.ID, run, e.says, why)})
}

// notRun is the end of a call that nobody was asked to run, for a reason that the log and the client are told.
func (s *serving) notRun(c llm.Call, why string) {
	s.ended(c, &journal.Receipt{Status: journal.Refused, Reason: why}, s.x.ID)
}

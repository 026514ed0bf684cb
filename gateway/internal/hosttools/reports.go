package hosttools

import (
	"cmp"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"

	"github.com/toolpost/toolpost/gateway/internal/exchange"
	"github.com/toolpost/toolpost/invoke"
	"github.com/toolpost/toolpost/journal"
	"github.com/toolpost/toolpost/llm"
)

// ProgressHeader is a request header with which a client asks for the progress of the gateway's tools in its stream.
// Any value except 0 and false turns it on. Each report is a [Progress] as JSON: an event "toolpost" in formats
// with named events (Messages, Responses, Converse), otherwise the field "toolpost" of a chunk without other content.
const ProgressHeader = "Toolpost-Progress"

// Progress is one progress report.
type Progress struct {
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

// reports tell the client and the log about calls of the gateway's tools.
type reports struct {
	*request
	offer *offer
	queue []llm.Warning // for the client, after the calls: calls that wait or did not succeed
}

// tell reports the progress of a call to a client that asked for it.
func (r *reports) tell(ev llm.Event) error {
	p := Progress{Run: r.ID}
	switch ev := ev.(type) {
	case invoke.Started:
		p.Type, p.CallID, p.Tool = "started", ev.CallID, ev.Tool
	case invoke.Progress:
		p.Type, p.CallID, p.Tool, p.Message = "progress", ev.CallID, ev.Tool, ev.Message
	case invoke.Decided:
		if ev.Allowed {
			return nil
		}
		if ev.Prompt != "" {
			p.Type, p.CallID, p.Tool, p.Message = "progress", ev.CallID, ev.Tool, "its question was not answered: "+ev.Reason
			break
		}
		p.Type, p.CallID, p.Tool, p.Message = "refused", ev.CallID, ev.Tool, ev.Reason
	case invoke.Ended:
		took := ev.Took.Milliseconds()
		p.Type, p.CallID, p.Tool, p.Status, p.TookMS = "ended", ev.CallID, ev.Tool, ev.Status, &took
	default:
		return nil
	}
	return r.progress(p)
}

// progress sends a report to a client that asked for it. The event or field has a form that the format allows for
// unknown types, because strict clients reject anything else.
func (r *reports) progress(p Progress) error {
	if r.Stream == nil || !asksProgress(r.HTTP) {
		return nil
	}
	p.Message = r.runner.Output.Secrets.Clean(p.Message).Cut(maxProgress)
	data, err := json.Marshal(p)
	if err != nil {
		return err
	}
	return r.Stream.Write(llm.UnknownEvent{Format: r.Codec.Format, Type: "toolpost", Raw: data})
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
func (r *reports) ended(c llm.Call, with *journal.Receipt, run string) {
	r.Metrics.HostedCalls.Add(1, r.to.Route.Name, string(with.Status))
	e, bad := endings[with.Status]
	if !bad {
		return
	}
	r.warnEnding(c, with, run)
	attrs := append([]slog.Attr{slog.String("id", r.ID), slog.String("run", run), slog.String("call", c.ID), slog.String("tool", c.Name), slog.String("route", r.to.Route.Name)}, r.LogAttrs()...)
	if with.Error != nil {
		attrs = append(attrs, slog.String("code", with.Error.Code))
	}
	if with.Status == journal.Refused {
		attrs = append(attrs, slog.String("reason", r.runner.Output.Secrets.Clean(with.Reason).Cut(exchange.MaxWarning)))
	}
	r.Log.LogAttrs(r.Context(), slog.LevelWarn, e.log, attrs...)
}

// warnEnding queues a warning for the client if a call did not succeed.
func (r *reports) warnEnding(c llm.Call, with *journal.Receipt, run string) {
	e, bad := endings[with.Status]
	if !bad {
		return
	}
	why := with.Reason
	if with.Error != nil {
		why = cmp.Or(why, with.Error.Message)
	}
	if why = r.runner.Output.Secrets.Clean(why).Cut(exchange.MaxWarning); why != "" {
		why = ": " + why
	}
	name := c.Name
	if r.offer.withheld(name) { // clients must not learn this name
		name = "tools"
	}
	r.queue = append(r.queue, llm.Warning{Code: e.code, Feature: name, Detail: fmt.Sprintf("the call %s of %s %s%s", c.ID, run, e.says, why)})
}

// notRun reports a call that was not run to the log and the client.
func (r *reports) notRun(c llm.Call, why string) {
	r.ended(c, &journal.Receipt{Status: journal.Refused, Reason: why}, r.ID)
}

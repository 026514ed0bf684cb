package gateway

import (
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/toolpost/toolpost/gateway/internal/clientio"
	"github.com/toolpost/toolpost/gateway/internal/exchange"
	"github.com/toolpost/toolpost/gateway/internal/upstream"
	"github.com/toolpost/toolpost/llm"
)

// measurements holds the measurements of one request.
type measurements struct {
	read  time.Time // when the request was read
	event time.Time // when the first event of the answer came

	firstToken time.Duration // from asking the upstream to the first text, thinking or call

	route   string     // whose upstream was asked last
	finish  llm.Reason // why the answer ended
	usage   llm.Usage  // as the upstream reported it last
	invalid int        // calls that do not match their schemas
}

// noRoute is the route label of requests without a route.
const noRoute = "none"

// saw counts an event of an answer.
func (x *chain) saw(ev llm.Event) {
	if x.measured.event.IsZero() && llm.Begins(ev) {
		x.measured.event = time.Now()
	}
	x.measureEvent(ev)
}

// measureEvent adds an event to the metrics. It is not inlined: copies of events would be held on the stack of a stream.
//
//go:noinline
func (x *chain) measureEvent(ev llm.Event) {
	t, m, route := &x.measured, x.Metrics, x.trace.Route
	switch ev := ev.(type) {
	case llm.Call:
		m.Calls.Add(1, route, dialectOf(ev.Provenance))
		for _, r := range ev.Provenance.Repairs {
			m.Repairs.Add(1, route, r.Class.String())
		}
	case llm.InvalidCall:
		m.Invalid.Add(1, route, string(ev.Reason))
	case llm.Warning:
		m.Warnings.Add(1, route, string(ev.Code))
		if ev.Code == llm.SuspectedCall || ev.Code == llm.CallAsText {
			m.Suspected.Add(1, route, string(ev.Code))
		}
	case llm.Finish:
		if t.finish = ev.Reason; !x.spent.Open() { // with keys, the booked usage is counted instead
			x.spent.Reported(ev.Usage)
		}
	}
}

func dialectOf(p llm.Provenance) string {
	if p.Dialect == "" {
		return "native"
	}
	return p.Dialect
}

// outcome is how a request ended, for the metrics.
func (x *chain) outcome(err error) string {
	status := x.Writer.Status
	switch {
	case err == nil && status < http.StatusBadRequest:
		return "ok"
	case errors.Is(err, clientio.ErrGone), x.Context().Err() != nil && !exchange.ShuttingDown(x.Context()):
		return "cancelled"
	case status < http.StatusBadRequest:
		return "broken_stream"
	case status < http.StatusInternalServerError && !(llm.KindOf(err) == llm.RateLimited && upstream.IsOfUpstream(err)):
		return "client_error"
	case upstream.IsOfUpstream(err):
		return "upstream_error"
	}
	return "gateway_error"
}

// measure counts a finished request.
func (x *chain) measure(err error) {
	t, m := &x.measured, x.Metrics
	route, format := x.trace.Route, x.Codec.Format
	if route == "" {
		route = noRoute
	}
	x.Writer.Finish()
	status := "gone" // the client left before the answer began
	if x.Writer.Status != 0 {
		status = strconv.Itoa(x.Writer.Status)
	}
	up := x.trace.Upstream
	if up == "" {
		up = noRoute
	}
	m.Requests.Add(1, route, up, format, status)
	m.Outcomes.Add(1, route, x.Team(), x.outcome(err))
	if t.read.IsZero() || x.Writer.SentAt.IsZero() {
		return
	}
	m.Duration.Observe(time.Since(x.Start).Seconds(), route, format)
	m.FirstByte.Observe(x.Writer.SentAt.Sub(x.Start).Seconds(), route, format)
	if asked := x.trace.AskedAt(); !asked.IsZero() && !t.event.IsZero() {
		m.AddedLatency.Observe((asked.Sub(t.read) + max(0, x.Writer.SentAt.Sub(t.event))).Seconds(), route, format)
	}
}

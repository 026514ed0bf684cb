package gateway

import (
	"net/http/httptrace"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/toolpost/toolpost/llm"
)

// tally is what is measured of one request.
type tally struct {
	route string // the name of the route, "" if none was found
	// upstream is who was asked last, as the configuration names it; "" if nobody was. Clients can make up any number of ids, but not of these.
	upstream string
	read     time.Time    // when the request was read
	asked    atomic.Int64 // when the first upstream was asked, in nanoseconds
	sent     atomic.Int64 // when the upstream had the question at hand; 0 if it does not have it, or turnedDown
	answered atomic.Bool  // it has begun to send something back
	event    time.Time    // when the first event of the answer came

	finish llm.Reason // why the answer ended
}

// turnedDown stands in the place of a time while an upstream that has refused the question, because it is busy or broken, is not yet asked again.
const turnedDown = -1

// noRoute is the route of requests that lead nowhere.
const noRoute = "none"

// trace notes when an upstream is asked, whether it has the question that is asked now, and whether it says something to it.
func (t *tally) trace() *httptrace.ClientTrace {
	t.unsent()
	return &httptrace.ClientTrace{
		GetConn: func(string) {
			t.asked.CompareAndSwap(0, time.Now().UnixNano())
			t.unsent()
		},
		WroteHeaders:         func() { t.sent.Store(time.Now().UnixNano()) },
		GotFirstResponseByte: func() { t.answered.Store(true) },
	}
}

// unsent notes that nobody has the question yet.
func (t *tally) unsent() {
	t.sent.Store(0)
	t.answered.Store(false)
}

// saw counts what an event of an answer says.
func (x *exchange) saw(ev llm.Event) {
	t, m := &x.tally, x.meters
	if t.event.IsZero() && llm.Begins(ev) {
		t.event = time.Now()
	}
	switch ev := ev.(type) {
	case llm.Call:
		m.Calls.Add(1, t.route, dialectOf(ev.Provenance))
		for _, r := range ev.Provenance.Repairs {
			m.Repairs.Add(1, t.route, r.Class.String())
		}
	case llm.InvalidCall:
		m.Invalid.Add(1, t.route, string(ev.Reason))
	case llm.Warning:
		m.Warnings.Add(1, t.route, string(ev.Code))
		if ev.Code == llm.SuspectedCall || ev.Code == llm.CallAsText {
			m.Suspected.Add(1, t.route, string(ev.Code))
		}
	case llm.Finish:
		if t.finish = ev.Reason; !x.spent.open { // else what is booked is counted
			x.countTokens(ev.Usage)
		}
	}
}

// countTokens counts what was used.
func (x *exchange) countTokens(u llm.Usage) {
	for i, n := range [...]int{u.Input, u.Output, u.CacheRead, u.CacheWrite, u.Reasoning} {
		if n > 0 && n <= mostInput { // a counter never falls, and one odd answer must not be all that it shows
			x.meters.Tokens.Add(float64(n), x.tally.route, x.tally.upstream, tokenKinds[i])
		}
	}
}

// tokenKinds are the kinds of tokens that are counted, in the order in which they are looked at.
var tokenKinds = [...]string{"input", "output", "cache_read", "cache_write", "reasoning"}

func dialectOf(p llm.Provenance) string {
	if p.Dialect == "" {
		return "native"
	}
	return p.Dialect
}

// measure counts a request that is over.
func (x *exchange) measure() {
	t, m := &x.tally, x.meters
	route, format := t.route, x.Codec.Format
	if route == "" {
		route = noRoute
	}
	x.outlet.Finish()
	status := "gone" // before it was told anything
	if x.outlet.Status != 0 {
		status = strconv.Itoa(x.outlet.Status)
	}
	upstream := t.upstream
	if upstream == "" {
		upstream = noRoute
	}
	m.Requests.Add(1, route, upstream, format, status)
	if t.read.IsZero() || x.outlet.SentAt.IsZero() {
		return
	}
	m.Duration.Observe(time.Since(x.start).Seconds(), route, format)
	m.FirstByte.Observe(x.outlet.SentAt.Sub(x.start).Seconds(), route, format)
	if asked := t.asked.Load(); asked != 0 && !t.event.IsZero() {
		m.AddedLatency.Observe((time.Unix(0, asked).Sub(t.read) + max(0, x.outlet.SentAt.Sub(t.event))).Seconds(), route, format)
	}
}

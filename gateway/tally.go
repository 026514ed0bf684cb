package gateway

import (
	"bytes"
	"net/http"
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
		m.calls.add(1, t.route, dialectOf(ev.Provenance))
		for _, r := range ev.Provenance.Repairs {
			m.repairs.add(1, t.route, r.Class.String())
		}
	case llm.InvalidCall:
		m.invalid.add(1, t.route, string(ev.Reason))
	case llm.Warning:
		m.warnings.add(1, t.route, string(ev.Code))
		if ev.Code == llm.SuspectedCall || ev.Code == llm.CallAsText {
			m.unpromoted.add(1, t.route, string(ev.Code))
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
			x.meters.tokens.add(float64(n), x.tally.route, x.tally.upstream, tokenKinds[i])
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
	x.outlet.rest()
	status := "gone" // before it was told anything
	if x.outlet.status != 0 {
		status = strconv.Itoa(x.outlet.status)
	}
	upstream := t.upstream
	if upstream == "" {
		upstream = noRoute
	}
	m.requests.add(1, route, upstream, format, status)
	if t.read.IsZero() || x.outlet.sent.IsZero() {
		return
	}
	m.total.observe(time.Since(x.start).Seconds(), route, format)
	m.first.observe(x.outlet.sent.Sub(x.start).Seconds(), route, format)
	if asked := t.asked.Load(); asked != 0 && !t.event.IsZero() {
		m.added.observe((time.Unix(0, asked).Sub(t.read) + max(0, x.outlet.sent.Sub(t.event))).Seconds(), route, format)
	}
}

// outlet is where an answer is written. It remembers what was sent, and bounds how long the client may leave a piece of it unread.
type outlet struct {
	http.ResponseWriter
	status int
	sent   time.Time     // when the status was
	copy   *bytes.Buffer // of the body; nil if nobody wants it
	most   int           // bytes of the copy; a longer body has none
	seen   *seenBody     // for the log of bodies; nil if they are not kept
	time   time.Duration // that the client has to read a piece; below 0 it is not bounded here
	until  time.Time     // when it must have read the last one
}

// writeTo has o write to w, whose client may leave a piece of the answer unread for limit; below 0 that is not bounded.
func (o *outlet) writeTo(w http.ResponseWriter, r *http.Request, limit time.Duration) {
	o.ResponseWriter, o.time = w, limit
	if r.ProtoMajor > 1 && limit > 0 {
		o.ResponseWriter, o.time = &boundedStream{ResponseWriter: w, limit: limit}, -1
	}
}

func (o *outlet) WriteHeader(status int) {
	if o.status == 0 && status >= 200 {
		o.status, o.sent = status, time.Now()
	}
	o.ResponseWriter.WriteHeader(status)
}

func (o *outlet) Write(b []byte) (int, error) {
	if o.status == 0 {
		o.WriteHeader(http.StatusOK)
	}
	if o.copy != nil {
		if o.copy.Len()+len(b) > o.most {
			o.copy = nil
		} else {
			o.copy.Write(b)
		}
	}
	o.seen.add(b)
	return o.pieces(b)
}

// maxPiece is how many bytes are one piece of an answer: a client that reads a long one slowly has its time for each.
const maxPiece = 256 << 10

// pieces writes, and gives the client its time for each piece.
func (o *outlet) pieces(b []byte) (written int, err error) {
	for {
		o.hurry()
		n, err := o.ResponseWriter.Write(b[:min(len(b), maxPiece)])
		if written += n; err != nil || n == len(b) {
			return written, err
		}
		b = b[n:]
	}
}

// hurry gives the client its time to read the next piece. Setting a deadline for each piece would
// cost more than it is worth.
func (o *outlet) hurry() {
	now := time.Now()
	if o.time < 0 || o.until.Sub(now) > o.time-o.time/8 {
		return
	}
	o.until = now.Add(o.time)
	_ = http.NewResponseController(o.ResponseWriter).SetWriteDeadline(o.until) // a server without deadlines has its own bounds
}

// rest gives the client its time to read what package http still holds when the answer is written; that takes the last
// deadline away before the connection serves another request.
func (o *outlet) rest() {
	if s, is := o.ResponseWriter.(*boundedStream); is {
		s.rest()
	} else if !o.until.IsZero() {
		o.hurry()
	}
}

// Unwrap is for http.ResponseController.
func (o *outlet) Unwrap() http.ResponseWriter { return o.ResponseWriter }

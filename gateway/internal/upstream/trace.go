package upstream

import (
	"net/http/httptrace"
	"sync/atomic"
	"time"
)

// Trace records the upstream that a request was sent to, and the progress of the request.
type Trace struct {
	Route string // name of the route; "" if none was found
	// Upstream is the upstream that was asked last, as named in the configuration; "" if none was. Clients choose model
	// ids freely, but not these names, so they are safe as metric labels.
	Upstream string

	asked    atomic.Int64 // when the first upstream was asked, in nanoseconds
	sent     atomic.Int64 // when the upstream had received the request; 0 if it has not, or refused
	answered atomic.Bool  // the upstream has begun to answer
}

// refused marks an upstream that refused the request, until it is asked again.
const refused = -1

// HTTP returns a trace of the next HTTP request.
func (t *Trace) HTTP() *httptrace.ClientTrace {
	t.reset()
	return &httptrace.ClientTrace{
		GetConn: func(string) {
			t.asked.CompareAndSwap(0, time.Now().UnixNano())
			t.reset()
		},
		WroteHeaders:         func() { t.sent.Store(time.Now().UnixNano()) },
		GotFirstResponseByte: func() { t.answered.Store(true) },
	}
}

func (t *Trace) reset() {
	t.sent.Store(0)
	t.answered.Store(false)
}

// AskedAt returns when the first upstream was asked over HTTP, or zero if none was.
func (t *Trace) AskedAt() time.Time {
	if at := t.asked.Load(); at != 0 {
		return time.Unix(0, at)
	}
	return time.Time{}
}

// SentAt returns when the upstream had received the request, in nanoseconds, or 0 if it has not.
func (t *Trace) SentAt() int64 { return max(0, t.sent.Load()) }

// Answered reports whether the upstream that received the request has begun to answer.
func (t *Trace) Answered() bool { return t.SentAt() > 0 && t.answered.Load() }

// Refuse records that the upstream refused the request. Refused reports whether it did.
func (t *Trace) Refuse()       { t.sent.Store(refused) }
func (t *Trace) Refused() bool { return t.sent.Load() == refused }

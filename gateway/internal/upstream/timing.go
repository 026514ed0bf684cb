package upstream

import (
	"net/http/httptrace"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/toolpost/toolpost/internal/breaker"
)

// Timing limits how an upstream is asked. Zero fields are the defaults.
type Timing struct {
	// Timeout limits the whole answer of the upstream.
	Timeout time.Duration
	// FirstByte limits how long the upstream may be silent before its answer begins. Keep-alives are not silence. If
	// another upstream can be asked, the default is a minute, and more for models that were slower before.
	FirstByte time.Duration
	// Idle limits how long no piece of a begun answer may arrive.
	Idle time.Duration
	// Cooldown is how long an upstream that fails is skipped.
	Cooldown time.Duration
	// Retries is how often a failed request is sent again to the same upstream; nil means the default: not at all if
	// another upstream can be asked.
	Retries *int
}

// Or returns t with its zero fields replaced by those of other.
func (t Timing) Or(other Timing) Timing {
	for _, f := range []struct{ to, from *time.Duration }{{&t.Timeout, &other.Timeout}, {&t.FirstByte, &other.FirstByte}, {&t.Idle, &other.Idle}, {&t.Cooldown, &other.Cooldown}} {
		if *f.to == 0 {
			*f.to = *f.from
		}
	}
	if t.Retries == nil {
		t.Retries = other.Retries
	}
	return t
}

// limits decide when a failing model of the upstream is skipped, and for how long.
func (u *Target) limits() breaker.Limits {
	l := Limits
	if u.Timing.Cooldown > 0 {
		l.Cooldown = u.Timing.Cooldown
	}
	return l
}

// The default of Timing.FirstByte, and the most that is learned.
const (
	FirstByte    = time.Minute
	maxFirstByte = 10 * time.Minute
)

// FirstByte returns how long to wait for the beginning of an answer; 0 means without a limit. Whole reports an answer
// that arrives as one document, which takes longer than the beginning of a stream.
func (c *Candidate) FirstByte(others, whole bool) time.Duration {
	switch {
	case c.Timing.FirstByte > 0:
		return c.Timing.FirstByte
	case !others:
		return 0
	}
	return max(FirstByte, c.model.learned(whole))
}

// Began records how long the beginning of an answer took.
func (c *Candidate) Began(took time.Duration, whole bool) {
	c.took, c.whole = took, whole
	c.model.began(took, whole)
}

// Cut records that an answer did not begin within a time.
func (c *Candidate) Cut(after time.Duration) { c.cut = after }

// lessons raises the wait for the models of upstreams that were given up in less time than another one then needed: the
// request was slow, not the upstream.
func lessons(candidates []Candidate, answered *Candidate) {
	for i := range candidates {
		if c := &candidates[i]; c.cut > 0 && answered.took > c.cut {
			c.model.learn(answered.took, answered.whole)
		}
	}
}

// pace is how fast a model begins to answer.
type pace struct {
	mu    sync.Mutex
	waits [2]time.Duration // learned, for streams and for whole answers
	last  [paceOf]time.Duration
	n     int // of all measurements
	at    time.Time
}

const (
	paceOf  = 33              // answers in the median
	paceFor = 5 * time.Minute // how long a median counts without a new answer
)

func kind(whole bool) int {
	if whole {
		return 1
	}
	return 0
}

func (p *pace) learned(whole bool) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.waits[kind(whole)]
}

// learn allows twice the time that an answer took.
func (p *pace) learn(took time.Duration, whole bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	wait := &p.waits[kind(whole)]
	*wait = max(*wait, min(2*took, maxFirstByte))
}

func (p *pace) began(took time.Duration, whole bool) {
	p.learn(took, whole)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.last[p.n%paceOf] = took
	p.n++
	p.at = time.Now()
}

// median returns the median of the last answers, or 0 without recent ones.
func (p *pace) median(now time.Time) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.n == 0 || now.Sub(p.at) > paceFor {
		return 0
	}
	last := slices.Clone(p.last[:min(p.n, paceOf)])
	slices.Sort(last)
	return last[len(last)/2]
}

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

// progress describes how far a request came that got no answer, for the log.
func (t *Trace) progress() string {
	switch {
	case t.Answered():
		return "; the upstream sent its status and then nothing"
	case t.SentAt() > 0:
		return "; the upstream got the request and sent nothing"
	case t.asked.Load() != 0:
		return "; there was no connection to the upstream yet"
	}
	return ""
}

// Answered reports whether the upstream that received the request has begun to answer.
func (t *Trace) Answered() bool { return t.SentAt() > 0 && t.answered.Load() }

// Refuse records that the upstream refused the request. Refused reports whether it did.
func (t *Trace) Refuse()       { t.sent.Store(refused) }
func (t *Trace) Refused() bool { return t.sent.Load() == refused }

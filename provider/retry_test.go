package provider_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolpost/toolpost/internal/requestctx"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/provider"
)

// reply is what a vendor answers to one request.
type reply struct {
	status int
	header string // "Name: value"
	body   string
	err    error
}

const good = "data: {\"choices\":[{\"delta\":{\"content\":\"Hi.\"}}]}\n\ndata: {\"choices\":[{\"finish_reason\":\"stop\",\"delta\":{}}]}\n\ndata: [DONE]\n\n"

// vendor answers with one reply after the other, and notes when it was asked.
type vendor struct {
	replies []reply
	asked   []time.Time
}

func (v *vendor) RoundTrip(r *http.Request) (*http.Response, error) {
	now := v.replies[min(len(v.asked), len(v.replies)-1)]
	v.asked = append(v.asked, time.Now())
	if now.err != nil {
		return nil, now.err
	}
	resp := &http.Response{StatusCode: now.status, Status: http.StatusText(now.status), Header: http.Header{}, Body: io.NopCloser(strings.NewReader(now.body)), Request: r}
	if name, value, ok := strings.Cut(now.header, ": "); ok {
		resp.Header.Set(name, value)
	}
	return resp, nil
}

// waits are the times between the requests, rounded down to what they are
// without the quarter of chance.
func (v *vendor) waits() []time.Duration {
	var out []time.Duration
	for i := 1; i < len(v.asked); i++ {
		out = append(out, v.asked[i].Sub(v.asked[i-1]))
	}
	return out
}

func open(t *testing.T, c *provider.Client, id string) llm.Model {
	t.Helper()
	m, err := c.Open(id)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

var hi = &llm.Request{Messages: []llm.Message{llm.User("hi")}}

func TestRetry(t *testing.T) {
	ok := reply{status: 200, body: good}
	busy := reply{status: 503, body: "{}"}
	after := func(header, body string) reply { return reply{status: 429, header: header, body: body} }
	s := time.Second
	for _, c := range []struct {
		why     string
		replies []reply
		waits   []time.Duration // without chance
		kind    llm.Kind        // of the error; Unknown for success
	}{
		{"it doubles", []reply{busy, busy, ok}, []time.Duration{s, 2 * s}, llm.Unknown},
		{"three attempts, then no more", []reply{busy}, []time.Duration{s, 2 * s}, llm.Overloaded},
		{"408", []reply{{status: 408}, ok}, []time.Duration{s}, llm.Unknown},
		{"429", []reply{{status: 429}, ok}, []time.Duration{s}, llm.Unknown},
		{"500", []reply{{status: 500}, ok}, []time.Duration{s}, llm.Unknown},
		{"529", []reply{{status: 529}, ok}, []time.Duration{s}, llm.Unknown},
		{"a 500 that blames the request", []reply{{status: 500, body: `{"error":{"type":"invalid_request_error","message":"x"}}`}, ok}, []time.Duration{s}, llm.Unknown},
		{"no connection", []reply{{err: errors.New("connection refused")}, ok}, []time.Duration{s}, llm.Unknown},
		{"an empty answer", []reply{{status: 200}, ok}, []time.Duration{s}, llm.Unknown},
		{"400", []reply{{status: 400}}, nil, llm.Invalid},
		{"401", []reply{{status: 401}}, nil, llm.Auth},
		{"403", []reply{{status: 403}}, nil, llm.Auth},
		{"404", []reply{{status: 404}}, nil, llm.NotFound},
		{"no money left", []reply{{status: 429, body: `{"error":{"code":"insufficient_quota"}}`}}, nil, llm.Auth},
		{"after the first event", []reply{{status: 200, body: good[:60]}}, nil, llm.Incomplete},
		{"header", []reply{after("Retry-After: 7", ""), ok}, []time.Duration{7 * s}, llm.Unknown},
		{"header in milliseconds", []reply{after("Retry-After-Ms: 2500", ""), ok}, []time.Duration{2500 * time.Millisecond}, llm.Unknown},
		{"body", []reply{after("", `{"retry_after":3}`), ok}, []time.Duration{3 * s}, llm.Unknown},
		{"body of the error", []reply{after("", `{"error":{"message":"x","retry_after":"4"}}`), ok}, []time.Duration{4 * s}, llm.Unknown},
		{"body beside a plain error", []reply{after("", `{"error":"slow down","retry_after_ms":1500}`), ok}, []time.Duration{1500 * time.Millisecond}, llm.Unknown},
		{"wrapped", []reply{{err: fmt.Errorf("proxy: %w", &llm.Error{Kind: llm.RateLimited, RetryAfter: 5 * s})}, ok}, []time.Duration{5 * s}, llm.Unknown},
		{"as long as may be", []reply{after("Retry-After: 30", ""), ok}, []time.Duration{30 * s}, llm.Unknown},
		{"too long", []reply{after("Retry-After: 31", ""), ok}, nil, llm.RateLimited},
		{"not a number", []reply{after("Retry-After: NaN", ""), ok}, []time.Duration{s}, llm.Unknown},
		{"negative", []reply{after("Retry-After: -5", ""), ok}, []time.Duration{s}, llm.Unknown},
		{"infinite", []reply{after("Retry-After: inf", ""), ok}, []time.Duration{s}, llm.Unknown},
		{"infinite in the body", []reply{after("", `{"retry_after":1e300}`), ok}, []time.Duration{s}, llm.Unknown},
	} {
		t.Run(c.why, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				v := &vendor{replies: c.replies}
				m := open(t, &provider.Client{HTTP: &http.Client{Transport: v}}, "http://host/v1#m")
				_, err := llm.Generate(t.Context(), m, hi)
				if got := llm.KindOf(err); got != c.kind || (err == nil) != (c.kind == llm.Unknown) {
					t.Errorf("error %v of kind %s, want %s", err, got, c.kind)
				}
				fits := slices.EqualFunc(v.waits(), c.waits, func(got, want time.Duration) bool { return got >= want && got <= want+want/4 })
				if !fits {
					t.Errorf("waited %v, want %v and up to a quarter more", v.waits(), c.waits)
				}
			})
		})
	}
}

// Whoever has a client of its own that waits, or somebody else to ask, is told of a
// failure at once where the vendor says when to come back.
func TestPatience(t *testing.T) {
	later := func(status int, after string) reply {
		return reply{status: status, header: "Retry-After: " + after}
	}
	ok := reply{status: 200, body: good}
	for _, c := range []struct {
		why   string
		p     requestctx.Patience
		first reply
		sent  int
		after time.Duration // of the error
	}{
		{"a rate limit with a time", requestctx.Brief, later(429, "1"), 1, time.Second},
		{"a longer one", requestctx.Brief, later(429, "120"), 1, 2 * time.Minute},
		{"a rate limit without one", requestctx.Brief, reply{status: 429}, 2, 0},
		{"busy", requestctx.Brief, reply{status: 503}, 2, 0},
		{"busy for a moment", requestctx.Brief, later(503, "1"), 2, 0},
		{"busy for long", requestctx.Brief, later(503, "9"), 1, 9 * time.Second},
		{"a rate limit, and there is another", requestctx.Once, later(429, "1"), 1, time.Second},
		{"busy, and there is another", requestctx.Once, reply{status: 503}, 1, 0},
		{"a patient program", requestctx.Patient, later(429, "7"), 2, 0},
	} {
		t.Run(c.why, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				v := &vendor{replies: []reply{c.first, ok}}
				m := open(t, &provider.Client{HTTP: &http.Client{Transport: v}}, "http://host/v1#m")
				start := time.Now()
				_, err := llm.Generate(requestctx.WithPatience(t.Context(), c.p), m, hi)
				var known *llm.Error
				if sent := len(v.waits()) + 1; sent != c.sent || (err == nil) != (c.sent == 2) {
					t.Errorf("sent %d times, want %d: %v", sent, c.sent, err)
				}
				if errors.As(err, &known) && (known.RetryAfter != c.after || time.Since(start) > 0) {
					t.Errorf("the error says %v, want %v, after %v", known.RetryAfter, c.after, time.Since(start))
				}
			})
		})
	}
}

// Retries are seen, and none is begun that cannot end in time.
func TestRetryIsSeen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := &vendor{replies: []reply{{status: 503}}}
		m := open(t, &provider.Client{HTTP: &http.Client{Transport: v}}, "http://host/v1#m")
		ctx, cancel := context.WithTimeout(t.Context(), 2500*time.Millisecond)
		defer cancel()
		start, seen := time.Now(), 0
		for ev, err := range m.Stream(ctx, hi) {
			if r, ok := ev.(provider.RequestRetry); ok {
				seen = r.Attempt
			}
			if err != nil && llm.KindOf(err) != llm.Timeout {
				t.Errorf("error %v", err)
			}
		}
		if seen != 2 || time.Since(start) > 1300*time.Millisecond {
			t.Errorf("%d retries seen after %v; the second cannot end in time", seen, time.Since(start))
		}
	})
}

// slow is a body that comes in pieces.
type slow struct {
	ctx    context.Context
	pieces []string
	pause  time.Duration
}

func (s *slow) Read(p []byte) (int, error) {
	if len(s.pieces) == 0 {
		return 0, io.EOF
	}
	select {
	case <-s.ctx.Done():
		return 0, s.ctx.Err()
	case <-time.After(s.pause):
	}
	n := copy(p, s.pieces[0])
	s.pieces = s.pieces[1:]
	return n, nil
}

func (s *slow) Close() error { return nil }

// crawl is a vendor that takes its time.
type crawl struct {
	first, pause time.Duration
	asked        int
}

func (c *crawl) RoundTrip(r *http.Request) (*http.Response, error) {
	c.asked++
	select {
	case <-r.Context().Done():
		return nil, r.Context().Err()
	case <-time.After(c.first):
	}
	body := &slow{r.Context(), strings.SplitAfter(good, "\n\n"), c.pause}
	return &http.Response{StatusCode: 200, Header: http.Header{}, Body: body, Request: r}, nil
}

func TestTimeouts(t *testing.T) {
	for _, c := range []struct {
		why          string
		first, pause time.Duration
		limits       provider.Timeouts
		kind         llm.Kind
		asked        int
	}{
		{"in time", time.Minute, time.Minute, provider.Timeouts{}, llm.Unknown, 1},
		{"the first byte is late", 6 * time.Minute, 0, provider.Timeouts{}, llm.Timeout, 3},
		{"silence before the first piece", 0, 3 * time.Minute, provider.Timeouts{}, llm.Timeout, 3},
		{"own limits", 2 * time.Second, 0, provider.Timeouts{First: time.Second}, llm.Timeout, 3},
		{"no limits", 20 * time.Minute, 20 * time.Minute, provider.Timeouts{First: -1, Silence: -1}, llm.Unknown, 1},
	} {
		t.Run(c.why, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				v := &crawl{first: c.first, pause: c.pause}
				m := open(t, &provider.Client{HTTP: &http.Client{Transport: v}, Timeouts: c.limits}, "http://host/v1#m")
				_, err := llm.Generate(t.Context(), m, hi)
				if llm.KindOf(err) != c.kind || v.asked != c.asked {
					t.Errorf("%v after %d requests", err, v.asked)
				}
			})
		})
	}
}

// A caller that takes its time is not the vendor's silence.
func TestSlowCaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := open(t, &provider.Client{HTTP: &http.Client{Transport: &crawl{pause: time.Second}}}, "http://host/v1#m")
		for _, err := range m.Stream(t.Context(), hi) {
			if err != nil {
				t.Error(err)
			}
			time.Sleep(time.Hour)
		}
	})
}

// A caller that stops reading stops the request, and one that is canceled says
// so.
func TestStopping(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := open(t, &provider.Client{HTTP: &http.Client{Transport: &crawl{pause: time.Second}}}, "http://host/v1#m")
		for ev := range m.Stream(t.Context(), hi) {
			if _, text := ev.(llm.TextDelta); text {
				break
			}
		}
		ctx, cancel := context.WithCancel(t.Context())
		for ev, err := range m.Stream(ctx, hi) {
			if _, text := ev.(llm.TextDelta); text {
				cancel()
			}
			if err != nil && llm.KindOf(err) != llm.Canceled {
				t.Errorf("error %v", err)
			}
		}
		cancel()
	})
}

package provider

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"math/rand/v2"
	"mime"
	"net"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/toolpost/toolpost/internal/observe/observing"
	"github.com/toolpost/toolpost/internal/opening"
	"github.com/toolpost/toolpost/internal/outbound"
	"github.com/toolpost/toolpost/internal/requestctx"
	"github.com/toolpost/toolpost/internal/wire/document"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/observe"
	"github.com/toolpost/toolpost/provider/internal/credential"
	"github.com/toolpost/toolpost/provider/internal/deadline"
	"github.com/toolpost/toolpost/wire/format"
)

// maxError bounds the bytes of an error.
const maxError = 1 << 20

func orDefault(d, def time.Duration) time.Duration {
	if d == 0 {
		return def
	}
	return max(0, d)
}

// exchange is one HTTP request to the vendor, and its answer.
type exchange struct {
	*Model
	key   string
	watch *deadline.Watch

	job   *job
	resp  *http.Response
	yield func(llm.Event, error) bool
}

// newExchange begins an exchange. Its watch has to be stopped. It is not inlined,
// because a copy of the target would be held for as long as an answer takes.
//
//go:noinline
func (m *Model) newExchange(ctx context.Context, limits llm.Limits, whole bool) (*exchange, error) {
	key, err := m.client.key(&m.target)
	if err != nil {
		return nil, err
	}
	waits := m.waits(ctx, whole)
	return &exchange{Model: m, key: key, watch: deadline.New(ctx, deadline.Timeouts{First: waits.First, Silence: waits.Silence}, limits.Or(m.client.Limits).Or(llm.DefaultLimits))}, nil
}

// once sends a request and passes on its answer. It returns the error that ended the
// answer, if there was one, and whether the answer had begun.
func (m *Model) once(ctx context.Context, j *job, payload []byte, yield func(llm.Event, error) bool) (failure *llm.Error, began bool) {
	x, err := m.newExchange(ctx, j.req.Limits, j.whole)
	if err != nil {
		return asLLM(err), false
	}
	x.job, x.yield, x.watch.Whole = j, yield, j.whole
	defer x.watch.Stop()
	if failure := x.begin(payload); failure != nil {
		return failure, false
	}
	defer x.resp.Body.Close()
	switch {
	case x.resp.StatusCode/100 != 2:
		return x.salvage(credential.RedactError(x.refusal(), x.key)), false
	case j.relay != nil:
		return x.passOn()
	}
	return x.receive()
}

// begin sends the request and waits for the head of its answer.
// It is not inlined. Its stack would be held until the answer ends: see TestStackOfAStream.
//
//go:noinline
func (x *exchange) begin(payload []byte) *llm.Error {
	resp, err := x.post(payload)
	if err != nil {
		failure := x.asError(err)
		if failure.Kind == llm.Network {
			x.client.facts.drop(x.Model.key())
		}
		return failure
	}
	resp.Body = x.watch.Begun(resp.Body)
	x.resp = resp
	return nil
}

// ask sends a request other than for an answer of the model, and returns its response.
func (x *exchange) ask(method, address string, body []byte) (*http.Response, error) {
	req, err := http.NewRequestWithContext(x.watch.Context, method, address, bytes.NewReader(body))
	if err != nil {
		return nil, x.asError(err)
	}
	if len(body) > 0 {
		req.Header.Set("Content-Type", "application/json")
	}
	return x.do(req, body)
}

// do adds the key to a request and sends it.
func (x *exchange) do(req *http.Request, body []byte) (*http.Response, error) {
	if err := x.vendor.authorize(req, body, x.key); err != nil {
		return nil, x.asError(err)
	}
	resp, err := x.client.httpClient().Do(req)
	if err != nil {
		return nil, x.asError(err)
	}
	x.resp = resp
	return resp, nil
}

// receive reads a successful answer.
func (x *exchange) receive() (failure *llm.Error, began bool) {
	if x.job.whole && x.streamed() {
		x.job.whole, x.watch.Whole = false, false
	}
	src := io.Reader(x.resp.Body)
	if x.job.tap != nil {
		src = io.TeeReader(src, x.job.tap)
	}
	var opening opening.Opening // until the answer has begun, it may be asked for again
	for ev, err := range x.job.decode(src) {
		if err == nil {
			err = x.watch.Count(ev)
		}
		if err != nil {
			began = opening.Begun()
			e := x.lost(err, began)
			if !began {
				e = x.salvage(x.noAnswer(e))
			}
			return e, began
		}
		for _, ev := range opening.Next(ev) {
			if !x.yield(ev, nil) {
				return nil, true
			}
		}
	}
	return nil, true
}

// Headers of every request. They are shared and must not be changed.
var (
	jsonType  = []string{"application/json"}
	userAgent = []string{"toolpost"}
)

// post sends the request.
func (x *exchange) post(payload []byte) (*http.Response, error) {
	j := x.job
	req, err := http.NewRequestWithContext(x.watch.Context, http.MethodPost, "", bytes.NewReader(payload))
	if err != nil {
		return nil, err
	}
	*req.URL = *x.settled.stream
	if j.whole {
		*req.URL = *x.settled.whole
	}
	req.Host = req.URL.Host
	for name, values := range j.header {
		req.Header[name] = values
	}
	req.Header["Content-Type"], req.Header["Accept"] = jsonType, jsonType
	if !j.whole {
		req.Header["Accept"] = x.settled.streamType
	}
	req.Header["User-Agent"] = userAgent
	setHops(req)
	setTrace(req)
	if err := x.vendor.authorize(req, payload, x.key); err != nil {
		return nil, err
	}
	return x.client.send(req)
}

// send sends a request. Our own client does not use cookies, time limits or redirects,
// so http.Client.Do is only needed if the address has a password.
func (c *Client) send(req *http.Request) (*http.Response, error) {
	h := c.httpClient()
	if c.HTTP != nil || req.URL.User != nil {
		return h.Do(req)
	}
	return h.Transport.RoundTrip(req)
}

// decode reads a successful answer, streamed or whole.
func (j *job) decode(src io.Reader) iter.Seq2[llm.Event, error] {
	if !j.whole {
		return j.codec.Answering(j.req).DecodeStream(src)
	}
	return func(yield func(llm.Event, error) bool) {
		b, err := document.Read(src)
		if err != nil {
			yield(nil, err)
			return
		}
		r, err := j.codec.Answering(j.req).DecodeResponse(b)
		if r != nil {
			for _, ev := range r.Events() {
				if _, last := ev.(llm.Finish); last && err != nil {
					continue
				}
				if !yield(ev, nil) {
					return
				}
			}
		}
		if err != nil {
			yield(nil, err)
		}
	}
}

// salvage reads the calls in text that a vendor failed to parse. It returns the error
// if the text has no calls.
func (x *exchange) salvage(e *llm.Error) *llm.Error {
	var failed *format.FailedGeneration
	if !errors.As(e, &failed) {
		return e
	}
	c := planner{x.Model, x.job}.callReader()
	c.Promotion, c.Why, c.Found = llm.PromoteAll, "the vendor says that it is a call", "the vendor could not read what the model wrote; the calls in it were found"
	said := &llm.Response{Message: llm.Assistant(llm.Text{Text: failed.Text}), Finish: llm.Finish{Reason: llm.Stop, Raw: e.Code, Model: x.model}}
	var events []llm.Event
	found := false
	for ev, err := range c.Read(stream(said.Events())) {
		if err != nil {
			return e
		}
		_, call := ev.(llm.Call)
		found = found || call
		events = append(events, ev)
	}
	if !found {
		return e
	}
	for _, ev := range events {
		if !x.yield(ev, nil) {
			break
		}
	}
	return nil
}

// stream returns events as a stream.
func stream(events []llm.Event) iter.Seq2[llm.Event, error] {
	return func(yield func(llm.Event, error) bool) {
		for _, ev := range events {
			if !yield(ev, nil) {
				return
			}
		}
	}
}

// refusal reads a response that is an error.
func (x *exchange) refusal() *llm.Error {
	resp := x.resp
	b, _ := io.ReadAll(io.LimitReader(resp.Body, maxError)) // the readable part is more useful than the read error
	e := x.settled.codec.DecodeError(resp.StatusCode, resp.Header, b)
	e.Op = x.vendor.Name
	classify(e, b)
	if resp.StatusCode/100 == 3 {
		e.Kind = llm.Invalid
		e.Err = errors.New("the server sends requests elsewhere, which is not followed: use the address it really has")
		if to, err := resp.Location(); err == nil {
			e.Err = fmt.Errorf("the server sends requests to %s, which is not followed: use the address it really has", to.Host)
		}
	}
	return e
}

// asError returns the error of a request without a response.
func (x *exchange) asError(err error) *llm.Error {
	ctx := x.watch.Context
	var e *llm.Error
	if errors.As(err, &e) {
		return credential.RedactError(e, x.key)
	}
	out := &llm.Error{Op: x.vendor.Name, Kind: llm.Network, Err: bare(err)}
	var limit *deadline.Error
	switch {
	case errors.As(err, &limit), errors.As(context.Cause(ctx), &limit):
		out.Kind, out.Err = limit.Kind, limit
	case ctx.Err() != nil:
		out.Kind, out.Err = llm.KindOf(ctx.Err()), ctx.Err()
	case outbound.Untrusted(err):
		out.Kind, out.Err = llm.Invalid, fmt.Errorf("the server did not prove who it is, and was not asked: %w; check its address, and the certificates of this machine", out.Err)
	case isTimeout(err):
		out.Kind = llm.Timeout
	}
	return credential.RedactError(out, x.key)
}

// bare removes the address from an error of package http: it is known, and may contain
// secrets.
func bare(err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		return u.Err
	}
	return err
}

func isTimeout(err error) bool {
	var n net.Error
	return errors.As(err, &n) && n.Timeout()
}

// lost returns the error of an answer that ended early. An answer that never began is
// a lost connection.
func (x *exchange) lost(err error, began bool) *llm.Error {
	ctx, e := x.watch.Context, x.asError(err)
	var limit *deadline.Error
	switch {
	case errors.As(err, &limit), errors.As(context.Cause(ctx), &limit):
		return &llm.Error{Op: x.vendor.Name, Kind: limit.Kind, Err: limit}
	case ctx.Err() != nil:
		return &llm.Error{Op: x.vendor.Name, Kind: llm.KindOf(ctx.Err()), Err: ctx.Err()}
	case e.Kind == llm.ByteLimit: // an answer that is one document
		return &llm.Error{Op: x.vendor.Name, Kind: e.Kind, Err: e.Err}
	case !began && e.Kind == llm.Incomplete:
		return &llm.Error{Op: x.vendor.Name, Kind: llm.Network, Err: e}
	}
	return e
}

// waits returns the waits of a context, with those of the client in place of zero fields.
func (m *Model) waits(ctx context.Context, whole bool) requestctx.Waits {
	w, first := requestctx.WaitsOf(ctx), 5*time.Minute
	if whole { // nothing comes until all of it is there
		first = 30 * time.Minute
	}
	return requestctx.Waits{
		First:    cmp.Or(w.First, orDefault(m.client.Timeouts.First, first)),
		Silence:  cmp.Or(w.Silence, orDefault(m.client.Timeouts.Silence, 2*time.Minute)),
		Attempts: cmp.Or(w.Attempts, m.client.Retry.attempts()),
	}
}

// persist sends a request until it is answered, or may not be sent again.
func (m *Model) persist(ctx context.Context, j *job, body []byte, yield func(llm.Event, error) bool) {
	seen := observing.CallOf(ctx)
	for n := 1; ; n++ {
		if seen != nil {
			seen.Attempts++
		}
		err, began := m.once(ctx, j, body, yield)
		if err == nil || !m.again(ctx, n, err, began, yield) {
			return
		}
	}
}

// again reports whether a request that failed for the n-th time is to be sent again, and waits until then. If it is
// not, it has said why.
func (m *Model) again(ctx context.Context, n int, err *llm.Error, began bool, yield func(llm.Event, error) bool) bool {
	policy, most, seen := m.client.Retry, m.waits(ctx, false).Attempts, observing.CallOf(ctx)
	wait, soon := policy.wait(n, err, requestctx.PatienceOf(ctx), rand.Float64())
	if began || n >= most || !retryable(err) || !soon {
		yield(nil, err)
		return false
	}
	if seen != nil {
		seen.Retries = append(seen.Retries, observe.Retry{Attempt: seen.Attempts, At: time.Now(), Wait: wait, Why: err.Kind.String()})
	}
	if !yield(RequestRetry{Attempt: n, Of: most, Wait: wait, Kind: err.Kind, Status: err.Status, Problem: err.Error()}, nil) {
		return false
	}
	stop := sleep(ctx, wait)
	if stop != nil {
		yield(nil, &llm.Error{Op: m.vendor.Name, Kind: llm.KindOf(stop), Err: errors.Join(stop, err)})
	}
	return stop == nil
}

// streamed reports whether the answer is a stream. Some servers know nothing else.
func (x *exchange) streamed() bool {
	of, _, err := mime.ParseMediaType(x.resp.Header.Get("Content-Type"))
	return err == nil && of != "application/json" && slices.Contains(x.settled.streamType, of)
}

// noAnswer returns the error of an answer that ended before it began. If the body is
// not an answer, the error describes it. An unreadable answer is not shown, because it
// may contain text of the model. Only an empty body is worth a retry.
// It is not inlined. Its stack would be held until the answer ends: see TestStackOfAStream.
//
//go:noinline
func (x *exchange) noAnswer(e *llm.Error) *llm.Error {
	b, watched := x.resp.Body.(*deadline.Body)
	if !watched || e.Kind != llm.Malformed && e.Kind != llm.Incomplete && e.Kind != llm.Network || e.Kind == llm.Network && llm.KindOf(e.Err) != llm.Incomplete {
		return e
	}
	came := noAnswer(x.resp, b.Start(), x.key)
	if came == nil {
		return e
	}
	kind := llm.Malformed
	if came.Empty && e.Kind == llm.Network {
		kind = llm.Network
	}
	came.Err = e.Err
	return &llm.Error{Op: x.vendor.Name, Kind: kind, Err: came}
}

// checkList returns an error if the body is a page and not a list of models. Servers
// differ in their lists, so any JSON is accepted.
func (x *exchange) checkList() *llm.Error {
	var start deadline.Start
	_, err := io.Copy(&start, io.LimitReader(x.resp.Body, maxError)) // the whole body, to reuse the connection
	if err != nil {
		return nil // it was there
	}
	if came := noAnswer(x.resp, start.Bytes(), x.key); came != nil && !came.Empty {
		return &llm.Error{Op: x.vendor.Name, Kind: llm.Malformed, Err: came}
	}
	return nil
}

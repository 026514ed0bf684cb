package provider

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"net"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/toolpost/toolpost/internal/opening"
	"github.com/toolpost/toolpost/internal/outbound"
	"github.com/toolpost/toolpost/internal/wire/document"
	"github.com/toolpost/toolpost/llm"
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

// own has the HTTP client of all Clients that set none, by the time that they allow
// for a connection.
var own sync.Map // time.Duration → *http.Client

// httpClient returns the client that sends requests. It follows no redirect:
// where a key goes is decided by the address, not by a server.
func (c *Client) httpClient() *http.Client {
	if c.HTTP != nil {
		return outbound.Staying(c.HTTP)
	}
	if h, ok := own.Load(c.Timeouts.Connect); ok {
		return h.(*http.Client)
	}
	h, _ := own.LoadOrStore(c.Timeouts.Connect, outbound.New(outbound.Rules{Connect: c.Timeouts.Connect}))
	return h.(*http.Client)
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
	key, err := m.client.key(m.target)
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

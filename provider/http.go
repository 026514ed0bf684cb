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

	"github.com/toolpost/toolpost/internal/outbound"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/wire"
)

// maxError bounds the bytes of an error.
const maxError = 1 << 20

func orDefault(d, def time.Duration) time.Duration {
	if d == 0 {
		return def
	}
	return max(0, d)
}

// own is the HTTP client of all Clients without one of their own, by the time
// they allow for a connection.
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

// once sends a request and passes on its answer. It returns the error that
// ended it, if one did, and whether the answer had begun.
func (m *Model) once(ctx context.Context, j *job, payload []byte, yield func(llm.Event, error) bool) (failure *llm.Error, began bool) {
	key, err := m.secret()
	if err != nil {
		return m.asError(ctx, err, key), false
	}
	w := m.client.watch(ctx, j.req.Limits)
	w.whole = j.whole
	defer w.stop()
	resp, failure := m.begin(w, j, payload, key)
	if failure != nil {
		return failure, false
	}
	defer resp.Body.Close()
	switch {
	case resp.StatusCode/100 != 2:
		return m.refused(j, resp, key, yield), false
	case j.relay != nil:
		return m.passOn(w, j, resp, key, yield)
	}
	return m.receive(w, j, resp, key, yield)
}

// begin sends a request and waits for the head of its answer, whose body is watched from there on.
//
//go:noinline
func (m *Model) begin(w *watch, j *job, payload []byte, key string) (*http.Response, *llm.Error) {
	resp, err := m.post(w.ctx, j, payload, key)
	if err != nil {
		failure := m.asError(w.ctx, err, key)
		if failure.Kind == llm.Network {
			m.client.facts.drop(m.key())
		}
		return nil, failure
	}
	w.rest()
	w.waited = 0 // the vendor has begun to answer
	resp.Body = &body{ReadCloser: resp.Body, w: w}
	return resp, nil
}

// receive reads a successful answer.
func (m *Model) receive(w *watch, j *job, resp *http.Response, key string, yield func(llm.Event, error) bool) (failure *llm.Error, began bool) {
	src := io.Reader(resp.Body)
	if j.tap != nil {
		src = io.TeeReader(src, j.tap)
	}
	var start llm.Event // held back until the answer has begun: before, it may be asked for again
	for ev, err := range m.decode(j, src) {
		if err == nil {
			err = w.count(ev)
		}
		if err != nil {
			e := m.lost(w.ctx, err, began, key)
			if !began {
				e = m.salvage(j, m.unlike(e, resp, key), yield)
			}
			return e, began
		}
		if _, first := ev.(llm.Start); first {
			start = ev
			continue
		}
		if !began && begins(ev) {
			began = true
			if start != nil && !yield(start, nil) {
				return nil, true
			}
		}
		if !yield(ev, nil) {
			return nil, true
		}
	}
	return nil, true
}

// secret returns the key of the vendor. It is not inlined: the copy of the target would be held as
// long as an answer takes.
//
//go:noinline
func (m *Model) secret() (string, error) { return m.client.key(m.target) }

// What stands in the header of every request. Nobody writes into these.
var (
	jsonType  = []string{"application/json"}
	userAgent = []string{"toolpost"}
)

// post sends the request.
func (m *Model) post(ctx context.Context, j *job, payload []byte, key string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "", bytes.NewReader(payload))
	if err != nil {
		return nil, err
	}
	*req.URL = *m.settled.stream
	if j.whole {
		*req.URL = *m.settled.whole
	}
	req.Host = req.URL.Host
	for name, values := range j.header {
		req.Header[name] = values
	}
	req.Header["Content-Type"], req.Header["Accept"] = jsonType, jsonType
	if !j.whole {
		req.Header["Accept"] = m.settled.streamType
	}
	req.Header["User-Agent"] = userAgent
	setHops(req)
	setTrace(req)
	if err := m.vendor.authorize(req, payload, key); err != nil {
		return nil, err
	}
	return m.client.do(req)
}

// do sends a request. Our own client has neither cookies nor a time limit, and follows no redirect, so that
// the work of http.Client.Do is for nothing, unless there is a password in the address.
func (c *Client) do(req *http.Request) (*http.Response, error) {
	h := c.httpClient()
	if c.HTTP != nil || req.URL.User != nil {
		return h.Do(req)
	}
	return h.Transport.RoundTrip(req)
}

// decode reads a successful answer, streamed or whole.
func (m *Model) decode(j *job, src io.Reader) iter.Seq2[llm.Event, error] {
	if !j.whole {
		return j.codec.Answering(j.req).DecodeStream(src)
	}
	return func(yield func(llm.Event, error) bool) {
		b, err := wire.ReadDocument(src)
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

// salvage makes an answer of what a vendor could not read of its own model, if
// there are calls in it. It returns the error if there are none.
func (m *Model) salvage(j *job, e *llm.Error, yield func(llm.Event, error) bool) *llm.Error {
	var failed *wire.FailedGeneration
	if !errors.As(e, &failed) {
		return e
	}
	c := m.callReader(j)
	c.Promotion, c.Why, c.Found = llm.PromoteAll, "the vendor says that it is a call", "the vendor could not read what the model wrote; the calls in it were found"
	said := &llm.Response{Message: llm.Assistant(llm.Text{Text: failed.Text}), Finish: llm.Finish{Reason: llm.Stop, Raw: e.Code, Model: m.model}}
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
		if !yield(ev, nil) {
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

// refused is the error of a response that is no success, unless there is an answer in it.
func (m *Model) refused(j *job, resp *http.Response, key string, yield func(llm.Event, error) bool) *llm.Error {
	return m.salvage(j, redactError(m.refusal(j, resp), key), yield)
}

// refusal reads a response that is no success.
func (m *Model) refusal(j *job, resp *http.Response) *llm.Error {
	b, _ := io.ReadAll(io.LimitReader(resp.Body, maxError)) // what can be read says more than why the rest cannot
	e := j.codec.DecodeError(resp.StatusCode, resp.Header, b)
	e.Op = m.vendor.Name
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

// asError says what became of a request that got no answer.
func (m *Model) asError(ctx context.Context, err error, key string) *llm.Error {
	var e *llm.Error
	if errors.As(err, &e) {
		return redactError(e, key)
	}
	out := &llm.Error{Op: m.vendor.Name, Kind: llm.Network, Err: bare(err)}
	var limit *limitError
	switch {
	case errors.As(err, &limit), errors.As(context.Cause(ctx), &limit):
		out.Kind, out.Err = limit.kind, limit
	case ctx.Err() != nil:
		out.Kind, out.Err = llm.KindOf(ctx.Err()), ctx.Err()
	case outbound.Untrusted(err):
		out.Kind, out.Err = llm.Invalid, fmt.Errorf("the server did not prove who it is, and was not asked: %w; check its address, and the certificates of this machine", out.Err)
	case isTimeout(err):
		out.Kind = llm.Timeout
	}
	return redactError(out, key)
}

// bare takes the address off an error of package http: it says nothing new,
// and may hold what nobody should read.
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

// lost says what became of an answer that ended early. One that never began
// is a lost connection.
func (m *Model) lost(ctx context.Context, err error, began bool, key string) *llm.Error {
	e := m.asError(ctx, err, key)
	var limit *limitError
	switch {
	case errors.As(err, &limit), errors.As(context.Cause(ctx), &limit):
		return &llm.Error{Op: m.vendor.Name, Kind: limit.kind, Err: limit}
	case ctx.Err() != nil:
		return &llm.Error{Op: m.vendor.Name, Kind: llm.KindOf(ctx.Err()), Err: ctx.Err()}
	case e.Kind == llm.ByteLimit: // an answer that is one document
		return &llm.Error{Op: m.vendor.Name, Kind: e.Kind, Err: e.Err}
	case !began && e.Kind == llm.Incomplete:
		return &llm.Error{Op: m.vendor.Name, Kind: llm.Network, Err: e}
	}
	return e
}

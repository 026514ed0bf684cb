package gateway

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/toolpost/toolpost/gateway/internal/clientio"
	"github.com/toolpost/toolpost/internal/js"
	"github.com/toolpost/toolpost/internal/state"
	"github.com/toolpost/toolpost/internal/vendorapi"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/tool"
	"github.com/toolpost/toolpost/wire"
)

// Clients send a request again when its answer is late or lost, also to another gateway. Where the
// gateway runs tools, that must not do things twice; where a client names its request, it is not paid for twice.

// The headers of requests that may come again.
const (
	// IdempotencyHeader names a request: another one of the same name is the same request. It is
	// answered as that was, and refused with status 409 until then.
	IdempotencyHeader = "Idempotency-Key"
	// ReplayHeader is the id of the request whose answer is given again.
	ReplayHeader = "Toolpost-Replay-Of"
)

// The bounds of what is known of requests that may come again.
const (
	maxIdempotencyKey = 255
	replayLife        = 24 * time.Hour // of an answer
	// lease is how long a request with a name stays open that has changed nothing yet, if its gateway
	// dies. One that may have changed something stays open for openRunLife, also after it ended without an answer.
	lease       = 2 * time.Minute
	openRunLife = time.Hour
)

// known is what is kept of a request that must not be run again. It is open until it has a header.
type known struct {
	Run    string      `json:"run"`
	Words  string      `json:"words"`           // what the request says
	Form   string      `json:"form,omitempty"`  // of the answer
	Header http.Header `json:"header,omitzero"` // of the answer
	Body   []byte      `json:"body,omitempty"`
	// Upstream is who answered, with its address, as it is booked.
	Upstream string `json:"upstream,omitempty"`
	// Deleted is the id of the answer, if its owner has deleted it. Then nothing else of it is kept.
	Deleted string `json:"deleted,omitempty"`
}

// repeat is what a request is known by that has a name, or that leads to tools of the gateway.
type repeat struct {
	key     state.Place // of the name that the client gave it, or of its words
	words   string
	form    string // in which it is answered
	named   bool
	changes bool // tools that may change something are offered

	answer   string // the id by which the client may ask for the answer, or delete it
	intended bool   // a tool may have changed something
	answered bool   // the model has said all
	waits    bool   // a call waits for a person, so another answer comes later

	// mu guards what follows: the lease is renewed while the request is answered.
	mu    sync.Mutex
	mine  []byte        // what is kept while it is open; nil if nothing is
	life  time.Duration // how long that is
	timer *time.Timer
}

// repeated reports whether a request was answered as the one that it repeats, or why it is refused.
func (x *exchange) repeated(r *route, req *llm.Request, body []byte, stream bool) (bool, error) {
	name, err := x.givenName()
	if err != nil {
		return false, err
	}
	changes := r.Tools != nil && x.mayChange(r.Tools)
	if name == "" && !changes {
		return false, nil
	}
	p := &repeat{named: name != "", changes: changes, form: x.form(stream)}
	var tools []string
	if x.rights != nil { // keys of one team that have other tools have other answers
		tools = x.rights.Key.Tools
	}
	said := [][]byte{[]byte(x.Codec.Format), []byte(req.Model), fmt.Appendf(nil, "%q", tools), canonicalRequest(body)}
	if betas := canonicalBetas(x.r.Header); p.named && len(betas) > 0 { // without a name, the same words are the same request
		said = append(said, fmt.Appendf(nil, "%q", betas))
	}
	words := state.HashOf(said...)
	p.words = fmt.Sprintf("%x", words)
	p.key = state.Place{Kind: state.Request, Owner: x.owner, Hash: state.HashOf([]byte("words"), words[:])}
	if p.named {
		p.key.Hash = state.HashOf([]byte("name"), []byte(name))
	}
	x.repeat = p
	found, err := x.earlier(p)
	switch {
	case err != nil && changes:
		return false, x.unsure()
	case err != nil: // nothing can happen twice
		x.repeat = nil
		x.warn(forgotten(state.Request))
		return false, nil
	case found == nil:
		if p.named && x.outlet.Copy == nil {
			x.outlet.Copy = &clientio.Capture{Limit: maxCached}
		}
		return false, nil
	case found.Header == nil:
		return false, x.underWay(found.Run)
	case found.Words != p.words:
		return false, x.notAgain(http.StatusUnprocessableEntity, fmt.Sprintf("the %s was given to another request (%s)", IdempotencyHeader, found.Run))
	case found.Deleted != "":
		return false, vendorapi.NoAnswer(x.Codec, found.Deleted)
	}
	settle, err := x.claimFree(true)
	if err != nil {
		return false, err
	}
	defer settle(nil)
	if stream {
		x.askUsage(body)
	}
	return true, x.replay(found)
}

// givenName returns the name that the client gave its request, "" if it gave none. One that cannot be meant is an error: the client
// believes that nothing is done twice.
func (x *exchange) givenName() (string, error) {
	names := x.r.Header.Values(IdempotencyHeader)
	wrong := ""
	switch {
	case len(names) == 0:
		return "", nil
	case slices.ContainsFunc(names, func(n string) bool { return strings.TrimSpace(n) == "" }):
		wrong = "is empty: send a name for the request, or leave the header out"
	case slices.ContainsFunc(names, func(n string) bool { return n != names[0] }):
		wrong = "stands in the request more than once, with different names: send one"
	case len(names[0]) > maxIdempotencyKey:
		wrong = fmt.Sprintf("is longer than %d bytes", maxIdempotencyKey)
	default:
		return names[0], nil
	}
	return "", x.notAgain(http.StatusBadRequest, "the header "+IdempotencyHeader+" "+wrong)
}

// mayChange reports whether tools that may change something are offered to the client. Tools that
// are not there may.
func (x *exchange) mayChange(t *ServedTools) bool {
	runner, err := t.current(x.ctx())
	if err != nil {
		return true
	}
	for own := range x.allowed(runner.Set()).All() {
		if !own.Effects.Has(tool.ReadOnly) {
			return true
		}
	}
	return false
}

// earlier returns what is known of a request that this one repeats, nil if it repeats none. Then one
// with a name is open.
func (x *exchange) earlier(p *repeat) (*known, error) {
	if p.named {
		return x.openRun(p, lease)
	}
	found, err := x.store.Get(x.ctx(), p.key.Kind, p.key.Owner, p.key.Hash)
	if err != nil || len(found[p.key.Hash]) == 0 {
		return nil, err
	}
	return readKnown(found[p.key.Hash][0])
}

func readKnown(value []byte) (*known, error) {
	k := new(known)
	return k, json.Unmarshal(value, k)
}

// openRun has nobody else run the same request, or returns what is known of the one that is. Called
// again, it makes sure that this is still so.
func (x *exchange) openRun(p *repeat, life time.Duration) (*known, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	value, err := json.Marshal(known{Run: x.id, Words: p.words})
	if err != nil {
		return nil, err
	}
	held, err := x.store.Claim(x.detached(), p.entry(value, life), p.mine)
	if err != nil {
		return nil, err
	}
	if !bytes.Equal(held, value) {
		return readKnown(held)
	}
	p.mine, p.life = value, life
	if p.timer == nil {
		p.timer = time.AfterFunc(life/3, func() { x.renew(p) })
	}
	return nil, nil
}

// entry is what is kept of a request.
func (p *repeat) entry(value []byte, life time.Duration) state.Kept {
	return state.Kept{Place: p.key, Value: value, Until: time.Now().Add(life), Hold: true}
}

// detached is a context that outlives the client: what is known of a request does too.
func (x *exchange) detached() context.Context { return context.WithoutCancel(x.ctx()) }

// renew keeps a request open that is being answered. If that fails, it is tried again.
func (x *exchange) renew(p *repeat) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.timer == nil {
		return
	}
	_, _ = x.store.Claim(x.detached(), p.entry(p.mine, p.life), p.mine) // which is asked again before anything is changed
	p.timer.Reset(p.life / 3)
}

// form is the form of an answer: one and the same may be asked for as a whole or as a stream.
func (x *exchange) form(stream bool) string {
	if !stream {
		return wholeForm
	}
	if w, _ := x.AsArray(x.w, x.r); w != x.w {
		return arrayForm
	}
	return streamForm
}

// The forms of answers.
const (
	wholeForm  = "whole"
	streamForm = "stream"
	arrayForm  = "array"
)

// underWay is the error of a request whose like is being answered or has ended badly.
func (x *exchange) underWay(run string) error {
	return x.notAgain(http.StatusConflict, fmt.Sprintf("the same request (%s) is being answered, or has ended without an answer after a tool may have changed something; its record says what was done. "+
		"To have this one run all the same, send it with another %s", run, IdempotencyHeader))
}

// unsure is the error of a request of which nobody can say whether it was run already.
func (x *exchange) unsure() error {
	return &llm.Error{Op: "gateway", Kind: llm.Overloaded, Status: http.StatusServiceUnavailable, RetryAfter: retryAfter,
		Err: fmt.Errorf("it cannot be found out now whether this request has been run already, and its tools may change things; ask again later")}
}

// notAgain is the error of a request that is not run. Clients that try again on their own are told
// not to.
func (x *exchange) notAgain(status int, why string) error {
	x.w.Header().Set("X-Should-Retry", "false")
	return &llm.Error{Op: "gateway", Kind: llm.Invalid, Status: status, Err: fmt.Errorf("%s", why)}
}

// replay gives an answer again, in the form that is asked for now.
func (x *exchange) replay(found *known) error {
	form := x.repeat.form
	x.repeat = nil
	send := func() error { _, err := x.w.Write(x.asTold(found.Body)); return err }
	if form != found.Form {
		said, err := x.said(found)
		if err != nil {
			return x.notAgain(http.StatusConflict, fmt.Sprintf("the same request (%s) was answered in another form, which cannot be given in this one: ask for it as the first time", found.Run))
		}
		send = func() error { return x.sayAgain(said, form) }
	}
	header := x.w.Header()
	for name, values := range found.Header {
		header[name] = slices.Clone(values)
	}
	header.Set(ReplayHeader, found.Run)
	if form != found.Form {
		header.Set("Content-Type", map[bool]string{true: x.Codec.StreamType(), false: "application/json"}[form == streamForm])
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.begun, x.upstream = true, cmp.Or(found.Upstream, found.Header.Get(UpstreamHeader))
	x.w.WriteHeader(http.StatusOK)
	_ = send() // a client that is gone needs no answer
	return nil
}

// asTold returns the body of an answer without what the client of a stream did not ask for.
func (x *exchange) asTold(body []byte) []byte {
	if x.untold {
		return x.Codec.WithoutUsage(body)
	}
	return body
}

// said is what an answer that was given says.
func (x *exchange) said(found *known) (*llm.Response, error) {
	body := found.Body
	switch found.Form {
	case wholeForm:
		return x.Codec.DecodeResponse(body)
	case arrayForm:
		var events bytes.Buffer
		for event := range js.Elements(js.Trim(body)) {
			fmt.Fprintf(&events, "data: %s\n\n", event)
		}
		body = events.Bytes()
	}
	var b llm.Builder
	for ev, err := range x.Codec.DecodeStream(bytes.NewReader(body)) {
		if err != nil {
			return nil, err
		}
		b.Add(ev)
	}
	return b.Response(), nil
}

// sayAgain writes an answer in a form.
func (x *exchange) sayAgain(said *llm.Response, form string) error {
	if form == wholeForm {
		body, _, err := x.Codec.EncodeResponse(said)
		if err == nil {
			_, err = x.w.Write(body)
		}
		return err
	}
	w, end := x.AsArray(x.w, x.r)
	enc := x.Codec.NewStream(w, wire.Head{Model: x.name, NoUsage: x.untold})
	for _, ev := range said.Events() {
		if err := enc.Write(ev); err != nil {
			return err
		}
	}
	end()
	return nil
}

// claimRun has nobody else run the same request, before calls of it that may change something. Of two
// that come at once, one is refused.
func (s *serving) claimRun(calls []llm.Call) error {
	changes := slices.ContainsFunc(calls, func(c llm.Call) bool {
		t, ok := s.set.Lookup(c.Name)
		return ok && !t.Effects.Has(tool.ReadOnly)
	})
	if !changes || s.x.repeat == nil {
		return nil
	}
	found, err := s.x.openRun(s.x.repeat, openRunLife)
	switch {
	case err != nil:
		return s.x.unsure()
	case found != nil:
		return s.x.underWay(found.Run)
	}
	return nil
}

// release gives up what is open of a request.
func (x *exchange) release(p *repeat) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.timer == nil {
		return
	}
	p.timer.Stop()
	p.timer = nil
	_, _ = x.store.Delete(x.detached(), p.key, p.mine)
}

// settled ends what repeated began. What cannot be written stays open until its lease ends.
func (x *exchange) settled(err error) {
	p := x.repeat
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.timer == nil {
		return
	}
	p.timer.Stop()
	p.timer = nil
	ok := err == nil && p.answered // a handler that was aborted has no error
	switch {
	case !ok && p.intended:
		_, _ = x.store.Claim(x.detached(), p.entry(p.mine, openRunLife), p.mine)
	case ok && p.named && !p.waits && x.keepAnswer(p):
	case ok && p.named && p.intended && !p.waits: // its answer is too long to be kept, and it must not be run again
		_, _ = x.store.Claim(x.detached(), p.entry(p.mine, replayLife), p.mine)
	default:
		_, _ = x.store.Delete(x.detached(), p.key, p.mine)
	}
}

// keepAnswer keeps the answer to a request, and reports whether there is one to be kept.
func (x *exchange) keepAnswer(p *repeat) bool {
	body, whole := x.outlet.Copy.Bytes()
	if !whole || x.outlet.Status != http.StatusOK {
		return false
	}
	answer := &known{Run: x.id, Words: p.words, Form: p.form, Header: x.keptHeader(), Body: body, Upstream: x.upstream}
	value, err := json.Marshal(answer)
	if err != nil || len(value) > 2*maxCached {
		return false
	}
	e := p.entry(value, replayLife)
	e.Hold = false
	if p.answer == "" {
		_, _ = x.store.Claim(x.detached(), e, p.mine)
		return true
	}
	return x.keepLinked(p, e, answer)
}

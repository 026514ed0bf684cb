package conversation

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
	"github.com/toolpost/toolpost/gateway/internal/exchange"
	"github.com/toolpost/toolpost/internal/js"
	"github.com/toolpost/toolpost/internal/state"
	"github.com/toolpost/toolpost/internal/vendorapi"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/wire/format"
)

// Clients repeat a request when its answer is late or lost, also at another gateway. If the gateway runs tools, they
// must not run twice. If the client names its request, it does not pay twice.

// The headers of idempotent requests.
const (
	// IdempotencyHeader names a request. A later request with the same name gets the same answer, or status 409 while
	// the first is still running.
	IdempotencyHeader = "Idempotency-Key"
	// ReplayHeader is the id of the request whose answer is repeated.
	ReplayHeader = "Toolpost-Replay-Of"
)

// maxIdempotencyKey limits the name of a request.
const maxIdempotencyKey = 255

// Earlier is the stored state of a request that must not run again. It is in progress until it has a header.
type Earlier struct {
	Run    string      `json:"run"`
	Words  string      `json:"words"`           // hash of the request
	Form   string      `json:"form,omitempty"`  // form of the answer
	Header http.Header `json:"header,omitzero"` // of the answer
	Body   []byte      `json:"body,omitempty"`
	// Upstream is the id of the model that answered, with its address, as recorded in the log.
	Upstream string `json:"upstream,omitempty"`
	// Deleted is the id of the answer if its owner has deleted it. The rest of the answer is then not kept.
	Deleted string `json:"deleted,omitempty"`
}

// Idempotency is the identity and state of a request with a name, or with tools of the gateway that may change
// something.
type Idempotency struct {
	*Scope

	Key     state.Place // of the name, or of the content of an unnamed request
	content string
	form    string // form of the answer
	Named   bool
	changes bool // tools that may change something are offered

	AnswerID string // the id with which the client may get or delete the answer
	Changed  bool   // a tool may have changed something
	Answered bool   // the model's answer is complete
	Waits    bool   // a call waits for a person, so another answer comes later

	// mu guards the following fields: the lease is renewed during the request.
	mu      sync.Mutex
	claimed []byte        // the stored claim; nil without one
	life    time.Duration // lifetime of the claim
	timer   *time.Timer
}

// Idempotency returns the identity of a request with a name, or with tools that may change something, and the stored
// answer of an equal earlier request. Both are nil for other requests.
func (m *Scope) Idempotency(model string, body []byte, changes bool) (*Idempotency, *Earlier, error) {
	name, err := m.idempotencyKey()
	if err != nil || name == "" && !changes {
		return nil, nil, err
	}
	p := &Idempotency{Scope: m, Named: name != "", changes: changes, form: m.formOf(m.Streamed)}
	said := m.requestWords(model, canonicalRequest(body))
	if betas := betaWords(m.HTTP.Header); p.Named && betas != nil { // without a name, the headers do not distinguish requests
		said = append(said, betas)
	}
	words := state.HashOf(said...)
	p.content = fmt.Sprintf("%x", words)
	if p.Key = forContent.Key(m.Owner, words[:]); p.Named {
		p.Key = forName.Key(m.Owner, []byte(name))
	}
	found, err := p.lookUp()
	switch {
	case err != nil && changes:
		return p, nil, ErrUnknownState()
	case err != nil: // nothing can run twice
		m.Warn(Unavailable(state.Request))
		return nil, nil, nil
	case found == nil:
		if p.Named && m.Writer.Copy == nil {
			m.Writer.Copy = &clientio.Capture{Limit: MaxCached}
		}
		return p, nil, nil
	case found.Header == nil:
		return p, nil, m.ErrInProgress(found.Run)
	case found.Words != p.content:
		return p, nil, m.refuseForever(http.StatusUnprocessableEntity, fmt.Sprintf("the %s was given to another request (%s)", IdempotencyHeader, found.Run))
	case found.Deleted != "":
		return p, nil, vendorapi.NoAnswer(m.Codec, found.Deleted)
	}
	return p, found, nil
}

// idempotencyKey returns the value of Idempotency-Key, or "". An invalid value is an error, because the client relies
// on it.
func (m *Scope) idempotencyKey() (string, error) {
	names := m.HTTP.Header.Values(IdempotencyHeader)
	wrong := ""
	switch {
	case len(names) == 0:
		return "", nil
	case slices.ContainsFunc(names, func(n string) bool { return strings.TrimSpace(n) == "" }):
		wrong = "is empty: send a name for the request, or leave the header out"
	case slices.ContainsFunc(names, func(n string) bool { return n != names[0] }):
		wrong = "is in the request more than once, with different names: send one"
	case len(names[0]) > maxIdempotencyKey:
		wrong = fmt.Sprintf("is longer than %d bytes", maxIdempotencyKey)
	default:
		return names[0], nil
	}
	return "", m.refuseForever(http.StatusBadRequest, "the header "+IdempotencyHeader+" "+wrong)
}

// lookUp returns the stored state of an equal earlier request, or nil. It also claims a named request.
func (p *Idempotency) lookUp() (*Earlier, error) {
	if p.Named {
		return p.Claim(leaseTime)
	}
	return p.Store.earlier(p.Context(), p.Key)
}

// earlier returns the stored state of a request, or nil.
func (r *Store) earlier(ctx context.Context, key state.Place) (*Earlier, error) {
	value, err := r.newest(ctx, key)
	if err != nil || value == nil {
		return nil, err
	}
	return readEarlier(value)
}

func readEarlier(value []byte) (*Earlier, error) {
	k := new(Earlier)
	return k, json.Unmarshal(value, k)
}

// Claim marks the request as in progress, or returns the state of an equal request. A repeated call confirms the claim.
func (p *Idempotency) Claim(life time.Duration) (*Earlier, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	value, err := json.Marshal(Earlier{Run: p.ID, Words: p.content})
	if err != nil {
		return nil, err
	}
	held, err := p.Store.Claim(p.Detached(), p.entry(value, life), p.claimed)
	if err != nil {
		return nil, err
	}
	if !bytes.Equal(held, value) {
		return readEarlier(held)
	}
	p.claimed, p.life = value, life
	if p.timer == nil {
		p.timer = time.AfterFunc(life/3, func() { p.renew() })
	}
	return nil, nil
}

// entry returns the store entry of a request.
func (p *Idempotency) entry(value []byte, life time.Duration) state.Kept {
	return state.Kept{Place: p.Key, Value: value, Until: time.Now().Add(life), Hold: true}
}

// renew extends the lease of a running request. After a failure it tries again later.
func (p *Idempotency) renew() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.timer == nil {
		return
	}
	_, _ = p.Store.Claim(p.Detached(), p.entry(p.claimed, p.life), p.claimed) // claimed again before anything is changed
	p.timer.Reset(p.life / 3)
}

// formOf returns the form of an answer. Clients may ask for the same answer as a document or as a stream.
func (m *Scope) formOf(stream bool) string {
	if !stream {
		return wholeForm
	}
	if w, _ := m.AsArray(m.W, m.HTTP); w != m.W {
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

// ErrInProgress is the error of a request if an equal one is running or has ended without an answer.
func (m *Scope) ErrInProgress(run string) error {
	return m.refuseForever(http.StatusConflict, fmt.Sprintf("the same request (%s) is being answered, or has ended without an answer after a tool may have changed something; its record says what was done. "+
		"To have this one run all the same, send it with another %s", run, IdempotencyHeader))
}

// ErrUnknownState is the error if the store cannot tell whether a request has already run.
func ErrUnknownState() error {
	return &llm.Error{Op: "gateway", Kind: llm.Overloaded, Status: http.StatusServiceUnavailable, RetryAfter: time.Second,
		Err: fmt.Errorf("the state store failed, so the gateway cannot tell whether this request has run already, and its tools may change things; retry later")}
}

// refuseForever returns the error of a request that will not run. It tells clients not to retry automatically.
func (m *Scope) refuseForever(status int, why string) error {
	m.W.Header().Set("X-Should-Retry", "false")
	return &llm.Error{Op: "gateway", Kind: llm.Invalid, Status: status, Err: fmt.Errorf("%s", why)}
}

// Replay sends a stored answer in the form that the client asks for now.
func (p *Idempotency) Replay(found *Earlier) error {
	form := p.form
	send := func() error { _, err := p.W.Write(p.visibleBody(found.Body)); return err }
	if form != found.Form {
		said, err := p.decodeBody(found)
		if err != nil {
			return p.refuseForever(http.StatusConflict, fmt.Sprintf("the same request (%s) was answered in another form, which cannot be given in this one: ask for it as the first time", found.Run))
		}
		send = func() error { return p.writeAs(said, form) }
	}
	found.Upstream = cmp.Or(found.Upstream, found.Header.Get(exchange.UpstreamHeader))
	p.Resend(found, func(header http.Header) {
		header.Set(ReplayHeader, found.Run)
		if form != found.Form {
			header.Set("Content-Type", map[bool]string{true: p.Codec.StreamType(), false: "application/json"}[form == streamForm])
		}
	}, send)
	return nil
}

// visibleBody returns the body of an answer, without usage if the client of a stream did not ask for it.
func (m *Scope) visibleBody(body []byte) []byte {
	if m.HideUsage {
		return m.Codec.WithoutUsage(body)
	}
	return body
}

// decodeBody decodes a stored answer.
func (m *Scope) decodeBody(found *Earlier) (*llm.Response, error) {
	body := found.Body
	switch found.Form {
	case wholeForm:
		return m.Codec.DecodeResponse(body)
	case arrayForm:
		var events bytes.Buffer
		for event := range js.Elements(js.Trim(body)) {
			fmt.Fprintf(&events, "data: %s\n\n", event)
		}
		body = events.Bytes()
	}
	var b llm.Builder
	for ev, err := range m.Codec.DecodeStream(bytes.NewReader(body)) {
		if err != nil {
			return nil, err
		}
		b.Add(ev)
	}
	return b.Response(), nil
}

// writeAs writes an answer in a form.
func (m *Scope) writeAs(said *llm.Response, form string) error {
	if form == wholeForm {
		body, _, err := m.Codec.EncodeResponse(said)
		if err == nil {
			_, err = m.W.Write(body)
		}
		return err
	}
	w, end := m.AsArray(m.W, m.HTTP)
	enc := m.Codec.NewStream(w, format.Head{Model: m.Model, NoUsage: m.HideUsage})
	for _, ev := range said.Events() {
		if err := enc.Write(ev); err != nil {
			return err
		}
	}
	end()
	return nil
}

// Release deletes the claim on a request.
func (p *Idempotency) Release() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.timer == nil {
		return
	}
	p.timer.Stop()
	p.timer = nil
	_, _ = p.Store.Delete(p.Detached(), p.Key, p.claimed)
}

// Settle ends the claim: it stores the answer, keeps the request in progress, or deletes the claim. If the store fails,
// the request stays in progress until its lease ends.
func (p *Idempotency) Settle(err error) {
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
	ok := err == nil && p.Answered // an aborted handler returns no error
	switch {
	case !ok && p.Changed:
		_, _ = p.Store.Claim(p.Detached(), p.entry(p.claimed, OpenRunLife), p.claimed)
	case ok && p.Named && !p.Waits && p.keepAnswer():
	case ok && p.Named && p.Changed && !p.Waits: // the answer is too long to be stored, and the request must not run again
		_, _ = p.Store.Claim(p.Detached(), p.entry(p.claimed, replayLife), p.claimed)
	default:
		_, _ = p.Store.Delete(p.Detached(), p.Key, p.claimed)
	}
}

// keepAnswer stores the answer of a request. It reports false if the answer cannot be stored.
func (p *Idempotency) keepAnswer() bool {
	body, whole := p.Writer.Copy.Bytes()
	if !whole || p.Writer.Status != http.StatusOK {
		return false
	}
	answer := &Earlier{Run: p.ID, Words: p.content, Form: p.form, Header: p.KeptHeader(), Body: body, Upstream: p.Upstream}
	value, err := json.Marshal(answer)
	if err != nil || len(value) > 2*MaxCached {
		return false
	}
	e := p.entry(value, replayLife)
	e.Hold = false
	if p.AnswerID == "" {
		_, _ = p.Store.Claim(p.Detached(), e, p.claimed)
		return true
	}
	return p.keepLinked(e, answer)
}

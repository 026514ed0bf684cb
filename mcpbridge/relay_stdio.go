package mcpbridge

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// stdioUpstream is a server that this program starts, with the interface of a server over HTTP. Each
// session has a separate program. Requests without a session, the rule since 2026-07-28, share one.
type stdioUpstream struct {
	config     ServerConfig
	supervised bool
	ended      func(why string) // is told of a program that ends by itself

	mu       sync.Mutex
	closed   bool
	sessions map[string]*program
	shared   *program
	ending   sync.WaitGroup
}

func newStdioUpstream(config ServerConfig, supervised bool, ended func(string)) *stdioUpstream {
	return &stdioUpstream{config: config, supervised: supervised, ended: ended, sessions: make(map[string]*program)}
}

// alive implements [upstream].
func (u *stdioUpstream) alive(session string) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	p := u.sessions[session]
	if p == nil {
		return false
	}
	select {
	case <-p.silent:
		return false
	default:
		return true
	}
}

// mute implements [upstream]: a session is a program.
func (u *stdioUpstream) mute() bool { return true }

// programEnded says that a program ended before it answered.
type programEnded struct{ why string }

func (e *programEnded) Error() string { return e.why }

func (u *stdioUpstream) close() {
	u.mu.Lock()
	u.closed = true
	all := []*program{u.shared}
	for _, p := range u.sessions {
		all = append(all, p)
	}
	u.mu.Unlock()
	for _, p := range all {
		if p != nil {
			u.ending.Go(p.kill)
		}
	}
	u.ending.Wait()
}

// end ends the program of a session.
func (u *stdioUpstream) end(session string) {
	u.mu.Lock()
	p := u.sessions[session]
	delete(u.sessions, session)
	if p != nil && !u.closed {
		u.ending.Go(p.kill)
	}
	u.mu.Unlock()
}

// roundTrip answers a request.
func (u *stdioUpstream) roundTrip(req *http.Request) (*http.Response, error) {
	session := req.Header.Get("Mcp-Session-Id")
	switch req.Method {
	case http.MethodGet:
		return u.get(req, session), nil
	case http.MethodDelete:
		u.end(session)
		return plainResponse(http.StatusNoContent, nil), nil
	}
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return nil, err
	}
	e, err := readEnvelope(body)
	if err != nil {
		return nil, err
	}
	p, fresh, err := u.program(session, e)
	if err != nil {
		return nil, err
	}
	if p == nil {
		return plainResponse(http.StatusNotFound, []byte("session not found")), nil
	}
	var resp *http.Response
	if e.isCall() {
		resp, err = p.request(req.Context(), body, e)
	} else {
		err = p.tell(body, e)
		resp = plainResponse(http.StatusAccepted, nil)
	}
	if err != nil {
		u.end(fresh)
		return nil, err
	}
	if fresh != "" {
		resp.Header.Set("Mcp-Session-Id", fresh)
	}
	return resp, nil
}

// get opens the stream of what the program says between requests.
func (u *stdioUpstream) get(req *http.Request, session string) *http.Response {
	u.mu.Lock()
	p := u.sessions[session]
	u.mu.Unlock()
	if p == nil {
		resp := plainResponse(http.StatusMethodNotAllowed, nil)
		resp.Header.Set("Allow", "POST")
		return resp
	}
	box := newMailbox()
	p.listen(box)
	context.AfterFunc(req.Context(), func() { box.fail(io.EOF) })
	return streamResponse(box)
}

// program returns the program for a message, nil if its session is not there. Fresh
// is the session that the message begins, "" if it begins none.
func (u *stdioUpstream) program(session string, e envelope) (p *program, fresh string, err error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	switch {
	case u.closed:
		return nil, "", errors.New("the relay was closed")
	case session != "":
		return u.sessions[session], "", nil
	case e.Method == "initialize":
		fresh = rand.Text()
		if p, err = u.start(func() { u.end(fresh) }); err == nil {
			u.sessions[fresh] = p
		}
		return p, fresh, err
	}
	if u.shared == nil {
		var own *program
		own, err = u.start(func() {
			u.mu.Lock()
			defer u.mu.Unlock()
			if u.shared == own {
				u.shared = nil
			}
		})
		if err != nil {
			return nil, "", err
		}
		own.many = true
		u.shared = own
	}
	return u.shared, "", nil
}

// start starts the program; gone is called when it has ended. The caller holds the
// lock.
func (u *stdioUpstream) start(gone func()) (*program, error) {
	process, err := startProcess(u.config, u.supervised)
	if err != nil {
		return nil, err
	}
	p := &program{process: process, calls: make(map[string]*exchange), over: make(chan struct{}), silent: make(chan struct{})}
	u.ending.Go(func() {
		defer close(p.over)
		why := p.read()
		close(p.silent)
		if why == "" {
			select {
			case <-process.Ended():
			case <-time.After(patience): // it closed its output and did not exit
			}
			why = cmp.Or(process.Why(), "the program closed its output")
		}
		if !p.leaving.Load() {
			u.ended(why)
		}
		p.fail(&programEnded{why})
		process.Kill()
		go gone() // which may wait for the lock that close holds
	})
	return p, nil
}

// program is a server that runs. Ids and tokens of requests are ours on its side, so
// that several clients can be told apart.
type program struct {
	process *process
	many    bool          // clients share it
	silent  chan struct{} // closed when it says nothing any more
	over    chan struct{}
	leaving atomic.Bool // we end it

	writing sync.Mutex

	mu       sync.Mutex
	last     int
	calls    map[string]*exchange // by our ids
	newest   *exchange
	listener *mailbox
	unheard  []event // for the listener that comes
}

// exchange is a request that the program is at.
type exchange struct {
	*mailbox
	id    json.RawMessage // of the client
	token json.RawMessage // of the client; nil without one
}

// maxUnheard bounds the messages that wait for a listener.
const maxUnheard = 64

func (p *program) kill() {
	p.leaving.Store(true)
	_ = p.process.Close()
	p.process.Kill()
	<-p.over
}

func (p *program) write(text []byte) error {
	var line bytes.Buffer
	if err := json.Compact(&line, text); err != nil {
		return err
	}
	line.WriteByte('\n')
	p.writing.Lock()
	defer p.writing.Unlock()
	if _, err := p.process.Write(line.Bytes()); err != nil {
		if why := p.process.Why(); why != "" {
			err = errors.New(why)
		}
		return err
	}
	return nil
}

// request sends a request of a client and returns the stream of its answer.
func (p *program) request(ctx context.Context, body []byte, e envelope) (*http.Response, error) {
	var params struct {
		Meta struct {
			Token json.RawMessage `json:"progressToken"`
		} `json:"_meta"`
	}
	_ = json.Unmarshal(e.Params, &params)
	x := &exchange{mailbox: newMailbox(), id: e.ID, token: params.Meta.Token}
	p.mu.Lock()
	p.last++
	own := strconv.Itoa(p.last)
	p.calls[own], p.newest = x, x
	p.mu.Unlock()
	body, err := replaceMember(body, json.RawMessage(own), "id")
	if err == nil && x.token != nil {
		body, err = replaceMember(body, json.RawMessage(own), "params", "_meta", "progressToken")
	}
	if err == nil {
		err = p.write(body)
	}
	dispatched(ctx)
	if err != nil {
		p.forget(own)
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() {
		if p.forget(own) {
			_ = p.write([]byte(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":` + own + `}}`))
		}
		x.fail(context.Cause(ctx))
	})
	x.closed = func() { stop() }
	return streamResponse(x.mailbox), nil
}

// forget ends an exchange and reports whether it was there.
func (p *program) forget(own string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	x, there := p.calls[own]
	delete(p.calls, own)
	if p.newest == x {
		p.newest = nil
		for _, other := range p.calls {
			p.newest = other
		}
	}
	return there
}

// tell sends a notification or a response of a client.
func (p *program) tell(body []byte, e envelope) error {
	if e.Method != "notifications/cancelled" {
		return p.write(body)
	}
	var params struct {
		RequestID json.RawMessage `json:"requestId"`
	}
	_ = json.Unmarshal(e.Params, &params)
	p.mu.Lock()
	own := ""
	for key, x := range p.calls {
		if !p.many && bytes.Equal(x.id, params.RequestID) {
			own = key
		}
	}
	p.mu.Unlock()
	if own == "" {
		return nil // it is over
	}
	body, err := replaceMember(body, json.RawMessage(own), "params", "requestId")
	if err != nil {
		return err
	}
	return p.write(body)
}

// listen has another mailbox get what belongs to no request.
func (p *program) listen(box *mailbox) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.listener != nil {
		p.listener.fail(io.EOF)
	}
	p.listener = box
	for _, e := range p.unheard {
		box.put(e)
	}
	p.unheard = nil
}

// read takes what the program says until it ends. It returns why it reads no more, ""
// if the program has ended.
func (p *program) read() (why string) {
	from := bufio.NewReaderSize(p.process.Stdout, 64<<10)
	for {
		line, err := boundedLine(from, maxFrame)
		if errors.Is(err, errTooLong) {
			return fmt.Sprintf("a message of it has more than %d bytes; it was ended", maxFrame)
		}
		if err != nil {
			return ""
		}
		if len(bytes.TrimSpace(line)) > 0 {
			p.take(line)
		}
	}
}

// fail ends all requests.
func (p *program) fail(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, x := range p.calls {
		x.fail(err)
	}
	if p.listener != nil {
		p.listener.fail(io.EOF)
	}
}

// take gives a message to whom it belongs.
func (p *program) take(line []byte) {
	e, err := readEnvelope(line)
	if err != nil {
		var odd struct {
			ID     json.RawMessage
			Method *string
		}
		if json.Unmarshal(line, &odd) != nil || odd.Method != nil {
			return // programs print all kinds of things
		}
		e.ID = odd.ID // an answer all the same, which the client may judge
	}
	if e.isResponse() || err != nil {
		own := string(bytes.Trim(e.ID, `"`))
		p.mu.Lock()
		x := p.calls[own]
		p.mu.Unlock()
		if p.forget(own) {
			if text, err := replaceMember(line, x.id, "id"); err == nil {
				x.put(eventOf(text))
			}
			x.fail(io.EOF)
		}
		return
	}
	if x, text := p.meant(line, e); x != nil {
		x.put(eventOf(text))
		return
	}
	p.spread(line, e)
}

// subscription is where a notification names the request that subscribed to it.
const subscription = "io.modelcontextprotocol/subscriptionId"

// meant returns the request that a notification names, and the notification in the
// client's words.
func (p *program) meant(line []byte, e envelope) (*exchange, []byte) {
	var params struct {
		Token json.RawMessage            `json:"progressToken"`
		Meta  map[string]json.RawMessage `json:"_meta"`
	}
	_ = json.Unmarshal(e.Params, &params)
	path, own := []string{"params", "progressToken"}, string(params.Token)
	if e.Method != "notifications/progress" {
		path, own = []string{"params", "_meta", subscription}, string(bytes.Trim(params.Meta[subscription], `"`))
	}
	p.mu.Lock()
	x := p.calls[own]
	p.mu.Unlock()
	if own == "" || x == nil {
		return nil, nil
	}
	value := x.id
	if e.Method == "notifications/progress" {
		value = x.token
	}
	text, err := replaceMember(line, value, path...)
	if err != nil {
		return nil, nil
	}
	return x, text
}

// spread gives a message that names no request to the client: by the stream of any
// request, or by the one between requests. Where clients share the program, it goes
// to the only request, or to none.
func (p *program) spread(line []byte, e envelope) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.many && e.isCall():
		go p.write(errorResponse(e.ID, jsonrpc.CodeMethodNotFound, "clients take no requests in this revision"))
	case p.many && len(p.calls) != 1:
	case p.newest != nil:
		p.newest.put(eventOf(line))
	case p.listener != nil:
		p.listener.put(eventOf(line))
	case len(p.unheard) < maxUnheard:
		p.unheard = append(p.unheard, eventOf(line))
	}
}

// mailbox is a stream of events that one side writes and the other reads. Writing
// never waits: a reader that lets too much pile up loses the stream.
type mailbox struct {
	mu     sync.Mutex
	more   chan struct{} // has an item when there is something new
	text   bytes.Buffer
	err    error  // after the text
	closed func() // called when the reader closes it
}

func newMailbox() *mailbox { return &mailbox{more: make(chan struct{}, 1)} }

func (m *mailbox) put(e event) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.err != nil {
		return
	}
	if m.text.Len()+len(e.lines) > 2*maxFrame {
		m.err = fmt.Errorf("more than %d bytes wait to be read", 2*maxFrame)
	} else {
		m.text.Write(e.lines)
		m.text.WriteByte('\n')
	}
	m.wake()
}

// fail ends the stream after the messages in it.
func (m *mailbox) fail(err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.err == nil {
		m.err = err
	}
	m.wake()
}

func (m *mailbox) wake() {
	select {
	case m.more <- struct{}{}:
	default:
	}
}

// Read implements [io.Reader].
func (m *mailbox) Read(b []byte) (int, error) {
	for {
		m.mu.Lock()
		n, _ := m.text.Read(b)
		err := m.err
		m.mu.Unlock()
		if n > 0 {
			return n, nil
		}
		if err != nil {
			m.wake() // for the next Read
			return 0, err
		}
		<-m.more
	}
}

// Close implements [io.Closer].
func (m *mailbox) Close() error {
	m.fail(io.ErrClosedPipe)
	if m.closed != nil {
		m.closed()
	}
	return nil
}

func plainResponse(status int, body []byte) *http.Response {
	return &http.Response{StatusCode: status, Header: make(http.Header), Body: io.NopCloser(bytes.NewReader(body))}
}

func streamResponse(box *mailbox) *http.Response {
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: box}
}

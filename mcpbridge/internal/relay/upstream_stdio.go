package relay

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/toolpost/toolpost/mcpbridge/config"
	"github.com/toolpost/toolpost/mcpbridge/internal/connection"
	"github.com/toolpost/toolpost/mcpbridge/internal/rpc"
)

// stdioUpstream is a server that this program starts, with the interface of a server over HTTP. Each
// session has a separate program. Requests without a session, the rule since 2026-07-28, share one.
type stdioUpstream struct {
	config     config.ServerConfig
	supervised bool
	ended      func(why string) // is told of a program that ends by itself

	mu       sync.Mutex
	closed   bool
	sessions map[string]*program
	shared   *program
	ending   sync.WaitGroup
}

func newStdioUpstream(config config.ServerConfig, supervised bool, ended func(string)) *stdioUpstream {
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
	e, err := rpc.ReadEnvelope(body)
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
	if e.IsCall() {
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
func (u *stdioUpstream) program(session string, e rpc.Envelope) (p *program, fresh string, err error) {
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
	process, err := connection.StartProcess(u.config, u.supervised)
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
			case <-time.After(rpc.Patience): // it closed its output and did not exit
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

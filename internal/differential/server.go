package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/toolpost/toolpost/internal/eventstream"
)

// server is a process that listens.
type server struct {
	cmd     *exec.Cmd
	address string
	stderr  *bytes.Buffer
	done    chan struct{}
}

var listening = regexp.MustCompile(`http://127\.0\.0\.1:\d+`)

// start starts a server and waits for its address.
func (s *side) start(ctx context.Context, dir string, env []string, args ...string) (*server, error) {
	cmd := exec.CommandContext(ctx, s.bin, args...)
	cmd.Env, cmd.Dir = s.env(append(env, "HOME="+dir, "XDG_STATE_HOME="+dir)...), dir
	out, in := io.Pipe()
	cmd.Stdout, cmd.Stderr = in, in
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	p := &server{cmd: cmd, stderr: new(bytes.Buffer), done: make(chan struct{})}
	found := make(chan string, 1)
	go func() {
		scan := bufio.NewScanner(out)
		scan.Buffer(nil, 16<<20)
		for scan.Scan() {
			p.stderr.WriteString(scan.Text() + "\n")
			if a := listening.FindString(scan.Text()); a != "" {
				select {
				case found <- a:
				default:
				}
			}
		}
		close(p.done)
	}()
	go func() {
		_ = cmd.Wait() // it is stopped by a signal
		in.Close()
	}()
	select {
	case p.address = <-found:
		return p, nil
	case <-p.done:
		return nil, fmt.Errorf("%v does not listen: %s", args, p.stderr)
	case <-time.After(30 * time.Second):
		p.stop()
		return nil, fmt.Errorf("%v does not listen: %s", args, p.stderr)
	}
}

func (p *server) stop() {
	_ = p.cmd.Process.Kill()
	<-p.done
}

// recorder is a proxy in front of the simulator that keeps the upstream requests.
type recorder struct {
	http *httptest.Server
	to   *url.URL

	mu       sync.Mutex
	requests []string
	open     int
	ended    int // requests that the gateway gave up
}

func record(to string) (*recorder, error) {
	u, err := url.Parse(to)
	if err != nil {
		return nil, err
	}
	r := &recorder{to: u}
	r.http = httptest.NewServer(r)
	return r, nil
}

// transport opens a connection for each request: a fault that closes one disturbs no other request.
var transport = &http.Transport{DisableCompression: true, DisableKeepAlives: true}

func (r *recorder) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	body, err := io.ReadAll(req.Body)
	r.mu.Lock()
	r.open++
	text := fmt.Sprintf("%s %s\n%s\n", req.Method, req.URL.RequestURI(), shown(req.Header))
	if err != nil {
		text += "the body ended: " + err.Error() + "\n"
	}
	r.requests = append(r.requests, text+string(body)+"\n")
	r.mu.Unlock()
	defer func() {
		r.mu.Lock()
		r.open--
		if req.Context().Err() != nil {
			r.ended++
		}
		r.mu.Unlock()
	}()
	out := req.Clone(req.Context())
	out.URL.Scheme, out.URL.Host, out.Host, out.RequestURI = r.to.Scheme, r.to.Host, r.to.Host, ""
	out.Body, out.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	resp, err := transport.RoundTrip(out)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	defer resp.Body.Close()
	maps.Copy(w.Header(), resp.Header)
	w.WriteHeader(resp.StatusCode)
	if err := pass(w, resp.Body); err != nil {
		panic(http.ErrAbortHandler) // the client sees a connection that is cut
	}
}

// pass copies a body as it comes.
func pass(w http.ResponseWriter, body io.Reader) error {
	flush := http.NewResponseController(w)
	buf := make([]byte, 32<<10)
	for {
		n, err := body.Read(buf)
		if n > 0 {
			if _, err := w.Write(buf[:n]); err != nil {
				return err
			}
			_ = flush.Flush()
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// take returns the requests since the last call, once none is open.
func (r *recorder) take() []string {
	r.until(func() bool { return r.open == 0 })
	r.mu.Lock()
	defer r.mu.Unlock()
	list := r.requests
	r.requests = nil
	return list
}

// until waits for a state, for ten seconds at most.
func (r *recorder) until(ok func() bool) bool {
	for range 1000 {
		r.mu.Lock()
		is := ok()
		r.mu.Unlock()
		if is {
			return true
		}
		time.Sleep(10 * time.Millisecond)
	}
	return false
}

// shown returns headers in a fixed order, without date and length.
func shown(h http.Header) string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(h)) {
		switch name {
		case "Date", "Content-Length":
			continue
		}
		fmt.Fprintf(&b, "%s: %s\n", name, strings.Join(h[name], ", "))
	}
	return b.String()
}

// request is what a client sends.
type request struct {
	method, path string
	headers      map[string]string
	body         []byte
}

var client = &http.Client{Transport: &http.Transport{DisableCompression: true, MaxIdleConnsPerHost: 4}, Timeout: 60 * time.Second}

// send returns the body of the answer, and all that the client sees as text.
func (q request) send(ctx context.Context, address string) ([]byte, string) {
	req, err := http.NewRequestWithContext(ctx, q.method, address+q.path, bytes.NewReader(q.body))
	if err != nil {
		return nil, err.Error() + "\n"
	}
	req.Header.Set("Content-Type", "application/json")
	for k, v := range q.headers {
		req.Header.Set(k, v)
	}
	resp, err := client.Do(req)
	if err != nil {
		return nil, "no answer: " + plain(err) + "\n"
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	text := fmt.Sprintf("%d\n%s\n%s\n", resp.StatusCode, shown(resp.Header), readable(resp.Header, body))
	if err != nil {
		text += "the body ended: " + plain(err) + "\n"
	}
	return body, text
}

// plain is an error without addresses.
func plain(err error) string {
	var u *url.Error
	if errors.As(err, &u) {
		err = u.Err
	}
	return err.Error()
}

// readable returns a body as text. The frames of an event stream of Amazon have checksums,
// which differ if ids do.
func readable(h http.Header, body []byte) string {
	if strings.HasPrefix(h.Get("Content-Type"), "text/event-stream") {
		return commentsLast(string(body))
	}
	if h.Get("Content-Type") != eventstream.MediaType {
		return string(body)
	}
	var b strings.Builder
	for r := eventstream.NewReader(bytes.NewReader(body)); ; {
		f, err := r.Next()
		if errors.Is(err, io.EOF) {
			return b.String()
		}
		if err != nil {
			return b.String() + err.Error() + "\n"
		}
		fmt.Fprintf(&b, "%+v %s\n", f.Kind, f.Name)
		b.Write(f.Payload)
		b.WriteString("\n")
	}
}

// commentsLast moves the comments of a stream of events to its end: a warning is written when it is
// known, between any two events.
func commentsLast(body string) string {
	var events, comments strings.Builder
	for event := range strings.SplitSeq(body, "\n\n") {
		if strings.HasPrefix(event, ":") {
			comments.WriteString(event + "\n")
			continue
		}
		events.WriteString(event + "\n\n")
	}
	return events.String() + comments.String()
}

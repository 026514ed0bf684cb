package gateway_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/toolpost/toolpost/gateway"
	"github.com/toolpost/toolpost/internal/vendorapi"
	"github.com/toolpost/toolpost/internal/wire/serverapi"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/wire"
	"github.com/toolpost/toolpost/wire/format"
)

// throughAll returns routes "CLIENT-PATH" that lead each client to a station on each path.
func throughAll(station string) (routes []gateway.ModelRoute) {
	for _, c := range clients {
		for _, path := range paths {
			routes = append(routes, to(c.name+"-"+path, c.via(path, station)))
		}
	}
	return routes
}

// speaker is an upstream that sends each event of its model immediately.
type speaker struct{ llm.Model }

// ServeHTTP serves one request.
func (s speaker) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	e := vendorapi.Find(r)
	if e.Action != serverapi.Generate {
		vendorapi.Fail(w, e.Codec, vendorapi.NoEndpoint(e.Codec, r))
		return
	}
	body, _ := io.ReadAll(r.Body)
	req, stream, err := e.Request(r.URL.Path, body)
	if err != nil {
		vendorapi.Fail(w, e.Codec, err)
		return
	}
	if !stream {
		whole, err := llm.Generate(r.Context(), s.Model, req)
		if err == nil {
			body, _, err = e.Codec.EncodeResponse(whole)
		}
		if err != nil {
			vendorapi.Fail(w, e.Codec, err)
			return
		}
		_, _ = w.Write(body)
		return
	}
	w.Header().Set("Content-Type", e.Codec.StreamType())
	enc, flush := e.Codec.NewStream(w, format.Head{Model: req.Model}), http.NewResponseController(w)
	for ev, err := range s.Stream(r.Context(), req) {
		if err != nil || enc.Write(ev) != nil || flush.Flush() != nil {
			return
		}
	}
}

// TestClientGone checks that the request to the upstream is cancelled as soon as the client disconnects, for every
// client, with and without streams, on every path of an answer. No goroutine and no connection to the upstream may
// remain.
func TestClientGone(t *testing.T) {
	before := goleak.IgnoreCurrent()
	begun, ended := make(chan struct{}), make(chan struct{})
	waits := llm.ModelFunc(func(ctx context.Context, _ *llm.Request) iter.Seq2[llm.Event, error] {
		return func(yield func(llm.Event, error) bool) {
			_ = yield(llm.TextDelta{Text: "These words come, and no others follow them. "}, nil)
			begun <- struct{}{}
			<-ctx.Done()
			ended <- struct{}{}
			yield(nil, ctx.Err())
		}
	})
	up := &connections{Server: httptest.NewUnstartedServer(speaker{waits})}
	up.Config.ConnState = up.state
	up.Start()
	s := &station{name: "up", server: up.Server}
	transport := &http.Transport{}
	g, err := gateway.New(gateway.Setup{Open: opens(once, &http.Client{Transport: transport}, s), Routes: throughAll("up")})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(g)
	for _, c := range clients {
		for _, path := range paths {
			for _, stream := range []bool{false, true} {
				goAway(t, c, server.URL, question(c.name+"-"+path), stream, begun)
				select {
				case <-ended:
				case <-time.After(2 * time.Minute):
					t.Fatalf("%s, %s, stream=%t: the upstream goes on", c.name, path, stream)
				}
			}
		}
	}
	server.Close()
	transport.CloseIdleConnections()
	http.DefaultTransport.(*http.Transport).CloseIdleConnections()
	up.none(t)
	up.Close()
	if err := goleak.Find(before); err != nil {
		t.Error(err)
	}
}

// goAway sends a request and disconnects when the upstream has begun to answer. Of a stream it reads some bytes first.
func goAway(t *testing.T, c client, url string, req *llm.Request, stream bool, begun chan struct{}) {
	t.Helper()
	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	read := make(chan error, 1)
	go func() {
		resp, err := c.post(ctx, url, req, stream)
		if err != nil {
			read <- err
			return
		}
		defer resp.Body.Close()
		_, err = resp.Body.Read(make([]byte, 1))
		read <- err
		<-ctx.Done()
	}()
	<-begun
	if stream {
		select {
		case err := <-read:
			if err != nil {
				t.Errorf("%s, %s: %v", c.name, req.Model, err)
			}
		case <-time.After(2 * time.Minute):
			t.Errorf("%s, %s: nothing of what was said has reached the client", c.name, req.Model)
		}
	}
	leave()
}

// small shrinks the socket buffers, which makes the gateway's buffering visible.
func small(conn net.Conn) {
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetReadBuffer(16 << 10)
		_ = tcp.SetWriteBuffer(16 << 10)
	}
}

// flood is the endless output of a model.
var flood = strings.Repeat("word ", 200)

// TestClientThatDoesNotRead checks that reading from an upstream stops at a limit while the client does not read, that little
// memory is used, and that the answer continues when the client reads again: for every client and on every path.
func TestClientThatDoesNotRead(t *testing.T) {
	t.Parallel()
	var taken atomic.Int64
	endless := llm.ModelFunc(func(ctx context.Context, _ *llm.Request) iter.Seq2[llm.Event, error] {
		return func(yield func(llm.Event, error) bool) {
			for ctx.Err() == nil && yield(llm.TextDelta{Text: flood}, nil) {
				taken.Add(int64(len(flood)))
			}
		}
	})
	s := &station{name: "up", server: httptest.NewUnstartedServer(speaker{endless})}
	s.server.Config.ConnContext = func(ctx context.Context, c net.Conn) context.Context { small(c); return ctx }
	s.server.Start()
	defer s.server.Close()
	transport := &http.Transport{DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := new(net.Dialer).DialContext(ctx, network, addr)
		if err == nil {
			small(conn)
		}
		return conn, err
	}}
	defer transport.CloseIdleConnections()
	g, err := gateway.New(gateway.Setup{Open: opens(once, &http.Client{Transport: transport}, s), Routes: throughAll("up")})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(g)
	server.Config.ConnContext = s.server.Config.ConnContext
	server.Start()
	defer server.Close()
	const bound = 512 << 10
	for _, c := range clients {
		for _, path := range paths {
			taken.Store(0)
			held := heap()
			conn := c.unread(t, server.URL, question(c.name+"-"+path))
			stalled := settled(&taken)
			if stalled == 0 || stalled > bound {
				t.Errorf("%s, %s: %d bytes were taken from the upstream", c.name, path, stalled)
			}
			more := heap() - held
			for i := 0; more > 16*bound && i < 100; i++ { // other tests may hold it for a moment
				time.Sleep(50 * time.Millisecond)
				more = heap() - held
			}
			if more > 16*bound {
				t.Errorf("%s, %s: %d bytes are held", c.name, path, more)
			}
			_ = conn.SetReadDeadline(time.Now().Add(2 * time.Minute))
			for taken.Load() < stalled+4096 {
				if _, err := io.CopyN(io.Discard, conn, 4096); err != nil {
					t.Errorf("%s, %s: the answer does not go on: %v", c.name, path, err)
					break
				}
			}
			t.Logf("%s, %s: %d bytes were taken", c.name, path, stalled)
			conn.Close()
		}
	}
}

// unread requests a stream on a separate connection and does not read the answer.
func (c client) unread(t *testing.T, url string, req *llm.Request) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	small(conn)
	codec, _ := wire.For(c.format)
	codec.Quirks.MaxTokens = "max_tokens"
	body, _, err := codec.EncodeRequest(req, true)
	path := roots[c.format] + "/" + codec.Path(req.Model, true)
	if c.prompt {
		body, err = json.Marshal(map[string]any{"model": req.Model, "prompt": "Talk."})
		path = "/api/generate"
	}
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	fmt.Fprintf(&out, "POST %s HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", path, len(body), body)
	if _, err := conn.Write(out.Bytes()); err != nil {
		t.Fatal(err)
	}
	return conn
}

// settled waits until a number stops growing, and returns it.
func settled(n *atomic.Int64) int64 {
	last, since := int64(-1), time.Now()
	for end := since.Add(20 * time.Second); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if now := n.Load(); now != last || now == 0 {
			last, since = now, time.Now()
		}
		if time.Since(since) > 150*time.Millisecond {
			break
		}
	}
	return last
}

// heap returns the size of the heap.
func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

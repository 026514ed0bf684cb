package gateway_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/toolpost/toolpost/gateway"
	"github.com/toolpost/toolpost/gateway/access"
)

// slowStore takes its time to tell the log, of which it has lines, unless who asks is gone.
type slowStore struct {
	access.Store
	takes time.Duration
	lines []access.LogLine
	asked chan error // how each question ended
}

func (s *slowStore) Log(ctx context.Context, _ access.Filter, _ int) ([]access.LogLine, error) {
	select {
	case <-ctx.Done():
	case <-time.After(s.takes):
	}
	s.asked <- ctx.Err()
	return s.lines, ctx.Err()
}

// administer serves the administrators of a store, in both protocols. The system holds little of what is written.
func administer(t *testing.T, c gateway.Administration, store *slowStore) (host string, ended <-chan struct{}) {
	t.Helper()
	store.Store, store.asked = new(access.Memory), make(chan error, 8)
	c.Book, c.Key = &access.Book{Store: store}, adminKey
	h, err := c.Handler()
	if err != nil {
		t.Fatal(err)
	}
	over := make(chan struct{}, 8)
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() { over <- struct{}{} }()
		h.ServeHTTP(w, r)
	}))
	server.Config.Protocols = new(http.Protocols)
	server.Config.Protocols.SetHTTP1(true)
	server.Config.Protocols.SetUnencryptedHTTP2(true)
	server.Config.ConnContext = func(ctx context.Context, c net.Conn) context.Context {
		_ = c.(*net.TCPConn).SetWriteBuffer(16 << 10)
		return ctx
	}
	server.Start()
	t.Cleanup(server.Close)
	return strings.TrimPrefix(server.URL, "http://"), over
}

// manyLines are a log of at least size bytes.
func manyLines(size int) []access.LogLine {
	one := access.LogLine{ID: strings.Repeat("r", 1000)}
	lines := make([]access.LogLine, size/1000)
	for i := range lines {
		lines[i] = one
	}
	return lines
}

// TestAdministratorsMayAskForLong checks that what administrators ask for may take longer than the request may take to come and a piece of an answer to
// be read, in both protocols, with a body or without.
func TestAdministratorsMayAskForLong(t *testing.T) {
	const limit = 100 * time.Millisecond
	for _, body := range []string{"", "{}"} {
		for _, two := range []bool{false, true} {
			t.Run(fmt.Sprintf("body %q HTTP/2 %t", body, two), func(t *testing.T) {
				t.Parallel()
				host, _ := administer(t, gateway.Administration{BodyTime: limit, WriteTime: limit}, &slowStore{takes: 5 * limit, lines: manyLines(5000)})
				client := &http.Client{Transport: &http.Transport{Protocols: new(http.Protocols)}}
				client.Transport.(*http.Transport).Protocols.SetHTTP1(!two)
				client.Transport.(*http.Transport).Protocols.SetUnencryptedHTTP2(two)
				for range 2 { // and the connection serves again
					req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+host+"/admin/requests", strings.NewReader(body))
					if err != nil {
						t.Fatal(err)
					}
					req.Header.Set("Authorization", "Bearer "+adminKey)
					resp, err := client.Do(req)
					if err != nil {
						t.Fatal(err)
					}
					got, err := io.ReadAll(resp.Body)
					resp.Body.Close()
					var list struct{ Requests []access.LogLine }
					if err != nil || resp.StatusCode != http.StatusOK || json.Unmarshal(got, &list) != nil || len(list.Requests) != 5 {
						t.Errorf("%s: %.200q, %v", resp.Status, got, err)
					}
				}
			})
		}
	}
}

// TestAdministratorsMustRead checks that who leaves an answer unread is given up after the time for a piece, and that one who reads
// slowly gets all of it, though that takes longer.
func TestAdministratorsMustRead(t *testing.T) {
	const limit = 300 * time.Millisecond
	ask := func(t *testing.T, host string) net.Conn {
		conn, err := net.Dial("tcp", host)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { conn.Close() })
		_ = conn.(*net.TCPConn).SetReadBuffer(16 << 10)
		fmt.Fprintf(conn, "GET /admin/requests HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\n\r\n", host, adminKey)
		return conn
	}
	t.Run("nothing", func(t *testing.T) {
		t.Parallel()
		host, over := administer(t, gateway.Administration{WriteTime: limit}, &slowStore{lines: manyLines(8 << 20)})
		ask(t, host)
		select {
		case <-over:
		case <-time.After(10 * time.Second):
			t.Error("the answer still waits for its client")
		}
	})
	t.Run("nothing over HTTP/2", func(t *testing.T) {
		t.Parallel()
		host, over := administer(t, gateway.Administration{WriteTime: limit}, &slowStore{lines: manyLines(1 << 20)})
		if reset, err := unreadOverHTTP2With(t, host, "GET", "/admin/requests", "", "authorization", "Bearer "+adminKey); err != nil || reset.StreamID != 1 {
			t.Errorf("the stream is not ended: %v, %v", reset, err)
		}
		<-over
	})
	t.Run("slowly", func(t *testing.T) {
		t.Parallel()
		const limit = 2 * time.Second // longer than this test may have to wait for a processor
		host, _ := administer(t, gateway.Administration{WriteTime: limit}, &slowStore{lines: manyLines(4 << 20)})
		conn, began := ask(t, host), time.Now()
		_ = conn.SetReadDeadline(began.Add(20 * time.Second))
		resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			t.Fatal(err)
		}
		got := 0
		for err == nil {
			var n int64
			n, err = io.CopyN(io.Discard, resp.Body, 256<<10)
			got += int(n)
			time.Sleep(limit / 8)
		}
		if took := time.Since(began); err != io.EOF || got < 4<<20 || took < 2*limit {
			t.Errorf("%d bytes in %v, then %v", got, took, err)
		}
	})
}

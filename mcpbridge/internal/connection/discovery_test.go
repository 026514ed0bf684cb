package connection

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// slowServer is a server by lines that reads nothing until it has started.
type slowServer struct {
	start    time.Duration
	answers  map[string]string // results by method
	refuses  []string          // methods that are errors; others are not answered
	received []string
}

func (s *slowServer) run(in io.Reader, out io.Writer) {
	time.Sleep(s.start)
	lines := bufio.NewReader(in)
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			return
		}
		var m struct {
			ID     json.RawMessage
			Method string
		}
		_ = json.Unmarshal([]byte(line), &m)
		s.received = append(s.received, m.Method)
		switch result, known := s.answers[m.Method]; {
		case known:
			fmt.Fprintf(out, `{"jsonrpc":"2.0","id":%s,"result":%s}`+"\n", m.ID, result)
		case slices.Contains(s.refuses, m.Method):
			fmt.Fprintf(out, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"unknown: %s"}}`+"\n", m.ID, m.Method)
		}
	}
}

const (
	discovered  = `{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{},"serverInfo":{"name":"s","version":"1"}}`
	initialized = `{"protocolVersion":"2025-06-18","capabilities":{},"serverInfo":{"name":"s","version":"1"}}`
)

// A server that starts slowly is connected to within the whole timeout, in the revision that it speaks. It gets one
// initialize at most. The time is not real.
func TestSlowStartIsConnectedWithinTheWholeTimeout(t *testing.T) {
	servers := map[string]struct {
		answers string // methods that are answered
		refuses string
		want    string
		fails   string
	}{
		"newest":                        {answers: "server/discover ping initialize", want: "2026-07-28"},
		"newest, refuses others":        {answers: "server/discover", refuses: "ping initialize", want: "2026-07-28"},
		"newest, ignores others":        {answers: "server/discover", want: "2026-07-28"},
		"older":                         {answers: "ping initialize", refuses: "server/discover", want: "2025-06-18"},
		"older, ignores the new method": {answers: "ping initialize", want: "2025-06-18"},
		"older, ignores all before its handshake": {answers: "initialize", want: "2025-06-18"},
		"neither": {answers: "ping", refuses: "initialize", fails: "unknown: initialize"},
	}
	for name, c := range servers {
		for _, start := range []time.Duration{0, 5 * time.Second, 20 * time.Second, 29 * time.Second} {
			t.Run(fmt.Sprint(name, " ", start), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					s := &slowServer{start: start, answers: make(map[string]string), refuses: strings.Fields(c.refuses)}
					for _, method := range strings.Fields(c.answers) {
						s.answers[method] = map[string]string{"server/discover": discovered, "initialize": initialized, "ping": "{}"}[method]
					}
					toServer, fromClient := io.Pipe()
					toClient, fromServer := io.Pipe()
					heard, in := io.Pipe()
					sent := make(chan []byte, 100) // as the buffer of a pipe to a program
					done := make(chan struct{})
					go func() {
						defer fromClient.Close()
						for {
							select {
							case line := <-sent:
								_, _ = fromClient.Write(line)
							case <-done:
								return
							}
						}
					}()
					d := &discovery{limit: 15 * time.Second, tell: func(line []byte) { _, _ = in.Write(line) }, send: func(line []byte) { sent <- line }}
					go s.run(toServer, fromServer)
					go func() {
						lines := bufio.NewReader(toClient)
						for {
							line, err := lines.ReadBytes('\n')
							if err != nil {
								in.Close()
								return
							}
							if d.heard(line) {
								_, _ = in.Write(line)
							}
						}
					}()
					client := mcp.NewClient(&mcp.Implementation{Name: "c", Version: "1"}, nil)
					session, err := client.Connect(t.Context(), &mcp.IOTransport{Reader: heard, Writer: lineWriter{d, sent}}, nil)
					if c.fails != "" {
						if err == nil || !strings.Contains(err.Error(), c.fails) {
							t.Errorf("the error is %v", err)
						}
					} else if err != nil || session.InitializeResult().ProtocolVersion != c.want {
						t.Fatalf("%v, %v", session, err)
					}
					if err == nil {
						_ = session.Close()
					}
					d.end()
					close(done)
					for _, p := range []io.Closer{fromServer, toServer, in, heard} {
						p.Close()
					}
					synctest.Wait()
					n := 0
					for _, m := range s.received {
						if m == "initialize" {
							n++
						}
					}
					if n > 1 {
						t.Errorf("the server got %q", s.received)
					}
				})
			})
		}
	}
}

// lineWriter is what the client writes to.
type lineWriter struct {
	d    *discovery
	sent chan<- []byte
}

func (w lineWriter) Write(b []byte) (int, error) {
	if w.d.sent(b) {
		w.sent <- slices.Clone(b)
	}
	return len(b), nil
}

func (lineWriter) Close() error { return nil }

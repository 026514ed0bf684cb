package mcpbridge_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolpost/toolpost/journal"
	"github.com/toolpost/toolpost/mcpbridge/serve"
)

// lines is a client that writes and reads lines itself.
type lines struct {
	t    *testing.T
	in   io.WriteCloser
	out  *bufio.Scanner
	over chan error
}

// byLines connects such a client to what serves a pipe, and does the handshake.
func byLines(t *testing.T, serve func(context.Context, io.Reader, io.Writer) error) *lines {
	t.Helper()
	toServer, fromClient := io.Pipe()
	toClient, fromServer := io.Pipe()
	l := &lines{t: t, in: fromClient, out: bufio.NewScanner(toClient), over: make(chan error, 1)}
	l.out.Buffer(nil, 64<<20)
	go func() {
		err := serve(t.Context(), toServer, fromServer)
		fromServer.Close()
		toServer.Close()
		l.over <- err
	}()
	t.Cleanup(func() { fromClient.Close(); toClient.Close() })
	return l
}

func (l *lines) send(text string) {
	l.t.Helper()
	if _, err := fmt.Fprintln(l.in, text); err != nil {
		l.t.Fatal(err)
	}
}

func (l *lines) call(id int, name, args string) {
	l.t.Helper()
	l.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q,"arguments":%s}}`, id, name, args))
}

func (l *lines) cancel(id int) {
	l.t.Helper()
	l.send(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%d}}`, id))
}

// answer reads lines until one has the id, as it stands in the text.
func (l *lines) answer(id string) string {
	l.t.Helper()
	for l.out.Scan() {
		var m struct {
			ID     json.RawMessage
			Method string
		}
		if err := json.Unmarshal(l.out.Bytes(), &m); err != nil {
			l.t.Fatalf("it wrote %s", l.out.Text())
		}
		if string(m.ID) == id && m.Method == "" {
			return l.out.Text()
		}
	}
	l.t.Fatalf("the output ended without an answer to %s: %v", id, l.out.Err())
	return ""
}

// hear reads lines until one is of the method.
func (l *lines) hear(method string) {
	l.t.Helper()
	for l.out.Scan() {
		if strings.Contains(l.out.Text(), method) {
			return
		}
	}
	l.t.Fatalf("the output ended without %s: %v", method, l.out.Err())
}

// A call that is taken back while it waits for its turn does not run, is on record, and
// those behind it go on.
func TestServiceCancelsACallThatWaitsForItsTurn(t *testing.T) {
	for name, waits := range map[string]struct{ tool, args string }{
		"one that reads":   {"add", `{"a":1,"b":1}`},
		"one that changes": {"picture", `{}`},
	} {
		for _, end := range []string{"notification", "input", "context"} {
			t.Run(name+" by "+end, func(t *testing.T) {
				s := serveOwn(t, func(o *serve.ServiceOptions) { o.Drain = 1 })
				ctx, stop := context.WithCancel(t.Context())
				defer stop()
				l := byLines(t, func(_ context.Context, in io.Reader, out io.Writer) error { return s.ServePipe(ctx, in, out) })
				l.send(initialize)
				l.answer("1")
				l.call(2, "wait", `{}`)
				<-s.started
				l.call(3, waits.tool, waits.args)
				l.send(`{"jsonrpc":"2.0","id":4,"method":"ping"}`)
				l.answer("4") // so the call has been read
				switch end {
				case "notification":
					l.cancel(3)
					l.cancel(2)
					<-s.ended
					l.call(5, "picture", `{}`)
					l.answer("5")
					l.in.Close()
				case "input":
					l.in.Close()
				case "context":
					stop()
				}
				go func() { // nobody else reads
					for l.out.Scan() {
					}
				}()
				if err := <-l.over; err != nil {
					t.Error(err)
				}
				s.Close()
				status := make(map[string]int)
				for _, r := range s.receipts(t) {
					status[fmt.Sprint(r.Tool, " ", r.Status)]++
				}
				if status["wait unknown"] != 1 || waits.tool == "picture" && end != "notification" && status["picture ok"] > 0 {
					t.Errorf("the receipts say %v", status)
				}
			})
		}
	}
}

// Calls do not wait while a person is asked about another one.
func TestServiceDoesNotWaitForAPerson(t *testing.T) {
	s := serveOwn(t, nil)
	l := byLines(t, s.ServePipe)
	l.send(strings.Replace(initialize, `"capabilities":{}`, `"capabilities":{"elicitation":{}}`, 1))
	l.answer("1")
	l.call(2, "shout", `{"text":"x"}`)
	l.hear("elicitation/create")
	var asked struct{ ID json.RawMessage }
	if err := json.Unmarshal(l.out.Bytes(), &asked); err != nil {
		t.Fatal(err)
	}
	for id, name := range map[int]string{3: "add", 4: "picture"} {
		l.call(id, name, `{"a":1,"b":1}`)
		l.answer(fmt.Sprint(id))
	}
	l.send(`{"jsonrpc":"2.0","id":` + string(asked.ID) + `,"result":{"action":"accept","content":{"allow":true}}}`)
	if got := l.answer("2"); !strings.Contains(got, "did") {
		t.Errorf("it said %s", got)
	}
}

// One client's end does not end the server for others.
func TestServiceSurvivesAClientThatEndsItsSession(t *testing.T) {
	s := serveOwn(t, func(o *serve.ServiceOptions) { o.Runner.Timeout = time.Hour }) // only a cancellation ends a call
	address := s.address(t, serve.HTTPAccess{})
	_, h, _ := exchangeRaw(t, address, "", initialize)
	session := h.Get("Mcp-Session-Id")
	var calls sync.WaitGroup
	for id := 2; id < 6; id++ {
		calls.Go(func() {
			exchangeRaw(t, address, session, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"wait"}}`, id))
		})
	}
	<-s.started
	req, _ := http.NewRequestWithContext(t.Context(), http.MethodDelete, address, nil)
	req.Header.Set("Mcp-Session-Id", session)
	resp, err := http.DefaultClient.Do(req)
	if err != nil || resp.StatusCode != http.StatusNoContent {
		t.Fatal(resp, err)
	}
	resp.Body.Close()
	<-s.ended
	calls.Wait()
	other := connectTo(t, &mcp.StreamableClientTransport{Endpoint: address, MaxRetries: -1}, "2025-06-18", nil)
	if got, _ := other.do(t, "add", `{"a":1,"b":1}`); got != `{"total":2}` {
		t.Errorf("the other client got %s", got)
	}
	other.Close()
	s.Close()
	n := 0
	for _, r := range s.receipts(t) {
		if r.Tool == "wait" && r.Status == journal.OK {
			t.Errorf("%+v", r)
		}
		n++
	}
	if n < 2 {
		t.Errorf("there are %d receipts", n)
	}
}

package relay

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"sync"

	"github.com/toolpost/toolpost/mcpbridge/internal/rpc"
)

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

func (m *mailbox) put(e rpc.Event) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.err != nil {
		return
	}
	if m.text.Len()+len(e.Lines) > 2*rpc.MaxFrame {
		m.err = fmt.Errorf("more than %d bytes wait to be read", 2*rpc.MaxFrame)
	} else {
		m.text.Write(e.Lines)
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

package connection

import (
	"bytes"
	"encoding/json"
	"net/http"
	"sync/atomic"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Heard is what a connection has heard of its server. It is noted where messages arrive: the SDK handles notifications
// later than the answers that follow them. All methods are safe for concurrent use, and a nil Heard notes nothing.
type Heard struct {
	// Progress is told of each progress notification before the answer that follows it. It must not wait.
	Progress func(*mcp.ProgressNotificationParams)

	changes atomic.Int32
	taken   atomic.Bool  // a POST was answered with success
	refused atomic.Int32 // the status of the last POST that was not
}

// ListChanges is how often the server said that its list of tools has changed.
func (h *Heard) ListChanges() int32 { return h.changes.Load() }

// message observes a message of the server.
func (h *Heard) message(text []byte) {
	if h == nil || !bytes.Contains(text, []byte("list_changed")) && !bytes.Contains(text, []byte("notifications/progress")) {
		return
	}
	var batch []json.RawMessage // of one revision
	if json.Unmarshal(text, &batch) == nil {
		for _, one := range batch {
			h.notification(one)
		}
		return
	}
	h.notification(text)
}

func (h *Heard) notification(text []byte) {
	var m struct {
		Method string
		Params json.RawMessage
	}
	var p mcp.ProgressNotificationParams
	switch {
	case json.Unmarshal(text, &m) != nil:
	case m.Method == "notifications/tools/list_changed":
		h.changes.Add(1)
	case m.Method == "notifications/progress" && h.Progress != nil && json.Unmarshal(m.Params, &p) == nil:
		h.Progress(&p)
	}
}

// post observes the status of a POST.
func (h *Heard) post(status int) {
	switch {
	case h == nil:
	case status < 300:
		h.taken.Store(true)
	default:
		h.refused.Store(int32(status))
	}
}

// OlderTransport reports whether the server may only know the transport of 2024-11-05: it took no POST, and refused the
// last one in a way in which such servers do. A server that wants a key or a pause is none of them.
func (h *Heard) OlderTransport() bool {
	switch h.refused.Load() {
	case http.StatusBadRequest, http.StatusNotFound, http.StatusMethodNotAllowed:
		return !h.taken.Load()
	}
	return false
}

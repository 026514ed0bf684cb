package connection

import (
	"bytes"
	"encoding/json"
	"sync"
	"time"
)

// A program is first asked in the newest way, server/discover. Older programs should answer that they
// do not know it, and some do not answer. A slow program is therefore sent a ping as well, which all
// revisions have. If it answers only the ping, or nothing for half of its time, the client is told
// that the method is unknown, and continues in the older way with the same process.
const (
	pingAfter = time.Second
	overtake  = 200 * time.Millisecond // by which an answer may come after a later one
	pingID    = `"toolpost-ping"`
)

// discovery waits for the answer to server/discover.
type discovery struct {
	limit time.Duration
	ping  func() // sends a ping with the id pingID
	tell  func(line []byte)

	mu      sync.Mutex
	id      []byte // of the question; nil before it is asked
	pending bool
	timers  []*time.Timer
}

// sent observes a line to the program.
func (d *discovery) sent(line []byte) {
	if !bytes.Contains(line, []byte(`"server/discover"`)) {
		return
	}
	id, method := idAndMethod(line)
	if method != "server/discover" || id == nil {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.id, d.pending = id, true
	d.timers = append(d.timers, time.AfterFunc(min(pingAfter, d.limit), d.ping), time.AfterFunc(d.limit, d.giveUp))
}

// heard looks at a message of the program and reports whether the client gets it.
func (d *discovery) heard(line []byte) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.id == nil {
		return true
	}
	id, method := idAndMethod(line)
	switch {
	case method != "":
	case string(id) == pingID:
		if d.pending {
			d.timers = append(d.timers, time.AfterFunc(overtake, d.giveUp))
		}
		return false
	case bytes.Equal(id, d.id):
		before := d.pending
		d.settle()
		return before // else the client has been told
	}
	return true
}

// giveUp tells the client that the server does not know the method.
func (d *discovery) giveUp() {
	d.mu.Lock()
	pending := d.pending
	d.settle()
	d.mu.Unlock()
	if pending {
		d.tell([]byte(`{"jsonrpc":"2.0","id":` + string(d.id) + `,"error":{"code":-32601,"message":"the server does not answer"}}` + "\n"))
	}
}

// settle ends the waiting. The caller holds the lock.
func (d *discovery) settle() {
	d.pending = false
	for _, t := range d.timers {
		t.Stop()
	}
	d.timers = nil
}

// end stops what waits.
func (d *discovery) end() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.settle()
}

func idAndMethod(line []byte) (id []byte, method string) {
	var m struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
	}
	if json.Unmarshal(line, &m) != nil {
		return nil, "" // a batch
	}
	return m.ID, m.Method
}

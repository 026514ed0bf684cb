package connection

import (
	"bytes"
	"encoding/json"
	"sync"
	"time"

	"github.com/toolpost/toolpost/mcpbridge/internal/rpc"
)

// A program is first asked in the newest way, server/discover. Older programs should answer that they
// do not know it, and some do not answer. A slow program is therefore sent a ping as well, which all
// revisions have. If it answers only the ping, or nothing for half of its time or 15 s, it is asked in the older
// way too, with initialize. The client learns which of the two the program answers: a program that is
// only slow still answers the first question.
const (
	pingAfter    = time.Second
	overtake     = 200 * time.Millisecond // by which an answer may come after a later one
	afterRefusal = 2 * time.Second        // the same, if the later question was refused
	longSilence  = 15 * time.Second       // after which it is asked in the older way, however long it may take
	pingID       = `"toolpost-ping"`
	initializeID = `"toolpost-initialize"`
)

// discovery waits for the answer to server/discover.
type discovery struct {
	limit time.Duration
	send  func(line []byte) // to the program
	tell  func(line []byte) // to the client

	mu         sync.Mutex
	id         []byte // of the question; nil before it is asked
	initialize []byte // the older question
	pending    bool   // the client waits for the answer
	asked      bool   // the older question was sent
	answer     []byte // to the older question; nil before it came
	waiting    []byte // the id of the client's initialize, which was sent already; nil if there is none
	timers     []*time.Timer
}

// sent observes a line to the program, and reports whether the program gets it.
func (d *discovery) sent(line []byte) bool {
	if !bytes.Contains(line, []byte(`"server/discover"`)) && !bytes.Contains(line, []byte(`"initialize"`)) {
		return true
	}
	id, method := idAndMethod(line)
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case id == nil:
	case method == "server/discover" && !d.pending:
		d.id, d.pending, d.initialize = id, true, olderQuestion(line)
		d.timers = append(d.timers, time.AfterFunc(min(pingAfter, d.limit), func() {
			d.send([]byte(`{"jsonrpc":"2.0","id":` + pingID + `,"method":"ping"}` + "\n"))
		}), time.AfterFunc(d.limit, d.askAgain))
	case method == "initialize" && d.asked && d.waiting == nil:
		d.waiting = id
		if d.answer != nil {
			go d.tell(withID(d.answer, id))
		}
		return false
	}
	return true
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
			d.timers = append(d.timers, time.AfterFunc(overtake, d.askAgain))
		}
		return false
	case string(id) == initializeID:
		d.heardOlder(line)
		return false
	case bytes.Equal(id, d.id):
		before := d.pending
		d.settle()
		return before // else the client has been told
	}
	return true
}

// heardOlder takes the answer to the older question. The caller holds the lock.
func (d *discovery) heardOlder(line []byte) {
	if d.answer != nil {
		return
	}
	d.answer = bytes.Clone(line)
	switch {
	case d.waiting != nil:
		go d.tell(withID(d.answer, d.waiting))
	case d.pending && isRefusal(line):
		d.timers = append(d.timers, time.AfterFunc(afterRefusal, d.goOlder))
	case d.pending:
		d.timers = append(d.timers, time.AfterFunc(overtake, d.goOlder))
	}
}

// askAgain asks the program in the older way.
func (d *discovery) askAgain() {
	d.mu.Lock()
	ask := d.pending && !d.asked
	d.asked = d.asked || ask
	d.mu.Unlock()
	if ask {
		d.send(d.initialize)
	}
}

// goOlder tells the client that the program does not know the method.
func (d *discovery) goOlder() {
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

// olderQuestion is the initialize of a client that asks server/discover.
func olderQuestion(discover []byte) []byte {
	var m struct {
		Params struct {
			Meta struct {
				Info         json.RawMessage `json:"io.modelcontextprotocol/clientInfo"`
				Capabilities json.RawMessage `json:"io.modelcontextprotocol/clientCapabilities"`
			} `json:"_meta"`
		} `json:"params"`
	}
	_ = json.Unmarshal(discover, &m) // the SDK wrote it
	info, capabilities := m.Params.Meta.Info, m.Params.Meta.Capabilities
	if len(info) == 0 {
		info = json.RawMessage(`{"name":"toolpost","version":"0"}`)
	}
	if len(capabilities) == 0 {
		capabilities = json.RawMessage(`{}`)
	}
	return []byte(`{"jsonrpc":"2.0","id":` + initializeID + `,"method":"initialize","params":{"protocolVersion":"` + rpc.Legacy +
		`","capabilities":` + string(capabilities) + `,"clientInfo":` + string(info) + "}}\n")
}

// withID is a response with another id.
func withID(line, id []byte) []byte {
	out, err := rpc.ReplaceMember(line, id, "id")
	if err != nil {
		return line // it was read before
	}
	return append(out, '\n')
}

// isRefusal reports whether a response is an error.
func isRefusal(line []byte) bool {
	var m struct{ Error json.RawMessage }
	return json.Unmarshal(line, &m) == nil && len(m.Error) > 0
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

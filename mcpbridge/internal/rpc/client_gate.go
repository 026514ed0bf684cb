package rpc

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// Gate is between a client that sends lines and the SDK, which ends a connection
// at the first line that it cannot read, and reads ids as numbers of 64 bits. A line that is
// not a message is answered with an error, and the next lines are read.
type Gate struct {
	from *LineReader
	rest []byte // of the line that is being read
	err  error  // after it

	writing sync.Mutex
	out     io.Writer

	mu      sync.Mutex
	pending map[string]bool            // ids of requests under way
	names   map[string]json.RawMessage // the client's ids, by the ids for the SDK
	last    int
	batches bool // the revision has them

	Refusing sync.WaitGroup // refusals that are being written
}

// NewGate returns the gate of a client.
func NewGate(in io.Reader, out io.Writer) *Gate {
	return &Gate{from: NewLineReader(in, MaxClientFrame), out: out, pending: make(map[string]bool), names: make(map[string]json.RawMessage)}
}

// Read implements [io.Reader].
func (g *Gate) Read(b []byte) (int, error) {
	for len(g.rest) == 0 {
		if g.err != nil {
			return 0, g.err
		}
		var line []byte
		var long bool
		line, long, g.err = g.from.NextOrDrop()
		if long {
			g.refuse(nil, jsonrpc.CodeInvalidRequest, fmt.Sprintf("a message may have %d bytes", MaxClientFrame))
			continue
		}
		if line = bytes.TrimSpace(line); len(line) > 0 {
			g.rest = g.check(line)
		}
	}
	n := copy(b, g.rest)
	g.rest = g.rest[n:]
	return n, nil
}

// maxClientDepth is how deep the values of a message may be nested.
const maxClientDepth = 500

// check returns a line as the SDK is to read it, nil if it has been answered.
func (g *Gate) check(line []byte) []byte {
	switch {
	case !json.Valid(line):
		g.refuse(nil, jsonrpc.CodeParseError, ErrNoMessage.Error())
	case deeper(line, maxClientDepth):
		g.refuse(nil, jsonrpc.CodeInvalidRequest, fmt.Sprintf("a message may be nested %d levels deep", maxClientDepth))
	case line[0] == '[':
		return g.checkBatch(line)
	default:
		id, method, fault := readMessageLine(line)
		if fault != "" {
			g.refuse(id, jsonrpc.CodeInvalidRequest, fault)
			return nil
		}
		return g.admit(line, id, method)
	}
	return nil
}

// checkBatch does so with a batch, which only old revisions have.
func (g *Gate) checkBatch(line []byte) []byte {
	g.mu.Lock()
	allowed := g.batches
	g.mu.Unlock()
	var all []json.RawMessage
	if err := json.Unmarshal(line, &all); err != nil || !allowed || len(all) == 0 || len(all) > MaxBatch {
		g.refuse(nil, jsonrpc.CodeInvalidRequest, fmt.Sprintf("a batch has up to %d messages, and is taken in the revision 2025-03-26 only", MaxBatch))
		return nil
	}
	ids := make(map[string]bool)
	for _, one := range all {
		id, method, fault := readMessageLine(one)
		if twice := method != "" && id != nil && ids[string(id)]; fault != "" || twice {
			g.refuse(nil, jsonrpc.CodeInvalidRequest, "a message of the batch is none, or has the id of another one")
			return nil
		}
		ids[string(id)] = true
	}
	return append(line, '\n')
}

// readMessageLine reads the id and the method of a message, and its problem.
func readMessageLine(line []byte) (id json.RawMessage, method, fault string) {
	var m map[string]json.RawMessage
	if json.Unmarshal(line, &m) != nil || m == nil {
		return nil, "", "a message is an object"
	}
	if given := m["id"]; len(given) > 0 && len(given) <= maxID && (given[0] == '"' || given[0] == '-' || given[0] >= '0' && given[0] <= '9') {
		id = given
	}
	if raw, there := m["method"]; there && (json.Unmarshal(raw, &method) != nil || method == "") {
		return id, "", "the method of a message is a text"
	}
	switch {
	case Unambiguous(line, "jsonrpc", "id", "method", "params", "result", "error") != nil:
		return id, method, "the message can be read in two ways"
	case string(m["jsonrpc"]) != `"2.0"`:
		return id, method, `a message says "jsonrpc":"2.0"`
	case m["id"] != nil && id == nil:
		return nil, method, fmt.Sprintf("the id of a message is a number or a string of up to %d bytes", maxID)
	case method == "" && (id == nil || m["result"] == nil && m["error"] == nil):
		return id, method, "a message has a method, or an id and a result"
	}
	return id, method, ""
}

// exactID matches ids that the SDK returns unchanged.
var exactID = regexp.MustCompile(`^(".*"|0|-?[1-9][0-9]{0,14})$`)

// admit notes a request that is under way, and gives it an id that the SDK keeps.
func (g *Gate) admit(line []byte, id json.RawMessage, method string) []byte {
	g.mu.Lock()
	defer g.mu.Unlock()
	var err error
	switch {
	case method == "notifications/cancelled":
		line, err = g.renameCancelled(line)
	case method == "" || id == nil:
	case g.pending[string(id)]:
		g.Refusing.Go(func() { g.refuse(id, jsonrpc.CodeInvalidRequest, "a request with this id is under way") })
		return nil
	default:
		g.pending[string(id)] = true
		if !exactID.Match(id) {
			g.last++
			name := strconv.Quote("toolpost-id-" + strconv.Itoa(g.last))
			g.names[name] = id
			line, err = ReplaceMember(line, json.RawMessage(name), "id")
		}
	}
	if err != nil {
		return nil // it was read before
	}
	return append(bytes.Clone(line), '\n')
}

// renameCancelled has a notification name the request as the SDK knows it. The caller
// holds the lock.
func (g *Gate) renameCancelled(line []byte) ([]byte, error) {
	var m struct {
		Params struct {
			ID json.RawMessage `json:"requestId"`
		} `json:"params"`
	}
	_ = json.Unmarshal(line, &m)
	for name, id := range g.names {
		if bytes.Equal(id, m.Params.ID) {
			return ReplaceMember(line, json.RawMessage(name), "params", "requestId")
		}
	}
	return line, nil
}

// Write implements [io.Writer] for one message of the SDK.
func (g *Gate) Write(b []byte) (int, error) {
	text := b
	var m struct {
		ID     json.RawMessage
		Method string
		Result struct{ ProtocolVersion string }
	}
	var all []struct{ ID json.RawMessage }
	g.mu.Lock()
	if json.Unmarshal(b, &m) == nil && m.Method == "" {
		if v := m.Result.ProtocolVersion; v != "" {
			g.batches = v < "2025-06-18"
		}
		if id, renamed := g.names[string(m.ID)]; renamed {
			delete(g.names, string(m.ID))
			m.ID = id
			if other, err := ReplaceMember(bytes.TrimSpace(b), id, "id"); err == nil {
				text = append(other, '\n')
			}
		}
		delete(g.pending, string(m.ID))
	} else if json.Unmarshal(b, &all) == nil {
		for _, one := range all {
			delete(g.pending, string(one.ID))
		}
	}
	g.mu.Unlock()
	if err := g.write(text); err != nil {
		return 0, err
	}
	return len(b), nil
}

func (g *Gate) write(text []byte) error {
	g.writing.Lock()
	defer g.writing.Unlock()
	_, err := g.out.Write(text)
	return err
}

// refuse answers a line that the SDK does not get.
func (g *Gate) refuse(id json.RawMessage, code int64, message string) {
	_ = g.write(append(ErrorResponse(id, code, message), '\n')) // a client that is gone is noticed elsewhere
}

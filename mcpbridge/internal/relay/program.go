package relay

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/toolpost/toolpost/mcpbridge/internal/connection"
	"github.com/toolpost/toolpost/mcpbridge/internal/rpc"
)

// program is a server that runs. Ids and tokens of requests are ours on its side, so
// that several clients can be told apart.
type program struct {
	process *connection.Process
	many    bool          // clients share it
	silent  chan struct{} // closed when it says nothing any more
	over    chan struct{}
	leaving atomic.Bool // we end it

	writing sync.Mutex

	mu       sync.Mutex
	last     int
	calls    map[string]*exchange // by our ids
	newest   *exchange
	listener *mailbox
	unheard  []rpc.Event // for the listener that comes
}

// exchange is a request that the program is at.
type exchange struct {
	*mailbox
	id    json.RawMessage // of the client
	token json.RawMessage // of the client; nil without one
	stays bool            // it is a subscription, which gets only what names it
}

// maxUnheard bounds the messages that wait for a listener.
const maxUnheard = 64

func (p *program) kill() {
	p.leaving.Store(true)
	_ = p.process.Close()
	p.process.Kill()
	<-p.over
}

func (p *program) write(text []byte) error {
	var line bytes.Buffer
	if err := json.Compact(&line, text); err != nil {
		return err
	}
	line.WriteByte('\n')
	p.writing.Lock()
	defer p.writing.Unlock()
	if _, err := p.process.Write(line.Bytes()); err != nil {
		if why := p.process.Why(); why != "" {
			err = errors.New(why)
		}
		return err
	}
	return nil
}

// request sends a request of a client and returns the stream of its answer.
func (p *program) request(ctx context.Context, body []byte, e rpc.Envelope) (*http.Response, error) {
	var params struct {
		Meta struct {
			Token json.RawMessage `json:"progressToken"`
		} `json:"_meta"`
	}
	_ = json.Unmarshal(e.Params, &params)
	x := &exchange{mailbox: newMailbox(), id: e.ID, token: params.Meta.Token, stays: e.Method == "subscriptions/listen"}
	p.mu.Lock()
	p.last++
	own := strconv.Itoa(p.last)
	p.calls[own] = x
	if !x.stays {
		p.newest = x
	}
	p.mu.Unlock()
	body, err := rpc.ReplaceMember(body, json.RawMessage(own), "id")
	if err == nil && x.token != nil {
		body, err = rpc.ReplaceMember(body, json.RawMessage(own), "params", "_meta", "progressToken")
	}
	if err == nil {
		err = p.write(body)
	}
	dispatched(ctx)
	if err != nil {
		p.forget(own)
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() {
		if p.forget(own) {
			_ = p.write([]byte(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":` + own + `}}`))
		}
		x.fail(context.Cause(ctx))
	})
	x.closed = func() { stop() }
	return streamResponse(x.mailbox), nil
}

// forget ends an exchange and reports whether it was there.
func (p *program) forget(own string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	x, there := p.calls[own]
	delete(p.calls, own)
	if p.newest == x {
		p.newest = nil
		for _, other := range p.calls {
			if !other.stays {
				p.newest = other
			}
		}
	}
	return there
}

// tell sends a notification or a response of a client.
func (p *program) tell(body []byte, e rpc.Envelope) error {
	if e.Method != "notifications/cancelled" {
		return p.write(body)
	}
	var params struct {
		RequestID json.RawMessage `json:"requestId"`
	}
	_ = json.Unmarshal(e.Params, &params)
	p.mu.Lock()
	own := ""
	for key, x := range p.calls {
		if !p.many && bytes.Equal(x.id, params.RequestID) {
			own = key
		}
	}
	p.mu.Unlock()
	if own == "" {
		return nil // it is over
	}
	body, err := rpc.ReplaceMember(body, json.RawMessage(own), "params", "requestId")
	if err != nil {
		return err
	}
	return p.write(body)
}

// listen has another mailbox get what belongs to no request.
func (p *program) listen(box *mailbox) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.listener != nil {
		p.listener.fail(io.EOF)
	}
	p.listener = box
	for _, e := range p.unheard {
		box.put(e)
	}
	p.unheard = nil
}

// read takes what the program says until it ends. It returns why it reads no more, ""
// if the program has ended.
func (p *program) read() (why string) {
	from := rpc.NewLineReader(p.process.Stdout, rpc.MaxFrame)
	for {
		line, err := from.Next()
		if errors.Is(err, rpc.ErrTooLong) {
			return fmt.Sprintf("a message of it has more than %d bytes; it was ended", rpc.MaxFrame)
		}
		if err != nil {
			return ""
		}
		if line = rpc.ServerText(line); len(line) > 0 {
			p.take(line)
		}
	}
}

// fail ends all requests.
func (p *program) fail(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, x := range p.calls {
		x.fail(err)
	}
	if p.listener != nil {
		p.listener.fail(io.EOF)
	}
}

// take gives a message to whom it belongs.
func (p *program) take(line []byte) {
	e, err := rpc.ReadEnvelope(line)
	if err != nil {
		var odd struct {
			ID     json.RawMessage
			Method *string
		}
		if json.Unmarshal(line, &odd) != nil || odd.Method != nil {
			return // programs print all kinds of things
		}
		e.ID = odd.ID // an answer all the same, which the client may judge
	}
	if e.IsResponse() || err != nil {
		own := string(bytes.Trim(e.ID, `"`))
		p.mu.Lock()
		x := p.calls[own]
		p.mu.Unlock()
		if p.forget(own) {
			if text, err := rpc.ReplaceMember(line, x.id, "id"); err == nil {
				x.put(rpc.EventOf(text))
			}
			x.fail(io.EOF)
		}
		return
	}
	if x, text := p.meant(line, e); x != nil {
		x.put(rpc.EventOf(text))
		return
	}
	p.spread(line, e)
}

// subscription is where a notification names the request that subscribed to it.
const subscription = "io.modelcontextprotocol/subscriptionId"

// meant returns the request that a notification names, and the notification in the
// client's words.
func (p *program) meant(line []byte, e rpc.Envelope) (*exchange, []byte) {
	var params struct {
		Token json.RawMessage            `json:"progressToken"`
		Meta  map[string]json.RawMessage `json:"_meta"`
	}
	_ = json.Unmarshal(e.Params, &params)
	path, own := []string{"params", "progressToken"}, string(params.Token)
	if e.Method != "notifications/progress" {
		path, own = []string{"params", "_meta", subscription}, string(bytes.Trim(params.Meta[subscription], `"`))
	}
	p.mu.Lock()
	x := p.calls[own]
	p.mu.Unlock()
	if own == "" || x == nil {
		return nil, nil
	}
	value := x.id
	if e.Method == "notifications/progress" {
		value = x.token
	}
	text, err := rpc.ReplaceMember(line, value, path...)
	if err != nil {
		return nil, nil
	}
	return x, text
}

// spread gives a message that names no request to the client: by the stream of any
// request, or by the one between requests. Where clients share the program, it goes
// to the only request, or to none.
func (p *program) spread(line []byte, e rpc.Envelope) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.many && e.IsCall():
		go p.write(rpc.ErrorResponse(e.ID, jsonrpc.CodeMethodNotFound, "clients take no requests in this revision"))
	case p.many && p.active() != 1:
	case p.newest != nil:
		p.newest.put(rpc.EventOf(line))
	case p.listener != nil:
		p.listener.put(rpc.EventOf(line))
	case len(p.unheard) < maxUnheard:
		p.unheard = append(p.unheard, rpc.EventOf(line))
	}
}

// active counts the requests other than subscriptions. The caller holds the lock.
func (p *program) active() (n int) {
	for _, x := range p.calls {
		if !x.stays {
			n++
		}
	}
	return n
}

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
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolpost/toolpost/internal/clip"
	"github.com/toolpost/toolpost/invoke"
	"github.com/toolpost/toolpost/journal"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/mcpbridge/config"
	"github.com/toolpost/toolpost/mcpbridge/internal/caller"
	"github.com/toolpost/toolpost/mcpbridge/internal/connection"
	"github.com/toolpost/toolpost/mcpbridge/internal/convert"
	"github.com/toolpost/toolpost/mcpbridge/internal/rpc"
	"github.com/toolpost/toolpost/mcpbridge/internal/toollist"
	"github.com/toolpost/toolpost/tool"
)

// relayCall is a call on its way to the server.
type relayCall struct {
	*relayed
	req  *http.Request
	body []byte
	e    rpc.Envelope
	name string
	args json.RawMessage
	out  *stream
	// over is closed when the client's request has been answered, or is answered
	// by another stream.
	over     chan struct{}
	overOnce sync.Once
	reply    *serverReply // what the server answered, nil if it did not
	place    string       // of the call among those under way
	rounds   rounds
	task     bool // the client wants or takes a task
}

// serverReply is an answer as the server sent it.
type serverReply struct {
	status int
	header http.Header
	text   []byte
	event  *rpc.Event // nil if the answer was not a stream
}

// call relays the call of a tool.
func (r *Relay) call(w http.ResponseWriter, req *http.Request, body []byte, e rpc.Envelope) {
	var p struct {
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
		Task      json.RawMessage `json:"task"`
		Meta      struct {
			Client       struct{ Name string } `json:"io.modelcontextprotocol/clientInfo"`
			Capabilities json.RawMessage       `json:"io.modelcontextprotocol/clientCapabilities"`
		} `json:"_meta"`
	}
	if err := json.Unmarshal(e.Params, &p); err != nil || p.Name == "" {
		writeMessage(w, http.StatusOK, rpc.ErrorResponse(e.ID, jsonrpc.CodeInvalidParams, "the parameters of a call are a name and arguments"))
		return
	}
	if err := rpc.Unambiguous(e.Params, "name", "arguments", "task", "_meta", "inputResponses", "requestState"); err != nil {
		writeMessage(w, http.StatusOK, rpc.ErrorResponse(e.ID, jsonrpc.CodeInvalidParams, err.Error()))
		return
	}
	s := r.session(req, true)
	if s == nil { // the requests of a connection without a session share a record
		s = r.connection(req, p.Meta.Client, p.Meta.Capabilities)
	}
	if !s.Begin() {
		writeMessage(w, http.StatusOK, rpc.ErrorResponse(e.ID, caller.ErrGone.Code, caller.ErrGone.Message))
		return
	}
	select {
	case r.slots <- struct{}{}:
	default:
		s.Running.Done()
		writeMessage(w, http.StatusOK, rpc.ErrorResponse(e.ID, caller.ErrBusy.Code, caller.ErrBusy.Message))
		return
	}
	c := &relayCall{relayed: s, req: req, body: body, e: e, name: p.Name, args: p.Arguments, out: &stream{w: w}, over: make(chan struct{}), task: len(p.Task) > 0 || takesTasks(p.Meta.Capabilities)}
	if len(c.args) == 0 || string(c.args) == "null" {
		c.args = json.RawMessage("{}")
	}
	if err := c.unpack(); err != nil {
		<-r.slots
		s.Running.Done()
		writeMessage(w, http.StatusOK, rpc.ErrorResponse(e.ID, jsonrpc.CodeInvalidParams, err.Error()))
		return
	}
	go func() {
		defer func() { <-r.slots; s.Running.Done() }()
		defer c.end()
		c.run()
	}()
	<-c.over
}

// unpack takes answers to questions of ours out of the call.
func (c *relayCall) unpack() error {
	var rest json.RawMessage
	var err error
	if c.rounds, rest, err = readRounds(c.e.Params); err != nil || rest == nil {
		return err
	}
	c.body, err = rpc.ReplaceMember(c.body, rest, "params")
	return err
}

// end lets the client's request end. Nothing is written after it.
func (c *relayCall) end() {
	c.overOnce.Do(func() {
		c.out.close()
		close(c.over)
	})
}

// run has the runtime run the call, and answers the client.
func (c *relayCall) run() {
	ctx, cancel := context.WithCancel(context.WithValue(c.Context, dispatchedKey{}, c.req.Context().Value(dispatchedKey{})))
	defer cancel()
	if !c.depart(cancel) {
		c.out.message(http.StatusOK, rpc.ErrorResponse(c.e.ID, jsonrpc.CodeInvalidRequest, "a call with this id is under way"))
		return
	}
	defer c.arrive()
	if c.key == "" { // without a session, a client that is gone gets no answer
		defer context.AfterFunc(c.req.Context(), cancel)()
	}
	rec, err := c.Record()
	if err != nil {
		c.relay.options.Failed(err)
		c.out.message(http.StatusOK, rpc.ErrorResponse(c.e.ID, jsonrpc.CodeInternalError, "the call cannot be recorded, and was not run"))
		return
	}
	one, err := c.tool(ctx)
	if err != nil {
		c.relay.tell(config.Notice{Server: c.relay.server.Name, Text: "cannot be asked for its tools: " + c.relay.redact(connection.PlainError(err))})
		c.out.message(http.StatusOK, rpc.ErrorResponse(c.e.ID, jsonrpc.CodeInternalError, "the tools of the server cannot be listed, and the call was not sent"))
		return
	}
	o, err := c.perform(ctx, rec, one)
	switch {
	case err != nil:
		c.relay.options.Failed(err)
		c.out.message(http.StatusOK, rpc.ErrorResponse(c.e.ID, jsonrpc.CodeInternalError, "the call could not be recorded"))
	case c.reply != nil:
		c.pass()
	case len(c.rounds.open) > 0:
		text, _ := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": c.e.ID, "result": c.rounds.question()})
		c.out.message(http.StatusOK, text)
	case one == nil:
		status := http.StatusOK
		if c.isNewest() {
			status = http.StatusBadRequest
		}
		c.out.message(status, rpc.ErrorResponse(c.e.ID, jsonrpc.CodeInvalidParams, fmt.Sprintf("unknown tool %q", clip.Bytes(rpc.PlainText(c.name), toollist.MaxToolName))))
	default:
		c.out.message(http.StatusOK, c.refusal(o))
	}
}

// perform makes the call a call of the runtime.
func (c *relayCall) perform(ctx context.Context, rec *journal.Recorder, one *relayedTool) (invoke.Outcome, error) {
	runner, set, name := c.relay.alone, new(tool.Set), tool.SafeName(clip.Bytes(rpc.PlainText(c.name), toollist.MaxToolName))
	if c.forms && (c.asksDirectly() || c.isNewest()) {
		runner = c.relay.asking
	}
	if one != nil {
		set, name = one.set, one.tool.Name
	}
	session, err := runner.With(set).Session(rec)
	if err != nil {
		return invoke.Outcome{}, err
	}
	var out invoke.Outcome
	call := llm.Call{ID: c.NewID(), Name: name, Args: c.args}
	for ev, err := range session.Do(context.WithValue(ctx, caller.ClientCallKey{}, c), []llm.Call{call}) {
		if err != nil {
			return out, err
		}
		if o, ok := ev.(invoke.Outcome); ok {
			out = o
		}
	}
	return out, nil
}

// pass gives the client the answer of the server unchanged.
func (c *relayCall) pass() {
	if c.reply.event != nil {
		_ = c.out.event(c.relay.toldEvent(*c.reply.event))
		return
	}
	c.out.mu.Lock()
	begun := c.out.begun
	c.out.mu.Unlock()
	if begun {
		c.out.message(c.reply.status, c.relay.told(c.reply.text))
		return
	}
	copyHeaders(c.out.w.Header(), c.reply.header)
	c.out.w.WriteHeader(c.reply.status)
	_, _ = c.out.w.Write(c.relay.told(c.reply.text))
}

// refusal is the response to a call that the server did not get, or did not answer.
func (c *relayCall) refusal(o invoke.Outcome) []byte {
	res := convert.ResultOf(o.Result, nil)
	res.IsError = true
	result, err := json.Marshal(res)
	if err == nil && c.isNewest() {
		result = append([]byte(`{"resultType":"complete",`), result[1:]...)
	}
	text, err2 := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": c.e.ID, "result": json.RawMessage(result)})
	if err != nil || err2 != nil {
		return rpc.ErrorResponse(c.e.ID, jsonrpc.CodeInternalError, "the call was refused")
	}
	return text
}

// depart notes that the call is under way; it does not if another has its id.
func (c *relayCall) depart(cancel context.CancelFunc) bool {
	c.inside.Lock()
	defer c.inside.Unlock()
	id := string(c.e.ID)
	if c.key == "" { // clients may share a connection, and use the same ids
		c.calls++
		id += "#" + strconv.Itoa(c.calls)
	}
	if c.active[id] != nil {
		return false
	}
	c.place = id
	c.active[id], c.late[id] = cancel, make(chan []byte, 1)
	return true
}

func (c *relayCall) arrive() {
	c.inside.Lock()
	defer c.inside.Unlock()
	delete(c.active, c.place)
	delete(c.late, c.place)
	c.used = time.Now()
}

// cancelled ends a call that the client takes back.
func (r *Relay) cancelled(req *http.Request, e rpc.Envelope) {
	var p struct{ RequestID json.RawMessage }
	s := r.session(req, false)
	if s == nil || json.Unmarshal(e.Params, &p) != nil {
		return
	}
	s.inside.Lock()
	cancel := s.active[string(p.RequestID)]
	s.inside.Unlock()
	if cancel != nil {
		cancel()
	}
}

// send is the function of a relayed tool: it sends the call to the server and passes on the messages
// before the answer.
func (r *Relay) send(ctx context.Context, effects tool.Effects, args json.RawMessage) (tool.Output, error) {
	c, ok := ctx.Value(caller.ClientCallKey{}).(*relayCall)
	if !ok {
		return tool.Output{}, errors.New("the call belongs to no client")
	}
	defer func() {
		if c.reply == nil && ctx.Err() != nil {
			c.takeBack()
		}
	}()
	resp, err := r.up.roundTrip(requestTo(ctx, c.req, c.bodyWith(args)))
	if err != nil {
		if ctx.Err() != nil {
			return tool.Output{}, ctx.Err()
		}
		if asks := connection.WantsLogin(err); asks != nil {
			return tool.Output{}, tool.Errorf(tool.Execution, "MCP server %s did not run the call: %v", r.server.Name, asks)
		}
		return tool.Output{}, tool.Errorf(convert.Unanswered(tool.Network, effects), "MCP server %s: %s", r.server.Name, r.redact(connection.PlainError(err)))
	}
	defer resp.Body.Close()
	if !isStream(resp) {
		text, err := io.ReadAll(resp.Body)
		if err != nil {
			return tool.Output{}, tool.Errorf(convert.Unanswered(tool.Network, effects), "MCP server %s: %s", r.server.Name, r.redact(connection.PlainError(err)))
		}
		c.reply = &serverReply{status: resp.StatusCode, header: resp.Header, text: c.rounds.keep(text)}
		return c.outcome(resp.StatusCode, effects, text)
	}
	copyHeaders(c.out.w.Header(), resp.Header)
	in := rpc.NewEvents(resp.Body)
	for {
		e, err := in.Next()
		if err != nil {
			return c.later(ctx, effects, err)
		}
		if e.Data != nil && rpc.Answers(e.Data, c.e.ID) {
			got := e.Data
			if kept := c.rounds.keep(got); !bytes.Equal(kept, got) {
				e = e.With(kept)
			}
			c.reply = &serverReply{status: http.StatusOK, event: &e}
			return c.outcome(http.StatusOK, effects, got)
		}
		if news, err := rpc.ReadEnvelope(e.Data); err == nil {
			c.heard(news)
		}
		_ = c.out.event(r.toldEvent(e)) // a client that is gone may come back by another stream
	}
}

// outcome is the answer of the server for the record. The result of a task goes to the client, which asks for it.
func (c *relayCall) outcome(status int, effects tool.Effects, text []byte) (tool.Output, error) {
	if c.task && convert.IsTask(text) {
		return tool.Text("[the call runs as a task of the server, whose result the client reads]"), nil
	}
	return convert.OutcomeOf(c.relay.server.Name, status, effects, text)
}

// takesTasks reports whether the capabilities of a client have the extension of the newest revision for tasks.
func takesTasks(capabilities json.RawMessage) bool {
	var c struct{ Extensions map[string]json.RawMessage }
	return json.Unmarshal(capabilities, &c) == nil && c.Extensions[rpc.TasksExtension] != nil
}

// takeBack tells the server that the client does not wait for the answer any more. With sessions, the
// end of a request does not tell it.
func (c *relayCall) takeBack() {
	if c.key == "" || c.isNewest() {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(c.Context), rpc.Patience)
	defer cancel()
	body := []byte(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":` + string(c.e.ID) + `}}`)
	if resp, err := c.relay.up.roundTrip(requestTo(ctx, c.req, body)); err == nil {
		resp.Body.Close()
	}
}

// bodyWith returns the request with the validated arguments. If a person allowed them, these are the arguments that the person
// saw: arguments of the same hash may be written in another way.
func (c *relayCall) bodyWith(args json.RawMessage) []byte {
	none := len(bytes.TrimSpace(c.args)) == 0 && journal.ParamsHash(args) == journal.ParamsHash(nil)
	if none || bytes.Equal(args, c.args) {
		return c.body
	}
	body, err := rpc.ReplaceMember(c.body, args, "params", "arguments")
	if err != nil {
		return c.body // it was read before
	}
	return body
}

// later waits for an answer whose stream ended before it. The server may send it on another stream
// of the client. The client's request ends.
func (c *relayCall) later(ctx context.Context, effects tool.Effects, why error) (tool.Output, error) {
	lost := tool.Errorf(convert.Unanswered(tool.Network, effects), "MCP server %s ended the stream before it answered", c.relay.server.Name)
	if ctx.Err() != nil {
		return tool.Output{}, ctx.Err()
	}
	var over *programEnded
	if errors.As(why, &over) { // nothing comes after it
		lost.Message = fmt.Sprintf("MCP server %s did not answer: %s", c.relay.server.Name, c.relay.redact(over.why))
		return tool.Output{}, lost
	}
	if c.key == "" {
		return tool.Output{}, lost
	}
	c.inside.Lock()
	late := c.late[string(c.e.ID)]
	c.inside.Unlock()
	c.out.begin()
	c.end()
	select {
	case data := <-late:
		return c.outcome(http.StatusOK, effects, data)
	case <-ctx.Done():
		return tool.Output{}, lost
	}
}

// asksDirectly reports whether a question to the client is a request of ours.
func (c *relayCall) asksDirectly() bool {
	return c.key != "" && !c.isNewest()
}

// isNewest reports whether the call is of a revision whose servers ask in results.
func (c *relayCall) isNewest() bool { return c.req.Header.Get("Mcp-Protocol-Version") >= rpc.Newest }

// Client implements [asker].
func (c *relayCall) Client() string {
	c.inside.Lock()
	defer c.inside.Unlock()
	return "client " + c.who
}

// Pause implements [asker]: calls of a relay take no turns.
func (c *relayCall) Pause(context.Context) func() { return func() {} }

// questionPrefix begins the ids of questions of ours, to tell them from those of the
// server.
const questionPrefix = "toolpost-question-"

// Ask implements [asker].
func (c *relayCall) Ask(ctx context.Context, key string, p *mcp.ElicitParams, _ bool) (*caller.Answer, error) {
	if c.isNewest() {
		if a, there := c.rounds.answered[key]; there {
			return &a, nil
		}
		c.rounds.open[key] = p
		return nil, nil
	}
	c.inside.Lock()
	c.asked++
	id := strconv.Quote(questionPrefix + strconv.Itoa(c.asked))
	wait := make(chan rpc.Envelope, 1)
	c.waits[id] = wait
	c.inside.Unlock()
	defer func() {
		c.inside.Lock()
		defer c.inside.Unlock()
		delete(c.waits, id)
	}()
	text, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": json.RawMessage(id), "method": "elicitation/create", "params": p})
	if err != nil {
		return nil, err
	}
	if err := c.out.event(rpc.EventOf(text)); err != nil {
		return nil, errors.New("the client has gone")
	}
	limit := time.NewTimer(c.relay.options.AskTime)
	defer limit.Stop()
	select {
	case e := <-wait:
		var a caller.Answer
		if e.Error != nil || json.Unmarshal(e.Result, &a) != nil {
			return nil, errors.New("the client cannot ask")
		}
		return &a, nil
	case <-limit.C:
		return nil, errors.New("the client did not answer in time")
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// answered takes the answer to a question of ours, and reports whether it is one.
func (r *Relay) answered(req *http.Request, e rpc.Envelope) bool {
	if !bytes.HasPrefix(e.ID, []byte(`"`+questionPrefix)) {
		return false
	}
	s := r.session(req, false)
	if s == nil {
		return true // the server knows of no such question
	}
	s.inside.Lock()
	defer s.inside.Unlock()
	if wait := s.waits[string(e.ID)]; wait != nil {
		select {
		case wait <- e:
		default:
		}
	}
	return true
}

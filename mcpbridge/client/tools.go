package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolpost/toolpost/internal/clip"
	"github.com/toolpost/toolpost/journal"
	"github.com/toolpost/toolpost/mcpbridge/config"
	"github.com/toolpost/toolpost/mcpbridge/internal/connection"
	"github.com/toolpost/toolpost/mcpbridge/internal/convert"
	"github.com/toolpost/toolpost/mcpbridge/internal/rpc"
	"github.com/toolpost/toolpost/mcpbridge/internal/toollist"
	"github.com/toolpost/toolpost/tool"
)

// offer is the tools of a server as models and runners get them.
type offer struct {
	set   *tool.Set
	names map[string]string // by the server's own names
}

// rebuild makes the offer from the list and the accepted definitions. The caller holds the
// lock, or is alone.
func (l *remote) rebuild() {
	l.offer = offer{names: make(map[string]string)}
	if l.list == nil || l.Disabled {
		return
	}
	var sets []*tool.Set
	taken := make(map[string]bool)
	for _, d := range l.list.Defs {
		if !l.Uses(d.Name) || !l.record.Accepts(d, l.list.Prints[d.Name]) {
			continue
		}
		t := l.tool(d, l.list)
		// One by one: a schema that cannot be used is that of one tool.
		one, note, err := convert.Usable(t)
		if err == nil && taken[t.Name] {
			err = fmt.Errorf("another tool is called %s, too", t.Name)
		}
		if err != nil {
			l.host.notify(config.Notice{Server: l.Name, Tool: d.Name, Text: "is left out: " + l.Redact(err.Error())})
			continue
		}
		sets, taken[t.Name] = append(sets, one), true
		l.note(d.Name, note)
		l.offer.names[d.Name] = t.Name
	}
	if l.offersResources(taken) {
		if one, err := tool.NewSet(l.resourceTool()); err == nil {
			sets = append(sets, one)
			l.offer.names[readResource] = l.resourceTool().Name
		}
	}
	l.offer.set, _ = tool.Join(sets...) // no two have one name
	l.missing()
}

// note reports once what a person should know of a tool. The caller holds the lock.
func (l *remote) note(name, text string) {
	if text == "" || l.noted[name] == text {
		return
	}
	if l.noted == nil {
		l.noted = make(map[string]string)
	}
	l.noted[name] = text
	l.host.notify(config.Notice{Server: l.Name, Tool: name, Text: l.Redact(text)})
}

// missing reports names of the filter that the server does not have: a filter that
// does not do what it says is not passed over.
func (l *remote) missing() {
	for _, name := range l.Tools {
		if _, listed := l.list.Prints[name]; !listed && l.fresh && l.offer.names[name] == "" {
			l.host.notify(config.Notice{Server: l.Name, Tool: name, Text: "is chosen in the configuration, and the server has no such tool"})
		}
	}
}

// personTime is how long a call may wait for people, whose time does not count for the timeout of the call.
const personTime = 24 * time.Hour

func (l *remote) known() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.list != nil
}

// tool makes a tool from a definition of a list.
func (l *remote) tool(d config.ServerTool, list *toollist.List) tool.Tool {
	description := d.Description
	if description == "" {
		description = d.Title
	}
	print := list.Prints[d.Name]
	t := tool.Tool{
		Name: tool.SafeName(l.Name + toollist.Separator + d.Name), Description: description, Origin: tool.MCP,
		Source: l.Name, SourceHash: string(list.Hash), Timeout: l.CallTimeout() + l.ConnectTimeout() + personTime,
	}
	t.Input, t.OutputSchema = []byte(d.Input), []byte(d.Output)
	if l.Trust == config.TrustAnnotations {
		t.Effects = d.Effects()
	}
	t.Call = func(ctx context.Context, args json.RawMessage) (tool.Output, error) {
		return l.call(ctx, d, print, t.Effects, args)
	}
	return t
}

// call has the server run the tool, if its definition is still the offered one.
func (l *remote) call(ctx context.Context, d config.ServerTool, print journal.Hash, effects tool.Effects, args json.RawMessage) (tool.Output, error) {
	live, err := l.connect(ctx)
	if err != nil {
		if ctx.Err() != nil {
			return tool.Output{}, ctx.Err()
		}
		return tool.Output{}, l.absent(err, effects)
	}
	if err := l.unchanged(ctx, d.Name, print); err != nil {
		return tool.Output{}, err
	}
	if len(args) == 0 {
		args = json.RawMessage("{}")
	}
	res, f, err := l.send(ctx, live, d, args)
	if errors.Is(err, mcp.ErrSessionMissing) && f.waiting() == nil { // it was not run
		l.drop(live, "")
		if live, err = l.connect(ctx); err != nil {
			return tool.Output{}, l.absent(err, effects)
		}
		if err := l.unchanged(ctx, d.Name, print); err != nil {
			return tool.Output{}, err
		}
		res, f, err = l.send(ctx, live, d, args)
	}
	if asks := f.waiting(); asks != nil {
		return tool.Output{}, asks
	}
	if err != nil {
		return f.used(tool.Output{}), l.failure(ctx, live, f, effects, err)
	}
	out, err := convert.Decoded(l.Name, effects, res)
	if err == nil {
		convert.Keep(ctx, convert.Content(res), out, l.hides)
	}
	if err != nil && live.session.InitializeResult().ProtocolVersion == rpc.Newest && strings.Contains(strings.ToLower(err.Error()), "elicit") {
		l.mu.Lock()
		l.note(d.Name, "may ask the user in a way that revision "+rpc.Newest+" does not have; set protocol: "+rpc.Legacy+" for the server")
		l.mu.Unlock()
	}
	return f.used(out), err
}

// hides reports whether a text contains a hidden value.
func (l *remote) hides(text string) bool { return l.RedactHidden(text) != text }

// send makes a call. The activeCall that it returns has ended.
func (l *remote) send(ctx context.Context, live *liveSession, d config.ServerTool, args json.RawMessage) (*mcp.CallToolResult, *activeCall, error) {
	f := live.calls.begin(ctx, l.CallTimeout())
	defer live.calls.end(f)
	params := &mcp.CallToolParams{Name: d.Name, Arguments: args}
	params.SetProgressToken(f.token)
	l.askForLogs(live, params)
	as := task{l, live, l.CallTimeout(), d.TaskOnly && !toollist.ServerDecides(live.session)}
	res, err := as.run(connection.WithPatience(f.ctx, l.CallTimeout()/2), params)
	if err != nil && ctx.Err() == nil && f.ctx.Err() != nil && f.waiting() == nil {
		f.late = true
		f.stuck = !l.alive(live)
	}
	return res, f, err
}

// absent is the error of a call that was never sent.
func (l *remote) absent(err error, effects tool.Effects) error {
	code := tool.Execution // it took no effect, so nothing is in doubt
	if effects.Has(tool.Idempotent) {
		code = tool.Network
	}
	e := tool.Errorf(code, "MCP server %s is not there, and the call was not sent: %v", l.Name, err)
	if code == tool.Execution {
		e.Fix = "The call was not sent. Take another way, or tell the user that the server is not there."
	}
	return e
}

// unchanged refuses a call of a tool whose definition differs from the offered one: the model would
// call another tool than it was told about. A list that the server has changed is read first.
func (l *remote) unchanged(ctx context.Context, name string, print journal.Hash) error {
	if _, changed, _ := l.stale(); changed {
		l.refresh(ctx)
	}
	live, unread, _ := l.stale()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.used = true
	now, there := l.list.Prints[name]
	what := "changed this tool since it was offered"
	switch {
	case live != nil && unread:
		what = "changed its tools, and its new list cannot be read"
	case there && now == print:
		return nil
	case !there:
		what = "no longer has this tool"
	}
	e := tool.Errorf(tool.Permission, "MCP server %s %s; the call was not sent", l.Name, what)
	e.Recoverable, e.Fix = false, "Do not call it again in this turn. Use what is offered in the next one, or tell the user."
	return e
}

// failure turns the error of a request into one of a tool. A request that was sent
// and not answered may have taken effect.
func (l *remote) failure(ctx context.Context, live *liveSession, f *activeCall, effects tool.Effects, err error) error {
	wire, elsewhere, busy := connection.AnsweredError(err), (*connection.RedirectError)(nil), (*connection.BusyError)(nil)
	var begun *taskError
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.As(err, &busy):
		return tool.Errorf(tool.RateLimit, "MCP server %s did not run the call: %v", l.Name, busy)
	case f.stuck:
		return tool.Errorf(convert.Unanswered(tool.Timeout, effects), "MCP server %s did not answer within %s, and no ping either; it was ended, and the next call starts it again", l.Name, l.CallTimeout())
	case f.late:
		return tool.Errorf(convert.Unanswered(tool.Timeout, effects), "MCP server %s did not answer within %s", l.Name, l.CallTimeout())
	case errors.As(err, &begun):
		return tool.Errorf(convert.Unanswered(tool.Execution, effects), "MCP server %s runs the call as a task, and %s", l.Name, clip.Bytes(l.Redact(begun.Error()), convert.MaxError))
	case connection.WantsLogin(err) != nil:
		return l.notRun(connection.WantsLogin(err), "Tell the user what the server asks for.")
	case errors.As(err, &elsewhere):
		return l.notRun(elsewhere, "Tell the user that the address of the server has changed.")
	case errors.Is(err, mcp.ErrSessionMissing):
		return l.notRun(errors.New("it has forgotten the session, and the new one, too"), "Take another way.")
	case wire != nil && strings.Contains(wire.Message, noSampling) && l.sampling() != nil:
		return tool.Errorf(tool.Permission, "MCP server %s wants to ask the model in the middle of the call, and %v", l.Name, l.sampling())
	case wire != nil && wire.Code == mcp.CodeURLElicitationRequired:
		return l.notRun(errors.New(clip.Bytes(l.RedactHidden(rpc.PlainText(wire.Message)), convert.MaxError)), "The user has to open an address first: "+addresses(wire.Data)+". Call it again after that.")
	case wire != nil:
		code := tool.Execution
		switch wire.Code {
		case jsonrpc.CodeInvalidParams:
			code = tool.Validation
		case jsonrpc.CodeMethodNotFound:
			code = tool.NotFound
		}
		return tool.Errorf(code, "MCP server %s: %s", l.Name, clip.Bytes(l.RedactHidden(rpc.PlainText(wire.Message)), convert.MaxError))
	}
	if connection.Lost(err) {
		return tool.Errorf(convert.Unanswered(tool.Network, effects), "MCP server %s ended before it answered: %s", l.Name, l.Redact(live.why(err)))
	}
	return tool.Errorf(convert.Unanswered(tool.Network, effects), "MCP server %s: %s", l.Name, l.Redact(connection.PlainError(err)))
}

// notRun is the error of a call that the server refused to take.
func (l *remote) notRun(why error, fix string) error {
	e := tool.Errorf(tool.Execution, "MCP server %s did not run the call: %s", l.Name, l.Redact(why.Error()))
	e.Recoverable, e.Fix = false, "The call was not run. "+fix
	return e
}

package mcpbridge

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolpost/toolpost/internal/clip"
	"github.com/toolpost/toolpost/journal"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/tool"
)

// offer is the tools of a server as models and runners get them.
type offer struct {
	set   *tool.Set
	names map[string]string // by the server's own names
}

// separator stands between the names of server and tool. Nothing splits a name at
// it: see [Servers.Original].
const separator = "__"

// rebuild makes the offer from the list and the accepted definitions. The caller holds the
// lock, or is alone.
func (l *remote) rebuild() {
	l.offer = offer{names: make(map[string]string)}
	if l.list == nil || l.Disabled {
		return
	}
	var sets []*tool.Set
	taken := make(map[string]bool)
	for _, d := range l.list.defs {
		if l.Tools != nil && !slices.Contains(l.Tools, d.Name) || !l.record.accepts(d, l.list.prints[d.Name]) {
			continue
		}
		t := l.tool(d, l.list)
		// One by one: a schema that cannot be used is that of one tool.
		one, err := tool.NewSet(t)
		if err == nil && taken[t.Name] {
			err = fmt.Errorf("another tool is called %s, too", t.Name)
		}
		if err != nil {
			l.host.notify(Notice{Server: l.Name, Tool: d.Name, Text: "is left out: " + l.redact(err.Error())})
			continue
		}
		sets, taken[t.Name] = append(sets, one), true
		l.offer.names[d.Name] = t.Name
	}
	l.offer.set, _ = tool.Join(sets...) // no two have one name
	l.missing()
}

// missing reports names of the filter that the server does not have: a filter that
// does not do what it says is not passed over.
func (l *remote) missing() {
	for _, name := range l.Tools {
		if _, listed := l.list.prints[name]; !listed && l.fresh {
			l.host.notify(Notice{Server: l.Name, Tool: name, Text: "is chosen in the configuration, and the server has no such tool"})
		}
	}
}

func (l *remote) known() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.list != nil
}

// tool makes a tool from a definition of a list.
func (l *remote) tool(d ServerTool, list *listing) tool.Tool {
	description := d.Description
	if description == "" {
		description = d.Title
	}
	print := list.prints[d.Name]
	t := tool.Tool{
		Name: tool.SafeName(l.Name + separator + d.Name), Description: description, Origin: tool.MCP,
		Source: l.Name, SourceHash: string(list.hash), Timeout: l.callTimeout() + l.connectTimeout(),
	}
	t.Input, t.OutputSchema = []byte(d.Input), []byte(d.Output)
	if l.Trust == TrustAnnotations {
		t.Effects = d.effects()
	}
	t.Call = func(ctx context.Context, args json.RawMessage) (tool.Output, error) {
		return l.call(ctx, d, print, t.Effects, args)
	}
	return t
}

// call has the server run the tool, if its definition is still the offered one.
func (l *remote) call(ctx context.Context, d ServerTool, print journal.Hash, effects tool.Effects, args json.RawMessage) (tool.Output, error) {
	live, err := l.connect(ctx)
	if err != nil {
		if ctx.Err() != nil {
			return tool.Output{}, ctx.Err()
		}
		return tool.Output{}, l.absent(err, effects)
	}
	if err := l.unchanged(d.Name, print); err != nil {
		return tool.Output{}, err
	}
	if len(args) == 0 {
		args = json.RawMessage("{}")
	}
	res, f, err := l.send(ctx, live, d.Name, args)
	if errors.Is(err, mcp.ErrSessionMissing) && f.waiting() == nil { // it was not run
		l.drop(live, "")
		if live, err = l.connect(ctx); err != nil {
			return tool.Output{}, l.absent(err, effects)
		}
		if err := l.unchanged(d.Name, print); err != nil {
			return tool.Output{}, err
		}
		res, f, err = l.send(ctx, live, d.Name, args)
	}
	if asks := f.waiting(); asks != nil {
		return tool.Output{}, asks
	}
	if err != nil {
		return f.used(tool.Output{}), l.failure(ctx, live, f, effects, err)
	}
	out, err := output(res)
	return f.used(out), err
}

// send makes a call. The activeCall that it returns has ended.
func (l *remote) send(ctx context.Context, live *connection, name string, args json.RawMessage) (*mcp.CallToolResult, *activeCall, error) {
	f := live.calls.begin(ctx, l.callTimeout())
	defer live.calls.end(f)
	params := &mcp.CallToolParams{Name: name, Arguments: args}
	params.SetProgressToken(f.token)
	res, err := live.session.CallTool(f.ctx, params)
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
// call another tool than it was told about.
func (l *remote) unchanged(name string, print journal.Hash) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.used = true
	now, there := l.list.prints[name]
	if there && now == print {
		return nil
	}
	what := "changed this tool since it was offered"
	if !there {
		what = "no longer has this tool"
	}
	e := tool.Errorf(tool.Permission, "MCP server %s %s; the call was not sent", l.Name, what)
	e.Recoverable, e.Fix = false, "Do not call it again in this turn. Use what is offered in the next one, or tell the user."
	return e
}

// failure turns the error of a request into one of a tool. A request that was sent
// and not answered may have taken effect.
func (l *remote) failure(ctx context.Context, live *connection, f *activeCall, effects tool.Effects, err error) error {
	wire, elsewhere := answeredError(err), (*redirectError)(nil)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case f.stuck:
		return tool.Errorf(unanswered(tool.Timeout, effects), "MCP server %s did not answer within %s, and no ping either; it was ended, and the next call starts it again", l.Name, l.callTimeout())
	case f.late:
		return tool.Errorf(unanswered(tool.Timeout, effects), "MCP server %s did not answer within %s", l.Name, l.callTimeout())
	case wantsLogin(err) != nil:
		return l.notRun(wantsLogin(err), "Tell the user what the server asks for.")
	case errors.As(err, &elsewhere):
		return l.notRun(elsewhere, "Tell the user that the address of the server has changed.")
	case errors.Is(err, mcp.ErrSessionMissing):
		return l.notRun(errors.New("it has forgotten the session, and the new one, too"), "Take another way.")
	case wire != nil && strings.Contains(wire.Message, noSampling) && l.sampling() != nil:
		return tool.Errorf(tool.Permission, "MCP server %s wants to ask the model in the middle of the call, and %v", l.Name, l.sampling())
	case wire != nil:
		code := tool.Execution
		switch wire.Code {
		case jsonrpc.CodeInvalidParams:
			code = tool.Validation
		case jsonrpc.CodeMethodNotFound:
			code = tool.NotFound
		}
		return tool.Errorf(code, "MCP server %s: %s", l.Name, clip.Bytes(l.redactHidden(plainText(wire.Message)), maxError))
	}
	if lost(err) {
		return tool.Errorf(unanswered(tool.Network, effects), "MCP server %s ended before it answered: %s", l.Name, l.redact(live.why(err)))
	}
	return tool.Errorf(unanswered(tool.Network, effects), "MCP server %s: %s", l.Name, l.redact(plainError(err)))
}

// notRun is the error of a call that the server refused to take.
func (l *remote) notRun(why error, fix string) error {
	e := tool.Errorf(tool.Execution, "MCP server %s did not run the call: %s", l.Name, l.redact(why.Error()))
	e.Recoverable, e.Fix = false, "The call was not run. "+fix
	return e
}

// unanswered is the code of a call without an answer: the given one if repeating the call is
// harmless, else the code of an unknown outcome.
func unanswered(code tool.Code, effects tool.Effects) tool.Code {
	if effects.Has(tool.Idempotent) {
		return code
	}
	return tool.Uncertain
}

// lost reports whether a request failed because the connection ended.
func lost(err error) bool {
	return errors.Is(err, mcp.ErrConnectionClosed) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrClosedPipe) || errors.Is(err, os.ErrClosed)
}

// The bounds of a result; its frame is bounded, too.
const (
	maxParts = 256
	maxError = 16 << 10
)

// output turns a result into what a model and programs get. A result that is an
// error becomes one whose message is the text.
func output(res *mcp.CallToolResult) (tool.Output, error) {
	var out tool.Output
	var texts []string
	for i, c := range res.Content {
		if i == maxParts {
			out.Parts = append(out.Parts, llm.Text{Text: fmt.Sprintf("[%d more parts of the result are left out]", len(res.Content)-maxParts)})
			break
		}
		part := partOf(c)
		if t, ok := part.(llm.Text); ok {
			texts = append(texts, t.Text)
		}
		out.Parts = append(out.Parts, part)
	}
	if res.StructuredContent != nil {
		var err error
		if out.Structured, err = structured(res.StructuredContent, texts); err != nil {
			return out, tool.Errorf(tool.Execution, "the structured result cannot be read: %v", err)
		}
	}
	if !res.IsError {
		return out, nil
	}
	message := strings.TrimSpace(strings.Join(texts, "\n"))
	if message == "" {
		message = strings.TrimSpace("the tool failed and does not say why " + string(out.Structured))
	}
	out.Parts = slices.DeleteFunc(out.Parts, func(p llm.Part) bool { _, is := p.(llm.Text); return is })
	return out, ownWords(clip.Bytes(message, maxError))
}

// ownWords is the error of a tool that ran and reports a failure. Its text must not look like a
// refusal of our policy, because that would mean that the tool did not run.
func ownWords(message string) error {
	e := tool.FromError(errors.New(message))
	if e.Code == tool.Permission {
		return tool.Errorf(tool.Execution, "%s", message)
	}
	return e
}

// structured writes a structured result. The SDK reads numbers as floating point;
// servers repeat the result as text, which has the exact numbers.
func structured(v any, texts []string) (json.RawMessage, error) {
	if len(texts) == 1 {
		var same any
		if json.Unmarshal([]byte(texts[0]), &same) == nil && reflect.DeepEqual(same, v) {
			return json.RawMessage(texts[0]), nil
		}
	}
	b, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	return journal.Canonical(b)
}

// partOf turns a piece of a result into a part of a message.
func partOf(c mcp.Content) llm.Part {
	switch c := c.(type) {
	case *mcp.TextContent:
		return llm.Text{Text: c.Text}
	case *mcp.ImageContent:
		return media(llm.Image, c.MIMEType, "", c.Data)
	case *mcp.AudioContent:
		return media(llm.Audio, c.MIMEType, "", c.Data)
	case *mcp.ResourceLink:
		return llm.Text{Text: strings.TrimSpace(fmt.Sprintf("[resource %s: %s %s]", c.URI, c.Name, c.Description))}
	case *mcp.EmbeddedResource:
		return resource(c.Resource)
	}
	return llm.Text{Text: "[a part of the result is of a kind that is not known here]"}
}

func resource(r *mcp.ResourceContents) llm.Part {
	if r == nil {
		return llm.Text{Text: "[an empty resource]"}
	}
	if r.Blob == nil {
		return llm.Text{Text: fmt.Sprintf("[resource %s]\n%s", r.URI, r.Text)}
	}
	kind := llm.Document
	for _, k := range []llm.MediaKind{llm.Image, llm.Audio, llm.Video} {
		if strings.HasPrefix(r.MIMEType, string(k)+"/") {
			kind = k
		}
	}
	return media(kind, r.MIMEType, r.URI, r.Blob)
}

// media returns a part for data, or a text with the reason for its absence.
func media(kind llm.MediaKind, mime, name string, data []byte) llm.Part {
	if kind != llm.Document && !strings.HasPrefix(mime, string(kind)+"/") {
		return llm.Text{Text: fmt.Sprintf("[%d bytes of type %.60q, which is no %s]", len(data), mime, kind)}
	}
	if len(data) == 0 {
		return llm.Text{Text: fmt.Sprintf("[an empty %s]", kind)}
	}
	return llm.Media{Kind: kind, MIME: mime, Name: name, Data: data}
}

// Package bridge serves the tools of one request to an agent program.
package bridge

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolpost/toolpost/internal/clip"
	"github.com/toolpost/toolpost/invoke"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/mcpbridge/internal/convert"
	"github.com/toolpost/toolpost/mcpbridge/internal/names"
	"github.com/toolpost/toolpost/mcpbridge/internal/rpc"
	"github.com/toolpost/toolpost/mcpbridge/internal/toollist"
	"github.com/toolpost/toolpost/mcpbridge/serve"
	"github.com/toolpost/toolpost/tool"
)

// DefaultName is the default name of a bridge.
const DefaultName = "toolpost"

// Disabled is the result of a call whose tool has no function. The caller of the model runs such a
// call.
const Disabled = "Provider-side execution is disabled for AI SDK bridge tools."

// noDescription is the description of a tool that has none.
const noDescription = "No description"

// Bridge is an MCP server for one question to an agent program: the program finds the
// tools of the question there, and nothing else. It lives in this process. Make one
// for each question.
type Bridge struct {
	// Name is the name of the server; empty means [DefaultName]. It is part of the
	// names that the program gives the tools; see [Bridge.WireName].
	Name string
	// Version is that of the program, for the handshake.
	Version string
	// Tools are run by Do, and so are Defs, whose functions are elsewhere; they need
	// Do. Others are offered, too, and answer that they are not run here.
	Tools        *tool.Set
	Defs, Others []llm.ToolDef
	// Do runs a call of one of Tools or Defs, with the id of the program if it sent one. Nil runs it
	// with an [invoke.Runner] without settings. An error means that the call could not be run, and the
	// program is told it as well.
	Do func(context.Context, llm.Call) (llm.Result, error)
}

// Server returns the MCP server of the bridge. No two tools may have one name.
func (b *Bridge) Server() (*mcp.Server, error) {
	if !names.ValidServer(b.name()) {
		return nil, fmt.Errorf("mcp: %q is not a name for a bridge: up to %d letters, digits, - and _, without __", b.Name, names.MaxServer)
	}
	do := b.Do
	if do == nil && len(b.Defs) > 0 {
		return nil, errors.New("mcp: a bridge with definitions to run needs a function that runs them")
	}
	if do == nil {
		session, err := (&invoke.Runner{Tools: b.Tools}).Session(nil)
		if err != nil {
			return nil, err
		}
		do = sessionRun(session)
	}
	s := mcp.NewServer(&mcp.Implementation{Name: b.name(), Version: cmp.Or(b.Version, "0")}, &mcp.ServerOptions{Capabilities: &mcp.ServerCapabilities{Tools: &mcp.ToolCapabilities{}}})
	taken := make(map[string]bool)
	add := func(d llm.ToolDef, handle mcp.ToolHandler) error {
		if taken[d.Name] {
			return fmt.Errorf("mcp: two tools are called %s", d.Name)
		}
		taken[d.Name] = true
		d.Description = cmp.Or(d.Description, noDescription)
		t, err := convert.DefinitionOf(d)
		if err != nil {
			return err
		}
		if err := convert.AddTool(s, t, handle); err != nil {
			return fmt.Errorf("mcp: tool %s cannot be offered: %w", d.Name, err)
		}
		return nil
	}
	for _, d := range append(b.Tools.Defs(), b.Defs...) {
		if err := add(d, runs(do)); err != nil {
			return nil, err
		}
	}
	for _, d := range b.Others {
		if err := add(d, disabled); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// runs returns a handler that runs calls with do. An error is never a protocol error, because the
// model behind the program has to read it.
func runs(do func(context.Context, llm.Call) (llm.Result, error)) mcp.ToolHandler {
	return func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		c := llm.Call{ID: callID(req), Name: req.Params.Name, Args: convert.ArgumentsOf(req)}
		r, err := do(ctx, c)
		if err != nil {
			return convert.FailedResult(clip.Bytes(rpc.PlainText(err.Error()), convert.MaxError)), nil
		}
		return convert.ResultOf(r, nil), nil
	}
}

func disabled(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	return convert.FailedResult(Disabled), nil
}

// callIDs are where programs put the id of the model's call into a request.
var callIDs = []string{"claudecode/toolUseId", "toolUseId", "callId"}

// maxCallID bounds the id of a call from outside.
const maxCallID = 128

// callID is the id of the model's call, if the program says it.
func callID(req *mcp.CallToolRequest) string {
	for _, key := range callIDs {
		if id, ok := req.Params.Meta[key].(string); ok && id != "" && len(id) <= maxCallID && !strings.ContainsFunc(id, rpc.IsControl) {
			return id
		}
	}
	return ""
}

// sessionRun runs calls one after the other in a session: a program may send several at
// once.
func sessionRun(s *invoke.Session) func(context.Context, llm.Call) (llm.Result, error) {
	free := make(chan struct{}, 1)
	return func(ctx context.Context, c llm.Call) (llm.Result, error) {
		select {
		case free <- struct{}{}:
			defer func() { <-free }()
		case <-ctx.Done():
			return llm.Result{}, ctx.Err()
		}
		results, err := s.Results(ctx, []llm.Call{c})
		if err != nil {
			return llm.Result{}, err
		}
		if len(results) != 1 {
			return llm.Result{}, errors.New("the call was not run")
		}
		return results[0], nil
	}
}

func (b *Bridge) name() string { return cmp.Or(b.Name, DefaultName) }

// prefix is the prefix of the tools' names in a program that lists the tools of all servers.
func (b *Bridge) prefix() string { return "mcp" + toollist.Separator + b.name() + toollist.Separator }

// WireName is the name that an agent program gives the tool: mcp__ server __ tool.
func (b *Bridge) WireName(tool string) string { return b.prefix() + tool }

// Allowed are the names of all tools of the bridge as an agent program writes them: all
// that it may use.
func (b *Bridge) Allowed() []string {
	out := []string{} // none is not the same as no list
	for _, name := range b.names() {
		out = append(out, b.WireName(name))
	}
	return out
}

func (b *Bridge) names() []string {
	out := b.Tools.Names()
	for _, defs := range [][]llm.ToolDef{b.Defs, b.Others} {
		for _, d := range defs {
			out = append(out, d.Name)
		}
	}
	return out
}

// Original returns the name of the tool that an agent program calls name. It is defined for every
// name: if the bridge does not know the name, the prefix of the bridge is removed, if there is one
// and more follows. A tool whose own name begins with the prefix keeps its name. known reports
// whether the bridge has the tool.
func (b *Bridge) Original(name string) (original string, known bool) {
	bare, cut := strings.CutPrefix(name, b.prefix())
	whole := false
	for _, own := range b.names() {
		if cut && own == bare {
			return bare, true
		}
		whole = whole || own == name
	}
	if whole || !cut || bare == "" {
		return name, whole
	}
	return bare, false
}

// Address is where an agent program on this machine reaches a bridge.
type Address struct {
	// URL is an address of this machine. Key is the bearer key that every request needs; it is made for
	// this bridge and expires with it.
	URL, Key string

	server   *mcp.Server
	requests rpc.HTTPRequests
	http     *http.Server
	done     chan struct{}
}

// The bounds of a bridge, which has one client.
const (
	bridgeSessions = 8
	bridgeHeaders  = 32 << 10
)

// Listen serves the bridge by streamable HTTP on a free port of this machine, until it is
// closed.
func (b *Bridge) Listen() (*Address, error) {
	server, err := b.Server()
	if err != nil {
		return nil, err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	a := &Address{URL: "http://" + l.Addr().String() + "/mcp", Key: rand.Text(), server: server, done: make(chan struct{})}
	handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil)
	limited := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if n := a.sessions(); n >= bridgeSessions && r.Header.Get("Mcp-Session-Id") == "" {
			http.Error(w, "there are too many sessions", http.StatusServiceUnavailable)
			return
		}
		a.requests.Serve(handler, w, r)
	})
	a.http = &http.Server{Handler: serve.HTTPAccess{Keys: []string{a.Key}}.Guard(limited), ReadHeaderTimeout: 10 * time.Second, MaxHeaderBytes: bridgeHeaders}
	go func() {
		defer close(a.done)
		_ = a.http.Serve(l) // it ends when it is closed
	}()
	return a, nil
}

func (a *Address) sessions() int {
	n := 0
	for range a.server.Sessions() {
		n++
	}
	return n
}

// Close ends the bridge. Calls that are under way are cancelled.
func (a *Address) Close() {
	_ = a.http.Close()
	<-a.done
	a.requests.End(a.server)
}

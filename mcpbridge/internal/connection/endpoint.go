package connection

import (
	"context"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolpost/toolpost/internal/clip"
	"github.com/toolpost/toolpost/internal/secret"
	"github.com/toolpost/toolpost/journal"
	"github.com/toolpost/toolpost/mcpbridge/config"
	"github.com/toolpost/toolpost/mcpbridge/internal/rpc"
	"github.com/toolpost/toolpost/mcpbridge/internal/toollist"
)

// Endpoint is a configured server as this process reaches it. Clients and relays connect through it, so that
// both use the same logins and hide the same secrets.
type Endpoint struct {
	config.ServerConfig
	// Dir is the folder of stored lists and logins, Lookup returns the values of variables.
	Dir    string
	Lookup func(name string) (string, bool)
	// Supervised runs programs under a supervisor.
	Supervised bool
	// Hidden are values that must not reach a person, the model or the stored state.
	Hidden *journal.Secrets

	values atomic.Pointer[[]string] // that came from variables and logins
}

// Current returns the configuration with its variables replaced. Their values are redacted from now on.
func (e *Endpoint) Current() (config.ServerConfig, error) {
	s, secrets, err := e.Resolve(e.Lookup)
	if err == nil {
		e.values.Store(&secrets)
	}
	return s, err
}

// Start starts the program of s, whose variables are resolved.
func (e *Endpoint) Start(s config.ServerConfig) (*Process, error) {
	return StartProcess(s, e.Supervised)
}

// Tokens are the tokens of the login for a server, whose variables are resolved.
func (e *Endpoint) Tokens(s config.ServerConfig) (*Tokens, error) {
	login, err := ReadLogin(e.Dir, s)
	if err != nil {
		return nil, err
	}
	hide := func(secret string) {
		hidden := []string{secret}
		if before := e.values.Load(); before != nil {
			hidden = append(hidden, *before...)
		}
		if !slices.Contains(hidden[1:], secret) {
			e.values.Store(&hidden)
		}
	}
	return &Tokens{dir: e.Dir, Server: s, Login: login, told: hide}, nil
}

// RedactHidden removes the hidden values from text.
func (e *Endpoint) RedactHidden(text string) string {
	out, _ := e.Hidden.RedactValues(text)
	return out
}

// Redact returns an error in one line for people, without secrets and control characters. More are further secrets.
func (e *Endpoint) Redact(text string, more ...string) string {
	text = e.RedactHidden(rpc.PlainText(text)) // in this order: a control character may be inside a secret
	if values := e.values.Load(); values != nil {
		more = append(more, *values...)
	}
	text = secret.Redact(text, more...)
	return clip.Bytes(strings.ReplaceAll(text, "\n", " "), 600)
}

// RedactTool removes the hidden values from the definition of a tool. It reports whether the
// tool can be used then: a name or a schema that holds one cannot be repaired.
func (e *Endpoint) RedactTool(d config.ServerTool) (config.ServerTool, bool) {
	for _, text := range []string{d.Name, string(d.Input), string(d.Output)} {
		if e.RedactHidden(text) != text {
			return d, false
		}
	}
	d.Title, d.Description = e.RedactHidden(d.Title), e.RedactHidden(d.Description)
	return d, true
}

// ReadTools asks a server for its tools, and removes the hidden values before anybody is shown the list or it is stored.
func (e *Endpoint) ReadTools(ctx context.Context, session *mcp.ClientSession) (*toollist.List, error) {
	list, err := toollist.Read(ctx, e.Name, session)
	if err != nil {
		return nil, err
	}
	return e.RedactList(list), nil
}

// RedactList removes the hidden values from a list. Tools that cannot be used without them are left out.
func (e *Endpoint) RedactList(list *toollist.List) *toollist.List {
	if e.Hidden == nil {
		return list
	}
	var defs []config.ServerTool
	left := list.Unusable
	for _, d := range list.Defs {
		clean, ok := e.RedactTool(d)
		if !ok {
			left = append(left, config.Notice{Server: e.Name, Tool: d.Name, Text: "is left out: its definition holds a secret of yours"})
			continue
		}
		defs = append(defs, clean)
	}
	out := toollist.New(defs)
	out.Unusable, out.TTL, out.At, out.Schemas = left, list.TTL, list.At, list.Schemas
	return out
}

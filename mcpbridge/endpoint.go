package mcpbridge

import (
	"context"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolpost/toolpost/internal/clip"
	"github.com/toolpost/toolpost/internal/secret"
	"github.com/toolpost/toolpost/journal"
)

// endpoint is a configured server as this process reaches it. Clients and relays connect through it, so that
// both use the same logins and hide the same secrets.
type endpoint struct {
	ServerConfig
	// Dir is the folder of stored lists and logins, Lookup returns the values of variables.
	Dir    string
	Lookup func(name string) (string, bool)
	// Supervised runs programs under a supervisor.
	Supervised bool
	// Hidden are values that must not reach a person, the model or the stored state.
	Hidden *journal.Secrets

	values atomic.Pointer[[]string] // that came from variables and logins
}

// current returns the configuration with its variables replaced. Their values are redacted from now on.
func (e *endpoint) current() (ServerConfig, error) {
	s, secrets, err := e.Resolve(e.Lookup)
	if err == nil {
		e.values.Store(&secrets)
	}
	return s, err
}

// start starts the program of s, whose variables are resolved.
func (e *endpoint) start(s ServerConfig) (*process, error) { return startProcess(s, e.Supervised) }

// tokens are the tokens of the login for a server, whose variables are resolved.
func (e *endpoint) tokens(s ServerConfig) (*tokens, error) {
	login, err := readLogin(e.Dir, s)
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
	return &tokens{dir: e.Dir, s: s, login: login, told: hide}, nil
}

// redactHidden removes the hidden values from text.
func (e *endpoint) redactHidden(text string) string {
	out, _ := e.Hidden.RedactValues(text)
	return out
}

// redact returns an error in one line for people, without secrets and control characters. More are further secrets.
func (e *endpoint) redact(text string, more ...string) string {
	text = e.redactHidden(plainText(text)) // in this order: a control character may be inside a secret
	if values := e.values.Load(); values != nil {
		more = append(more, *values...)
	}
	text = secret.Redact(text, more...)
	return clip.Bytes(strings.ReplaceAll(text, "\n", " "), 600)
}

// redactTool removes the hidden values from the definition of a tool. It reports whether the
// tool can be used then: a name or a schema that holds one cannot be repaired.
func (e *endpoint) redactTool(d ServerTool) (ServerTool, bool) {
	for _, text := range []string{d.Name, string(d.Input), string(d.Output)} {
		if e.redactHidden(text) != text {
			return d, false
		}
	}
	d.Title, d.Description = e.redactHidden(d.Title), e.redactHidden(d.Description)
	return d, true
}

// readTools asks a server for its tools, and removes the hidden values before anybody is shown the list or it is stored.
func (e *endpoint) readTools(ctx context.Context, session *mcp.ClientSession) (*listing, error) {
	list, err := readList(ctx, e.Name, session)
	if err != nil || e.Hidden == nil {
		return list, err
	}
	var defs []ServerTool
	left := list.left
	for _, d := range list.defs {
		clean, ok := e.redactTool(d)
		if !ok {
			left = append(left, Notice{Server: e.Name, Tool: d.Name, Text: "is left out: its definition holds a secret of yours"})
			continue
		}
		defs = append(defs, clean)
	}
	out := newListing(defs)
	out.left, out.ttl, out.at = left, list.ttl, list.at
	return out, nil
}

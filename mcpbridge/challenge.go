package mcpbridge

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/modelcontextprotocol/go-sdk/oauthex"

	"github.com/toolpost/toolpost/internal/clip"
)

// challenge is how a server refuses a request because it wants to know who we are, or
// wants a token that may do more.
type challenge struct {
	Status int      `json:"status"`
	Wants  []string `json:"www_authenticate,omitempty"`
}

// maxChallenge bounds what a server asks for, and maxScopes the scopes in it.
const (
	maxChallenge = 4 << 10
	maxScopes    = 64
)

// challengeOf returns the challenge of a response, nil if it is none. A response that
// forbids something is one only if a token that may do more would help.
func challengeOf(resp *http.Response) *challenge {
	c := &challenge{Status: resp.StatusCode}
	size := 0
	for _, value := range resp.Header.Values("WWW-Authenticate") {
		if size += len(value); size <= maxChallenge {
			c.Wants = append(c.Wants, value)
		}
	}
	if c.Status == http.StatusUnauthorized || c.Status == http.StatusForbidden && c.param("error") == "insufficient_scope" {
		return c
	}
	return nil
}

// param returns a parameter of what the server wants, "" without it.
func (c *challenge) param(name string) string {
	asked, err := oauthex.ParseWWWAuthenticate(c.Wants)
	if err != nil {
		return "" // the login says so
	}
	for _, one := range asked {
		if value := one.Params[name]; strings.EqualFold(one.Scheme, "bearer") && value != "" {
			return value
		}
	}
	return ""
}

// scopes are those that the server wants.
func (c *challenge) scopes() []string {
	scopes := strings.Fields(plainText(c.param("scope")))
	return scopes[:min(len(scopes), maxScopes)]
}

// more reports whether the server wants a scope that is not among those that a token
// was asked for.
func (c *challenge) more(than []string) bool {
	return c.Status == http.StatusForbidden && slices.ContainsFunc(c.scopes(), func(s string) bool { return !slices.Contains(than, s) })
}

// response is the challenge as it came.
func (c *challenge) response() *http.Response {
	return &http.Response{StatusCode: c.Status, Header: http.Header{"Www-Authenticate": c.Wants}, Body: http.NoBody}
}

// keptChallenge is a challenge that a run met, for the next login: a server may ask who
// we are at a call, which a login does not make.
type keptChallenge struct {
	URL string `json:"url"`
	challenge
}

func challengeFile(dir, name string) string { return filepath.Join(dir, "tokens", name+".asked.json") }

// readChallenge returns what the server asked for in a run, nil if it did not.
func readChallenge(dir string, s ServerConfig) *challenge {
	if dir == "" {
		return nil
	}
	text, err := os.ReadFile(challengeFile(dir, s.Name))
	if err != nil {
		return nil // the login goes on without it
	}
	var k keptChallenge
	if json.Unmarshal(text, &k) != nil || k.URL != s.URL {
		return nil
	}
	return &k.challenge
}

// refused notes a challenge, for the next login too, and returns the error for a person.
func (t *tokens) refused(c *challenge) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.met, t.why = c, t.meet(c)
	return t.why
}

func (t *tokens) meet(c *challenge) error {
	var may []string
	if t.login != nil {
		may = t.login.Scopes
	}
	scopes := clip.Bytes(strings.Join(c.scopes(), " "), 200)
	if c.Status == http.StatusForbidden && !c.more(may) {
		return loginErrorf(": it forbids that, though the login asked for all it wants (%s); another login will not help, ask whoever runs the server", scopes)
	}
	if t.dir != "" {
		if text, err := json.Marshal(keptChallenge{t.s.URL, *c}); err == nil {
			_ = writeSecret(challengeFile(t.dir, t.s.Name), text) // without it the login asks for less
		}
	}
	if c.Status == http.StatusForbidden {
		return loginErrorf(": it wants you to agree to more (%s); 'toolpost mcp login %s' asks you", scopes, t.s.Name)
	}
	return loginErrorf("; 'toolpost mcp login %s' logs you in", t.s.Name)
}

// knock asks a server for its tools as a run does, with the token of t or without one.
// What it wants to know first is t.met then.
func knock(ctx context.Context, s ServerConfig, t *tokens) error {
	s.Headers = withoutToken(s.Headers)
	var err error
	for _, revision := range []string{"", legacy} {
		if err = knockAs(ctx, s, t, revision); err == nil || t.met != nil || ctx.Err() != nil {
			break
		}
	}
	return err
}

func knockAs(ctx context.Context, s ServerConfig, t *tokens, revision string) error {
	life, end := context.WithTimeoutCause(ctx, s.connectTimeout(), errSlow)
	defer end()
	transport, err := httpTransport(life, s, t)
	if err != nil {
		return err
	}
	session, err := newClient(&mcp.Implementation{Name: "toolpost"}, nil).Connect(life, transport, &mcp.ClientSessionOptions{ProtocolVersion: revision})
	if err == nil {
		defer session.Close()
		_, err = readList(life, s.Name, session)
	}
	if err != nil && errors.Is(context.Cause(life), errSlow) {
		return fmt.Errorf("%w (%s)", errSlow, s.connectTimeout())
	}
	return err
}

// withoutToken returns headers without the one that a login replaces.
func withoutToken(headers map[string]string) map[string]string {
	out := make(map[string]string, len(headers))
	for name, value := range headers {
		if !strings.EqualFold(name, "Authorization") {
			out[name] = value
		}
	}
	return out
}

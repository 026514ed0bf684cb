package mcpbridge

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/modelcontextprotocol/go-sdk/oauthex"
	"golang.org/x/oauth2"

	"github.com/toolpost/toolpost/internal/clip"
	"github.com/toolpost/toolpost/internal/outbound"
)

// savedLogin is a stored login, in a file that only its owner can read.
type savedLogin struct {
	// URL is the address of the server that the token is for. It goes to no other.
	URL string `json:"url"`
	// TokenURL is where it is renewed, by the client of that name.
	TokenURL     string           `json:"token_url"`
	ClientID     string           `json:"client_id"`
	ClientSecret string           `json:"client_secret,omitempty"`
	AuthStyle    oauth2.AuthStyle `json:"auth_style,omitempty"`
	Scopes       []string         `json:"scopes,omitempty"`
	AccessToken  string           `json:"access_token"`
	RefreshToken string           `json:"refresh_token,omitempty"`
	Expiry       time.Time        `json:"expiry,omitzero"`
}

// maxLogin bounds the file of a login, and every answer of an authorization server.
const maxLogin = 1 << 20

func loginFile(dir, name string) string { return filepath.Join(dir, "tokens", name+".json") }

// readLogin returns the login for a server, nil if there is none for its address.
func readLogin(dir string, s ServerConfig) (*savedLogin, error) {
	if dir == "" {
		return nil, nil
	}
	file := loginFile(dir, s.Name)
	f, err := os.Open(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxLogin))
	if err != nil {
		return nil, err
	}
	var l savedLogin
	if json.Unmarshal(text, &l) != nil { // the error would show what stands there
		return nil, fmt.Errorf("%s cannot be read; log in again", file)
	}
	if l.URL != s.URL || l.AccessToken == "" {
		return nil, nil
	}
	return &l, nil
}

// write keeps the login, readable by its owner only.
func (l *savedLogin) write(dir, name string) error {
	text, err := json.Marshal(l)
	if err != nil {
		return err
	}
	return writeSecret(loginFile(dir, name), text)
}

// writeSecret replaces a file by one with mode 0600.
func writeSecret(file string, text []byte) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return err
	}
	temp, err := os.CreateTemp(filepath.Dir(file), ".new-*") // with mode 0600
	if err != nil {
		return err
	}
	_, err = temp.Write(text)
	err = errors.Join(err, temp.Close())
	if err == nil {
		err = os.Rename(temp.Name(), file)
	}
	if err != nil {
		err = errors.Join(err, os.Remove(temp.Name()))
	}
	return err
}

// tokens gives out the token of one server, and renews it.
type tokens struct {
	dir string
	s   ServerConfig

	mu    sync.Mutex
	login *savedLogin
	told  func(secret string) // every token that is used
	met   *challenge          // the last one
	why   error               // the last error about it
}

// loginError is why a server refuses somebody without a login that it takes. Its text
// is for a person; the SDK wraps it in others.
type loginError struct{ text string }

func (e *loginError) Error() string { return e.text }

func loginErrorf(format string, args ...any) error {
	return &loginError{"it asks who you are" + fmt.Sprintf(format, args...)}
}

// wantsLogin returns the loginError in err, nil if there is none.
func wantsLogin(err error) *loginError {
	var e *loginError
	if errors.As(err, &e) {
		return e
	}
	return nil
}

// header returns the value of Authorization for a request, "" without a login.
func (t *tokens) header(ctx context.Context) (string, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.login == nil {
		return "", nil
	}
	if !t.login.expired() {
		return t.use(), nil
	}
	// Another process may have renewed it: a refresh token is good once.
	if now, err := readLogin(t.dir, t.s); err == nil && now != nil && now.AccessToken != t.login.AccessToken {
		t.login = now
	}
	if t.login.expired() {
		if err := t.renew(ctx); err != nil {
			return "", err
		}
	}
	return t.use(), nil
}

func (t *tokens) use() string {
	if t.told != nil {
		t.told(t.login.AccessToken)
	}
	return "Bearer " + t.login.AccessToken
}

// spoil takes a token for worthless, and reports whether another one can be had.
func (t *tokens) spoil(header string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.login == nil || t.login.RefreshToken == "" {
		return false
	}
	if "Bearer "+t.login.AccessToken == header {
		l := *t.login
		l.Expiry = time.Unix(1, 0)
		t.login = &l
	}
	return true
}

// early is how long before its end a token is renewed.
const early = 30 * time.Second

func (l *savedLogin) expired() bool {
	return !l.Expiry.IsZero() && time.Now().Add(early).After(l.Expiry)
}

// renew gets a new token for the old one. Errors hold no token.
func (t *tokens) renew(ctx context.Context) error {
	l := *t.login
	if l.RefreshToken == "" {
		return loginErrorf(": the login is over; 'toolpost mcp login %s' begins another", t.s.Name)
	}
	client, err := loginClient(t.s)
	if err != nil {
		return err
	}
	config := &oauth2.Config{ClientID: l.ClientID, ClientSecret: l.ClientSecret, Endpoint: oauth2.Endpoint{TokenURL: l.TokenURL, AuthStyle: l.AuthStyle}}
	ctx = context.WithValue(ctx, oauth2.HTTPClient, client)
	token, err := config.TokenSource(ctx, &oauth2.Token{RefreshToken: l.RefreshToken}).Token()
	if err != nil {
		return loginErrorf(": the login could not be renewed (%s); 'toolpost mcp login %s' begins another", oauthReason(err), t.s.Name)
	}
	l.take(token)
	t.login = &l
	return l.write(t.dir, t.s.Name)
}

func (l *savedLogin) take(token *oauth2.Token) {
	l.AccessToken, l.Expiry = token.AccessToken, token.Expiry
	if token.RefreshToken != "" {
		l.RefreshToken = token.RefreshToken
	}
}

// oauthReason is what an authorization server said was wrong, without the answer
// itself, which may hold a token.
func oauthReason(err error) string {
	var refused *oauth2.RetrieveError
	if errors.As(err, &refused) {
		code := clip.Bytes(plainText(refused.ErrorCode), 60)
		if code == "" && refused.Response != nil {
			code = refused.Response.Status
		}
		return code
	}
	var address *url.Error
	if errors.As(err, &address) {
		return clip.Bytes(plainText(address.Err.Error()), 200)
	}
	return "its answer cannot be used"
}

// loginClient returns the client for requests of a login and its renewal. It follows no
// redirects and reads no answer without end. Names and addresses of this machine are
// asked only if the server itself is there.
func loginClient(s ServerConfig) (*http.Client, error) {
	home, err := url.Parse(s.URL)
	if err != nil {
		return nil, errors.New("the url cannot be read")
	}
	if err := mayAsk(home, home); err != nil {
		return nil, err
	}
	client := outbound.New(outbound.Rules{Connect: s.connectTimeout(), Timeout: s.connectTimeout()})
	client.Transport = &loginTransport{home: home, next: client.Transport}
	return client, nil
}

// loginTransport keeps requests of a login to places that may be asked.
type loginTransport struct {
	home *url.URL
	next http.RoundTripper
}

// RoundTrip implements [http.RoundTripper].
func (t *loginTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	if err := mayAsk(req.URL, t.home); err != nil {
		return nil, err
	}
	resp, err := t.next.RoundTrip(req)
	if err == nil {
		resp.Body = &bounded{resp.Body, maxLogin, maxLogin}
	}
	return resp, err
}

// mayAsk refuses addresses that a login to the server at home does not ask.
func mayAsk(u, home *url.URL) error {
	switch {
	case u.Scheme != "https" && (u.Scheme != "http" || !loopback(u.Hostname())):
		return fmt.Errorf("%s://%s is not asked: a login goes over https", u.Scheme, u.Host)
	case loopback(u.Hostname()) && !loopback(home.Hostname()):
		return fmt.Errorf("%s is on this machine, and the server is not", u.Host)
	}
	return nil
}

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
		return "" // the login reports it
	}
	for _, one := range asked {
		if value := one.Params[name]; strings.EqualFold(one.Scheme, "bearer") && value != "" {
			return value
		}
	}
	return ""
}

// scopes returns the scopes that the server wants.
func (c *challenge) scopes() []string {
	scopes := strings.Fields(plainText(c.param("scope")))
	return scopes[:min(len(scopes), maxScopes)]
}

// more reports whether the server wants a scope that the request for the token did not have.
func (c *challenge) more(than []string) bool {
	return c.Status == http.StatusForbidden && slices.ContainsFunc(c.scopes(), func(s string) bool { return !slices.Contains(than, s) })
}

// response returns the challenge as an HTTP response.
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
		return nil // the login continues without it
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

// withoutToken returns headers without the header that a login replaces.
func withoutToken(headers map[string]string) map[string]string {
	out := make(map[string]string, len(headers))
	for name, value := range headers {
		if !strings.EqualFold(name, "Authorization") {
			out[name] = value
		}
	}
	return out
}

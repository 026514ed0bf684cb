package connection

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

	"github.com/modelcontextprotocol/go-sdk/oauthex"
	"golang.org/x/oauth2"

	"github.com/toolpost/toolpost/internal/clip"
	"github.com/toolpost/toolpost/internal/outbound"
	"github.com/toolpost/toolpost/mcpbridge/config"
	"github.com/toolpost/toolpost/mcpbridge/internal/rpc"
)

// SavedLogin is a stored login, in a file that only its owner can read.
type SavedLogin struct {
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

// LoginFile is the file of the login for a server.
func LoginFile(dir, name string) string { return filepath.Join(dir, "tokens", name+".json") }

// ReadLogin returns the login for a server, nil if there is none for its address.
func ReadLogin(dir string, s config.ServerConfig) (*SavedLogin, error) {
	if dir == "" {
		return nil, nil
	}
	file := LoginFile(dir, s.Name)
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
	var l SavedLogin
	if json.Unmarshal(text, &l) != nil { // the error would show what stands there
		return nil, fmt.Errorf("%s cannot be read; log in again", file)
	}
	if l.URL != s.URL || l.AccessToken == "" {
		return nil, nil
	}
	return &l, nil
}

// Write keeps the login, readable by its owner only.
func (l *SavedLogin) Write(dir, name string) error {
	text, err := json.Marshal(l)
	if err != nil {
		return err
	}
	return writeSecret(LoginFile(dir, name), text)
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

// Tokens gives out the token of one server, and renews it.
type Tokens struct {
	dir    string
	Server config.ServerConfig

	mu    sync.Mutex
	Login *SavedLogin
	told  func(secret string) // every token that is used
	Met   *Challenge          // the last one
	Why   error               // the last error about it
}

// loginError is why a server refuses somebody without a login that it takes. Its text
// is for a person; the SDK wraps it in others.
type loginError struct{ text string }

func (e *loginError) Error() string { return e.text }

func loginErrorf(format string, args ...any) error {
	return &loginError{"it asks who you are" + fmt.Sprintf(format, args...)}
}

// WantsLogin returns the loginError in err, nil if there is none.
func WantsLogin(err error) *loginError {
	var e *loginError
	if errors.As(err, &e) {
		return e
	}
	return nil
}

// header returns the value of Authorization for a request, "" without a login.
func (t *Tokens) header(ctx context.Context) (string, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.Login == nil {
		return "", nil
	}
	if !t.Login.expired() {
		return t.use(), nil
	}
	// Another process may have renewed it: a refresh token is good once.
	if now, err := ReadLogin(t.dir, t.Server); err == nil && now != nil && now.AccessToken != t.Login.AccessToken {
		t.Login = now
	}
	if t.Login.expired() {
		if err := t.renew(ctx); err != nil {
			return "", err
		}
	}
	return t.use(), nil
}

func (t *Tokens) use() string {
	if t.told != nil {
		t.told(t.Login.AccessToken)
	}
	return "Bearer " + t.Login.AccessToken
}

// spoil takes a token for worthless, and reports whether another one can be had.
func (t *Tokens) spoil(header string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.Login == nil || t.Login.RefreshToken == "" {
		return false
	}
	if "Bearer "+t.Login.AccessToken == header {
		l := *t.Login
		l.Expiry = time.Unix(1, 0)
		t.Login = &l
	}
	return true
}

// early is how long before its end a token is renewed.
const early = 30 * time.Second

func (l *SavedLogin) expired() bool {
	return !l.Expiry.IsZero() && time.Now().Add(early).After(l.Expiry)
}

// renew gets a new token for the old one. Errors hold no token.
func (t *Tokens) renew(ctx context.Context) error {
	l := *t.Login
	if l.RefreshToken == "" {
		return loginErrorf(": the login is over; 'toolpost mcp login %s' begins another", t.Server.Name)
	}
	client, err := NewLoginClient(t.Server)
	if err != nil {
		return err
	}
	config := &oauth2.Config{ClientID: l.ClientID, ClientSecret: l.ClientSecret, Endpoint: oauth2.Endpoint{TokenURL: l.TokenURL, AuthStyle: l.AuthStyle}}
	ctx = context.WithValue(ctx, oauth2.HTTPClient, client)
	token, err := config.TokenSource(ctx, &oauth2.Token{RefreshToken: l.RefreshToken}).Token()
	if err != nil {
		return loginErrorf(": the login could not be renewed (%s); 'toolpost mcp login %s' begins another", OAuthReason(err), t.Server.Name)
	}
	l.Take(token)
	t.Login = &l
	return l.Write(t.dir, t.Server.Name)
}

// Take keeps a new token.
func (l *SavedLogin) Take(token *oauth2.Token) {
	l.AccessToken, l.Expiry = token.AccessToken, token.Expiry
	if token.RefreshToken != "" {
		l.RefreshToken = token.RefreshToken
	}
}

// OAuthReason is what an authorization server said was wrong, without the answer
// itself, which may hold a token.
func OAuthReason(err error) string {
	var refused *oauth2.RetrieveError
	if errors.As(err, &refused) {
		code := clip.Bytes(rpc.PlainText(refused.ErrorCode), 60)
		if code == "" && refused.Response != nil {
			code = refused.Response.Status
		}
		return code
	}
	var address *url.Error
	if errors.As(err, &address) {
		return clip.Bytes(rpc.PlainText(address.Err.Error()), 200)
	}
	return "its answer cannot be used"
}

// NewLoginClient returns the client for requests of a login and its renewal. It follows no
// redirects and reads no answer without end. Names and addresses of this machine are
// asked only if the server itself is there.
func NewLoginClient(s config.ServerConfig) (*http.Client, error) {
	home, err := url.Parse(s.URL)
	if err != nil {
		return nil, errors.New("the url cannot be read")
	}
	if err := mayAsk(home, home); err != nil {
		return nil, err
	}
	client := outbound.New(outbound.Rules{Connect: s.ConnectTimeout(), Timeout: s.ConnectTimeout()})
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

// Challenge is how a server refuses a request because it wants to know who we are, or
// wants a token that may do more.
type Challenge struct {
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
func challengeOf(resp *http.Response) *Challenge {
	c := &Challenge{Status: resp.StatusCode}
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
func (c *Challenge) param(name string) string {
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

// Scopes returns the scopes that the server wants.
func (c *Challenge) Scopes() []string {
	scopes := strings.Fields(rpc.PlainText(c.param("scope")))
	return scopes[:min(len(scopes), maxScopes)]
}

// More reports whether the server wants a scope that the request for the token did not have.
func (c *Challenge) More(than []string) bool {
	return c.Status == http.StatusForbidden && slices.ContainsFunc(c.Scopes(), func(s string) bool { return !slices.Contains(than, s) })
}

// Response returns the challenge as an HTTP response.
func (c *Challenge) Response() *http.Response {
	return &http.Response{StatusCode: c.Status, Header: http.Header{"Www-Authenticate": c.Wants}, Body: http.NoBody}
}

// keptChallenge is a challenge that a run met, for the next login: a server may ask who
// we are at a call, which a login does not make.
type keptChallenge struct {
	URL string `json:"url"`
	Challenge
}

// ChallengeFile is the file of what a server asked for.
func ChallengeFile(dir, name string) string { return filepath.Join(dir, "tokens", name+".asked.json") }

// ReadChallenge returns what the server asked for in a run, nil if it did not.
func ReadChallenge(dir string, s config.ServerConfig) *Challenge {
	if dir == "" {
		return nil
	}
	text, err := os.ReadFile(ChallengeFile(dir, s.Name))
	if err != nil {
		return nil // the login continues without it
	}
	var k keptChallenge
	if json.Unmarshal(text, &k) != nil || k.URL != s.URL {
		return nil
	}
	return &k.Challenge
}

// refused notes a challenge, for the next login too, and returns the error for a person.
func (t *Tokens) refused(c *Challenge) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.Met, t.Why = c, t.meet(c)
	return t.Why
}

func (t *Tokens) meet(c *Challenge) error {
	var may []string
	if t.Login != nil {
		may = t.Login.Scopes
	}
	scopes := clip.Bytes(strings.Join(c.Scopes(), " "), 200)
	if c.Status == http.StatusForbidden && !c.More(may) {
		return loginErrorf(": it forbids that, though the login asked for all it wants (%s); another login will not help, ask the operator of the server", scopes)
	}
	if t.dir != "" {
		if text, err := json.Marshal(keptChallenge{t.Server.URL, *c}); err == nil {
			_ = writeSecret(ChallengeFile(t.dir, t.Server.Name), text) // without it the login asks for less
		}
	}
	if c.Status == http.StatusForbidden {
		return loginErrorf(": it wants you to agree to more (%s); 'toolpost mcp login %s' asks you", scopes, t.Server.Name)
	}
	return loginErrorf("; 'toolpost mcp login %s' logs you in", t.Server.Name)
}

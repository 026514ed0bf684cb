package client

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/modelcontextprotocol/go-sdk/oauthex"
	"golang.org/x/oauth2"

	"github.com/toolpost/toolpost/internal/clip"
	"github.com/toolpost/toolpost/mcpbridge/config"
	"github.com/toolpost/toolpost/mcpbridge/internal/connection"
	"github.com/toolpost/toolpost/mcpbridge/internal/names"
	"github.com/toolpost/toolpost/mcpbridge/internal/rpc"
	"github.com/toolpost/toolpost/mcpbridge/internal/toollist"
)

// LoginSecrets are the tokens of the login for a server, if there is one.
func LoginSecrets(dir string, s config.ServerConfig, lookup func(string) (string, bool)) []string {
	resolved, _, err := s.Resolve(lookup)
	if err != nil {
		return nil
	}
	l, err := connection.ReadLogin(dir, resolved)
	if err != nil || l == nil {
		return nil
	}
	return []string{l.AccessToken, l.RefreshToken, l.ClientSecret}
}

// LoginOptions are how somebody logs in to a server. Show is needed; the rest has
// zero values that work.
type LoginOptions struct {
	// Dir is the folder in which logins are kept; that of [Options].
	Dir string
	// Lookup returns the value of a variable; nil knows none.
	Lookup func(name string) (string, bool)
	// Show tells the person which address to open in a browser.
	Show func(address string)
	// Paste, if it is not nil, returns the address at which the browser ended, or
	// its code. Else the browser comes back to a port of this machine.
	Paste func(ctx context.Context) (string, error)
	// ClientID identifies this program to the authorization server, with ClientSecret if the server
	// issued one. ClientMetadata is an https address with the same information. Without them the program
	// registers.
	ClientID, ClientSecret, ClientMetadata string
}

// ErrNoLogin is returned by [Login] for a server without logins.
var ErrNoLogin = errors.New("mcp: the server asks for no login")

// Login has a person agree, in a browser, that we use an HTTP server in their name, and
// keeps the token. It goes to that server only. What else is needed for that (where
// the authorization server is, who we are to it, proof that the answer is for us)
// the SDK does: discovery, registration, PKCE, state, issuer and resource.
func Login(ctx context.Context, s config.ServerConfig, o LoginOptions) error {
	if err := s.Check(); err != nil {
		return err
	}
	if s.Kind() == config.Stdio {
		return fmt.Errorf("mcp: server %s is a program; only servers with an address have logins", s.Name)
	}
	named := s
	s, _, err := s.Resolve(o.Lookup)
	if err != nil {
		return fmt.Errorf("mcp: server %s: %w", named.Name, err)
	}
	if err := login(ctx, s, o); err != nil {
		if errors.Is(err, ErrNoLogin) {
			return err
		}
		return fmt.Errorf("mcp: login to server %s: %w", s.Name, shownLoginError(err))
	}
	return nil
}

// shownLoginError makes an error of the login fit to be shown: those of the oauth2 package
// hold the answer of the server.
func shownLoginError(err error) error {
	var refused *oauth2.RetrieveError
	if errors.As(err, &refused) {
		return fmt.Errorf("no token was given: %s", connection.OAuthReason(err))
	}
	return errors.New(clip.Bytes(strings.ReplaceAll(rpc.PlainText(err.Error()), "\n", " "), 600))
}

// maxRounds is how often a person is asked to agree in one login.
const maxRounds = 3

func login(ctx context.Context, s config.ServerConfig, o LoginOptions) error {
	client, err := connection.NewLoginClient(s)
	if err != nil {
		return err
	}
	asked, before, err := whatIsAsked(ctx, s, o.Dir)
	if err != nil {
		return err
	}
	back, err := newCallback(o)
	if err != nil {
		return err
	}
	defer back.close()
	kept := connection.SavedLogin{URL: s.URL}
	config := &auth.AuthorizationCodeHandlerConfig{
		RedirectURL: back.address, AuthorizationCodeFetcher: back.fetch, Client: client, RequestRefreshToken: true, AcceptUnadvertisedIss: true,
		ScopeFilter: func(scopes []string) []string { return union(before, scopes) },
		NewTokenSource: func(_ context.Context, c *oauth2.Config, token *oauth2.Token) (oauth2.TokenSource, error) {
			kept.TokenURL, kept.ClientID, kept.ClientSecret, kept.AuthStyle, kept.Scopes = c.Endpoint.TokenURL, c.ClientID, c.ClientSecret, c.Endpoint.AuthStyle, c.Scopes
			kept.Take(token)
			return oauth2.StaticTokenSource(token), nil
		},
	}
	o.identify(config)
	handler, err := auth.NewAuthorizationCodeHandler(config)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.URL, nil)
	if err != nil {
		return err
	}
	for round := 1; asked != nil; round++ {
		if err := handler.Authorize(ctx, req, asked.Response()); err != nil {
			return err
		}
		if kept.AccessToken == "" {
			return errors.New("there is no token")
		}
		if asked, err = stillAsked(ctx, s, kept, round); err != nil {
			return err
		}
	}
	if err := kept.Write(o.Dir, s.Name); err != nil {
		return err
	}
	return forget(connection.ChallengeFile(o.Dir, s.Name))
}

// whatIsAsked returns what the server wants of somebody without a token, now or when a
// run was last refused, and the scopes that an earlier login asked for if it wants more.
func whatIsAsked(ctx context.Context, s config.ServerConfig, dir string) (now *connection.Challenge, scopes []string, err error) {
	t := &connection.Tokens{Server: s}
	err = knock(ctx, s, t)
	earlier := connection.ReadChallenge(dir, s)
	if earlier != nil && earlier.Status == http.StatusForbidden {
		scopes = earlier.Scopes()
		if l, err := connection.ReadLogin(dir, s); err == nil && l != nil {
			scopes = union(l.Scopes, scopes)
		}
	}
	switch {
	case t.Met != nil:
		return t.Met, scopes, nil
	case earlier != nil && err == nil:
		return earlier, scopes, nil
	case err == nil:
		return nil, nil, ErrNoLogin
	}
	return nil, nil, err
}

// stillAsked returns what the server wants besides a token that it has just been given,
// nil if it is content. It is an error if another round would not change that. Failures of
// another kind are none of the login's.
func stillAsked(ctx context.Context, s config.ServerConfig, l connection.SavedLogin, round int) (*connection.Challenge, error) {
	l.RefreshToken, l.Expiry = "", time.Time{} // it is tried unchanged
	t := &connection.Tokens{Server: s, Login: &l}
	_ = knock(ctx, s, t)
	switch {
	case t.Met == nil:
		return nil, nil
	case t.Met.Status == http.StatusUnauthorized && round == 1: // it may have changed its authorization server
	case t.Met.Status == http.StatusUnauthorized:
		return nil, errors.New("the server does not take the token that its authorization server has given; another login will not help, ask the operator of the server")
	case !t.Met.More(l.Scopes):
		return nil, t.Why
	case round == maxRounds:
		return nil, fmt.Errorf("you have agreed %d times, and the server wants more each time; another login will not help, ask the operator of the server", round)
	}
	return t.Met, nil
}

// union returns the scopes of both, each once.
func union(a, b []string) []string {
	out := slices.Clone(a)
	for _, scope := range b {
		if !slices.Contains(out, scope) {
			out = append(out, scope)
		}
	}
	return out
}

// identify says who we are.
func (o LoginOptions) identify(config *auth.AuthorizationCodeHandlerConfig) {
	if o.ClientMetadata != "" {
		config.ClientIDMetadataDocumentConfig = &auth.ClientIDMetadataDocumentConfig{URL: o.ClientMetadata}
	}
	if o.ClientID != "" {
		config.PreregisteredClient = &oauthex.ClientCredentials{ClientID: o.ClientID}
		if o.ClientSecret != "" {
			config.PreregisteredClient.ClientSecretAuth = &oauthex.ClientSecretAuth{ClientSecret: o.ClientSecret}
		}
		return
	}
	config.DynamicClientRegistrationConfig = &auth.DynamicClientRegistrationConfig{Metadata: &oauthex.ClientRegistrationMetadata{
		RedirectURIs: []string{config.RedirectURL}, ClientName: "Toolpost", TokenEndpointAuthMethod: "none",
		GrantTypes: []string{"authorization_code", "refresh_token"}, ResponseTypes: []string{"code"},
	}}
}

// callback is where the browser comes back to.
type callback struct {
	o        LoginOptions
	address  string
	listener net.Listener
}

func newCallback(o LoginOptions) (*callback, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	c := &callback{o: o, listener: listener, address: "http://" + listener.Addr().String() + "/callback"}
	if o.Paste != nil { // any unused address will do
		c.close()
	}
	return c, nil
}

func (c *callback) close() { _ = c.listener.Close() }

// fetch has the person agree and returns the code that came back.
func (c *callback) fetch(ctx context.Context, args *auth.AuthorizationArgs) (*auth.AuthorizationResult, error) {
	asked, err := url.Parse(args.URL)
	if err != nil {
		return nil, errors.New("the address to open cannot be read")
	}
	state := asked.Query().Get("state")
	if c.o.Paste == nil {
		return c.listen(ctx, args.URL, state)
	}
	c.o.Show(args.URL)
	text, err := c.o.Paste(ctx)
	if err != nil {
		return nil, err
	}
	return pasted(strings.TrimSpace(text))
}

// pasted reads the address at which the browser ended.
func pasted(text string) (*auth.AuthorizationResult, error) {
	u, err := url.Parse(text)
	if err != nil || !u.Query().Has("state") {
		return nil, errors.New("that is not the whole address at which the browser ended, with code and state in it")
	}
	return agreedIn(u.Query())
}

func agreedIn(q url.Values) (*auth.AuthorizationResult, error) {
	if problem := q.Get("error"); problem != "" {
		return nil, fmt.Errorf("it was not agreed to: %s", clip.Bytes(rpc.PlainText(problem+" "+q.Get("error_description")), 200))
	}
	if q.Get("code") == "" {
		return nil, errors.New("no code came back")
	}
	return &auth.AuthorizationResult{Code: q.Get("code"), State: q.Get("state"), Iss: q.Get("iss")}, nil
}

// listen waits for the browser. Requests that do not know our state are not from it
// and change nothing: any page could make them.
func (c *callback) listen(ctx context.Context, address, state string) (*auth.AuthorizationResult, error) {
	type answer struct {
		res *auth.AuthorizationResult
		err error
	}
	got := make(chan answer, 1)
	server := &http.Server{ReadHeaderTimeout: 10 * time.Second, ReadTimeout: 10 * time.Second, WriteTimeout: 10 * time.Second, MaxHeaderBytes: 64 << 10,
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/callback" || r.Method != http.MethodGet || state == "" || r.URL.Query().Get("state") != state {
				http.Error(w, "this is not the answer to a login", http.StatusBadRequest)
				return
			}
			res, err := agreedIn(r.URL.Query())
			w.Header().Set("Content-Type", "text/plain; charset=utf-8")
			fmt.Fprintln(w, "You can close this page and go back to Toolpost.")
			select {
			case got <- answer{res, err}:
			default: // a second one
			}
		})}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = server.Serve(c.listener)
	}()
	defer func() {
		quick, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		if server.Shutdown(quick) != nil {
			_ = server.Close()
		}
		<-ended
	}()
	c.o.Show(address)
	select {
	case a := <-got:
		return a.res, a.err
	case <-ctx.Done():
		return nil, errors.New("there was no answer in time")
	}
}

// Logout forgets the login for a server and reports whether there was one.
func Logout(dir, name string) (bool, error) {
	if !names.ValidServer(name) {
		return false, fmt.Errorf("mcp: %q is not a name for a server", name)
	}
	if err := forget(connection.ChallengeFile(dir, name)); err != nil {
		return false, err
	}
	err := os.Remove(connection.LoginFile(dir, name))
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// forget removes a file that may not be there.
func forget(file string) error {
	if err := os.Remove(file); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

// LoginStatus is the state of a login. It holds no secret.
type LoginStatus struct {
	LoggedIn bool
	Expiry   time.Time // of the token; zero if it does not say
	Renewed  bool      // it can be renewed without a person
	Scopes   []string
	Issued   string // the host that gave it
}

// LoginOf returns the state of the login for a server.
func LoginOf(s config.ServerConfig, o LoginOptions) (LoginStatus, error) {
	resolved, _, err := s.Resolve(o.Lookup)
	if err != nil {
		return LoginStatus{}, err
	}
	l, err := connection.ReadLogin(o.Dir, resolved)
	if err != nil || l == nil {
		return LoginStatus{}, err
	}
	st := LoginStatus{LoggedIn: true, Expiry: l.Expiry, Renewed: l.RefreshToken != "", Scopes: l.Scopes}
	if u, err := url.Parse(l.TokenURL); err == nil {
		st.Issued = u.Host
	}
	return st, nil
}

// knock asks a server for its tools as a run does, with the token of t or without one.
// What it wants to know first is t.met then.
func knock(ctx context.Context, s config.ServerConfig, t *connection.Tokens) error {
	s.Headers = withoutToken(s.Headers)
	var err error
	for _, revision := range []string{"", rpc.Legacy} {
		if err = knockAs(ctx, s, t, revision); err == nil || t.Met != nil || ctx.Err() != nil {
			break
		}
	}
	return err
}

func knockAs(ctx context.Context, s config.ServerConfig, t *connection.Tokens, revision string) error {
	life, end := context.WithTimeoutCause(ctx, s.ConnectTimeout(), errSlow)
	defer end()
	transport, err := connection.NewHTTPTransport(life, s, t, nil)
	if err != nil {
		return err
	}
	session, err := toollist.NewClient(&mcp.Implementation{Name: "toolpost"}, nil).Connect(life, transport, &mcp.ClientSessionOptions{ProtocolVersion: revision})
	if err == nil {
		defer session.Close()
		_, err = toollist.Read(life, s.Name, session)
	}
	if err != nil && errors.Is(context.Cause(life), errSlow) {
		return fmt.Errorf("%w (%s)", errSlow, s.ConnectTimeout())
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

package mcpbridge

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/oauthex"
	"golang.org/x/oauth2"
)

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
	// ClientID is who we are to the authorization server, with ClientSecret if it
	// gave us one; ClientMetadata is an https address that says so. Without them we
	// register.
	ClientID, ClientSecret, ClientMetadata string
}

// ErrNoLogin is returned by [Login] for a server that asks nobody who they are.
var ErrNoLogin = errors.New("mcp: the server asks for no login")

// Login has a person agree, in a browser, that we use an HTTP server in their name, and
// keeps the token. It goes to that server only. What else is needed for that (where
// the authorization server is, who we are to it, proof that the answer is for us)
// the SDK does: discovery, registration, PKCE, state, issuer and resource.
func Login(ctx context.Context, s ServerConfig, o LoginOptions) error {
	if err := s.Check(); err != nil {
		return err
	}
	if s.transport() == Stdio {
		return fmt.Errorf("mcp: server %s is a program; only servers with an address have logins", s.Name)
	}
	named := s
	s, _, err := s.resolve(o.Lookup)
	if err != nil {
		return fmt.Errorf("mcp: server %s: %w", named.Name, err)
	}
	if err := login(ctx, s, o); err != nil {
		if errors.Is(err, ErrNoLogin) {
			return err
		}
		return fmt.Errorf("mcp: login to server %s: %w", s.Name, cleanLogin(err))
	}
	return nil
}

// cleanLogin makes an error of the login fit to be shown: those of the oauth2 package
// hold the answer of the server.
func cleanLogin(err error) error {
	var refused *oauth2.RetrieveError
	if errors.As(err, &refused) {
		return fmt.Errorf("no token was given: %s", oauthReason(err))
	}
	return errors.New(clip(strings.ReplaceAll(plainText(err.Error()), "\n", " "), 600))
}

func login(ctx context.Context, s ServerConfig, o LoginOptions) error {
	client, err := loginClient(s)
	if err != nil {
		return err
	}
	back, err := newCallback(o)
	if err != nil {
		return err
	}
	defer back.close()
	kept := savedLogin{URL: s.URL}
	config := &auth.AuthorizationCodeHandlerConfig{
		RedirectURL: back.address, AuthorizationCodeFetcher: back.fetch, Client: client, RequestRefreshToken: true, AcceptUnadvertisedIss: true,
		NewTokenSource: func(_ context.Context, c *oauth2.Config, token *oauth2.Token) (oauth2.TokenSource, error) {
			kept.TokenURL, kept.ClientID, kept.ClientSecret, kept.AuthStyle, kept.Scopes = c.Endpoint.TokenURL, c.ClientID, c.ClientSecret, c.Endpoint.AuthStyle, c.Scopes
			kept.take(token)
			return oauth2.StaticTokenSource(token), nil
		},
	}
	o.identify(config)
	handler, err := auth.NewAuthorizationCodeHandler(config)
	if err != nil {
		return err
	}
	req, resp, err := knock(ctx, client, s)
	if err != nil {
		return err
	}
	if resp.StatusCode != http.StatusUnauthorized && resp.StatusCode != http.StatusForbidden {
		resp.Body.Close()
		if resp.StatusCode < 300 {
			leave(ctx, client, s, resp.Header.Get("Mcp-Session-Id"))
			return ErrNoLogin
		}
		return fmt.Errorf("the server answers %s", resp.Status)
	}
	if err := handler.Authorize(ctx, req, resp); err != nil {
		return err
	}
	if kept.AccessToken == "" {
		return errors.New("there is no token")
	}
	return kept.write(o.Dir, s.Name)
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

// knock asks the server without a token, so that it says what it wants.
func knock(ctx context.Context, client *http.Client, s ServerConfig) (*http.Request, *http.Response, error) {
	body := `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"` + legacy + `","capabilities":{},"clientInfo":{"name":"toolpost","version":"0"}}}`
	method, text := http.MethodPost, io.Reader(bytes.NewReader([]byte(body)))
	if s.transport() == SSE {
		method, text = http.MethodGet, nil
	}
	req, err := http.NewRequestWithContext(ctx, method, s.URL, text)
	if err != nil {
		return nil, nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	resp, err := client.Do(req)
	return req, resp, err
}

// leave ends the session that a server began for us.
func leave(ctx context.Context, client *http.Client, s ServerConfig, session string) {
	if session == "" {
		return
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodDelete, s.URL, nil)
	if err != nil {
		return
	}
	req.Header.Set("Mcp-Session-Id", session)
	if resp, err := client.Do(req); err == nil {
		resp.Body.Close()
	}
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
	if o.Paste != nil { // the address only has to be one that nobody else answers
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
		return nil, fmt.Errorf("it was not agreed to: %s", clip(plainText(problem+" "+q.Get("error_description")), 200))
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
		return nil, errors.New("nobody has agreed in time")
	}
}

// Logout forgets the login for a server and reports whether there was one.
func Logout(dir, name string) (bool, error) {
	if !ValidServerName(name) {
		return false, fmt.Errorf("mcp: %q is no name for a server", name)
	}
	err := os.Remove(loginFile(dir, name))
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// LoginStatus is what is known of a login. It holds no secret.
type LoginStatus struct {
	LoggedIn bool
	Expiry   time.Time // of the token; zero if it does not say
	Renewed  bool      // it can be renewed without a person
	Scopes   []string
	Issued   string // the host that gave it
}

// LoginOf returns what is known of the login for a server.
func LoginOf(s ServerConfig, o LoginOptions) (LoginStatus, error) {
	resolved, _, err := s.resolve(o.Lookup)
	if err != nil {
		return LoginStatus{}, err
	}
	l, err := readLogin(o.Dir, resolved)
	if err != nil || l == nil {
		return LoginStatus{}, err
	}
	st := LoginStatus{LoggedIn: true, Expiry: l.Expiry, Renewed: l.RefreshToken != "", Scopes: l.Scopes}
	if u, err := url.Parse(l.TokenURL); err == nil {
		st.Issued = u.Host
	}
	return st, nil
}

// loopback reports whether a host is this machine.
func loopback(host string) bool {
	if strings.EqualFold(host, "localhost") || strings.HasSuffix(strings.ToLower(host), ".localhost") {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && (ip.IsLoopback() || ip.IsUnspecified())
}

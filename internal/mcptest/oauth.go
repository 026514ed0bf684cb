package mcptest

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Authority is an authorization server and an MCP server that requires its tokens, at two addresses.
type Authority struct {
	// URL is the address of the MCP server.
	URL string
	// Fault is the fault of the server; see the tests for the words.
	Fault string
	// Lifetime is that of a token in seconds; 0 means an hour.
	Lifetime int
	// Scopes are the required scopes by method. Methods without an entry are answered without a token. With nil, all
	// methods need a token, but no scope.
	Scopes map[string]string

	issuer, resource *httptest.Server

	mu      sync.Mutex
	codes   map[string]url.Values // the granted parameters, by code
	clients map[string]string     // redirect address by client
	tokens  map[string][]string   // their scopes
	refresh map[string]bool
	asked   []string // paths of the authorization server, in order
	stolen  []string // the data that the thief received
	agreed  []string // scopes of each login
}

// NewAuthority starts both servers. The MCP server is s.
func NewAuthority(t testing.TB, s *mcp.Server, fault string) *Authority {
	a := &Authority{Fault: fault, codes: map[string]url.Values{}, clients: map[string]string{}, tokens: map[string][]string{}, refresh: map[string]bool{}}
	a.issuer = httptest.NewServer(http.HandlerFunc(a.authorize))
	inner := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, nil)
	a.resource = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { a.serve(w, r, inner) }))
	a.URL = a.resource.URL + "/mcp"
	t.Cleanup(func() {
		for _, server := range []*httptest.Server{a.resource, a.issuer} {
			server.CloseClientConnections()
			server.Close()
		}
		closeSessions(s)
	})
	return a
}

// Asked returns the requested paths of the authorization server.
func (a *Authority) Asked() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.asked)
}

// Agreed returns the scopes of each login.
func (a *Authority) Agreed() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.agreed)
}

// Stolen returns the data that reached a host which should not have received any.
func (a *Authority) Stolen() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.stolen)
}

// Revoke makes all tokens invalid; clients with a refresh token can renew theirs.
func (a *Authority) Revoke() {
	a.mu.Lock()
	defer a.mu.Unlock()
	clear(a.tokens)
}

// serve is the MCP server.
func (a *Authority) serve(w http.ResponseWriter, r *http.Request, inner http.Handler) {
	if strings.HasPrefix(r.URL.Path, "/.well-known/oauth-protected-resource") {
		named := a.URL
		if a.Fault == "another resource" {
			named = "https://bank.example.org/mcp"
		}
		answerJSON(w, map[string]any{"resource": named, "authorization_servers": []string{a.issuer.URL}, "scopes_supported": []string{"tools"}})
		return
	}
	if r.URL.Path != "/mcp" {
		http.NotFound(w, r)
		return
	}
	method, scope := a.wants(r)
	if a.Scopes != nil && scope == "" {
		inner.ServeHTTP(w, r)
		return
	}
	a.mu.Lock()
	scopes, known := a.tokens[strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")]
	a.mu.Unlock()
	challenge := `Bearer resource_metadata="` + a.resource.URL + `/.well-known/oauth-protected-resource/mcp"`
	if a.Fault == "metadata elsewhere" {
		challenge = `Bearer resource_metadata="http://169.254.169.254/latest/meta-data"`
	}
	if scope != "" {
		challenge += `, scope="` + scope + `"`
	}
	switch {
	case !known || a.Fault == "never enough any":
		w.Header().Set("WWW-Authenticate", challenge)
		http.Error(w, "who are you?", http.StatusUnauthorized)
	case scope != "" && (!slices.Contains(scopes, scope) || a.Fault == "never enough "+method):
		w.Header().Set("WWW-Authenticate", challenge+`, error="insufficient_scope"`)
		http.Error(w, "you may not", http.StatusForbidden)
	default:
		inner.ServeHTTP(w, r)
	}
}

// wants returns the method of a request and the scope it wants.
func (a *Authority) wants(r *http.Request) (method, scope string) {
	if a.Scopes == nil || r.Method != http.MethodPost {
		return "", ""
	}
	text, _ := io.ReadAll(r.Body)
	r.Body = io.NopCloser(bytes.NewReader(text))
	var m struct{ Method string }
	_ = json.Unmarshal(text, &m)
	return m.Method, a.Scopes[m.Method]
}

// authorize is the authorization server.
func (a *Authority) authorize(w http.ResponseWriter, r *http.Request) {
	a.mu.Lock()
	a.asked = append(a.asked, r.URL.Path)
	a.mu.Unlock()
	switch r.URL.Path {
	case "/.well-known/oauth-authorization-server":
		a.metadata(w, r)
	case "/register":
		a.register(w, r)
	case "/authorize":
		a.agree(w, r)
	case "/token":
		a.token(w, r)
	case "/thief":
		a.mu.Lock()
		a.stolen = append(a.stolen, r.URL.RawQuery)
		a.mu.Unlock()
	default:
		http.NotFound(w, r)
	}
}

func (a *Authority) metadata(w http.ResponseWriter, r *http.Request) {
	m := map[string]any{
		"issuer": a.issuer.URL, "authorization_endpoint": a.issuer.URL + "/authorize", "token_endpoint": a.issuer.URL + "/token",
		"registration_endpoint": a.issuer.URL + "/register", "response_types_supported": []string{"code"}, "code_challenge_methods_supported": []string{"S256"},
		"scopes_supported": []string{"tools", "offline_access"}, "authorization_response_iss_parameter_supported": true, "client_id_metadata_document_supported": true,
	}
	switch a.Fault {
	case "another issuer":
		m["issuer"] = "https://login.example.org"
	case "no proof":
		delete(m, "code_challenge_methods_supported")
	case "token over http":
		m["token_endpoint"] = "http://192.0.2.1/token"
	case "a script as address":
		m["authorization_endpoint"] = "javascript:alert(1)"
	case "endless metadata":
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"issuer":"`)
		for chunk := strings.Repeat("x", 1<<16); r.Context().Err() == nil; {
			if _, err := w.Write([]byte(chunk)); err != nil {
				return
			}
		}
		return
	}
	answerJSON(w, m)
}

func (a *Authority) register(w http.ResponseWriter, r *http.Request) {
	var in struct {
		RedirectURIs []string `json:"redirect_uris"`
	}
	if json.NewDecoder(r.Body).Decode(&in) != nil || len(in.RedirectURIs) != 1 {
		http.Error(w, "no redirect", http.StatusBadRequest)
		return
	}
	id := "client-" + rand.Text()
	a.mu.Lock()
	a.clients[id] = in.RedirectURIs[0]
	a.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusCreated)
	_ = json.NewEncoder(w).Encode(map[string]any{"client_id": id, "redirect_uris": in.RedirectURIs, "token_endpoint_auth_method": "none"})
}

// agree is the consent page: it agrees at once.
func (a *Authority) agree(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	a.mu.Lock()
	defer a.mu.Unlock()
	back, known := a.clients[q.Get("client_id")]
	if strings.HasPrefix(q.Get("client_id"), "https://") { // a metadata document
		back, known = q.Get("redirect_uri"), true
	}
	if !known || back != q.Get("redirect_uri") || q.Get("code_challenge_method") != "S256" || q.Get("resource") != a.URL {
		http.Error(w, "this is not how it is done: "+r.URL.RawQuery, http.StatusBadRequest)
		return
	}
	code := rand.Text()
	a.codes[code] = q
	answer := url.Values{"code": {code}, "state": {q.Get("state")}, "iss": {a.issuer.URL}}
	switch a.Fault {
	case "another state":
		answer.Set("state", "guessed")
	case "answer of another issuer":
		answer.Set("iss", "https://login.example.org")
	case "no":
		answer = url.Values{"error": {"access_denied"}, "state": {q.Get("state")}}
	}
	http.Redirect(w, r, back+"?"+answer.Encode(), http.StatusFound)
}

func (a *Authority) token(w http.ResponseWriter, r *http.Request) {
	if r.ParseForm() != nil {
		http.Error(w, "no form", http.StatusBadRequest)
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.Fault == "token elsewhere" {
		http.Redirect(w, r, a.resource.URL+"/thief?"+r.PostForm.Encode(), http.StatusTemporaryRedirect)
		return
	}
	var scopes []string
	switch r.PostForm.Get("grant_type") {
	case "authorization_code":
		asked, ok := a.codes[r.PostForm.Get("code")]
		delete(a.codes, r.PostForm.Get("code"))
		sum := sha256.Sum256([]byte(r.PostForm.Get("code_verifier")))
		if !ok || base64.RawURLEncoding.EncodeToString(sum[:]) != asked.Get("code_challenge") || r.PostForm.Get("resource") != a.URL {
			refuse(w)
			return
		}
		scopes = strings.Fields(asked.Get("scope"))
		a.agreed = append(a.agreed, asked.Get("scope"))
	case "refresh_token":
		if !a.refresh[r.PostForm.Get("refresh_token")] {
			refuse(w)
			return
		}
		delete(a.refresh, r.PostForm.Get("refresh_token"))
	}
	access, again := "access-"+rand.Text(), "refresh-"+rand.Text()
	a.tokens[access], a.refresh[again] = scopes, true
	lifetime := a.Lifetime
	if lifetime == 0 {
		lifetime = 3600
	}
	answerJSON(w, map[string]any{"access_token": access, "refresh_token": again, "token_type": "Bearer", "expires_in": lifetime})
}

func refuse(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusBadRequest)
	fmt.Fprint(w, `{"error":"invalid_grant"}`)
}

func answerJSON(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v)
}

package serve_test

import (
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/cmd/toolpost/internal/clitest"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/programtest"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/serve"
)

// visitor is a browser at a console.
type visitor struct {
	*http.Client
	t    *testing.T
	base string
}

func newVisitor(t *testing.T, base string) *visitor {
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	v := &visitor{&http.Client{Jar: jar, Transport: &http.Transport{}}, t, base}
	t.Cleanup(v.CloseIdleConnections)
	return v
}

// do sends a request and returns the status, the path after redirects and the body.
func (v *visitor) do(method, path, form, host string) (int, string, string) {
	v.t.Helper()
	req, err := http.NewRequestWithContext(v.t.Context(), method, v.base+path, strings.NewReader(form))
	if err != nil {
		v.t.Fatal(err)
	}
	if method == http.MethodPost {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		req.Header.Set("Origin", v.base)
	}
	if host != "" {
		req.Host = host
	}
	resp, err := v.Do(req)
	if err != nil {
		v.t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		v.t.Fatal(err)
	}
	return resp.StatusCode, resp.Request.URL.Path, string(body)
}

// TestServeHasTheConsole serves the console next to the administrators' API. Administrators log in with their key, and
// clients of the gateway do not reach it.
func TestServeHasTheConsole(t *testing.T) {
	clitest.Bare(t, nil)
	const adminKey, viewerToken = "a-key-that-is-long-enough-for-it", "token-of-a-viewer-of-the-console"
	key := makeKey(t, "--team", "red")
	t.Setenv(serve.AdminKeyEnv, "ada:"+adminKey+",bob:another-key-that-is-long-enough")
	t.Setenv("TOOLPOST_CONSOLE_ACCOUNTS", "vera:viewer:"+viewerToken)
	clients, _, log := servedAt(t, "gateway:\n  addr: 127.0.0.1:0\n  admin_addr: 127.0.0.1:0\n  console: true\n  keys: "+keysFile+"\n  routes: [{model: any, to: [{model: sim/offline}]}]\n")
	if status, answer := askWith(t, clients, key); status != http.StatusOK {
		t.Fatal(answer)
	}
	log.mu.Lock()
	admin := regexp.MustCompile(`administrators on (\S+)`).FindStringSubmatch(log.text.String())[1]
	log.mu.Unlock()
	ada := newVisitor(t, admin)
	if _, path, _ := ada.do("GET", "/console", "", ""); path != "/console/login" {
		t.Errorf("a visitor without a login is at %s", path)
	}
	if status, _, _ := ada.do("GET", "/console/", "", "evil.example"); status != http.StatusMisdirectedRequest {
		t.Errorf("another host: %d", status)
	}
	if status, _, _ := ada.do("POST", "/console/login", url.Values{"token": {adminKey[1:]}}.Encode(), ""); status != http.StatusUnauthorized {
		t.Errorf("a wrong key: %d", status)
	}
	if status, path, body := ada.do("POST", "/console/login", url.Values{"token": {adminKey}}.Encode(), ""); status != http.StatusOK || path != "/console/" || !strings.Contains(body, "ada, admin") {
		t.Errorf("the key of an administrator: %d %s %s", status, path, body)
	}
	if status, _, body := ada.do("GET", "/console/gateway/keys", "", ""); status != http.StatusOK || !strings.Contains(body, "red") {
		t.Errorf("the page of keys: %d %s", status, body)
	}
	if status, _, _ := ada.do("GET", "/admin/keys", "", ""); status != http.StatusUnauthorized {
		t.Errorf("a login of the console opens the administrators' API: %d", status)
	}
	vera := newVisitor(t, admin)
	vera.do("POST", "/console/login", url.Values{"token": {viewerToken}}.Encode(), "")
	if status, _, _ := vera.do("GET", "/console/gateway/keys", "", ""); status != http.StatusForbidden {
		t.Errorf("a viewer at the page of keys: %d", status)
	}
	if status, _, body := newVisitor(t, clients).do("GET", "/console/login", "", ""); status != http.StatusNotFound && status != http.StatusUnauthorized {
		t.Errorf("the clients' address has the console: %d %s", status, body)
	}
}

// TestConsoleWithoutAdministrators serves the console on the loopback address of a gateway without keys.
func TestConsoleWithoutAdministrators(t *testing.T) {
	clitest.Bare(t, nil)
	const token = "token-of-an-operator-of-the-console"
	t.Setenv("TOOLPOST_CONSOLE_ACCOUNTS", "otto:operator:"+token)
	address, _, _ := servedAt(t, "gateway:\n  addr: 127.0.0.1:0\n  console: true\n  routes: [{model: any, to: [{model: sim/offline}]}]\n")
	otto := newVisitor(t, address)
	if status, path, body := otto.do("POST", "/console/login", url.Values{"token": {token}}.Encode(), ""); status != http.StatusOK || path != "/console/" || !strings.Contains(body, "otto, operator") || strings.Contains(body, "/console/gateway") {
		t.Errorf("%d %s %s", status, path, body)
	}
	if status, _, _ := otto.do("GET", "/v1/models", "", ""); status != http.StatusOK {
		t.Errorf("the clients' API: %d", status)
	}
}

// TestConsoleSettingsAreChecked: a console that nobody could use, or that others could reach, is a mistake. Without
// accounts the check of another machine only warns.
func TestConsoleSettingsAreChecked(t *testing.T) {
	for _, c := range []struct{ name, accounts, config, want string }{
		{"no account", "", "gateway: {addr: '127.0.0.1:0', console: true}\n", "nobody could log in"},
		{"a short token", "a:admin:short", "gateway: {addr: '127.0.0.1:0', console: true}\n", "less than 16 bytes"},
		{"an unknown role", "a:king:token-of-a-king-of-consoles", "gateway: {addr: '127.0.0.1:0', console: true}\n", "viewer, operator or admin"},
		{"a public address", "a:admin:token-of-a-king-of-consoles", "gateway: {addr: '0.0.0.0:0', console: true}\n", "set admin_addr"},
		{"not a switch", "a:admin:token-of-a-king-of-consoles", "gateway: {addr: '127.0.0.1:0', console: maybe}\n", "console"},
	} {
		clitest.Bare(t, map[string]string{"gateway.yaml": c.config})
		t.Setenv("TOOLPOST_CONSOLE_ACCOUNTS", c.accounts)
		r := programtest.Run(t, "", "serve", "--check", "--config", "gateway.yaml")
		if (r.Code == 0) != (c.accounts == "") || !strings.Contains(r.Out+r.ErrOut, c.want) || c.accounts != "" && strings.Contains(r.Out+r.ErrOut, strings.Split(c.accounts, ":")[2]+" ") {
			t.Errorf("%s: status %d: %s%s", c.name, r.Code, r.Out, r.ErrOut)
		}
	}
}

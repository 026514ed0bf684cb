package builtin

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/tool"
)

// A declared tool does not follow its server from https to http, on the same
// host or another: the key and the arguments were meant for an encrypted
// connection.
func TestDeclaredKeepEncryption(t *testing.T) {
	t.Setenv("API_TOKEN", "s3cret-token")
	reached := 0
	plain := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached++ }))
	defer plain.Close()
	secure := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "http://api.test/x", http.StatusTemporaryRedirect)
	}))
	defer secure.Close()
	own := endpoints.Transport
	defer func() { endpoints.Transport = own }()
	endpoints.Transport = &http.Transport{
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, // the test is not about the certificate
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			to := plain.Listener.Addr()
			if strings.HasSuffix(address, ":443") {
				to = secure.Listener.Addr()
			}
			return new(net.Dialer).DialContext(ctx, network, to.String())
		},
	}
	e := &Endpoint{URL: "https://api.test/x", Headers: map[string]string{"Authorization": "Bearer ${API_TOKEN}"}}
	_, err := e.call(t.Context(), []byte(`{"a":1}`))
	var failed *tool.Error
	if reached != 0 || !errors.As(err, &failed) || failed.Code != tool.Permission || failed.Transient() {
		t.Errorf("%d requests arrived: %v", reached, err)
	}
}

// A server that does not prove who it is is not asked again.
func TestDeclaredCertificates(t *testing.T) {
	secure := httptest.NewUnstartedServer(http.NotFoundHandler())
	secure.Config.ErrorLog = log.New(io.Discard, "", 0)
	secure.StartTLS()
	defer secure.Close()
	_, err := (&Endpoint{URL: secure.URL + "/x"}).call(t.Context(), []byte(`{}`))
	var failed *tool.Error
	if !errors.As(err, &failed) || failed.Transient() || !strings.Contains(failed.Message, "did not prove who it is") {
		t.Errorf("%v", err)
	}
}

// A key in a header does not go through a proxy that can read it.
func TestDeclaredKeysAndProxies(t *testing.T) {
	t.Setenv("API_TOKEN", "s3cret-token")
	asked := 0
	proxy := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked++ }))
	defer proxy.Close()
	to, _ := url.Parse(proxy.URL)
	own := endpoints.Transport
	defer func() { endpoints.Transport = own }()
	endpoints.Transport = &http.Transport{Proxy: http.ProxyURL(to)}
	e := &Endpoint{URL: "http://api.test/x", Headers: map[string]string{"X-Key": "${API_TOKEN}"}}
	if _, err := e.call(t.Context(), []byte(`{}`)); asked != 0 || err == nil || !strings.Contains(err.Error(), "could read the key") {
		t.Errorf("asked %d times: %v", asked, err)
	}
	e.Headers = nil
	if _, err := e.call(t.Context(), []byte(`{}`)); asked != 1 || err != nil {
		t.Errorf("without a key: asked %d times: %v", asked, err)
	}
}

func TestDeclaredSecrets(t *testing.T) {
	t.Setenv("API_TOKEN", "s3cret-token")
	t.Setenv("SHORT", "abc")
	t.Setenv("LOG_LEVEL", "very verbose")
	d := Declared{Env: []string{"API_TOKEN", "LOG_LEVEL"}, HTTP: &Endpoint{Headers: map[string]string{
		"Accept": "application/json", "X-Team": "${SHORT}", "X-Api-Key": "literal-key-1", "Authorization": "Basic dXNlcjpwYXNz", "X-Other": "v1 ${API_TOKEN}",
	}}}
	got := d.Secrets()
	slices.Sort(got)
	if got = slices.Compact(got); !slices.Equal(got, []string{"dXNlcjpwYXNz", "literal-key-1", "s3cret-token"}) {
		t.Errorf("%q", got)
	}
}

package provider_test

import (
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/provider"
)

// counted counts connections.
type counted struct {
	net.Listener
	n atomic.Int64
}

func (c *counted) Accept() (net.Conn, error) {
	conn, err := c.Listener.Accept()
	if err == nil {
		c.n.Add(1)
	}
	return conn, err
}

// A server that does not prove who it is gets no second chance, and no key.
func TestCertificatesAreNotRetried(t *testing.T) {
	asked := 0
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked++ }))
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	connections := &counted{Listener: server.Listener}
	server.Listener = connections
	server.StartTLS()
	defer server.Close()
	client := &provider.Client{
		Key:   func(string) (string, error) { return "sk-somebodys-key-123", nil },
		Retry: provider.RetryPolicy{Initial: time.Millisecond},
	}
	_, err := llm.Generate(t.Context(), open(t, client, server.URL+"/v1#m"), hi)
	if llm.KindOf(err) != llm.Invalid || !strings.Contains(err.Error(), "did not prove who it is") || asked != 0 || connections.n.Load() != 1 {
		t.Errorf("%d connections, %d requests: %v", connections.n.Load(), asked, err)
	}
}

// A key that a proxy can read comes with a warning, and only then.
func TestKeysThroughProxies(t *testing.T) {
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, good) }))
	defer proxy.Close()
	to, _ := url.Parse(proxy.URL)
	for _, c := range []struct {
		key  string
		warn bool
	}{{"sk-somebodys-key-123", true}, {"", false}} {
		client := &provider.Client{
			Key:  func(string) (string, error) { return c.key, nil },
			HTTP: &http.Client{Transport: &http.Transport{Proxy: http.ProxyURL(to)}},
		}
		resp, err := llm.Generate(t.Context(), open(t, client, "http://models.test/v1#m"), hi)
		if err != nil {
			t.Fatal(err)
		}
		warned := false
		for _, w := range resp.Warnings {
			warned = warned || w.Feature == "proxy" && strings.Contains(w.Detail, "can read it")
		}
		if warned != c.warn {
			t.Errorf("with the key %q: %v", c.key, resp.Warnings)
		}
	}
}

// Package outbound makes all HTTP clients of this module: for model servers, declared tools, pages, search engines and
// lists of models. They follow the same rules, and a test refuses clients made elsewhere.
package outbound

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"syscall"
	"time"
)

// Rules are the settings of a client. The zero value follows no redirect,
// waits 10 seconds for a connection and uses the proxy of the environment.
type Rules struct {
	// Connect limits a connection with its handshake; 0 means 10 seconds, less means no limit.
	Connect time.Duration
	// Timeout limits a request with its response; 0 leaves it to the context.
	Timeout time.Duration
	// Dial makes connections; nil dials TCP.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// Control is asked about the address of each connection that nil Dial
	// makes, after names were looked up.
	Control func(network, address string, c syscall.RawConn) error
	// NoProxy asks no proxy.
	NoProxy bool
	// Once uses each connection for one request.
	Once bool
	// Redirect decides about each redirect, up to five. Nil follows none and returns the redirect itself.
	Redirect func(next *url.URL, via []*http.Request) error
}

// maxHeader bounds the head of a response.
const maxHeader = 256 << 10

// New returns a client with these rules.
//
// A redirect from https to http is always refused if the request has a body or a header that may be a credential,
// because others could read it on the way.
func New(r Rules) *http.Client {
	connect := r.Connect
	if connect == 0 {
		connect = 10 * time.Second
	}
	connect = max(connect, 0)
	t := &http.Transport{
		DialContext:            r.Dial,
		ForceAttemptHTTP2:      true,
		MaxIdleConns:           1024,
		MaxIdleConnsPerHost:    256, // a gateway asks one host for hundreds at once
		IdleConnTimeout:        90 * time.Second,
		TLSHandshakeTimeout:    connect,
		ExpectContinueTimeout:  time.Second,
		MaxResponseHeaderBytes: maxHeader,
		WriteBufferSize:        2 << 10, // held as long as an answer takes; large bodies pass both by
		ReadBufferSize:         2 << 10,
		DisableKeepAlives:      r.Once,
	}
	if t.DialContext == nil {
		t.DialContext = (&net.Dialer{Timeout: connect, KeepAlive: 30 * time.Second, Control: r.Control}).DialContext
	}
	if !r.NoProxy {
		t.Proxy = http.ProxyFromEnvironment
	}
	return &http.Client{Transport: t, Timeout: r.Timeout, CheckRedirect: redirect(r.Redirect)}
}

// Staying returns a copy of a client that follows no redirects.
func Staying(c *http.Client) *http.Client {
	copied := *c
	copied.CheckRedirect = redirect(nil)
	return &copied
}

// maxRedirects is how many redirects are followed.
const maxRedirects = 5

func redirect(allow func(*url.URL, []*http.Request) error) func(*http.Request, []*http.Request) error {
	return func(next *http.Request, via []*http.Request) error {
		switch {
		case allow == nil:
			return http.ErrUseLastResponse
		case len(via) > maxRedirects:
			return fmt.Errorf("more than %d redirects", maxRedirects)
		case next.URL.Scheme != "https" && slices.ContainsFunc(via, func(r *http.Request) bool { return r.URL.Scheme == "https" && entrusted(r) }):
			return ErrDowngrade
		}
		return allow(next.URL, via)
	}
}

// ErrDowngrade is why a redirect from https to http was not followed.
var ErrDowngrade = errors.New("the server sends the request on without encryption, which is not followed")

// plain are the headers without private data.
var plain = []string{"Accept", "Accept-Encoding", "Accept-Language", "Content-Type", "Referer", "User-Agent"}

// entrusted reports whether a request holds data that only its server should read.
func entrusted(r *http.Request) bool {
	if r.Body != nil && r.Body != http.NoBody || r.GetBody != nil {
		return true
	}
	for name := range r.Header {
		if !slices.Contains(plain, name) {
			return true
		}
	}
	return false
}

// SameHost allows redirects that stay on the host of the first request.
func SameHost(next *url.URL, via []*http.Request) error {
	if next.Host != via[0].URL.Host {
		return fmt.Errorf("%s sends us elsewhere", via[0].URL.Host)
	}
	return nil
}

// Untrusted reports whether a request failed because the server's certificate was not accepted. A retry would not
// help, and might reach another server.
func Untrusted(err error) bool {
	var (
		verify    *tls.CertificateVerificationError
		authority x509.UnknownAuthorityError
		name      x509.HostnameError
		invalid   x509.CertificateInvalidError
	)
	return errors.As(err, &verify) || errors.As(err, &authority) || errors.As(err, &name) || errors.As(err, &invalid) || errors.Is(err, http.ErrSchemeMismatch)
}

// ReadableBy returns the proxy that could read a request of client, because the request is not encrypted. It is nil if there
// is none.
func ReadableBy(client *http.Client, req *http.Request) *url.URL {
	t, ok := client.Transport.(*http.Transport)
	if client.Transport == nil {
		t, ok = http.DefaultTransport.(*http.Transport)
	}
	if !ok || t.Proxy == nil || req.URL.Scheme != "http" {
		return nil
	}
	proxy, err := t.Proxy(req)
	if err != nil || proxy == nil || proxy.Scheme == "socks5" || proxy.Scheme == "socks5h" {
		return nil
	}
	return proxy
}

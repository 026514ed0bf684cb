package outbound_test

import (
	"context"
	"crypto/tls"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/internal/outbound"
)

// two is a server under one name, with and without encryption.
type two struct {
	secure, plain *httptest.Server
	got           []*http.Request // without encryption
}

func newTwo(t *testing.T, secure http.HandlerFunc) *two {
	s := &two{}
	s.secure = httptest.NewTLSServer(secure)
	s.plain = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.got = append(s.got, r)
		_, _ = io.WriteString(w, "plain")
	}))
	t.Cleanup(s.secure.Close)
	t.Cleanup(s.plain.Close)
	return s
}

// client returns a client for which every name is the two.
func (s *two) client(r outbound.Rules) *http.Client {
	r.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
		to := s.plain.Listener.Addr()
		if _, port, _ := net.SplitHostPort(address); port == "443" {
			to = s.secure.Listener.Addr()
		}
		return new(net.Dialer).DialContext(ctx, network, to.String())
	}
	r.NoProxy = true
	c := outbound.New(r)
	c.Transport.(*http.Transport).TLSClientConfig = &tls.Config{InsecureSkipVerify: true} // the certificate is not what is tested
	return c
}

func anywhere(*url.URL, []*http.Request) error { return nil }

// What was meant for a server under a certificate is not sent on without one,
// whatever the redirect says, and nothing follows a redirect unless it may.
func TestRedirects(t *testing.T) {
	for _, status := range []int{301, 302, 303, 307, 308} {
		for _, c := range []struct {
			name, method, body, header, to string
			allow                          func(*url.URL, []*http.Request) error
			reaches                        bool
		}{
			{"a page", "GET", "", "", "http://api.test/x", anywhere, true},
			{"a page, none followed", "GET", "", "", "http://api.test/x", nil, false},
			{"a key", "GET", "", "Authorization", "http://api.test/x", anywhere, false},
			{"a key of their own", "GET", "", "X-Token", "http://api.test/x", outbound.SameHost, false},
			{"a body", "POST", `{"a":1}`, "", "http://api.test/x", anywhere, false},
			{"a body and a key on the same host", "POST", `{"a":1}`, "Authorization", "http://api.test/x", outbound.SameHost, false},
			{"a detour", "POST", `{"a":1}`, "Authorization", "https://api.test/detour", outbound.SameHost, false},
			{"elsewhere", "GET", "", "", "http://evil.test/x", outbound.SameHost, false},
		} {
			s := newTwo(t, func(w http.ResponseWriter, r *http.Request) {
				to := c.to
				if r.URL.Path == "/detour" {
					to = "http://api.test/x"
				}
				http.Redirect(w, r, to, status)
			})
			req, err := http.NewRequestWithContext(t.Context(), c.method, "https://api.test/", strings.NewReader(c.body))
			if err != nil {
				t.Fatal(err)
			}
			if c.body == "" {
				req.Body, req.GetBody = nil, nil
			}
			req.Header.Set("User-Agent", "test")
			if c.header != "" {
				req.Header.Set(c.header, "Bearer s3cret-value")
			}
			resp, err := s.client(outbound.Rules{Redirect: c.allow}).Do(req)
			if err == nil {
				resp.Body.Close()
			}
			if (len(s.got) > 0) != c.reaches {
				t.Errorf("%d, %s: %d requests without encryption, %v", status, c.name, len(s.got), err)
			}
		}
	}
}

func TestRedirectsEnd(t *testing.T) {
	n := 0
	s := newTwo(t, func(w http.ResponseWriter, r *http.Request) { n++; http.Redirect(w, r, "/again", http.StatusFound) })
	resp, err := s.client(outbound.Rules{Redirect: anywhere}).Get("https://api.test/")
	if resp != nil {
		resp.Body.Close()
	}
	if err == nil || n != 6 {
		t.Errorf("%d requests, %v", n, err)
	}
}

func TestUntrusted(t *testing.T) {
	server := httptest.NewTLSServer(http.NotFoundHandler())
	defer server.Close()
	plain := httptest.NewServer(http.NotFoundHandler())
	defer plain.Close()
	for address, want := range map[string]bool{server.URL: true, strings.Replace(plain.URL, "http:", "https:", 1): true, "http://127.0.0.1:1": false} {
		resp, err := outbound.New(outbound.Rules{NoProxy: true}).Get(address)
		if err == nil {
			resp.Body.Close()
		}
		if outbound.Untrusted(err) != want {
			t.Errorf("%s: %v", address, err)
		}
	}
}

func TestReadableBy(t *testing.T) {
	through := func(proxy string) *http.Client {
		u, _ := url.Parse(proxy)
		return &http.Client{Transport: &http.Transport{Proxy: http.ProxyURL(u)}}
	}
	for _, c := range []struct {
		client *http.Client
		to     string
		want   bool
	}{
		{through("http://proxy.test:3128"), "http://api.test/", true},
		{through("http://proxy.test:3128"), "https://api.test/", false}, // a tunnel
		{through("socks5://proxy.test"), "http://api.test/", false},
		{outbound.New(outbound.Rules{NoProxy: true}), "http://api.test/", false},
	} {
		u, _ := url.Parse(c.to)
		if got := outbound.ReadableBy(c.client, &http.Request{URL: u}); (got != nil) != c.want {
			t.Errorf("%s: %v", c.to, got)
		}
	}
}

// elsewhere are the folders that may make HTTP clients, with the reason.
var elsewhere = map[string]string{
	"internal/outbound":     "it is the place",
	"conformance":           "programs that measure others and are no part of the library",
	"bench":                 "likewise",
	"internal/load":         "likewise: it asks a gateway that it started itself",
	"internal/compat":       "likewise: it asks programs that it started itself",
	"internal/differential": "likewise",
	"docs/examples":         "programs of users, who have no package internal",
}

// Nothing else in the module makes an HTTP client or uses the one of package
// http: the rules would not hold there.
func TestOnlyOutboundMakesClients(t *testing.T) {
	made := map[string]bool{"Client": true, "Transport": true}
	used := map[string]bool{"DefaultClient": true, "DefaultTransport": true, "Get": true, "Head": true, "Post": true, "PostForm": true}
	root := filepath.Join("..", "..")
	files := 0
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		rel, _ := filepath.Rel(root, path)
		switch {
		case err != nil:
			return err
		case d.IsDir() && (elsewhere[filepath.ToSlash(rel)] != "" || strings.HasPrefix(d.Name(), ".") && rel != "." || d.Name() == "testdata"):
			return filepath.SkipDir
		case d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		files++
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, path, nil, 0)
		if err != nil {
			return err
		}
		isHTTP := func(e ast.Expr, names map[string]bool) bool {
			s, ok := e.(*ast.SelectorExpr)
			if !ok {
				return false
			}
			x, ok := s.X.(*ast.Ident)
			return ok && x.Name == "http" && x.Obj == nil && names[s.Sel.Name]
		}
		ast.Inspect(file, func(n ast.Node) bool {
			bad := false
			switch n := n.(type) {
			case *ast.CompositeLit:
				bad = isHTTP(n.Type, made)
			case *ast.CallExpr: // new(http.Client)
				f, ok := n.Fun.(*ast.Ident)
				bad = ok && f.Name == "new" && len(n.Args) == 1 && isHTTP(n.Args[0], made)
			case *ast.ValueSpec: // var c http.Client
				bad = n.Type != nil && isHTTP(n.Type, made)
			case *ast.SelectorExpr:
				bad = isHTTP(n, used)
			}
			if bad {
				t.Errorf("%s makes or uses an HTTP client of its own; use internal/outbound, whose rules hold for everything that goes out", set.Position(n.Pos()))
			}
			return true
		})
		return nil
	})
	if err != nil || files < 100 {
		t.Fatal(files, err)
	}
}

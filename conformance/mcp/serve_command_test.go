package mcp

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// TestSuiteOfServeCommand runs the official suite against 'toolpost mcp serve'. The tools are those of the SDK's own server.
// The suite knows them by their bare names, so that a proxy adds and removes the name of the server.
func TestSuiteOfServeCommand(t *testing.T) {
	bin := suitePrograms(t)
	for revision, want := range servedScenarios {
		t.Run(revision, func(t *testing.T) {
			address := fmt.Sprintf("127.0.0.1:%d", freePort(t))
			awaitLine(t, background(t, filepath.Join(bin, "everything-server"), "-http", address, fmt.Sprint("-stateless=", revision >= "2026")), "listening")
			config := filepath.Join(t.TempDir(), "config.yaml")
			if err := os.WriteFile(config, []byte("mcp_servers:\n  fix:\n    url: http://"+address+"/mcp\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			said := awaitLine(t, background(t, filepath.Join(bin, "toolpost"), "mcp", "serve", "--config", config, "--mcp", "fix", "--yes", "--http", "127.0.0.1:0"), "listening on ")
			lines, all, _ := runSuite(t, "server", "--url", unnamed(t, strings.TrimPrefix(said, "listening on "))+"/mcp", "--requirements", revision)
			got := passes(lines)
			for _, name := range want {
				if got[name] == "" || got[name] == "0" {
					t.Errorf("%s fails, or checks nothing", name)
				}
			}
			if len(lines) == 0 || t.Failed() {
				t.Fatalf("%s", all)
			}
			t.Logf("%d scenarios of tools pass", len(want))
		})
	}
}

// unnamed is a proxy to a server whose tools begin with fix__, without that.
func unnamed(t *testing.T, server string) string {
	target, err := url.Parse(server)
	if err != nil {
		t.Fatal(err)
	}
	proxy := &httputil.ReverseProxy{FlushInterval: -1, Rewrite: func(r *httputil.ProxyRequest) {
		r.Out.URL.Scheme, r.Out.URL.Host, r.Out.Host = target.Scheme, target.Host, r.In.Host
		text, _ := io.ReadAll(r.In.Body)
		var m map[string]json.RawMessage
		var params map[string]json.RawMessage
		var name string
		if json.Unmarshal(text, &m) == nil && string(m["method"]) == `"tools/call"` && json.Unmarshal(m["params"], &params) == nil && json.Unmarshal(params["name"], &name) == nil {
			params["name"] = json.RawMessage(strconv.Quote("fix__" + name))
			m["params"], _ = json.Marshal(params)
			text, _ = json.Marshal(m)
			if r.Out.Header.Get("Mcp-Name") == name {
				r.Out.Header.Set("Mcp-Name", "fix__"+name)
			}
		}
		r.Out.Body, r.Out.ContentLength = io.NopCloser(bytes.NewReader(text)), int64(len(text))
	}, ModifyResponse: func(resp *http.Response) error {
		from := bufio.NewReader(resp.Body)
		read, write := io.Pipe()
		go func() {
			for {
				line, err := from.ReadString('\n')
				_, _ = io.WriteString(write, strings.ReplaceAll(line, `"fix__`, `"`))
				if err != nil {
					write.CloseWithError(err)
					return
				}
			}
		}()
		resp.Body, resp.ContentLength = struct {
			io.Reader
			io.Closer
		}{read, resp.Body}, -1
		resp.Header.Del("Content-Length")
		return nil
	}}
	web := httptest.NewServer(proxy)
	t.Cleanup(func() { web.CloseClientConnections(); web.Close() })
	return web.URL
}

package gateway_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/gateway"
)

// TestKeylessGatewayRefusesOtherOrigins checks that a page in a browser, also one of another port of this machine, cannot
// send requests to a gateway without keys.
func TestKeylessGatewayRefusesOtherOrigins(t *testing.T) {
	served := gateway.LocalOnly(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) }))
	for name, c := range map[string]struct {
		host    string
		headers []string
		status  int
	}{
		"no browser":                {"127.0.0.1:8230", nil, 418},
		"plain body, no browser":    {"127.0.0.1:8230", []string{"Content-Type", "text/plain"}, 418},
		"own page":                  {"127.0.0.1:8230", []string{"Origin", "http://127.0.0.1:8230", "Content-Type", "application/json"}, 418},
		"own page, by name":         {"localhost:8230", []string{"Origin", "http://LOCALHOST:8230", "Content-Type", "application/json"}, 418},
		"IPv6":                      {"[::1]:8230", []string{"Origin", "http://[::1]:8230", "Content-Type", "application/json"}, 418},
		"another port":              {"127.0.0.1:8230", []string{"Origin", "http://127.0.0.1:3000", "Content-Type", "application/json"}, 403},
		"without port":              {"127.0.0.1:8230", []string{"Origin", "http://127.0.0.1", "Content-Type", "application/json"}, 403},
		"another name of it":        {"127.0.0.1:8230", []string{"Origin", "http://localhost:8230", "Content-Type", "application/json"}, 403},
		"another scheme":            {"127.0.0.1:8230", []string{"Origin", "https://127.0.0.1:8230", "Content-Type", "application/json"}, 403},
		"no origin of its own":      {"127.0.0.1:8230", []string{"Origin", "null"}, 403},
		"empty origin":              {"127.0.0.1:8230", []string{"Origin", ""}, 403},
		"two origins":               {"127.0.0.1:8230", []string{"Origin", "http://127.0.0.1:8230", "Origin", "http://evil.example"}, 403},
		"two equal origins":         {"127.0.0.1:8230", []string{"Origin", "http://127.0.0.1:8230", "Origin", "http://127.0.0.1:8230"}, 403},
		"own page, plain body":      {"127.0.0.1:8230", []string{"Origin", "http://127.0.0.1:8230", "Content-Type", "text/plain"}, 403},
		"page without origin":       {"127.0.0.1:8230", []string{"Sec-Fetch-Mode", "no-cors", "Content-Type", "text/plain;charset=UTF-8"}, 403},
		"page, form":                {"127.0.0.1:8230", []string{"Sec-Fetch-Site", "same-site", "Content-Type", "application/x-www-form-urlencoded"}, 403},
		"page, no type":             {"127.0.0.1:8230", []string{"Sec-Fetch-Site", "same-origin"}, 403},
		"cross-site":                {"127.0.0.1:8230", []string{"Sec-Fetch-Site", "cross-site", "Content-Type", "application/json"}, 403},
		"host with a word as port":  {"127.0.0.1:8230.evil", nil, 421},
		"host that begins as local": {"127.0.0.1.evil:8230", nil, 421},
		"port too large":            {"127.0.0.1:82300", nil, 421},
		"another host":              {"evil.example:8230", nil, 421},
	} {
		r := httptest.NewRequest("POST", "/v1/chat/completions", strings.NewReader(`{"model":"m"}`))
		r.Host = c.host
		for i := 0; i < len(c.headers); i += 2 {
			r.Header.Add(c.headers[i], c.headers[i+1])
		}
		w := httptest.NewRecorder()
		if served.ServeHTTP(w, r); w.Code != c.status {
			t.Errorf("%s: %d, want %d", name, w.Code, c.status)
		}
	}
}

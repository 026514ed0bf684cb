package gateway

import (
	"errors"
	"net/http"
	"net/url"

	"github.com/toolpost/toolpost/gateway/internal/clientio"
	"github.com/toolpost/toolpost/internal/vendorapi"
	"github.com/toolpost/toolpost/llm"
)

// LocalOnly refuses requests that a page in a browser could send: requests to any host name except this machine's,
// whatever address they came to, and requests of another origin. Use it for a gateway without client keys, because
// pages could otherwise spend the gateway's own keys.
func LocalOnly(next http.Handler) http.Handler {
	next = NoOtherOrigins(next)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !clientio.IsLocalHost(r.Host) {
			refusePage(w, r, http.StatusMisdirectedRequest,
				"this server answers requests to this machine only, and the request names another host; behind a proxy, give its clients keys (the setting keys), or have the proxy name this machine in Host")
			return
		}
		next.ServeHTTP(w, r)
	})
}

// NoOtherOrigins refuses requests from pages of other origins. It is enough for a gateway whose clients need a key: a
// page that reaches the gateway under another host name cannot present a key.
func NoOtherOrigins(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Sec-Fetch-Site") == "cross-site" || !localOrigin(r.Header.Get("Origin")) {
			refusePage(w, r, http.StatusForbidden, "this server does not answer pages of other origins")
			return
		}
		next.ServeHTTP(w, r)
	})
}

// refusePage refuses a request with an error in the format of its endpoint.
func refusePage(w http.ResponseWriter, r *http.Request, status int, why string) {
	vendorapi.Fail(w, vendorapi.Find(r).Codec, &llm.Error{Op: "gateway", Kind: llm.Invalid, Status: status, Err: errors.New(why)})
}

func localOrigin(origin string) bool {
	if origin == "" {
		return true
	}
	u, err := url.Parse(origin)
	return err == nil && clientio.IsLocalHost(u.Host)
}

// NoPages protects health and metrics on a separate address: it refuses requests that a page in a browser could send.
// Monitors use an IP address, a host name without a dot, or one of hosts, with its port.
func NoPages(next http.Handler, hosts ...string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if status, err := clientio.RefuseBrowser(r, clientio.IsPrivateHost, hosts); err != nil {
			http.Error(w, err.Error(), status)
			return
		}
		next.ServeHTTP(w, r)
	})
}

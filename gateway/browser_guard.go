package gateway

import (
	"errors"
	"mime"
	"net/http"
	"net/url"
	"strings"

	"github.com/toolpost/toolpost/gateway/internal/clientio"
	"github.com/toolpost/toolpost/internal/vendorapi"
	"github.com/toolpost/toolpost/llm"
)

// LocalOnly refuses requests that a page in a browser could send: requests to any host name except this machine's,
// whatever address they came to, and requests of another origin. Use it for a gateway without client keys, because
// pages could otherwise spend the gateway's own keys.
func LocalOnly(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !clientio.IsLocalHost(r.Host) {
			refusePage(w, r, http.StatusMisdirectedRequest,
				"this server answers requests to this machine only, and the request names another host; behind a proxy, give its clients keys (the setting keys), or have the proxy name this machine in Host")
			return
		}
		if fromOtherOrigin(r) || !ownOrigin(r) || fromPage(r) && simpleBody(r) {
			refusePage(w, r, http.StatusForbidden, "this server does not answer pages of other origins")
			return
		}
		next.ServeHTTP(w, r)
	})
}

// ownOrigin reports whether a request has no origin, or that of this server: the same scheme, host and port.
func ownOrigin(r *http.Request) bool {
	origins := r.Header.Values("Origin")
	if len(origins) == 0 {
		return true
	}
	scheme := "http://"
	if r.TLS != nil {
		scheme = "https://"
	}
	return len(origins) == 1 && strings.EqualFold(origins[0], scheme+r.Host)
}

// fromPage reports whether a page in a browser sent the request.
func fromPage(r *http.Request) bool {
	return r.Header.Values("Origin") != nil || r.Header.Values("Sec-Fetch-Site") != nil || r.Header.Values("Sec-Fetch-Mode") != nil
}

// simpleBody reports whether a page of any origin may send the body without asking this server first.
func simpleBody(r *http.Request) bool {
	media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	return r.ContentLength != 0 && (err != nil || media == "text/plain" || media == "multipart/form-data" || media == "application/x-www-form-urlencoded")
}

// NoOtherOrigins refuses requests from pages of other origins. It is enough for a gateway whose clients need a key: a
// page that reaches the gateway under another host name cannot present a key.
func NoOtherOrigins(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if fromOtherOrigin(r) {
			refusePage(w, r, http.StatusForbidden, "this server does not answer pages of other origins")
			return
		}
		next.ServeHTTP(w, r)
	})
}

func fromOtherOrigin(r *http.Request) bool {
	return r.Header.Get("Sec-Fetch-Site") == "cross-site" || len(r.Header.Values("Origin")) > 1 || !localOrigin(r.Header.Get("Origin"))
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

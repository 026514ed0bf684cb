package gateway

import (
	"errors"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"github.com/toolpost/toolpost/internal/vendorapi"
	"github.com/toolpost/toolpost/llm"
)

// LocalOnly refuses requests that a page in a browser sends: those that name another host than this
// machine, whatever the address they came to, and those of another origin. A gateway that asks no
// client for a key belongs behind it, because its own keys would be spent.
func LocalOnly(next http.Handler) http.Handler {
	next = NoOtherOrigins(next)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !local(r.Host) {
			refusePage(w, r, http.StatusMisdirectedRequest,
				"this server answers requests to this machine only, and the request names another host; behind a proxy, give its clients keys (the setting keys), or have the proxy name this machine in Host")
			return
		}
		next.ServeHTTP(w, r)
	})
}

// NoOtherOrigins refuses requests of pages of other origins. It is enough for a gateway that asks each client for a key, whatever
// the host that a request names: a page that is led here by a name of its own has none.
func NoOtherOrigins(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Sec-Fetch-Site") == "cross-site" || !localOrigin(r.Header.Get("Origin")) {
			refusePage(w, r, http.StatusForbidden, "this server does not answer pages of other origins")
			return
		}
		next.ServeHTTP(w, r)
	})
}

// refusePage refuses a request in the words of the vendor that its path is of.
func refusePage(w http.ResponseWriter, r *http.Request, status int, why string) {
	vendorapi.Fail(w, vendorapi.Find(r).Codec, &llm.Error{Op: "gateway", Kind: llm.Invalid, Status: status, Err: errors.New(why)})
}

// local reports whether a host, with or without its port, is this machine.
func local(host string) bool {
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	if strings.EqualFold(host, "localhost") {
		return true
	}
	ip, err := netip.ParseAddr(strings.Trim(host, "[]"))
	return err == nil && ip.IsLoopback()
}

func localOrigin(origin string) bool {
	if origin == "" {
		return true
	}
	u, err := url.Parse(origin)
	return err == nil && local(u.Host)
}

// browserHeaders are sent by browsers and by nobody else.
var browserHeaders = []string{"Origin", "Sec-Fetch-Site", "Sec-Fetch-Mode", "Sec-Fetch-Dest", "Cookie"}

// noPage refuses what a page in a browser can send: a request to a host that is neither one of those that
// known accepts nor in hosts, and one with a header of browsers.
func noPage(r *http.Request, known func(host string) bool, hosts []string) *adminError {
	if !known(r.Host) && !slices.ContainsFunc(hosts, func(h string) bool { return strings.EqualFold(h, r.Host) }) {
		return &adminError{status: http.StatusMisdirectedRequest, err: errors.New("this server is not the host that the request names")}
	}
	for _, name := range browserHeaders {
		if r.Header.Values(name) != nil {
			return &adminError{status: http.StatusForbidden, err: errors.New("this server does not answer browsers")}
		}
	}
	return nil
}

// NoPages is for health and metrics on an address of their own: it refuses what a page in a browser can send.
// Monitors ask by an IP address, by a name without a dot, which no page has, or by one of hosts, with its port.
func NoPages(next http.Handler, hosts ...string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := noPage(r, inside, hosts); err != nil {
			http.Error(w, err.Error(), err.status)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// inside reports whether a host is named in a way that no page of another can have: by its address, or by
// a name that only a network of one's own knows.
func inside(host string) bool {
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	_, err := netip.ParseAddr(strings.Trim(host, "[]"))
	return err == nil || host != "" && !strings.Contains(host, ".")
}

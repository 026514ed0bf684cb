package gateway

import (
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
)

// LocalOnly refuses requests that a page in a browser sends: those that name another host than this
// machine, whatever the address they came to, and those of another origin. A gateway that asks no
// client for a key belongs behind it, because its own keys would be spent.
func LocalOnly(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case !local(r.Host):
			http.Error(w, "this server answers requests to this machine only", http.StatusMisdirectedRequest)
		case r.Header.Get("Sec-Fetch-Site") == "cross-site", !localOrigin(r.Header.Get("Origin")):
			http.Error(w, "this server does not answer pages of other origins", http.StatusForbidden)
		default:
			next.ServeHTTP(w, r)
		}
	})
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

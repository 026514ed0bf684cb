package clientio

import (
	"errors"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// browserHeaders are headers that only browsers send.
var browserHeaders = []string{"Origin", "Sec-Fetch-Site", "Sec-Fetch-Mode", "Sec-Fetch-Dest", "Cookie"}

// RefuseBrowser returns an error and its HTTP status for a request that a page in a browser could have sent. Such a
// request has a header of browsers, or its host is neither accepted by known nor one of hosts.
func RefuseBrowser(r *http.Request, known func(host string) bool, hosts []string) (status int, err error) {
	if !known(r.Host) && !slices.ContainsFunc(hosts, func(h string) bool { return strings.EqualFold(h, r.Host) }) {
		return http.StatusMisdirectedRequest, errors.New("this server does not serve the host in the request; use its address or a configured host name")
	}
	for _, name := range browserHeaders {
		if r.Header.Values(name) != nil {
			return http.StatusForbidden, errors.New("this server does not answer browsers")
		}
	}
	return 0, nil
}

// IsLocalHost reports whether a host, with or without a port, is this machine.
func IsLocalHost(host string) bool {
	host = withoutPort(host)
	if strings.EqualFold(host, "localhost") {
		return true
	}
	ip, err := netip.ParseAddr(strings.Trim(host, "[]"))
	return err == nil && ip.IsLoopback()
}

// IsPrivateHost reports whether no page of another site can have this host: it is an IP address, or a name without a dot,
// which only a private network resolves.
func IsPrivateHost(host string) bool {
	host = withoutPort(host)
	_, err := netip.ParseAddr(strings.Trim(host, "[]"))
	return err == nil || host != "" && !strings.Contains(host, ".")
}

// withoutPort returns a host without its port, which has to be a number.
func withoutPort(host string) string {
	h, port, err := net.SplitHostPort(host)
	if _, wrong := strconv.ParseUint(port, 10, 16); err == nil && (port == "" || wrong == nil) {
		return h
	}
	return host
}

package builtin

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/toolpost/toolpost/internal/outbound"
	"github.com/toolpost/toolpost/tool"
)

// special are the addresses outside of the public internet: this machine,
// its networks, the services that hand out credentials, and the ranges through
// which any of them can be reached by another name.
var special = prefixes(`0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16 172.16.0.0/12 192.0.0.0/24 192.0.2.0/24
192.88.99.0/24 192.168.0.0/16 198.18.0.0/15 198.51.100.0/24 203.0.113.0/24 224.0.0.0/4 240.0.0.0/4
::/96 ::1/128 ::ffff:0:0/96 64:ff9b::/96 64:ff9b:1::/48 100::/64 2001::/23 2001:db8::/32 2002::/16 3fff::/20 5f00::/16 fc00::/7 fe80::/10 fec0::/10 ff00::/8`)

func prefixes(list string) []netip.Prefix {
	var out []netip.Prefix
	for _, s := range strings.Fields(list) {
		out = append(out, netip.MustParsePrefix(s))
	}
	return out
}

// guard decides which addresses may be connected to.
type guard struct {
	// open are exceptions: networks that may be reached although special.
	open []netip.Prefix
}

// permits reports whether an address may be connected to.
func (g guard) permits(addr netip.Addr) bool {
	plain := addr.Unmap().WithZone("")
	for _, p := range g.open {
		if p.Contains(plain) {
			return true
		}
	}
	if addr.Zone() != "" {
		return false
	}
	return !slices.ContainsFunc(special, func(p netip.Prefix) bool { return p.Contains(plain) })
}

// errForbidden is why a connection was not made.
var errForbidden = errors.New("the address belongs to this machine or its own network")

// control is called for every connection with the resolved address, just before
// connecting. A name that resolved differently a moment ago makes no
// difference.
func (g guard) control(_, address string, _ syscall.RawConn) error {
	ap, err := netip.ParseAddrPort(address)
	if err != nil {
		return fmt.Errorf("%w: %s", errForbidden, address)
	}
	if !g.permits(ap.Addr()) {
		return fmt.Errorf("%w: %s", errForbidden, ap.Addr())
	}
	return nil
}

// client returns an HTTP client that connects through the guard, asks no
// proxy, keeps no cookies and follows at most five redirects, each checked.
func (g guard) client(timeout time.Duration, check func(*url.URL) error) *http.Client {
	return outbound.New(outbound.Rules{
		Timeout: timeout, Control: g.control, NoProxy: true, Once: true,
		Redirect: func(next *url.URL, _ []*http.Request) error { return check(next) },
	})
}

// failure turns an error of the network into one a model can act on.
func failure(ctx context.Context, what string, err error) error {
	var known *tool.Error
	switch {
	case errors.As(err, &known):
		return known
	case errors.Is(err, errForbidden):
		return withFix(tool.Errorf(tool.Permission, "%s was not asked: %v", what, errForbidden), "Only pages on the public internet can be fetched.")
	case errors.Is(err, outbound.ErrDowngrade):
		return tool.Errorf(tool.Permission, "%s: %v", what, outbound.ErrDowngrade)
	case outbound.Untrusted(err):
		return tool.Errorf(tool.Permission, "%s did not prove who it is, and was not asked: %v", what, bare(err))
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, context.DeadlineExceeded) || isTimeout(err):
		return tool.Errorf(tool.Timeout, "%s did not answer in time", what)
	}
	return tool.Errorf(tool.Network, "%s: %v", what, bare(err))
}

// bare removes the address from an error of package http.
func bare(err error) error {
	var wrapped *url.Error
	if errors.As(err, &wrapped) {
		return wrapped.Err
	}
	return err
}

func isTimeout(err error) bool {
	var t interface{ Timeout() bool }
	return errors.As(err, &t) && t.Timeout()
}

// statusFailure turns an HTTP status into an error.
func statusFailure(what string, resp *http.Response) error {
	code := tool.Execution
	switch s := resp.StatusCode; {
	case s == http.StatusTooManyRequests:
		code = tool.RateLimit
	case s == http.StatusNotFound || s == http.StatusGone:
		code = tool.NotFound
	case s == http.StatusUnauthorized || s == http.StatusForbidden:
		code = tool.Permission
	case s >= 500:
		code = tool.Network
	}
	e := tool.Errorf(code, "%s answered %s", what, resp.Status)
	if s, err := strconv.Atoi(resp.Header.Get("Retry-After")); err == nil && s > 0 && s < 3600 {
		e.RetryAfter = time.Duration(s) * time.Second
	}
	return e
}

// domain matches a host against domains and their subdomains.
func domain(host string, domains []string) bool {
	host = strings.TrimSuffix(strings.ToLower(host), ".")
	for _, d := range domains {
		d = strings.Trim(strings.ToLower(strings.TrimPrefix(d, "*.")), ".")
		if d != "" && (host == d || strings.HasSuffix(host, "."+d)) {
			return true
		}
	}
	return false
}

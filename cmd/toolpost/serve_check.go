package main

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/toolpost/toolpost/gateway"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/provider"
)

// problems says everything that is wrong with the settings of the gateway beside its routes.
func (c gatewayConfig) problems(addr string) error {
	var list []error
	wrong := func(key, format string, args ...any) {
		list = append(list, &placedError{key, fmt.Errorf(format, args...)})
	}
	for _, row := range []struct{ key, addr string }{{"addr", addr}, {"ops_addr", c.Ops.OpsAddr}, {"admin_addr", c.Keys.AdminAddr}} {
		if row.addr == "" {
			continue
		}
		if err := listenable(row.addr); err != nil {
			wrong(row.key, "%w", err)
		}
	}
	for _, row := range []struct {
		key   string
		value time.Duration
	}{
		{"drain", c.Ops.Drain}, {"reload", c.Ops.Reload}, {"header_timeout", c.Ops.HeaderTimeout}, {"body_timeout", c.Ops.BodyTimeout},
		{"write_timeout", c.Ops.WriteTimeout}, {"idle_timeout", c.Ops.IdleTimeout}, {"keep_alive", c.KeepAlive}, {"log_retention", c.Keys.Retention},
		{"answers_for", c.Ops.AnswersFor},
	} {
		if off := row.key == "keep_alive" && row.value < 0; !off && (row.value < 0 || row.value > 0 && row.value < time.Millisecond) {
			wrong(row.key, "%v is no time to wait; give a unit, like 30s", row.value)
		}
	}
	for _, row := range []struct {
		key   string
		value int64
	}{{"max_body", c.MaxBody}, {"max_requests", int64(c.Ops.MaxRequests)}, {"max_header", int64(c.Ops.MaxHeader)}} {
		if row.value < 0 {
			wrong(row.key, "%d is less than 0", row.value)
		}
	}
	if err := c.Keys.problem(); err != nil {
		list = append(list, err)
	}
	if name := c.Keys.State; name != "" && name != inMemory && !strings.HasPrefix(name, "sqlite:") && !isPostgres(name) {
		wrong("state", "it is kept in sqlite:FILE, at postgres://… or in memory, and what state says is none of these") // it may hold a password
	}
	if _, err := c.Ops.TLS.load(); err != nil {
		list = append(list, &placedError{"tls", err})
	}
	return errors.Join(list...)
}

// problem says what is wrong with how administrators are served. It never repeats their key.
func (c keysConfig) problem() error {
	wrong := func(format string, args ...any) error {
		return &placedError{"admin_addr", fmt.Errorf(format, args...)}
	}
	switch key := strings.TrimSpace(os.Getenv(adminKeyEnv)); {
	case c.AdminAddr == "" || listenable(c.AdminAddr) != nil:
		return nil
	case loopback(c.AdminAddr) != nil && len(c.AdminHosts) == 0:
		return wrong("%s can be reached by others, and the key of administrators goes over it in the clear; keep it on loopback (127.0.0.1:PORT), or say in admin_hosts by which names of this host others may ask, and put TLS before it", c.AdminAddr)
	case key == "":
		return wrong("it needs a key for administrators in %s", adminKeyEnv)
	case len(key) < gateway.MinAdminKey:
		return wrong("the key in %s has less than %d bytes", adminKeyEnv, gateway.MinAdminKey)
	}
	return nil
}

// listenable says why nobody can listen on an address, as far as it can be told without doing so.
func listenable(addr string) error {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return fmt.Errorf("%q is no address; write HOST:PORT, like %s", addr, defaultAddr)
	}
	if n, err := strconv.Atoi(port); err != nil || n < 0 || n > 65535 {
		return fmt.Errorf("%q is no port; it can be 0 to 65535", port)
	}
	if _, err := netip.ParseAddr(host); err != nil && host != "" && !strings.EqualFold(host, "localhost") {
		return fmt.Errorf("%q is no address of this machine; write its IP address, or localhost", host)
	}
	return nil
}

// loops says which routes lead back to the gateway itself.
func (s *settings) loops(addr string, open func(string, gateway.Way) (llm.Model, error)) error {
	_, port, err := net.SplitHostPort(addr)
	if err != nil || port == "0" {
		return nil
	}
	var list []error
	for i, r := range s.Gateway.routes() {
		for k, u := range r.Upstreams {
			m, err := open(strings.Replace(u.Model, "*", "x", 1), u.Way)
			if host := hostOf(m); err == nil && here(host, addr) {
				list = append(list, &placedError{fmt.Sprintf("routes[%d].to[%d].model", i, k), fmt.Errorf("the route %s leads to the gateway itself: %s is where it listens", r.Model, host)})
			}
		}
	}
	return errors.Join(list...)
}

// here reports whether a host and port of an upstream are where a gateway listens.
func here(host, addr string) bool {
	uh, up, err := net.SplitHostPort(host)
	if err != nil {
		return false
	}
	lh, lp, _ := net.SplitHostPort(addr)
	if up != lp {
		return false
	}
	local := func(h string) bool {
		ip, err := netip.ParseAddr(h)
		return strings.EqualFold(h, "localhost") || err == nil && ip.IsLoopback()
	}
	any := func(h string) bool {
		ip, err := netip.ParseAddr(h)
		return h == "" || err == nil && ip.IsUnspecified()
	}
	return uh == lh || local(uh) && (local(lh) || any(lh)) || any(uh)
}

// hostOf returns the host and port that a model is asked at, "" if it is asked at none.
func hostOf(m llm.Model) string {
	known, ok := m.(*provider.Model)
	if !ok {
		return ""
	}
	return known.Host()
}

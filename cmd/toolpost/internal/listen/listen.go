// Package listen serves HTTP until a command is interrupted.
package listen

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"syscall"
	"time"
)

// On listens on an address. IPv4 addresses, including 0.0.0.0, use IPv4 only.
func On(addr string) (net.Listener, error) {
	network := "tcp"
	if at, err := netip.ParseAddrPort(addr); err == nil && at.Addr().Is4() {
		network = "tcp4"
	}
	l, err := net.Listen(network, addr)
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, fmt.Errorf("%w; another program listens there: stop it, or choose another address with --addr (for example --addr 127.0.0.1:0)", err)
	}
	return l, err
}

// Loopback refuses addresses that other machines can reach, because the simulator requires no key.
func Loopback(addr string) error {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return fmt.Errorf("--addr: %w", err)
	}
	if ip := net.ParseIP(host); strings.EqualFold(host, "localhost") || ip != nil && ip.IsLoopback() {
		return nil
	}
	return fmt.Errorf("--addr: %s is not a loopback address, and the simulator answers anyone who can reach it", addr)
}

// Serve serves until ctx is done, and then gives open responses a moment to end.
func Serve(ctx context.Context, listener net.Listener, handler http.Handler) error {
	server := &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute, Protocols: new(http.Protocols), HTTP2: &http.HTTP2Config{WriteByteTimeout: 2 * time.Minute}}
	server.Protocols.SetHTTP1(true)
	server.Protocols.SetUnencryptedHTTP2(true) // Amazon's JavaScript client requires it
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(listener) }()
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
	}
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
	defer cancel()
	if err := server.Shutdown(grace); err != nil {
		server.Close()
	}
	if err := <-failed; !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/toolpost/toolpost/gateway"
	"github.com/toolpost/toolpost/gateway/access"
)

// keysConfig is who may use a gateway, in the configuration.
type keysConfig struct {
	Store      string        `yaml:"keys" help:"where keys and what they use are kept: sqlite:FILE or postgres://…; with it every request needs a key"`
	Retention  time.Duration `yaml:"log_retention" help:"how long the log of requests is kept" default:"720h"`
	AdminAddr  string        `yaml:"admin_addr" help:"an address for administrators, who show the key in TOOLPOST_ADMIN_KEY"`
	AdminHosts []string      `yaml:"admin_hosts" help:"names of this host that administrators may use beside those of loopback, with the port"`
}

// adminKeyEnv has the key of administrators.
const adminKeyEnv = "TOOLPOST_ADMIN_KEY"

// The defaults of keysConfig, and how often the log is looked at.
const (
	defaultRetention = 30 * 24 * time.Hour
	cleanEvery       = time.Hour
)

// publicFlag lets a gateway without keys listen where others can reach it.
const publicFlag = "let-anyone-use-it"

// guards is who may use a gateway that is served.
type guards struct {
	book *access.Book // nil if everybody may
	done func()
}

// openGuards opens the keys of a gateway, if it has any. The caller calls done.
func openGuards(cmd *cobra.Command, s *settings) (guards, error) {
	name, err := keysName(cmd, s)
	if err != nil {
		return guards{}, err
	}
	if name == "" {
		if s.Gateway.Keys.AdminAddr != "" {
			return guards{}, errors.New("gateway: admin_addr is for those who look after keys, and there are none: set keys")
		}
		return guards{done: func() {}}, nil
	}
	book, done, err := openKeys(cmd.Context(), name, true)
	return guards{book, done}, err
}

// handler returns what listens at an address: on loopback it answers nobody but this machine, and
// elsewhere only who has a key.
func (g guards) handler(cmd *cobra.Command, addr string, next http.Handler, s *settings) (http.Handler, error) {
	if loopback(addr) == nil {
		return gateway.LocalOnly(next), nil
	}
	if _, _, err := net.SplitHostPort(addr); err != nil {
		return nil, usagef(cmd, "--addr: %w", err)
	}
	name, err := keysName(cmd, s) // which is not opened by --check
	if anyone, _ := cmd.Flags().GetBool(publicFlag); err == nil && name == "" && !anyone {
		return nil, usagef(cmd, "%s is not a loopback address, and without keys whoever reaches it spends what your keys are good for: set keys below gateway (see 'toolpost keys --help'), or give --%s", addr, publicFlag)
	}
	return next, err
}

// attend looks after the keys of a gateway until ctx is done: it forgets the log that is too old, and
// serves administrators.
func (g guards) attend(ctx context.Context, cmd *cobra.Command, c keysConfig) (wait func() error, err error) {
	if g.book == nil {
		return func() error { return nil }, nil
	}
	keep := defaultRetention
	if c.Retention > 0 {
		keep = max(c.Retention, cleanEvery)
	}
	go func() {
		for {
			if err := g.book.Clean(ctx, keep); err != nil && ctx.Err() == nil {
				fmt.Fprintf(cmd.ErrOrStderr(), "toolpost: the log of requests cannot be cleaned: %v\n", err)
			}
			select {
			case <-ctx.Done():
				return
			case <-time.After(cleanEvery):
			}
		}
	}()
	if c.AdminAddr == "" {
		return func() error { return nil }, nil
	}
	return g.administrate(ctx, cmd, c)
}

// administrate serves administrators until ctx is done.
func (g guards) administrate(ctx context.Context, cmd *cobra.Command, c keysConfig) (wait func() error, err error) {
	key := os.Getenv(adminKeyEnv)
	if key == "" {
		return nil, fmt.Errorf("gateway: admin_addr needs a key for administrators in %s", adminKeyEnv)
	}
	handler, err := gateway.Admin(g.book, strings.TrimSpace(key), c.AdminHosts...)
	if err != nil {
		return nil, err
	}
	listener, err := listenOn(c.AdminAddr)
	if err != nil {
		return nil, fmt.Errorf("admin_addr: %w", err)
	}
	fmt.Fprintf(cmd.ErrOrStderr(), "administrators on http://%s\n", listener.Addr())
	ended := make(chan error, 1)
	go func() { ended <- serveUntilDone(ctx, listener, handler) }()
	return func() error { return <-ended }, nil
}

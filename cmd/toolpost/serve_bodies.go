package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/toolpost/toolpost/journal"
)

// gatewaySecrets returns the secrets that a gateway's request log must not contain: keys of vendors, credentials of
// tools, and the key of administrators. The keys of its clients are recognised by their form.
func (s *settings) gatewaySecrets() *journal.Secrets {
	out := s.secrets()
	if key := strings.TrimSpace(os.Getenv(adminKeyEnv)); key != "" {
		out.Values = append(out.Values, key)
	}
	return out
}

// keepingBodies returns the settings that store bodies, as paths below gateway. It returns none if no route stores
// bodies.
func (c gatewayConfig) keepingBodies() (paths []string) {
	if c.Keys.Bodies {
		paths = append(paths, "log_bodies")
	}
	for i, r := range c.Routes {
		if r.Bodies != nil && *r.Bodies && !c.Keys.Bodies {
			paths = append(paths, fmt.Sprintf("routes[%d].log_bodies", i))
		}
	}
	return paths
}

// The limits of log_body_size. Less is useless, and more belongs in files.
const (
	leastBodySize = 256
	mostBodySize  = 1 << 20
)

// bodyProblems reports settings by which bodies cannot be stored.
func (v *serving) bodyProblems(s *settings) error {
	var list []error
	if n := s.Gateway.Keys.BodySize; n != 0 && (n < leastBodySize || n > mostBodySize) {
		list = append(list, &placedError{path: "log_body_size", err: fmt.Errorf("%d is not between %d and %d bytes", n, leastBodySize, mostBodySize)})
	}
	if name, err := keysName(v.cmd, s); err == nil && name == "" {
		for _, path := range s.Gateway.keepingBodies() {
			list = append(list, &placedError{path: path, err: errors.New("what clients ask and are answered is kept beside the log of requests, and there is none without keys: set keys")})
		}
	}
	return errors.Join(list...)
}

// bodyWarnings warns that bodies are stored.
func (c gatewayConfig) bodyWarnings(m *mistakes) {
	paths := c.keepingBodies()
	for _, path := range paths {
		m.warn("gateway."+path, "what clients ask and are answered is kept for %v, without the secrets that are known; there may be others in it, so tell those who use it", cmp.Or(c.Keys.Retention, defaultRetention))
	}
	if c.Keys.BodySize != 0 && len(paths) == 0 {
		m.warn("gateway.log_body_size", "it is for log_bodies, which is not set")
	}
}

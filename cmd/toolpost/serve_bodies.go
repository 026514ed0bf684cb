package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/toolpost/toolpost/journal"
)

// gatewaySecrets are those that the log of a gateway must not have: keys of vendors, credentials of tools, and the key of administrators. Keys of
// its clients are known by their form.
func (s *settings) gatewaySecrets() *journal.Secrets {
	out := s.secrets()
	if key := strings.TrimSpace(os.Getenv(adminKeyEnv)); key != "" {
		out.Values = append(out.Values, key)
	}
	return out
}

// keepingBodies returns the settings by which bodies are kept, as paths below gateway; none if no route keeps them.
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

// The bounds of log_body_size: less would show nothing, and more is for files.
const (
	leastBodySize = 256
	mostBodySize  = 1 << 20
)

// bodyProblems says why bodies cannot be kept as the settings say.
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

// bodyWarnings says aloud that bodies are kept.
func (c gatewayConfig) bodyWarnings(m *mistakes) {
	paths := c.keepingBodies()
	for _, path := range paths {
		m.warn("gateway."+path, "what clients ask and are answered is kept for %v, without the secrets that are known; there may be others in it, so tell those who use it", cmp.Or(c.Keys.Retention, defaultRetention))
	}
	if c.Keys.BodySize != 0 && len(paths) == 0 {
		m.warn("gateway.log_body_size", "it is for log_bodies, which is not set")
	}
}

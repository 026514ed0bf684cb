package main

import (
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

// keepingBodies returns the settings that store bodies, as paths. It returns none if no route stores
// bodies.
func (c gatewayConfig) keepingBodies() (paths []string) {
	if c.Keys.Bodies {
		paths = append(paths, "gateway.log_bodies")
	}
	for i, r := range c.Routes {
		if r.Bodies != nil && *r.Bodies && !c.Keys.Bodies {
			paths = append(paths, fmt.Sprintf("gateway.routes[%d].log_bodies", i))
		}
	}
	return paths
}

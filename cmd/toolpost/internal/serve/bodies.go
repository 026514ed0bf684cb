package serve

import (
	"fmt"
	"os"
	"strings"

	"github.com/toolpost/toolpost/cmd/toolpost/internal/settings"
	"github.com/toolpost/toolpost/internal/access"
	"github.com/toolpost/toolpost/journal"
)

// gatewaySecrets returns the secrets that a gateway's request log must not contain: those of the settings, and the key of
// administrators. The keys of its clients are recognised by their form.
func gatewaySecrets(out *journal.Secrets) *journal.Secrets {
	if key := strings.TrimSpace(os.Getenv(AdminKeyEnv)); key != "" {
		out.Values = append(out.Values, access.AdminKeys(key)...)
	}
	return out
}

// keepingBodies returns the settings that store bodies, as paths. It returns none if no route stores
// bodies.
func keepingBodies(c settings.GatewayConfig) (paths []string) {
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

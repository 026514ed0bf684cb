package gateway

import (
	"time"

	"github.com/toolpost/toolpost/gateway/internal/upstream"
)

// SetCooldown says for how long upstreams that keep failing are left alone, and returns what undoes that.
func SetCooldown(d time.Duration) (undo func()) {
	before := upstream.Limits.Cooldown
	upstream.Limits.Cooldown = d
	return func() { upstream.Limits.Cooldown = before }
}

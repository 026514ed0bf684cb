package gateway

import (
	"time"

	"github.com/toolpost/toolpost/gateway/internal/upstream"
)

// SetCooldown sets how long failing upstreams are skipped, and returns a function that restores the old value.
func SetCooldown(d time.Duration) (undo func()) {
	before := upstream.Limits.Cooldown
	upstream.Limits.Cooldown = d
	return func() { upstream.Limits.Cooldown = before }
}

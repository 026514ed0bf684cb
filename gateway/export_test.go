package gateway

import "time"

// SetCooldown says for how long upstreams that keep failing are left alone, and returns what undoes that.
func SetCooldown(d time.Duration) (undo func()) {
	before := limits.Cooldown
	limits.Cooldown = d
	return func() { limits.Cooldown = before }
}

package session

import (
	"testing"
	"time"

	"github.com/toolpost/toolpost/mcpbridge/config"
)

// The servers of --mcp are waited for until the slowest is ready or has failed, which is later than its time is over.
func TestServersThatAreNamedAreWaitedFor(t *testing.T) {
	fast, slow := config.ServerConfig{Name: "a", Command: "node"}, config.ServerConfig{Name: "b", Command: "npx"}
	set := config.ServerConfig{Name: "c", Command: "node", Connect: 10 * time.Minute}
	for _, c := range []struct {
		servers []config.ServerConfig
		least   time.Duration
	}{{[]config.ServerConfig{fast}, 30 * time.Second}, {[]config.ServerConfig{slow, fast}, 2 * time.Minute}, {[]config.ServerConfig{fast, set, slow}, 10 * time.Minute}} {
		if got := untilReady(c.servers); got <= c.least || got > c.least+10*time.Second {
			t.Errorf("%v: %s", c.servers, got)
		}
	}
}

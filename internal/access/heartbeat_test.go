package access

import (
	"context"
	"testing"
	"time"
)

// TestHoldsOfDeadGatewayAreReleasedWithinAMinute checks that the reservation of a running request is renewed, that of a
// gateway that died expires within a minute, and that a request that ended is not renewed.
func TestHoldsOfDeadGatewayAreReleasedWithinAMinute(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	clock := func() time.Time { return now }
	store := new(Memory)
	limit, err := ParseQuota("tokens/day=1000")
	if err != nil {
		t.Fatal(err)
	}
	rights := &Rights{Key: Key{ID: "tp-a", Team: "red", Limits: []Quota{limit}}}
	dead, alive := &Book{Store: store, Now: clock}, &Book{Store: store, Now: clock}
	held := func() (n int64) {
		_ = store.Admit(context.Background(), now, Hold{Request: "probe", Scopes: scopes(&rights.Key), Until: now}, nil, func(_ map[Window]Count, held map[string]Reservation) error {
			n = held["key:tp-a"].Most.Tokens
			return nil
		})
		return n
	}
	for id, b := range map[string]*Book{"r1": dead, "r2": alive} {
		if _, err := b.Admit(t.Context(), rights, Claim{ID: id, Model: "m", Tokens: 300}); err != nil {
			t.Fatal(err)
		}
	}
	if n := held(); n != 600 {
		t.Fatalf("%d tokens are reserved", n)
	}
	dead.release("r1") // its process is gone, and with it the renewal
	for range 6 {
		now = now.Add(heartbeat)
		alive.beat()
	}
	if n := held(); n != 300 {
		t.Errorf("after two minutes %d tokens are reserved", n)
	}
	alive.release("r2")
	if len(alive.holds.open) != 0 || alive.holds.timer != nil {
		t.Error("a request that ended is renewed")
	}
}

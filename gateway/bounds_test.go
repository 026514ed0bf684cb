package gateway

import (
	"encoding/binary"
	"testing"
	"time"
)

// TestCacheIsBounded checks that a cache lets go of what was not used for longest, and of what is
// too old.
func TestCacheIsBounded(t *testing.T) {
	var c cache
	now := time.Unix(1000, 0)
	key := func(i int) (k cacheKey) {
		binary.BigEndian.PutUint64(k[:], uint64(i))
		return k
	}
	for i := range 100 {
		c.put(&cached{key: key(i), until: now.Add(time.Minute), body: make([]byte, maxCached)})
		if c.get(key(0), now) == nil {
			t.Fatalf("the answer that is used again and again is gone after %d", i)
		}
	}
	if c.size > maxCachedTotal || len(c.at) != c.order.Len() || c.get(key(1), now) != nil || c.get(key(99), now) == nil {
		t.Errorf("%d bytes in %d answers", c.size, len(c.at))
	}
	if c.get(key(99), now.Add(time.Minute)) != nil {
		t.Error("an answer is given when its time is over")
	}
	for i := range 100 {
		c.get(key(i), now.Add(time.Hour))
	}
	if c.size != 0 || len(c.at) != 0 {
		t.Errorf("%d bytes in %d answers that are too old", c.size, len(c.at))
	}
}

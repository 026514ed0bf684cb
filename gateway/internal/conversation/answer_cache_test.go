package conversation

import (
	"encoding/binary"
	"testing"
	"time"
)

// TestCacheIsBounded checks that a cache drops the answers unused for longest, and expired ones.
func TestCacheIsBounded(t *testing.T) {
	var c Cache
	now := time.Unix(1000, 0)
	key := func(i int) (k CacheKey) {
		binary.BigEndian.PutUint64(k[:], uint64(i))
		return k
	}
	for i := range 100 {
		c.Put(&CachedAnswer{Key: key(i), Until: now.Add(time.Minute), Body: make([]byte, MaxCached)})
		if c.Get(key(0), now) == nil {
			t.Fatalf("the answer that is used again and again is gone after %d", i)
		}
	}
	if c.size > maxCachedTotal || len(c.at) != c.owners[""].order.Len() || c.Get(key(1), now) != nil || c.Get(key(99), now) == nil {
		t.Errorf("%d bytes in %d answers", c.size, len(c.at))
	}
	if c.Get(key(99), now.Add(time.Minute)) != nil {
		t.Error("an answer is given when its time is over")
	}
	for i := range 100 {
		c.Get(key(i), now.Add(time.Hour))
	}
	if c.size != 0 || len(c.at) != 0 {
		t.Errorf("%d bytes in %d answers that are too old", c.size, len(c.at))
	}
}

// TestCacheIsShared checks that an owner with many answers does not evict those of another.
func TestCacheIsShared(t *testing.T) {
	var c Cache
	now := time.Unix(1000, 0)
	c.Put(&CachedAnswer{Key: CacheKey{1}, Owner: "small", Until: now.Add(time.Minute), Body: make([]byte, MaxCached)})
	for i := range 100 {
		key := CacheKey{2}
		binary.BigEndian.PutUint64(key[8:], uint64(i))
		c.Put(&CachedAnswer{Key: key, Owner: "large", Until: now.Add(time.Minute), Body: make([]byte, MaxCached)})
	}
	if c.Get(CacheKey{1}, now) == nil || c.size > maxCachedTotal {
		t.Errorf("the answer of the other owner is gone, of %d bytes", c.size)
	}
}

package conversation

import (
	"container/list"
	"crypto/sha256"
	"net/http"
	"sync"
	"time"
)

// The limits of an answer cache, in bytes.
const (
	MaxCached      = 1 << 20  // one answer
	maxCachedTotal = 64 << 20 // all answers
)

// CacheKey identifies a request: its owner, its route and its content.
type CacheKey [sha256.Size]byte

// CachedAnswer is an answer in the form in which it was sent.
type CachedAnswer struct {
	Key      CacheKey
	Owner    string
	Until    time.Time
	Header   http.Header
	Body     []byte
	Upstream string // the id of the model that answered
}

// Cache keeps answers in memory. If it is full, the owner with the most space loses the answers that were unused for
// longest. The zero value is empty and ready to use.
type Cache struct {
	mu     sync.Mutex
	at     map[CacheKey]*list.Element
	owners map[string]*cacheShare
	size   int
}

// cacheShare holds the answers of one owner, the last used first.
type cacheShare struct {
	order list.List // of *cached
	size  int
}

// Get returns an answer, or nil.
func (c *Cache) Get(key CacheKey, now time.Time) *CachedAnswer {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.at[key]
	if e == nil {
		return nil
	}
	found := e.Value.(*CachedAnswer)
	if !found.Until.After(now) {
		c.drop(e)
		return nil
	}
	c.owners[found.Owner].order.MoveToFront(e)
	return found
}

// Put stores an answer, and drops others if the cache is full.
func (c *Cache) Put(a *CachedAnswer) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e := c.at[a.Key]; e != nil {
		c.drop(e)
	}
	if c.at == nil {
		c.at, c.owners = make(map[CacheKey]*list.Element), make(map[string]*cacheShare)
	}
	share := c.owners[a.Owner]
	if share == nil {
		share = new(cacheShare)
		c.owners[a.Owner] = share
	}
	c.at[a.Key] = share.order.PushFront(a)
	c.size += a.cost()
	share.size += a.cost()
	for c.size > maxCachedTotal {
		c.drop(c.largest().order.Back())
	}
}

// largest returns the share that uses the most space. The caller holds c.mu.
func (c *Cache) largest() (most *cacheShare) {
	for _, s := range c.owners {
		if most == nil || s.size > most.size {
			most = s
		}
	}
	return most
}

// drop removes an answer. The caller holds c.mu.
func (c *Cache) drop(e *list.Element) {
	a := e.Value.(*CachedAnswer)
	share := c.owners[a.Owner]
	share.order.Remove(e)
	delete(c.at, a.Key)
	c.size -= a.cost()
	if share.size -= a.cost(); share.order.Len() == 0 {
		delete(c.owners, a.Owner)
	}
}

// cost returns the memory that an answer uses.
func (a *CachedAnswer) cost() int { return len(a.Body) + 1024 }

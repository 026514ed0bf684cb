package gateway

import (
	"container/list"
	"crypto/sha256"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/toolpost/toolpost/gateway/internal/clientio"
	"github.com/toolpost/toolpost/llm"
)

// CacheHeader says of an answer of a route with a cache whether it was given before: hit, miss, or
// off for a request that is never answered from one.
const CacheHeader = "Toolpost-Cache"

// Cache says which answers of a route are given again to the same request. The zero value gives
// none.
type Cache struct {
	// For is how long an answer may be given again; 0 means never.
	For time.Duration
	// Tools also gives answers again to requests that offer tools. Without it they are always
	// asked, because their calls may change things.
	Tools bool
}

// The bounds of what is kept.
const (
	maxCached      = 1 << 20  // bytes of an answer
	maxCachedTotal = 64 << 20 // bytes of all
	maxCachedFor   = 30 * 24 * time.Hour
)

// cacheKey is a request: who asks, for what, in which words.
type cacheKey [sha256.Size]byte

// cached is an answer as it was sent.
type cached struct {
	key    cacheKey
	until  time.Time
	header http.Header
	body   []byte
	// upstream is the id of who answered.
	upstream string
}

// cache keeps answers, the ones that were asked for last. The zero value is empty and ready to use.
type cache struct {
	mu    sync.Mutex
	order list.List // of *cached, the last used first
	at    map[cacheKey]*list.Element
	size  int
}

// get returns an answer, nil if there is none.
func (c *cache) get(key cacheKey, now time.Time) *cached {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.at[key]
	if e == nil {
		return nil
	}
	found := e.Value.(*cached)
	if !found.until.After(now) {
		c.drop(e)
		return nil
	}
	c.order.MoveToFront(e)
	return found
}

// put keeps an answer and lets go of those that were not used for longest.
func (c *cache) put(a *cached) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e := c.at[a.key]; e != nil {
		c.drop(e)
	}
	if c.at == nil {
		c.at = make(map[cacheKey]*list.Element)
	}
	c.at[a.key] = c.order.PushFront(a)
	c.size += a.cost()
	for c.size > maxCachedTotal {
		c.drop(c.order.Back())
	}
}

// drop forgets an answer; it wants c.mu.
func (c *cache) drop(e *list.Element) {
	a := c.order.Remove(e).(*cached)
	delete(c.at, a.key)
	c.size -= a.cost()
}

// cost is what an answer takes, with what holds it.
func (a *cached) cost() int { return len(a.body) + 1024 }

// fresh reports whether an answer was given from the cache. If not, one that is given now may be
// kept.
func (x *exchange) fromCache(r *route, req *llm.Request, body []byte) (bool, error) {
	if r.Cache.For == 0 {
		return false, nil
	}
	if !x.cacheable(r, req) {
		x.w.Header().Set(CacheHeader, "off")
		x.meters.Cached.Add(1, r.Model, "off")
		return false, nil
	}
	x.cacheKey = x.keyOf(r, body)
	x.cacheFor = r.Cache.For
	var found *cached
	if !x.asksAgain("no-cache") {
		found = x.lasting.cache.get(x.cacheKey, time.Now())
	}
	if found == nil {
		x.w.Header().Set(CacheHeader, "miss")
		x.meters.Cached.Add(1, r.Model, "miss")
		x.outlet.Copy = &clientio.Capture{Limit: maxCached}
		return false, nil
	}
	x.asks(found.upstream)
	settle, err := x.claimFree(true)
	if err != nil {
		return false, err
	}
	defer settle(nil)
	x.meters.Cached.Add(1, r.Model, "hit")
	header := x.w.Header()
	for name, values := range found.header {
		header[name] = slices.Clone(values)
	}
	header.Set(CacheHeader, "hit")
	x.mu.Lock()
	defer x.mu.Unlock()
	x.begun = true
	x.w.WriteHeader(http.StatusOK)
	_, _ = x.w.Write(found.body) // a client that is gone needs no answer
	return true, nil
}

// cacheable reports whether the same request may have the same answer: nothing that it leads to
// changes anything, and nothing goes on from the answer by its id.
func (x *exchange) cacheable(r *route, req *llm.Request) bool {
	p := x.Codec.Properties()
	own := req.Extra[x.Codec.Format]
	switch {
	case x.asksAgain("no-store"), r.Tools != nil, len(x.hosted(req)) > 0, !r.Cache.Tools && x.offersTools(req):
		return false
	case p.Previous != "" && (string(own["store"]) != "false" || own[p.Previous] != nil):
		return false
	}
	return true
}

// offersTools reports whether a request offers tools, also by members that only some servers read: the old functions of chat, or what stands in extra_body.
func (x *exchange) offersTools(req *llm.Request) bool {
	for name := range req.Extra[x.Codec.Format] {
		if insideOnly([]byte(name)) {
			return true
		}
	}
	return len(req.Tools) > 0 || slices.ContainsFunc(x.members, func(m saidMember) bool { return m.meaning == changesAll || m.meaning == hidesMembers })
}

// asksAgain reports whether the client says in Cache-Control that it wants no answer from a cache.
func (x *exchange) asksAgain(word string) bool {
	for _, value := range x.r.Header.Values("Cache-Control") {
		for _, w := range strings.Split(value, ",") {
			if strings.EqualFold(strings.TrimSpace(w), word) {
				return true
			}
		}
	}
	return false
}

// keyOf is the key of a request. Answers of one owner are never given to another, and not by a
// route that leads elsewhere now.
func (x *exchange) keyOf(r *route, body []byte) cacheKey {
	h := sha256.New()
	fmt.Fprintf(h, "%q %q %q %q %+v ", x.owner, x.Codec.Format, x.r.URL.RequestURI(), r.Model, r.Override)
	for _, u := range r.Upstreams {
		fmt.Fprintf(h, "%q %+v ", u.Model, u.Way)
	}
	if x.rights != nil { // keys of one team that have other tools have other answers
		fmt.Fprintf(h, "%q ", x.rights.Key.Tools)
	}
	fmt.Fprintf(h, "%q ", canonicalBetas(x.r.Header)) // which go to the upstream
	h.Write(body)
	return cacheKey(h.Sum(nil))
}

// remember keeps an answer that ended well.
func (x *exchange) remember(err error) {
	body, kept := x.outlet.Copy.Bytes()
	if err != nil || x.cacheFor == 0 || !kept || x.outlet.Status != http.StatusOK || x.invalid > 0 {
		return
	}
	if f := x.tally.finish; f != llm.Stop && f != llm.ToolCalls {
		return
	}
	x.lasting.cache.put(&cached{key: x.cacheKey, until: time.Now().Add(x.cacheFor), header: x.keptHeader(), body: body, upstream: x.upstream})
}

// keptHeader is what of the header belongs to an answer that is given again.
func (x *exchange) keptHeader() http.Header {
	header := http.Header{}
	for _, name := range []string{"Content-Type", "Cache-Control", UpstreamHeader, WarningHeader} {
		if values := x.w.Header()[http.CanonicalHeaderKey(name)]; values != nil {
			header[http.CanonicalHeaderKey(name)] = slices.Clone(values)
		}
	}
	return header
}

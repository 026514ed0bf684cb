package gateway

import (
	"crypto/sha256"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/toolpost/toolpost/gateway/internal/admit"
	"github.com/toolpost/toolpost/gateway/internal/clientio"
	"github.com/toolpost/toolpost/gateway/internal/conversation"
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

// maxCachedFor bounds Cache.For.
const maxCachedFor = 30 * 24 * time.Hour

// fromCache reports whether the request was answered from the cache. If not, its answer may be kept.
func (x *chain) fromCache(r *route, req *llm.Request, body []byte) (bool, error) {
	if r.Cache.For == 0 {
		return false, nil
	}
	if !x.cacheable(r, req) {
		x.W.Header().Set(CacheHeader, "off")
		x.Metrics.Cached.Add(1, r.Model, "off")
		return false, nil
	}
	x.cacheKey = x.keyOf(r, body)
	x.cacheFor = r.Cache.For
	var found *conversation.CachedAnswer
	if !asksAgain(x.HTTP, "no-cache") {
		found = x.lasting.cache.Get(x.cacheKey, time.Now())
	}
	if found == nil {
		x.W.Header().Set(CacheHeader, "miss")
		x.Metrics.Cached.Add(1, r.Model, "miss")
		x.Writer.Copy = &clientio.Capture{Limit: conversation.MaxCached}
		return false, nil
	}
	x.SetUpstream(found.Upstream)
	if err := x.spent.ClaimFree(true); err != nil {
		return false, err
	}
	defer x.book(nil)
	x.Metrics.Cached.Add(1, r.Model, "hit")
	header := x.W.Header()
	for name, values := range found.Header {
		header[name] = slices.Clone(values)
	}
	header.Set(CacheHeader, "hit")
	x.MarkBegun(found.Upstream)
	x.W.WriteHeader(http.StatusOK)
	_, _ = x.W.Write(found.Body) // a client that is gone needs no answer
	return true, nil
}

// cacheable reports whether the same request may have the same answer: nothing that it leads to
// changes anything, and nothing goes on from the answer by its id.
func (x *chain) cacheable(r *route, req *llm.Request) bool {
	p := x.Codec.Properties()
	own := req.Extra[x.Codec.Format]
	switch {
	case asksAgain(x.HTTP, "no-store"), r.Tools != nil, len(x.HostedTools(req)) > 0, !r.Cache.Tools && x.offersTools(req):
		return false
	case p.Previous != "" && (string(own["store"]) != "false" || own[p.Previous] != nil):
		return false
	}
	return true
}

// offersTools reports whether a request offers tools, also by members that only some servers read: the old functions of chat, or what stands in extra_body.
func (x *chain) offersTools(req *llm.Request) bool {
	for name := range req.Extra[x.Codec.Format] {
		if admit.IsTopLevelOnly([]byte(name)) {
			return true
		}
	}
	return len(req.Tools) > 0 || x.MayHideTools()
}

// asksAgain reports whether the client says in Cache-Control that it wants no answer from a cache.
func asksAgain(r *http.Request, word string) bool {
	for _, value := range r.Header.Values("Cache-Control") {
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
func (x *chain) keyOf(r *route, body []byte) conversation.CacheKey {
	h := sha256.New()
	fmt.Fprintf(h, "%q %q %q %q %+v ", x.Owner, x.Codec.Format, x.HTTP.URL.RequestURI(), r.Model, r.Override)
	for _, u := range r.Upstreams {
		fmt.Fprintf(h, "%q %+v ", u.Model, u.Way)
	}
	if x.Rights != nil { // keys of one team that have other tools have other answers
		fmt.Fprintf(h, "%q ", x.Rights.Key.Tools)
	}
	fmt.Fprintf(h, "%q ", conversation.CanonicalBetas(x.HTTP.Header)) // which go to the upstream
	h.Write(body)
	return conversation.CacheKey(h.Sum(nil))
}

// remember keeps an answer that ended well.
func (x *chain) remember(err error) {
	body, kept := x.Writer.Copy.Bytes()
	if err != nil || x.cacheFor == 0 || !kept || x.Writer.Status != http.StatusOK || x.invalid > 0 {
		return
	}
	if f := x.tally.finish; f != llm.Stop && f != llm.ToolCalls {
		return
	}
	x.lasting.cache.Put(&conversation.CachedAnswer{Key: x.cacheKey, Owner: x.Owner, Until: time.Now().Add(x.cacheFor), Header: x.KeptHeader(), Body: body, Upstream: x.Upstream})
}

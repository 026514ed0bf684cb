package gateway

import (
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/toolpost/toolpost/gateway/internal/admit"
	"github.com/toolpost/toolpost/gateway/internal/clientio"
	"github.com/toolpost/toolpost/gateway/internal/conversation"
	"github.com/toolpost/toolpost/internal/state"
	"github.com/toolpost/toolpost/llm"
)

// cacheHeader reports the cache result on routes with a cache: hit, miss, or off for a request that is never answered
// from the cache.
const cacheHeader = "Toolpost-Cache"

// Cache configures the answer cache of a route. The zero value caches nothing.
type Cache struct {
	// For is how long a cached answer is used; 0 turns the cache off.
	For time.Duration
	// Tools also caches answers to requests that offer tools. By default such requests always go to the model, because
	// their calls may change things.
	Tools bool
}

// maxCachedFor limits Cache.For.
const maxCachedFor = 30 * 24 * time.Hour

// repeats is what an answer is kept under for later requests that repeat this one.
type repeats struct {
	cacheKey    state.Place
	cacheFor    time.Duration             // how long the answer may be cached; 0 means not at all
	idempotency *conversation.Idempotency // nil if the request has none
}

// answerAsBefore answers a request from the cache of its route, or with the answer to the request that it repeats. It
// returns nil if it did.
//
//go:noinline
func (x *chain) answerAsBefore(q *question, r *route) (*repeats, error) {
	out := new(repeats)
	if done, err := x.fromCache(out, r, q); done || err != nil {
		return nil, err
	}
	p, found, err := x.Idempotency(x.Model, q.body, r.Tools != nil && r.Tools.MayChange(x.Context(), x.Rights))
	if out.idempotency = p; err != nil || found == nil {
		return out, err
	}
	if err := x.spent.ClaimFree(true); err != nil {
		return nil, err
	}
	defer x.book(nil)
	if x.Streamed {
		_, x.HideUsage = x.Codec.AskUsage(q.body)
	}
	return nil, p.Replay(found)
}

// keepForRepeats keeps the answer of a request that ended.
//
//go:noinline
func (x *chain) keepForRepeats(r *repeats, err error) {
	if f := x.measured.finish; err == nil && r.cacheFor > 0 && x.measured.invalid == 0 && (f == llm.Stop || f == llm.ToolCalls) {
		x.Cache(r.cacheKey, r.cacheFor)
	}
	r.idempotency.Settle(err)
}

// fromCache answers the request from the cache if possible, and reports whether it did. On a miss, it prepares for
// caching the answer.
func (x *chain) fromCache(out *repeats, r *route, q *question) (bool, error) {
	if r.Cache.For == 0 {
		return false, nil
	}
	if !x.cacheable(r, q.req) {
		x.W.Header().Set(cacheHeader, "off")
		x.Metrics.Cached.Add(1, r.Model, "off")
		return false, nil
	}
	out.cacheKey, out.cacheFor = x.keyOf(r, q.body), r.Cache.For
	var found *conversation.Earlier
	if !asksAgain(x.HTTP, "no-cache") {
		found = x.FromCache(out.cacheKey)
	}
	if found == nil {
		x.W.Header().Set(cacheHeader, "miss")
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
	x.Resend(found, func(header http.Header) { header.Set(cacheHeader, "hit") }, func() error { _, err := x.W.Write(found.Body); return err })
	return true, nil
}

// cacheable reports whether an equal request may get the same answer. The request must not lead to changes, and no
// later request may continue the answer by its id.
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

// offersTools reports whether a request offers tools. It also looks at fields that only some servers read: the old
// functions of Chat Completions, and extra_body.
func (x *chain) offersTools(req *llm.Request) bool {
	for name := range req.Extra[x.Codec.Format] {
		if admit.IsTopLevelOnly([]byte(name)) {
			return true
		}
	}
	return len(req.Tools) > 0 || x.MayHideTools()
}

// asksAgain reports whether Cache-Control contains a directive.
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

// keyOf returns the cache key of a request. A change of the route's upstreams or overrides invalidates its answers.
func (x *chain) keyOf(r *route, body []byte) state.Place {
	details := fmt.Appendf(nil, "%q %+v ", r.Model, r.Override)
	for _, u := range r.Upstreams {
		details = fmt.Appendf(details, "%q %+v ", u.Model, u.Way)
	}
	return x.CacheKey(x.Model, body, details)
}

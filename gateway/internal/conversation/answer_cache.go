package conversation

import (
	"encoding/json"
	"net/http"
	"time"

	"github.com/toolpost/toolpost/internal/state"
)

// MaxCached limits the body of an answer that is kept for equal requests, in bytes.
const MaxCached = 1 << 20

// CacheKey returns the cache key of a request for a model. Owners never share answers. With other details, such as the
// upstreams of the route, the answer is another one.
func (m *Scope) CacheKey(model string, body []byte, details ...[]byte) state.Place {
	words := append(m.requestWords(model, canonical(body)), betaWords(m.HTTP.Header), []byte(m.HTTP.URL.RequestURI()))
	return state.Place{Kind: state.Cached, Owner: m.Owner, Hash: state.HashOf(append(words, details...)...)}
}

// FromCache returns the cached answer to an equal request, or nil.
func (m *Scope) FromCache(key state.Place) *Earlier {
	found, err := m.Store.cache.Get(m.Context(), key.Kind, key.Owner, key.Hash)
	if err != nil || len(found[key.Hash]) == 0 {
		return nil
	}
	answer, err := readEarlier(found[key.Hash][0])
	if err != nil {
		return nil
	}
	return answer
}

// Cache keeps the answer that the client got, for equal requests.
func (m *Scope) Cache(key state.Place, life time.Duration) {
	body, whole := m.Writer.Copy.Bytes()
	if !whole || m.Writer.Status != http.StatusOK {
		return
	}
	value, err := json.Marshal(Earlier{Run: m.ID, Header: m.KeptHeader(), Body: body, Upstream: m.Upstream})
	if err == nil {
		_ = m.Store.cache.Put(m.Context(), state.Kept{Place: key, Value: value, Until: time.Now().Add(life)}) // only a value that is too large fails
	}
}

// Resend sends the headers of a stored answer, and calls send for its body.
func (m *Scope) Resend(found *Earlier, set func(http.Header), send func() error) {
	header := m.W.Header()
	for name, values := range found.Header {
		header[name] = values
	}
	set(header)
	m.MarkBegun(found.Upstream)
	m.W.WriteHeader(http.StatusOK)
	_ = send() // a disconnected client needs no answer
}

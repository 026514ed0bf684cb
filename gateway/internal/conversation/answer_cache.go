package conversation

import (
	"encoding/json"
	"net/http"
	"slices"
	"time"

	"github.com/toolpost/toolpost/gateway/internal/exchange"
	"github.com/toolpost/toolpost/internal/state"
)

// MaxCached limits the body of an answer that is kept for equal requests, in bytes.
const MaxCached = 1 << 20

// CacheKey returns the cache key of a request for a model. Owners never share answers. With other details, such as the
// upstreams of the route, the answer is another one.
func (m *Scope) CacheKey(model string, body []byte, details ...[]byte) state.Place {
	words := append(m.requestWords(model, canonical(body)), betaWords(m.HTTP.Header), []byte(m.HTTP.URL.RequestURI()))
	return forCache.Key(m.Owner, append(words, details...)...)
}

// FromCache returns the cached answer to an equal request, or nil.
func (m *Scope) FromCache(key state.Place) *Earlier {
	answer, err := m.Store.earlier(m.Context(), key)
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
		_ = m.Store.Put(m.Context(), state.Kept{Place: key, Value: value, Until: time.Now().Add(life)}) // only a value that is too large fails
	}
}

// KeptHeader returns the headers that are stored with an answer.
func (m *Scope) KeptHeader() http.Header {
	header := http.Header{}
	for _, name := range []string{"Content-Type", "Cache-Control", exchange.UpstreamHeader, exchange.WarningHeader} {
		if values := m.W.Header()[http.CanonicalHeaderKey(name)]; values != nil {
			header[http.CanonicalHeaderKey(name)] = slices.Clone(values)
		}
	}
	return header
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

// Package conversation stores data of the gateway between requests: answers for repeated requests, signatures that
// clients cannot carry, and results of its tools that clients do not see. Each entry belongs to an owner, has a key
// derived from the conversation (key.go), and expires.
package conversation

import (
	"context"
	"net/http"
	"slices"

	"github.com/toolpost/toolpost/gateway/internal/exchange"
	"github.com/toolpost/toolpost/internal/state"
)

// Scope is the access of one request to the store: the entries of its owner.
type Scope struct {
	*exchange.Response
	Store *Store
}

// Detached returns a context that ignores cancellation, for entries that must be written even if the client
// disconnects.
func (m *Scope) Detached() context.Context { return context.WithoutCancel(m.Context()) }

// Signatures stores a vendor's signatures for clients that cannot carry them, and restores them in later requests.
type Signatures struct {
	*Scope
	looked   map[state.Hash][]signedTurn // looked-up entries, by key
	idToken  string                      // makes the ids of calls in the answer unique
	ownsTool func(tool string) bool      // reports whether the gateway runs a tool and hides its calls from the client
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

// NewScope returns the scope of a request.
func NewScope(r *exchange.Response, s *Store) Scope { return Scope{r, s} }

// NewSignatures returns the signatures of a request. OwnsTool reports whether the gateway runs a tool.
func NewSignatures(m *Scope, ownsTool func(tool string) bool) Signatures {
	return Signatures{Scope: m, ownsTool: ownsTool}
}

// Package conversation keeps what the gateway remembers between requests: answers for repeated requests, signatures that
// clients cannot carry, and results of its tools that clients do not see. Everything belongs to an owner, is found by a
// key of the conversation (key.go), and ends.
package conversation

import (
	"context"
	"net/http"
	"slices"

	"github.com/toolpost/toolpost/gateway/internal/exchange"
	"github.com/toolpost/toolpost/internal/state"
)

// Scope is what one request may use of the store: the entries of its owner.
type Scope struct {
	*exchange.Response
	Store *Store
}

// Detached returns a context that outlives the client, for entries that must be written anyway.
func (m *Scope) Detached() context.Context { return context.WithoutCancel(m.Context()) }

// Signatures keeps what a vendor signed in an answer for clients that cannot carry it, and restores it in later requests.
type Signatures struct {
	*Scope
	looked   map[state.Hash][]signedTurn // by key, as far as they were looked up
	idToken  string                      // makes the ids of calls in the answer unique
	ownsTool func(tool string) bool      // whether the gateway runs a tool; its calls are not the client's
}

// KeptHeader is what of the header belongs to an answer that is given again.
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

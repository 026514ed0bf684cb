// Package admit decides whether a request may be answered: what its key allows, what it may cost, and what it has used.
package admit

import (
	"net/http"

	"github.com/toolpost/toolpost/gateway/access"
	"github.com/toolpost/toolpost/gateway/internal/exchange"
)

// Client is the sender of a request: what its key allows, and how it is told of refusals.
type Client struct {
	*exchange.Request
	Header     http.Header // of the answer
	Book       *access.Book
	wasRefused bool // by the rights or a limit of the key
}

// Demand is what the body and the headers of a request ask for besides a model and its tools.
type Demand struct {
	fields  []sentField // with which a vendor may do more than the model and the tools show
	Output  outputLimit // of output
	Limited bool        // the key has limits, so that the size of the answer matters
}

// NewClient returns the sender of a request. Without a book everything is allowed.
func NewClient(req *exchange.Request, header http.Header, book *access.Book) Client {
	return Client{Request: req, Header: header, Book: book}
}

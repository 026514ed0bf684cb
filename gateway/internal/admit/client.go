// Package admit decides whether a request may be answered. It checks the rights of the key and the possible cost, and
// records the usage.
package admit

import (
	"net/http"

	"github.com/toolpost/toolpost/gateway/access"
	"github.com/toolpost/toolpost/gateway/internal/exchange"
)

// Client is the sender of a request, with the rights of its key.
type Client struct {
	*exchange.Request
	Header     http.Header // of the response
	Book       *access.Book
	wasRefused bool // because of the rights or a limit of the key
}

// Demand is everything that the body and the headers of a request ask for besides a model and its tools.
type Demand struct {
	fields  []sentField // fields that may have effects beyond the model and the tools
	Output  outputLimit // limit of the answer length
	Limited bool        // the key has limits, so the size of the answer matters
}

// NewClient returns the sender of a request. Without a book everything is allowed.
func NewClient(req *exchange.Request, header http.Header, book *access.Book) Client {
	return Client{Request: req, Header: header, Book: book}
}

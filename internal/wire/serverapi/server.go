package serverapi

import (
	"encoding/json"
	"github.com/toolpost/toolpost/wire/format"
	"time"
)

// Operation is what a request asks of a server.
type Operation uint8

// The operations.
const (
	NoOperation  Operation = iota
	Generate               // an answer of a model
	CountTokens            // the number of tokens of a request
	ListModels             // the available models
	GetModel               // one model
	ShowModel              // one model, named in the body
	GetVersion             // the version of the server
	GetAnswer              // a stored answer
	DeleteAnswer           // delete a stored answer
	CancelAnswer           // stop an answer that runs in the background
)

// ServerAPI describes the HTTP API of the vendor's servers, beyond the bodies of requests and answers. The zero value has
// no routes.
type ServerAPI struct {
	Routes []ServerPath
	// Header is a header that only clients of this format send, and Prefix begins paths that only this format has. They
	// identify the client of a path that several formats share or none has.
	Header, Prefix string
	// Deployments begins paths in which the model's name follows although the format has it in the body.
	Deployments string
	// Models is how the server describes models. Formats with the same value share one list.
	Models *ModelPage
	// Show describes one model that the body of a request names.
	Show ModelQuery
	// Count finds the request in the body of a request for [CountTokens]. Nil means that the body is the request.
	Count func(body []byte) CountedRequest
	// CountObject is the member "object" of the answer to it; empty means none.
	CountObject string
	// EventsQuery is the query parameter, as KEY=VALUE, with which a client asks for server-sent events. Without it a
	// stream is one JSON array. Empty means that streams are always events.
	EventsQuery string
	// UnknownPath is the error for a path that the server does not have. Words has a %s for method and path each.
	UnknownPath format.ErrorForm
	// Ready returns the finish reason of the answer to a request without messages, from the extra fields of the request.
	Ready func(fields map[string]json.RawMessage) string
	// Stored describes answers that the server stores; nil means that it stores none.
	Stored *StoredAnswers
	// Forwarded are other endpoints of the server, which a gateway can forward unchanged.
	Forwarded []ForwardedPath
}

// ForwardedPath is an endpoint other than those of chat models. A path that ends in "/" is a prefix. A * in a path is the
// name of the model.
type ForwardedPath struct {
	Kind    string // embeddings, completions, images, audio, moderations, rerank, files or batches
	Methods string // separated by spaces
	Path    string
	Root    string // version prefix of the path, removed before forwarding
	Model   ModelPlace
	Costs   Pricing
}

// ModelPlace is where a request names its model.
type ModelPlace uint8

// The places.
const (
	NoModel     ModelPlace = iota // the request names none
	ModelInBody                   // a JSON field or a form field
	ModelInPath
)

// Pricing is the basis of the price of a request.
type Pricing uint8

// The bases.
const (
	OtherUnits     Pricing = iota // images, seconds of audio, batches
	InputOnly                     // input tokens
	InputAndOutput                // input and output tokens
	Free
)

// ServerPath is one path of a server. A path that ends in "/" is a prefix, and "*" matches any text.
type ServerPath struct {
	Method, Path string
	Action       Operation
	Shared       bool          // other formats have the path too; the headers of the request decide
	Quirks       format.Quirks // of hosts that have this path
}

// ModelInfo is what a server reports about a model. Unknown numbers are 0.
type ModelInfo struct {
	Name    string
	Owner   string
	Since   time.Time
	Context int // tokens of the context window
	Output  int // tokens of an answer
	Tools   bool
	Thinks  bool
}

// ModelPage is how a server describes its models: one, and the list of all.
type ModelPage struct {
	One func(m ModelInfo) map[string]any
	All func(models []map[string]any) map[string]any
}

// ModelQuery is a request for one model whose body has the name.
type ModelQuery struct {
	Name func(body []byte) string
	Show func(m ModelInfo) any
}

// CountedRequest is the request in the body of a request for [CountTokens].
type CountedRequest struct {
	Body   []byte
	Format string // of the body; empty means that of the server
	Quirks format.Quirks
}

// StoredAnswers describes answers that a server stores. Clients continue from one by its id.
type StoredAnswers struct {
	Path string // of an answer, up to its id
	// InputItems and Cancel are the parts of a path below the answer: the items of its input, and the request to stop it.
	InputItems, Cancel string
	// Input is the member of a request with its items, and Output that of an answer.
	Input, Output string
	// Reference is the type of an input item that refers to a stored item by its id.
	Reference string
	// List returns the input items of a request as the server lists them, for the answer with an id. An item has the same
	// id in each list.
	List func(request []byte, id string) []StoredItem
	// NotFound is the error for an unknown answer, PreviousNotFound that for a request that continues from one. Words has
	// a %s for the id.
	NotFound, PreviousNotFound format.ErrorForm
	// Deleted is the answer to [DeleteAnswer].
	Deleted func(id string) any
}

// StoredItem is an item of a list and its id.
type StoredItem struct {
	ID   string
	Item json.RawMessage
}

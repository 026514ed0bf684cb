package provider

import (
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/toolpost/toolpost/catalog"
	"github.com/toolpost/toolpost/dialect"
	"github.com/toolpost/toolpost/emulate"
	"github.com/toolpost/toolpost/internal/formats"
	"github.com/toolpost/toolpost/internal/outbound"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/provider/internal/credential"
	"github.com/toolpost/toolpost/wire"
	"github.com/toolpost/toolpost/wire/format"
)

// Client opens models. The zero value is ready to use. Its fields must not be
// changed once a model was opened; it is then safe for concurrent use, and so
// are its models.
type Client struct {
	// Catalog knows the capabilities of models; nil means catalog.Default.
	Catalog *catalog.Catalog
	// HTTP sends the requests; nil means a default client. Redirects are never
	// followed, even if this client would follow them.
	HTTP *http.Client
	// Key returns the key of a vendor, or "" for none; nil reads the vendor's
	// environment variable. At an address that is not the vendor's own, Key is called
	// with "vendor@host:port", because a key must not reach another host.
	Key func(vendor string) (string, error)
	// Secrets are values that no model's server may read, like the credentials
	// of tools: they are taken out of every request, in every spelling, with a
	// warning. The keys of vendors in the environment need not be named: they
	// are taken out of requests to others.
	Secrets []string
	// Vendors are rows of the user's own, and changes to rows of the table: a
	// field that is set replaces the table's. A changed address loses the
	// vendor's key unless the row also names one.
	Vendors map[string]Vendor
	// Formats are formats of the program's own. Rows of Vendors name them in
	// Wires.
	Formats []format.Format
	// Dialects are the text dialects that calls are read in, and that Style may
	// name; nil means [dialect.Builtin]. See [dialect.List.With].
	Dialects *dialect.List
	// Schemes open ids that are not served over HTTP: for "sim", "sim/rest".
	Schemes map[string]func(rest string) (llm.Model, error)

	// Route forces how models are asked; empty chooses for each request.
	Route RouteKind
	// Style is the notation that emulations by prompt teach: json, xml,
	// pythonic, hermes, react or markdown; empty takes what suits the model.
	Style string
	// Gate says who decides about calls of small models; the zero value decides for models of up to a billion parameters.
	Gate emulate.Gate
	// Whole asks vendors for whole answers instead of streams.
	Whole bool
	// StrictByCheck lets a strict schema of the answer be asked for where the vendor cannot be held to
	// all of it, with a warning: the answer is checked in any case. Without it such a request is refused.
	StrictByCheck bool
	// CacheMarks marks every request for the vendor's prompt cache: see [Model.WithCacheMarks].
	CacheMarks bool

	Retry    RetryPolicy
	Timeouts Timeouts
	// Limits are where an answer is given up, if the request does not say.
	Limits llm.Limits

	learned   lessons
	streamers sync.Map // the models that only answer with streams, by Model.key
	facts     known
	narrowed  narrowings
	said      sync.Map // what need not be said again

	strangers atomic.Pointer[strangers] // the secrets that were looked for last
	masks     credential.Masks
}

// Timeouts are how long to wait. 0 means the default, less means for ever.
type Timeouts struct {
	Connect time.Duration // for a connection; default 10 s; needs a nil Client.HTTP
	First   time.Duration // for the first byte of the answer; default 5 min, 30 min for a whole answer
	Silence time.Duration // between two pieces of it; default 2 min
}

// dialects returns the dialects that calls are read in.
func (c *Client) dialects() *dialect.List {
	if c.Dialects == nil {
		return dialect.Builtin()
	}
	return c.Dialects
}

func (c *Client) catalog() *catalog.Catalog {
	if c.Catalog != nil {
		return c.Catalog
	}
	return catalog.Default()
}

// ownFormat returns the program's own format of that name, and nil if there is
// none.
func (c *Client) ownFormat(name string) format.Format {
	for _, f := range c.Formats {
		if f.Properties().Name == name {
			return f
		}
	}
	return nil
}

// checkFormat returns an error if name is neither a format of package wire nor
// one of the program's own.
func (c *Client) checkFormat(name string) error {
	var own []string
	for _, f := range c.Formats {
		own = append(own, f.Properties().Name)
	}
	return formats.Check(name, append(wire.Formats(), own...)...)
}

// own has the HTTP client of all Clients that set none, by the time that they allow
// for a connection.
var own sync.Map // time.Duration → *http.Client

// httpClient returns the client that sends requests. It follows no redirect:
// where a key goes is decided by the address, not by a server.
func (c *Client) httpClient() *http.Client {
	if c.HTTP != nil {
		return outbound.Staying(c.HTTP)
	}
	if h, ok := own.Load(c.Timeouts.Connect); ok {
		return h.(*http.Client)
	}
	h, _ := own.LoadOrStore(c.Timeouts.Connect, outbound.New(outbound.Rules{Connect: c.Timeouts.Connect}))
	return h.(*http.Client)
}

// Lessons returns what vendors said about models since the client was made,
// for the user's model file: until it is there, every process has to learn it
// again. The order is that of the ids.
func (c *Client) Lessons() []Record {
	var all []Record
	for _, v := range c.learned.said.Range {
		all = append(all, v.(Record))
	}
	slices.SortFunc(all, func(a, b Record) int { return strings.Compare(a.ID, b.ID) })
	return all
}

// RouteKind is how a model is asked for calls.
type RouteKind string

// The kinds of routes, from the best to the last resort.
const (
	// Native hands the tools to the vendor.
	Native RouteKind = "native"
	// Constrained teaches the tools in a prompt and has the host hold the
	// answer to a schema.
	Constrained RouteKind = "constrained"
	// Prompted teaches the tools in a prompt and reads the text that comes.
	Prompted RouteKind = "prompted"
	// Text offers nothing: the request does not have tools, and calls of the history
	// are written as text.
	Text RouteKind = "text"
)

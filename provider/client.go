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

	Retry    RetryPolicy
	Timeouts Timeouts
	// Limits are where an answer is given up, if the request does not say.
	Limits llm.Limits

	learned   lessons
	streamers streamers
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

// Open opens a model by id with a zero Client. The process remembers facts that one
// request reveals about a model.
func Open(id string) (llm.Model, error) { return standard.Open(id) }

var standard Client

// Open opens a model by id; see the package comment for the forms. It sends nothing: a
// wrong key or an unknown name shows with the first request, or with Model.Check.
// Models of vendors are of type *Model.
func (c *Client) Open(id string) (llm.Model, error) {
	if scheme, rest, ok := strings.Cut(id, "/"); ok {
		if open := c.Schemes[scheme]; open != nil {
			return open(rest)
		}
	}
	t, err := c.resolve(id)
	if err != nil {
		return nil, err
	}
	m := &Model{client: c, target: t, id: id, info: c.catalog().Lookup(t.catalogID(id))}
	if m.wire, err = c.wire(t.vendor, m.info); err != nil {
		return nil, err
	}
	if m.info.Kind != "" && m.info.Kind != "chat" {
		return nil, fail(llm.Unsupported, "%s is not a chat model but does %s", t.model, m.info.Kind)
	}
	m.settle()
	return m, nil
}

func (c *Client) catalog() *catalog.Catalog {
	if c.Catalog != nil {
		return c.Catalog
	}
	return catalog.Default()
}

// wire chooses the format: the catalogue's format if the vendor speaks it. At an
// address other than the vendor's own, it is the more common format.
func (c *Client) wire(v Vendor, info catalog.Model) (string, error) {
	for _, w := range v.Wires {
		if err := c.checkFormat(w); err != nil {
			return "", fail(llm.Invalid, "%s: %w", v.Name, err)
		}
	}
	for _, w := range []string{info.Wire, info.ThinkingWire} {
		if err := c.checkFormat(w); w != "" && err != nil {
			return "", fail(llm.Invalid, "the catalogue sets the wire of %s: %w", info.ID.Raw, err)
		}
	}
	if info.Reasoning.Support == catalog.Yes && !v.moved && slices.Contains(v.Wires, info.ThinkingWire) {
		return info.ThinkingWire, nil
	}
	if slices.Contains(v.Wires, info.Wire) {
		return info.Wire, nil
	}
	return v.Wires[0], nil
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

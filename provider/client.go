package provider

import (
	"cmp"
	"context"
	"iter"
	"net/http"
	"net/url"
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
	"github.com/toolpost/toolpost/observe"
	"github.com/toolpost/toolpost/wire"
)

// Client opens models. The zero value is ready to use. Its fields must not be
// changed once a model was opened; it is then safe for concurrent use, and so
// are its models.
type Client struct {
	// Catalog says what models can do; nil means catalog.Default.
	Catalog *catalog.Catalog
	// HTTP sends the requests; nil means a client of our own. Redirects are
	// never followed, whatever it says.
	HTTP *http.Client
	// Key returns the key of a vendor, or "" for none; nil takes the
	// vendor's variable of the environment. At an address that is not the
	// vendor's own it is asked for "vendor@host:port" instead, so that a key
	// never travels to a host it was not meant for.
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
	Formats []wire.Format
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
	// Gate says who decides about calls of small models; empty is emulate.GateSmall.
	Gate emulate.Gate
	// Whole asks vendors for whole answers instead of streams.
	Whole bool
	// StrictByCheck lets a strict schema of the answer be asked for where the vendor cannot be held to
	// all of it, with a warning: the answer is checked in any case. Without it such a request is refused.
	StrictByCheck bool

	Retry    Retry
	Timeouts Timeouts
	// Limits are where an answer is given up, if the request does not say.
	Limits llm.Limits

	learned  lessons
	facts    known
	narrowed narrowings
	said     sync.Map // what need not be said again

	strangers atomic.Pointer[strangers] // the secrets that were looked for last
	masks     masks
}

// Timeouts are how long to wait. 0 means the default, less means for ever.
type Timeouts struct {
	Connect time.Duration // for a connection; default 10 s; needs a nil Client.HTTP
	First   time.Duration // for the first byte of the answer; default 5 min
	Silence time.Duration // between two pieces of it; default 2 min
}

// dialects returns the dialects that calls are read in.
func (c *Client) dialects() *dialect.List {
	if c.Dialects == nil {
		return dialect.Builtin()
	}
	return c.Dialects
}

// Open opens a model by id with a Client of no settings. What is learned about
// a model in one request is remembered for the process.
func Open(id string) (llm.Model, error) { return standard.Open(id) }

var standard Client

// Open opens a model by id; see the package comment for the forms. It asks
// nobody: a wrong key or an unknown name shows with the first request, or with
// Model.Check. Models of vendors are of type *Model.
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
		return nil, fail(llm.Unsupported, "%s is no chat model but does %s", t.model, m.info.Kind)
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

// catalogID is the id under which the catalogue knows a model. What was
// recorded about an address counts for that address only.
func (t target) catalogID(id string) string {
	if strings.Contains(id, "://") {
		return id
	}
	return cmp.Or(t.vendor.Like, t.vendor.Name) + "/" + t.model
}

// label is who the vendor is: at another address it is somebody else.
func (t target) label() string {
	if t.vendor.moved {
		return t.vendor.Name + "@" + t.base.Host
	}
	return t.vendor.Name
}

// owner is whose signatures the model makes: those of its vendor, at any
// address. Who is known by the address only is another one at each.
func (m *Model) owner() string {
	if m.vendor.Name == compatible {
		return m.label()
	}
	return cmp.Or(m.vendor.Signers[m.info.ID.Root()], m.vendor.Like, m.vendor.Name)
}

// wire chooses the format: the catalogue's, if the vendor speaks it. At another
// address than the vendor's own, the one that more servers speak.
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

// Model is a model at a vendor. It is safe for concurrent use.
type Model struct {
	client *Client
	target
	id   string
	wire string
	info catalog.Model
	// settled follows from what stands above.
	settled *settled
	// facts are what its server says, moved why it is not asked in the format
	// it was opened with.
	facts *facts
	moved string
	// explains has its routes say why, and repeats has warnings said with each question.
	explains, repeats bool
}

// quirks are those of the vendor, for this model.
func (m *Model) quirks() wire.Quirks {
	q, ok := m.vendor.Families[m.info.ID.Root()]
	if !ok {
		q = m.vendor.Quirks
	}
	q.ThinkingParts = q.ThinkingParts && m.info.Reasoning.Support == catalog.Yes // the others have no place for it
	return q
}

// ID returns the id the model was opened with.
func (m *Model) ID() string { return m.id }

// Info returns what the catalogue knows of the model.
func (m *Model) Info() catalog.Model { return m.info }

// Stream answers req; see llm.Model and the package comment.
func (m *Model) Stream(ctx context.Context, req *llm.Request) iter.Seq2[llm.Event, error] {
	return func(yield func(llm.Event, error) bool) {
		if observe.From(ctx) == nil {
			m.run(ctx, req, yield)
			return
		}
		observe.Question(ctx, m.id, req, m.answer, yield)
	}
}

// answer is Stream for those who observe it.
func (m *Model) answer(ctx context.Context, req *llm.Request) iter.Seq2[llm.Event, error] {
	return func(yield func(llm.Event, error) bool) { m.run(ctx, req, yield) }
}

// ownFormat returns the program's own format of that name, and nil if there is
// none.
func (c *Client) ownFormat(name string) wire.Format {
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
	return formats.Check(name, own...)
}

// ForMany returns the model for a program that asks it for many clients: what is otherwise said once about a model is a
// warning of each question, because each may be another client's.
func (m *Model) ForMany() *Model {
	many := *m
	many.repeats = true
	many.settle()
	return &many
}

// sayOnce reports whether something is to be said about the model, which it is one
// time.
func (m *Model) sayOnce(what string) bool {
	if m.repeats {
		return true
	}
	_, said := m.client.said.LoadOrStore(m.key()+" "+what, true)
	return !said
}

// settled is what every request to a model needs to know and none changes.
type settled struct {
	family        string // of the model
	dialect       string // that the model is known to write; "" if it has none of its own
	named         bool   // the catalogue knows the model by its own name, and not by a vendor's or an entry's
	key           string // under which the client remembers what it learned about the model
	format        wire.Properties
	codec         wire.Codec
	whole, stream *url.URL // where answers in one piece and streams are asked for
	streamType    []string // the header that asks for a stream
	unknown       []llm.Warning
	informed      atomic.Pointer[Model] // what the server's last word made of the model
}

// settle works out what follows from the address, the format and the family of the model.
func (m *Model) settle() {
	s := &settled{key: m.base.String() + "#" + m.model, family: m.info.ID.Root(), dialect: m.ownDialect()}
	s.named = m.info.Known() && catalog.ParseID(m.model).Known()
	s.codec = wire.Codec{Format: m.wire, Own: m.client.ownFormat(m.wire), Vendor: m.owner() + "/" + m.wire, Quirks: m.quirks()}
	s.format = s.codec.Properties()
	s.streamType = []string{s.format.StreamType}
	s.whole, s.stream = m.place(&s.codec, false), m.place(&s.codec, true)
	switch {
	case m.info.Known():
	case m.client.Route != "":
		s.unknown = m.info.WarningsAsked()
	default:
		s.unknown = m.info.Warnings()
	}
	m.settled = s
}

// place returns where requests go.
func (m *Model) place(c *wire.Codec, stream bool) *url.URL {
	at, err := url.Parse(c.Path(m.model, stream))
	if err != nil {
		at = new(url.URL)
	}
	u := m.base.JoinPath(at.EscapedPath())
	u.RawQuery, u.Host = at.RawQuery, strings.TrimSuffix(u.Host, ":")
	if !strings.HasPrefix(u.Path, "/") { // it is as in the base, which may have none
		u.Path = "/" + u.Path
		if u.RawPath != "" {
			u.RawPath = "/" + u.RawPath
		}
	}
	return u
}

// format returns the properties of the format the model is asked in.
func (m *Model) format() *wire.Properties { return &m.settled.format }

// has reports whether the format can express a feature. To ask the properties themselves would copy them.
func (m *Model) has(f wire.Feature) bool { return slices.Contains(m.settled.format.Features, f) }

// codec returns the codec of the model's requests.
func (m *Model) codec() wire.Codec { return m.settled.codec }

// Explain says how req would be asked, without asking. A nil req stands for
// one with a tool.
func (m *Model) Explain(req *llm.Request) (Route, error) {
	if req == nil {
		req = &llm.Request{Messages: []llm.Message{llm.User("")}, Tools: []llm.ToolDef{{Name: "tool"}}}
	}
	asked := *m.informed()
	asked.explains = true
	j, err := asked.plan(req)
	if err != nil {
		return Route{}, err
	}
	return j.route, nil
}

// Signer says who signs what the model thinks and calls, and in which format, like
// "anthropic/messages": the label of its opaque state. A server that passes signatures on
// to a client of the same format puts the label back when they return.
func (m *Model) Signer() string { return m.settled.codec.Vendor }

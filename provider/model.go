package provider

import (
	"cmp"
	"net"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/toolpost/toolpost/catalog"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/wire"
	"github.com/toolpost/toolpost/wire/format"
)

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
	// explains makes routes carry their reasons, and repeats reports warnings with
	// each request.
	explains, repeats bool
}

// quirks are those of the vendor, for this model.
func (m *Model) quirks() format.Quirks {
	q, ok := m.vendor.Families[m.info.ID.Root()]
	if !ok {
		q = m.vendor.Quirks
	}
	q.ThinkingParts = q.ThinkingParts && m.info.Reasoning.Support == catalog.Yes // other models cannot take it
	return q
}

// ID returns the id the model was opened with.
func (m *Model) ID() string { return m.id }

// Info returns what the catalogue knows of the model.
func (m *Model) Info() catalog.Model { return m.info }

// catalogID returns the id of a model in the catalogue. Records about an address apply
// to that address only.
func (t *target) catalogID(id string) string {
	if strings.Contains(id, "://") {
		return id
	}
	return cmp.Or(t.vendor.Like, t.vendor.Name) + "/" + t.model
}

// label is who the vendor is: at another address it is somebody else.
func (t *target) label() string {
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

// ForMany returns the model for a program that uses it for many clients. Warnings that
// are otherwise reported once are reported with each request, because each request may
// come from another client.
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
	dialect       string // that the model is known to write; "" if it has none
	named         bool   // the catalogue knows the model by its own name, and not by a vendor's or an entry's
	key           string // under which the client remembers what it learned about the model
	format        format.Properties
	codec         wire.Codec
	whole, stream *url.URL // where answers in one piece and streams are asked for
	streamType    []string // the header that asks for a stream
	unknown       []llm.Warning
	formats       sync.Map              // the model in other formats
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
func (m *Model) format() *format.Properties { return &m.settled.format }

// has reports whether the format can express a feature. To ask the properties themselves would copy them.
func (m *Model) has(f format.Feature) bool { return slices.Contains(m.settled.format.Features, f) }

// key is under what the client remembers what it learned about a model.
func (m *Model) key() string { return m.settled.key }

// Signer returns who signs the thinking and the calls of the model, and in which
// format, for instance "anthropic/messages". It is the label of the model's opaque
// state. A server that passes signatures on to a client of the same format restores
// the label when they come back.
func (m *Model) Signer() string { return m.settled.codec.Vendor }

// Host returns the host and the port of the server that the model is asked at.
func (m *Model) Host() string {
	if m.base.Port() != "" {
		return m.base.Host
	}
	port := "443"
	if m.base.Scheme == "http" {
		port = "80"
	}
	return net.JoinHostPort(m.base.Hostname(), port)
}

// ownDialect returns the dialect that the model is known to write. The catalogue's
// default for all models does not count.
func (m *Model) ownDialect() string {
	if m.info.RuleOf("dialect") == "default" && (m.facts == nil || m.facts.dialect == "") {
		return ""
	}
	return m.info.Dialect
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

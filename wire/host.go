package wire

import (
	"errors"
	"slices"
	"strings"

	"github.com/toolpost/toolpost/internal/eventstream"
	"github.com/toolpost/toolpost/llm"
)

// host is the API that a body is written for or read from: a format, and how this host differs from the vendor that made
// the format.
type host struct {
	Format string // name of the format
	Vendor string // label of opaque state
	Calls  int    // calls that the conversation already has
	Quirks Quirks

	impl    format
	all     *registry
	own     bool         // the format belongs to the program
	names   *namespaces  // of the request that is answered
	request *llm.Request // that is answered, if it is known
}

// properties returns the properties of the format at this host.
func (h *host) properties() Properties {
	p := h.impl.properties().at(h.Quirks)
	if f, ok := h.impl.(hostAware); ok {
		return f.atHost(p, h.Quirks)
	}
	return p
}

// at returns the properties of a format at a host with quirks.
func (p Properties) at(q Quirks) Properties {
	if q.Path != "" {
		p.Path, p.StreamPath = q.Path, q.StreamPath
	}
	if q.Framed {
		p.StreamType, p.KeepAlive = eventstream.MediaType, ""
	}
	return p
}

// fail returns the error of an operation.
func (h *host) fail(op string, kind llm.Kind, err error) error {
	return &llm.Error{Op: "wire." + h.Format + "." + op, Kind: kind, Err: err}
}

// withKind gives an error of an answer the kind llm.Incomplete, unless it has a kind already.
func (h *host) withKind(op string, err error) error {
	var known *llm.Error
	if errors.As(err, &known) {
		return err
	}
	return h.fail(op, llm.Incomplete, err)
}

// offers reports whether the request offers a tool whose name fits. Known is false if the request is not known.
func (h *host) offers(fits func(name string) bool) (found, known bool) {
	if h.request == nil || len(h.request.Tools) == 0 {
		return false, false
	}
	return slices.ContainsFunc(h.request.Tools, func(t llm.ToolDef) bool { return fits(t.Name) }), true
}

// offered reports whether the request offers a tool of that name.
func (h *host) offered(name string) bool {
	found, _ := h.offers(func(s string) bool { return s == name })
	return found
}

// offersPrefix reports whether the request offers a tool whose name begins with s.
func (h *host) offersPrefix(s string) bool {
	found, _ := h.offers(func(name string) bool { return strings.HasPrefix(name, s) })
	return found
}

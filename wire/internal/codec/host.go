package codec

import (
	"errors"
	"slices"
	"strings"

	"github.com/toolpost/toolpost/internal/eventstream"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/wire/format"
)

// Host is the API that a body is written for or read from: a format, and how this host differs from the vendor that made
// the format.
type Host struct {
	Format string // name of the format
	Vendor string // label of opaque state
	Calls  int    // calls that the conversation already has
	Quirks format.Quirks

	Impl     Format
	Registry *Registry
	Custom   bool         // the format belongs to the program
	Names    *Namespaces  // of the request that is answered
	Request  *llm.Request // that is answered, if it is known
}

// Properties returns the properties of the format at this host.
func (h *Host) Properties() format.Properties {
	p := at(*h.Impl.Properties(), h.Quirks)
	if f, ok := h.Impl.(hostAware); ok {
		return f.AtHost(p, h.Quirks)
	}
	return p
}

// at returns the properties of a format at a host with quirks.
func at(p format.Properties, q format.Quirks) format.Properties {
	if q.Path != "" {
		p.Path, p.StreamPath = q.Path, q.StreamPath
	}
	if q.Framed {
		p.StreamType, p.KeepAlive = eventstream.MediaType, ""
	}
	return p
}

// Fail returns the error of an operation.
func (h *Host) Fail(op string, kind llm.Kind, err error) error {
	return &llm.Error{Op: "wire." + h.Format + "." + op, Kind: kind, Err: err}
}

// WithKind gives an error of an answer the kind llm.Incomplete, unless it has a kind already.
func (h *Host) WithKind(op string, err error) error {
	var known *llm.Error
	if errors.As(err, &known) {
		return err
	}
	return h.Fail(op, llm.Incomplete, err)
}

// offers reports whether the request offers a tool whose name fits. Known is false if the request is not known.
func (h *Host) offers(fits func(name string) bool) (found, known bool) {
	if h.Request == nil || len(h.Request.Tools) == 0 {
		return false, false
	}
	return slices.ContainsFunc(h.Request.Tools, func(t llm.ToolDef) bool { return fits(t.Name) }), true
}

// offered reports whether the request offers a tool of that name.
func (h *Host) offered(name string) bool {
	found, _ := h.offers(func(s string) bool { return s == name })
	return found
}

// offersPrefix reports whether the request offers a tool whose name begins with s.
func (h *Host) offersPrefix(s string) bool {
	found, _ := h.offers(func(name string) bool { return strings.HasPrefix(name, s) })
	return found
}

package provider

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"

	"github.com/toolpost/toolpost/catalog"
	"github.com/toolpost/toolpost/internal/js"
	"github.com/toolpost/toolpost/llm"
)

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

// Forwarder passes requests on to the endpoints of a vendor that are no questions to a chat model:
// embeddings, images, audio, files. It is safe for concurrent use.
type Forwarder struct{ m *Model }

// Forwarder opens what serves the model of an id, of whatever kind the model is. It asks nobody.
func (c *Client) Forwarder(id string) (*Forwarder, error) {
	t, err := c.resolve(id)
	if err != nil {
		return nil, err
	}
	m := &Model{client: c, target: t, id: id, info: c.catalog().Lookup(t.catalogID(id)), wire: t.vendor.Wires[0]}
	m.settle()
	return &Forwarder{m}, nil
}

// Model returns the name of the model in the vendor's words.
func (f *Forwarder) Model() string { return f.m.model }

// Ready returns nil if a request could be sent: there is a key, or none is needed.
func (f *Forwarder) Ready() error { return f.m.Ready() }

// Info returns what the catalogue knows of the model.
func (f *Forwarder) Info() catalog.Model { return f.m.info }

// Speaks reports whether the vendor has the endpoints of a format.
func (f *Forwarder) Speaks(format string) bool { return slices.Contains(f.m.vendor.Wires, format) }

// Forwarded is a request to an endpoint of a vendor.
type Forwarded struct {
	Method string
	Path   string // below the root of the API's version
	Query  string
	Header http.Header // that goes with it
	Body   []byte
}

// Do sends a request with the key of the vendor, once, and follows no redirect. Secrets that are not
// the vendor's are taken out of JSON; a body of another kind with one in it is refused. The answer's
// body must be closed. It ends with an error if it takes longer, or is longer, than the limits of
// the client allow.
func (f *Forwarder) Do(ctx context.Context, r Forwarded) (*http.Response, error) {
	m := f.m
	key, err := m.client.key(m.target)
	if err != nil {
		return nil, err
	}
	clean, found := m.redactBody(r.Body)
	if len(found) > 0 && !js.Valid(clean) {
		return nil, &llm.Error{Op: m.vendor.Name, Kind: llm.Invalid, Status: http.StatusBadRequest, Err: errors.New("the request holds a key of somebody else")}
	}
	w := m.client.watch(ctx, llm.Limits{})
	u := m.base.JoinPath(r.Path)
	u.RawQuery = r.Query
	var src io.Reader
	if len(clean) > 0 {
		src = bytes.NewReader(clean)
	}
	req, err := http.NewRequestWithContext(w.ctx, r.Method, u.String(), src)
	if err != nil {
		w.stop()
		return nil, m.asError(ctx, err, key)
	}
	for name, values := range r.Header {
		req.Header[name] = values
	}
	req.Header.Set("User-Agent", "toolpost")
	setTrace(req)
	if err := m.vendor.authorize(req, clean, key); err != nil {
		w.stop()
		return nil, m.asError(ctx, err, key)
	}
	resp, err := m.client.httpClient().Do(req)
	if err != nil {
		defer w.stop()
		return nil, m.asError(w.ctx, err, key)
	}
	w.rest()
	hide := m.client.masks.of(key)
	for _, values := range resp.Header {
		for i, v := range values {
			if hide != nil && hide.suspects([]byte(v)) {
				values[i] = redact(v, key)
			}
		}
	}
	resp.Body = &forwarded{body: body{ReadCloser: resp.Body, w: w}, mask: hide}
	return resp, nil
}

// forwarded is the body of an answer that somebody else reads, without the key that was asked with.
type forwarded struct {
	body
	mask *mask
	out  []byte // read and not yet served
	held []byte // the end of what was read, which may be the beginning of a key
	err  error  // behind both
}

// Read serves the body as it comes. What ends with a line is served at once: no key goes on in the next.
func (f *forwarded) Read(p []byte) (int, error) {
	for len(f.out) == 0 {
		if f.err != nil {
			return 0, f.err
		}
		n, err := f.body.Read(p)
		whole := err != nil || n > 0 && p[n-1] == '\n'
		if f.mask == nil || whole && len(f.held) == 0 && !f.mask.suspects(p[:n]) {
			return n, err
		}
		text := f.mask.redact(append(f.held, p[:n]...))
		keep := 0
		if !whole {
			keep = min(len(text), f.mask.longest-1)
		}
		f.out, f.held, f.err = text[:len(text)-keep], bytes.Clone(text[len(text)-keep:]), err
	}
	n := copy(p, f.out)
	f.out = f.out[n:]
	return n, nil
}

func (f *forwarded) Close() error {
	f.w.stop()
	return f.ReadCloser.Close()
}

// clientHeaders are those of a client's that go with its request where that is relayed: what they
// say is part of the request.
var clientHeaders = []string{"Anthropic-Beta", "Openai-Beta"}

// Betas returns the headers of a client's that are part of its request.
func Betas(h http.Header) http.Header {
	out := http.Header{}
	for _, name := range clientHeaders {
		values := slices.DeleteFunc(slices.Clone(h[name]), func(v string) bool { return strings.TrimSpace(v) == "" })
		if len(values) > 0 {
			out[name] = values
		}
	}
	return out
}

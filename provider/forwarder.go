package provider

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"slices"

	"github.com/toolpost/toolpost/catalog"
	"github.com/toolpost/toolpost/internal/js"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/provider/internal/credential"
	"github.com/toolpost/toolpost/provider/internal/deadline"
)

// Forwarder forwards requests to the endpoints of a vendor that are not for chat:
// embeddings, images, audio, files. It is safe for concurrent use.
type Forwarder struct{ m *Model }

// Forwarder opens a forwarder for the vendor of a model id, whatever the kind of the
// model. It sends nothing.
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
	x, err := m.newExchange(ctx, llm.Limits{}, false)
	if err != nil {
		return nil, err
	}
	resp, err := x.forward(r)
	if err != nil {
		x.watch.Stop()
		return nil, err
	}
	return resp, nil
}

// forward sends the request of a Forwarder.
func (x *exchange) forward(r Forwarded) (*http.Response, error) {
	clean, found := x.client.redactBody(&x.target, r.Body)
	if len(found) > 0 && !js.Valid(clean) {
		return nil, &llm.Error{Op: x.vendor.Name, Kind: llm.Invalid, Status: http.StatusBadRequest, Err: errors.New("the request holds a key of somebody else")}
	}
	u := x.base.JoinPath(r.Path)
	u.RawQuery = r.Query
	var src io.Reader
	if len(clean) > 0 {
		src = bytes.NewReader(clean)
	}
	req, err := http.NewRequestWithContext(x.watch.Context, r.Method, u.String(), src)
	if err != nil {
		return nil, x.asError(err)
	}
	for name, values := range r.Header {
		req.Header[name] = values
	}
	req.Header.Set("User-Agent", "toolpost")
	setTrace(req)
	resp, err := x.do(req, clean)
	if err != nil {
		return nil, err
	}
	hide := x.client.masks.Of(x.key)
	for _, values := range resp.Header {
		for i, v := range values {
			if hide != nil && hide.Suspects([]byte(v)) {
				values[i] = credential.Redact(v, x.key)
			}
		}
	}
	body := x.watch.Begun(resp.Body)
	resp.Body = &forwardedBody{Reader: credential.NewReader(body, hide), body: body, watch: x.watch}
	return resp, nil
}

// forwardedBody is the body of an answer without the key of the request.
type forwardedBody struct {
	io.Reader
	body  io.Closer
	watch *deadline.Watch
}

func (f *forwardedBody) Close() error {
	f.watch.Stop()
	return f.body.Close()
}

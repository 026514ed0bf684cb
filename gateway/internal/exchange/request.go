// Package exchange holds the state that all steps of a request share: the request itself, which does not change, and
// the response, which collects everything sent to the client.
package exchange

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/toolpost/toolpost/gateway/internal/metrics"
	"github.com/toolpost/toolpost/gateway/internal/upstream"
	"github.com/toolpost/toolpost/internal/access"
	"github.com/toolpost/toolpost/internal/js"
	"github.com/toolpost/toolpost/internal/vendorapi"
	"github.com/toolpost/toolpost/llm"
)

// Request is one request of a client. Three methods set its parts, each once: [NewRequest] those of the connection,
// [Request.SetRights] those of the key, and [Request.SetBody] or [Request.SetModel] those of the body. Steps of the
// gateway only read it; TestRequestsDoNotChange checks this.
type Request struct {
	vendorapi.Endpoint
	HTTP  *http.Request
	ID    string
	Start time.Time

	Rights *access.Rights // rights of the key; nil without access control
	Owner  string         // team of the key; nothing is shared between owners

	Model    string // name of the model, as the client wrote it
	Streamed bool   // the client asked for a stream
	EndUser  string // the client's own user, as it names them; "" if it does not
	Tag      string // what the client books the request to; "" if it does not say
	Asked    []byte // the body, if the format repeats parts of the request in answers; otherwise nil

	Services
}

// Services are the parts of the gateway that a request reports to.
type Services struct {
	Log     *slog.Logger
	Metrics *metrics.Set
	Warned  *WarningLog
	Trace   *upstream.Trace
}

// NewRequest returns a request to an endpoint, before its body is read.
func NewRequest(r *http.Request, id string, at vendorapi.Endpoint, s Services) *Request {
	return &Request{Endpoint: at, HTTP: r, ID: id, Start: time.Now(), Services: s}
}

// SetRights sets the rights of the client's key.
func (r *Request) SetRights(rights *access.Rights) { r.Rights, r.Owner = rights, rights.Key.Team }

// SetModel sets the model of a request that is forwarded unread. Its end user and tag are those of the headers.
func (r *Request) SetModel(name string) {
	r.Model = name
	r.attribute(nil)
}

// SetBody sets what the body asks for. The codec reads and writes the answer with the tools of req. It is not inlined:
// the stack that it needs would be held until the answer ends.
//
//go:noinline
func (r *Request) SetBody(req *llm.Request, streamed bool, body []byte) {
	r.Model, r.Streamed = req.Model, streamed
	r.attribute(req.Extra[r.Codec.Format])
	if r.Codec.Properties().Previous != "" {
		r.Asked = body
	}
	r.Codec = r.Codec.Answering(req)
}

// WarningLog remembers which warnings were logged: each is logged once for a route. It is safe for concurrent use.
type WarningLog struct {
	mu   sync.Mutex
	seen map[string]bool
}

// maxWarned limits the warnings that are logged. Details may contain words of clients.
const maxWarned = 2000

// first reports whether a warning of a route is new.
func (l *WarningLog) first(route, text string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	key := route + "\x00" + text
	if l.seen[key] || len(l.seen) >= maxWarned {
		return false
	}
	if l.seen == nil {
		l.seen = make(map[string]bool)
	}
	l.seen[key] = true
	return true
}

// Context is cancelled when the client disconnects.
func (r *Request) Context() context.Context { return r.HTTP.Context() }

// KeyID returns the id of the client's key, or "" without access control.
func (r *Request) KeyID() string {
	if r.Rights == nil {
		return ""
	}
	return r.Rights.Key.ID
}

// Team returns the team of the client's key, or "" without access control.
func (r *Request) Team() string {
	if r.Rights == nil {
		return ""
	}
	return r.Rights.Key.Team
}

// The request headers with which clients say who and what a request is for.
const (
	// UserHeader names the end user. Without it, the field of the client's format counts.
	UserHeader = "Toolpost-User"
	// TagHeader is what spend is booked to, such as a project.
	TagHeader = "Toolpost-Tag"
)

// attribute sets the end user and the tag of a request. The fields are those of the request's format.
func (r *Request) attribute(fields map[string]json.RawMessage) {
	r.EndUser, r.Tag = r.HTTP.Header.Get(UserHeader), r.HTTP.Header.Get(TagHeader)
	if r.EndUser != "" || len(fields) == 0 {
		return
	}
	for _, path := range r.Codec.Properties().EndUser {
		name, inner, nested := strings.Cut(path, ".")
		value := []byte(fields[name])
		if nested {
			value = js.Get(value, inner)
		}
		if r.EndUser = js.Text(value); r.EndUser != "" {
			return
		}
	}
}

// ErrShutdown is the error of requests that were still running when the gateway shut down.
var ErrShutdown = &llm.Error{
	Op: "gateway", Kind: llm.Overloaded, Status: http.StatusServiceUnavailable, RetryAfter: time.Second,
	Err: errors.New("the gateway had to end before this answer did; ask again"),
}

// ShuttingDown reports whether a request ends because the gateway shuts down.
func ShuttingDown(ctx context.Context) bool {
	return ctx.Err() != nil && errors.Is(context.Cause(ctx), ErrShutdown)
}

// Invalid returns the error of an invalid request.
func Invalid(format string, args ...any) error {
	return &llm.Error{Op: "request", Kind: llm.Invalid, Status: http.StatusBadRequest, Err: fmt.Errorf(format, args...)}
}

// LogAttrs returns the log attributes that identify the client.
func (r *Request) LogAttrs() []slog.Attr {
	if r.Rights == nil {
		return nil
	}
	return []slog.Attr{slog.String("team", r.Rights.Key.Team), slog.String("key", r.Rights.Key.ID)}
}

// NoModel returns the error of a request without a model or for an unknown model.
func (r *Request) NoModel(name string) error {
	if name == "" {
		return Invalid("the request has no model; GET /v1/models lists the available models")
	}
	return vendorapi.NotFound(r.Codec, fmt.Errorf("unknown model %q; GET /v1/models lists the available models, but not wildcard routes", name))
}

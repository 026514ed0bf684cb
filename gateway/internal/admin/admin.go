// Package admin serves the administrators of a gateway: keys, teams, usage, the log and approvals.
package admin

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/toolpost/toolpost/gateway/internal/clientio"
	"github.com/toolpost/toolpost/internal/access"
	"github.com/toolpost/toolpost/internal/js"
	"github.com/toolpost/toolpost/internal/vendorapi"
)

// maxBody limits the request body, in bytes.
const maxBody = 64 << 10

// defaultBodyTime is how long an administrator may take to send a request by default. A client without a valid key has
// the same time to read the refusal.
const defaultBodyTime = 10 * time.Second

// Handler answers administrators. Its fields must not change once it serves.
type Handler struct {
	Book      *access.Book
	Approvals Approvals // nil if no calls wait
	Hosts     []string  // accepted besides localhost
	// Forget deletes the data between requests of a team; nil if there are none.
	Forget func(ctx context.Context, team string) error
	// BodyTime limits sending a request; 0 means 10 seconds. WriteTime limits how long a piece of an answer may stay unread.
	BodyTime, WriteTime time.Duration

	admins []namedKey
	mux    *http.ServeMux
}

// Approvals are the calls that wait for a person.
type Approvals interface {
	// Waiting returns the calls, oldest first, as a value for JSON.
	Waiting(ctx context.Context) (any, error)
	// Decide records a decision about one of them and returns the response for the administrator.
	Decide(ctx context.Context, id string, d Decision) (any, error)
}

// namedKey is the key of an administrator.
type namedKey struct {
	name string
	hash [sha256.Size]byte
}

// endpoint is a request that administrators make.
type endpoint struct {
	pattern   string
	answer    func(*Handler, *http.Request) (any, error) // returns the value of a JSON answer
	serve     func(*Handler, http.ResponseWriter, *http.Request)
	queries   []string // the allowed query parameters
	approvals bool     // it exists only where calls wait for a person
}

var endpoints = []endpoint{
	{pattern: "GET /admin/keys", answer: (*Handler).keys},
	{pattern: "POST /admin/keys", answer: (*Handler).create},
	{pattern: "PATCH /admin/keys/{id}", answer: (*Handler).change},
	{pattern: "POST /admin/keys/{id}/rotate", answer: (*Handler).rotate},
	{pattern: "POST /admin/keys/{id}/revoke", answer: (*Handler).revoke},
	{pattern: "GET /admin/requests/{id}", answer: (*Handler).bodies},
	{pattern: "GET /admin/audit", answer: (*Handler).audit, queries: []string{"limit"}},
	{pattern: "GET /admin/teams", answer: (*Handler).teams},
	{pattern: "PUT /admin/teams/{name}", answer: (*Handler).setTeam},
	{pattern: "DELETE /admin/teams/{name}", answer: (*Handler).erase, queries: []string{"user"}},
	{pattern: "GET /admin/approvals", answer: (*Handler).approvals, approvals: true},
	{pattern: "POST /admin/approvals/{id}", answer: (*Handler).decide, approvals: true},
	{pattern: "GET /admin/usage", serve: (*Handler).usage, queries: append(filterNames(), "by", "since", "format")},
	{pattern: "GET /admin/requests", serve: (*Handler).requests, queries: append(filterNames(), "limit", "format", "id", "status", "before")},
}

// Patterns returns the patterns of all endpoints.
func Patterns() []string {
	all := make([]string, len(endpoints))
	for i, e := range endpoints {
		all[i] = e.pattern
	}
	return all
}

// queriesOf returns the allowed query parameters of an endpoint.
func queriesOf(pattern string) []string {
	return endpoints[slices.IndexFunc(endpoints, func(e endpoint) bool { return e.pattern == pattern })].queries
}

// WithKey returns the handler for administrators with this key.
func (a Handler) WithKey(key string) (http.Handler, error) {
	for _, one := range access.NamedKeys(key) {
		if len(one.Key) < access.MinAdminKey {
			return nil, fmt.Errorf("gateway: an administrators' key has less than %d bytes; use a longer one", access.MinAdminKey)
		}
		a.admins = append(a.admins, namedKey{one.Name, sha256.Sum256([]byte(one.Key))})
	}
	a.BodyTime = cmp.Or(a.BodyTime, defaultBodyTime)
	mux := http.NewServeMux()
	for _, e := range endpoints {
		switch {
		case e.approvals && a.Approvals == nil:
		case e.serve != nil:
			mux.HandleFunc(e.pattern, func(w http.ResponseWriter, r *http.Request) { e.serve(&a, w, r) })
		default:
			mux.HandleFunc(e.pattern, func(w http.ResponseWriter, r *http.Request) {
				v, err := e.answer(&a, r)
				if err != nil {
					a.fail(w, err)
					return
				}
				vendorapi.WriteJSON(w, v)
			})
		}
	}
	a.mux = mux
	return &a, nil
}

// Error is an error with its HTTP status.
type Error struct {
	Status int
	Err    error
	allow  string // the methods of the path, for the header Allow
}

func (e *Error) Error() string { return e.Err.Error() }

// Invalidf returns the error of an invalid request.
func Invalidf(format string, args ...any) error {
	return &Error{Status: http.StatusBadRequest, Err: fmt.Errorf(format, args...)}
}

// ServeHTTP answers one request.
func (a *Handler) ServeHTTP(to http.ResponseWriter, r *http.Request) {
	w := new(clientio.Writer)
	w.Reset(to, r, a.WriteTime)
	defer w.Finish()
	h := w.Header()
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	name, err := a.admit(r)
	if err = cmp.Or(err, a.understand(r)); err != nil {
		w.Reset(to, r, min(a.WriteTime, defaultBodyTime))
		clientio.DiscardBody(w, r)
		a.fail(w, err)
		return
	}
	r = r.WithContext(access.WithActor(r.Context(), name))
	a.receive(w, r)
	a.mux.ServeHTTP(w, r)
}

// receive reads the body of a request and replaces it with the bytes or the error.
func (a *Handler) receive(w http.ResponseWriter, r *http.Request) {
	body, err := clientio.ReadWithin(a.BodyTime, w, r, func() ([]byte, error) { return io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody)) })
	r.Body = receivedBody{bytes.NewReader(body), err}
}

// receivedBody is a request body in memory. If reading it failed, it returns that error.
type receivedBody struct {
	io.Reader
	err error
}

func (b receivedBody) Read(into []byte) (int, error) {
	if b.err != nil {
		return 0, b.err
	}
	return b.Reader.Read(into)
}

func (b receivedBody) Close() error { return nil }

// understand refuses requests for unknown paths or methods, and query parameters that are unknown, repeated or malformed.
// Otherwise they would be ignored.
func (a *Handler) understand(r *http.Request) error {
	if path := strings.ToLower(r.URL.EscapedPath()); strings.Contains(path, "%2f") || strings.Contains(path, "%5c") {
		return Invalidf("the path has an encoded slash, which proxies and servers read in different ways")
	}
	_, pattern := a.mux.Handler(r)
	if pattern == "" {
		var takes []string
		for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete} {
			other := r.Clone(r.Context())
			other.Method = method
			if _, there := a.mux.Handler(other); there != "" {
				takes = append(takes, method)
			}
		}
		if len(takes) > 0 {
			return &Error{Status: http.StatusMethodNotAllowed, allow: strings.Join(takes, ", "), Err: fmt.Errorf("%.100q takes %s, not %.20s", r.URL.Path, strings.Join(takes, " and "), r.Method)}
		}
		return &Error{Status: http.StatusNotFound, Err: fmt.Errorf("there is nothing at %.100q", r.URL.Path)}
	}
	query, err := url.ParseQuery(r.URL.RawQuery) // URL.Query would drop a malformed filter, and the answer would show everything
	if err != nil {
		return Invalidf("the parameters cannot be read: %v (%% is written %%25, and ; is written %%3B)", err)
	}
	for name, values := range query {
		switch {
		case !slices.Contains(queriesOf(pattern), name):
			return Invalidf("unknown parameter %.40q", name)
		case len(values) > 1:
			return Invalidf("the parameter %q is given %d times; give it once", name, len(values))
		}
	}
	return nil
}

// admit refuses requests without the administrators' key. Requests that a page in a browser could send are refused with
// any key.
func (a *Handler) admit(r *http.Request) (name string, err error) {
	if status, err := clientio.RefuseBrowser(r, clientio.IsLocalHost, a.Hosts); err != nil {
		return "", &Error{Status: status, Err: err}
	}
	values := r.Header.Values("Authorization")
	scheme, key, _ := strings.Cut(strings.Join(values, "\x00"), " ")
	sum := sha256.Sum256([]byte(strings.TrimSpace(key)))
	known := 0
	for i := range a.admins {
		if same := subtle.ConstantTimeCompare(sum[:], a.admins[i].hash[:]); same == 1 {
			known, name = same, a.admins[i].name
		}
	}
	if known != 1 || !strings.EqualFold(scheme, "bearer") || len(values) != 1 {
		return "", &Error{Status: http.StatusUnauthorized, Err: errors.New("the key of administrators is missing or wrong")}
	}
	if media, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type")); r.Method != http.MethodGet && r.ContentLength != 0 && media != "application/json" {
		return "", &Error{Status: http.StatusUnsupportedMediaType, Err: errors.New("the body must be application/json")}
	}
	return name, nil
}

func (a *Handler) fail(w http.ResponseWriter, err error) {
	status := http.StatusBadRequest // errors of package access
	var known *Error
	if errors.As(err, &known) {
		if status = known.Status; known.allow != "" {
			w.Header().Set("Allow", known.allow)
		}
	} else if errors.Is(err, access.ErrNotThere) {
		status = http.StatusNotFound
	} else if store := new(access.StoreError); errors.As(err, &store) {
		status = http.StatusServiceUnavailable
	}
	if status == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", "Bearer")
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]any{"error": map[string]string{"message": err.Error()}}) // the client may be gone
}

// read reads a JSON object from the body. Unknown, repeated and null fields are errors, because they would have no
// effect. An empty body is allowed and leaves into unchanged.
func read(r *http.Request, into any) error {
	body, err := io.ReadAll(r.Body)
	if large := new(http.MaxBytesError); errors.As(err, &large) {
		return &Error{Status: http.StatusRequestEntityTooLarge, Err: fmt.Errorf("the body has more than %d bytes", large.Limit)}
	}
	if err != nil {
		return Invalidf("the body cannot be read: %v", err)
	}
	if body = js.Trim(body); len(body) == 0 {
		return nil
	}
	if !js.Valid(body) || js.Kind(body) != '{' {
		return Invalidf("the body is not a JSON object")
	}
	if name := js.Repeated(body); name != nil {
		return Invalidf("the field %.40q is in the body twice", name)
	}
	for key, value := range js.Members(body) {
		if js.Kind(value) == 'n' {
			return Invalidf("the field %.40q is null: give a value or omit it", key)
		}
	}
	known := memberNames(reflect.TypeOf(into).Elem())
	for key := range js.Members(body) { // package json would also accept other spellings
		if name := string(key); !slices.Contains(known, name) {
			return Invalidf("unknown field %.40q; the fields are %s", name, strings.Join(known, ", "))
		}
	}
	d := json.NewDecoder(bytes.NewReader(body))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return Invalidf("the body cannot be read: %v", js.Explain(err))
	}
	return nil
}

// memberNames returns the names of the members of a struct in JSON.
func memberNames(t reflect.Type) (names []string) {
	for _, f := range reflect.VisibleFields(t) {
		if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" && name != "-" {
			names = append(names, name)
		}
	}
	return names
}

// notNil makes an empty list [] in JSON instead of null.
func notNil[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

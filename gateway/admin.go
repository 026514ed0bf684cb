package gateway

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/toolpost/toolpost/gateway/access"
	"github.com/toolpost/toolpost/internal/js"
	"github.com/toolpost/toolpost/internal/vendorapi"
)

// MinAdminKey is how many bytes the key of administrators has at least.
const MinAdminKey = 24

// maxAdminBody bounds what administrators send.
const maxAdminBody = 64 << 10

// Admin serves the administrators of a gateway: keys, teams, what they use and the log. It wants a key of
// its own, as Authorization: Bearer, and answers no browser: no request with an origin, with a header that only
// browsers send, or to another host than this machine or one of hosts.
func Admin(book *access.Book, key string, hosts ...string) (http.Handler, error) {
	return Administration{Book: book, Key: key, Hosts: hosts}.Handler()
}

// Handler serves administrators, as [Admin] does, and tells them of calls that wait for a person.
func (c Administration) Handler() (http.Handler, error) {
	if len(c.Key) < MinAdminKey {
		return nil, fmt.Errorf("gateway: the key of administrators has less than %d bytes", MinAdminKey)
	}
	a := &admin{book: c.Book, live: c.Live, key: sha256.Sum256([]byte(c.Key)), hosts: c.Hosts, bodyTime: cmp.Or(c.BodyTime, adminTime), writeTime: cmp.Or(c.WriteTime, writeTime)}
	mux := http.NewServeMux()
	answers := map[string]func(*http.Request) (any, error){
		"GET /admin/keys":              a.keys,
		"POST /admin/keys":             a.create,
		"PATCH /admin/keys/{id}":       a.change,
		"POST /admin/keys/{id}/rotate": a.rotate,
		"POST /admin/keys/{id}/revoke": a.revoke,
		"GET /admin/requests/{id}":     a.bodies,
		"GET /admin/teams":             a.teams,
		"PUT /admin/teams/{name}":      a.setTeam,
	}
	if c.Live != nil {
		answers["GET /admin/approvals"], answers["POST /admin/approvals/{id}"] = a.approvals, a.decide
	}
	for pattern, answer := range answers {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			v, err := answer(r)
			if err != nil {
				a.fail(w, err)
				return
			}
			vendorapi.WriteJSON(w, v)
		})
	}
	mux.HandleFunc("GET /admin/usage", a.usage)
	mux.HandleFunc("GET /admin/requests", a.requests)
	a.mux = mux
	return a, nil
}

// admin is the handler of Admin.
type admin struct {
	book  *access.Book
	live  *Live // nil if nothing waits for them
	key   [sha256.Size]byte
	hosts []string
	mux   *http.ServeMux

	bodyTime, writeTime time.Duration // to send a request, and to read a piece of an answer
}

// adminError is an error with its status.
type adminError struct {
	status int
	err    error
	allow  string // the methods that there are instead, for the header
}

func (e *adminError) Error() string { return e.err.Error() }

func bad(format string, args ...any) error {
	return &adminError{status: http.StatusBadRequest, err: fmt.Errorf(format, args...)}
}

// ServeHTTP answers one request.
func (a *admin) ServeHTTP(to http.ResponseWriter, r *http.Request) {
	w := new(outlet)
	w.writeTo(to, r, a.writeTime)
	defer w.rest()
	h := w.Header()
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	if err := cmp.Or(a.admit(r), a.understand(r)); err != nil {
		w.writeTo(to, r, min(a.writeTime, adminTime))
		readOff(w, r)
		a.fail(w, err)
		return
	}
	a.receive(w, r)
	a.mux.ServeHTTP(w, r)
}

// receive reads the body of a request, and leaves it, or the error, to whoever reads it then. The time for that is over when it
// is read: package http takes a deadline that passes later for a client that is gone, and ends what it asked for.
func (a *admin) receive(w http.ResponseWriter, r *http.Request) {
	c := http.NewResponseController(w)
	_ = c.SetReadDeadline(time.Now().Add(a.bodyTime)) // a server without deadlines has its own bounds
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxAdminBody))
	if r.Body = (receivedBody{bytes.NewReader(body), err}); err != nil {
		hangUp(w, r) // nobody waits for the rest
		return
	}
	_ = c.SetReadDeadline(time.Time{})
}

// receivedBody is a body that was read, and the error that ended it, if one did.
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

// adminQueries are the parameters of requests of administrators.
var adminQueries = map[string][]string{"GET /admin/usage": append(filterNames(), "by", "since", "format"), "GET /admin/requests": append(filterNames(), "limit", "format")}

// filterNames are the parameters that pick requests.
func filterNames() (names []string) {
	for _, g := range access.Filters {
		names = append(names, string(g))
	}
	return names
}

// picked reads which requests are asked for.
func (a *admin) picked(r *http.Request) (access.Filter, error) {
	query, only := r.URL.Query(), access.Filter{}
	for _, g := range access.Filters {
		if query.Has(string(g)) {
			only[g] = query.Get(string(g))
		}
	}
	return a.book.Resolve(r.Context(), only)
}

// understand says why a request is none that there is: of another path or method, or with parameters that would be ignored,
// which cannot be read or stand there twice.
func (a *admin) understand(r *http.Request) error {
	_, pattern := a.mux.Handler(r)
	if pattern == "" {
		var takes []string
		for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch} {
			other := r.Clone(r.Context())
			other.Method = method
			if _, there := a.mux.Handler(other); there != "" {
				takes = append(takes, method)
			}
		}
		if len(takes) > 0 {
			return &adminError{status: http.StatusMethodNotAllowed, allow: strings.Join(takes, ", "), err: fmt.Errorf("%.100q takes %s, not %.20s", r.URL.Path, strings.Join(takes, " and "), r.Method)}
		}
		return &adminError{status: http.StatusNotFound, err: fmt.Errorf("there is nothing at %.100q", r.URL.Path)}
	}
	query, err := url.ParseQuery(r.URL.RawQuery) // URL.Query leaves out what it cannot read: a filter that is lost shows everything
	if err != nil {
		return bad("the parameters cannot be read: %v (%% is written %%25, and ; is written %%3B)", err)
	}
	for name, values := range query {
		switch {
		case !slices.Contains(adminQueries[pattern], name):
			return bad("the parameter %.40q is not known here", name)
		case len(values) > 1:
			return bad("the parameter %q is named %d times, and one is picked at a time", name, len(values))
		}
	}
	return nil
}

// adminTime is how long an administrator may take to send a request if nothing else is said, and who is refused to read that.
const adminTime = 10 * time.Second

// admit says why a request is refused, nil if it is not. What a page in a browser can send is refused
// whatever key it has.
func (a *admin) admit(r *http.Request) error {
	if err := noPage(r, local, a.hosts); err != nil {
		return err
	}
	values := r.Header.Values("Authorization")
	scheme, key, _ := strings.Cut(strings.Join(values, "\x00"), " ")
	sum := sha256.Sum256([]byte(strings.TrimSpace(key)))
	if subtle.ConstantTimeCompare(sum[:], a.key[:]) != 1 || !strings.EqualFold(scheme, bearer) || len(values) != 1 {
		return &adminError{status: http.StatusUnauthorized, err: errors.New("the key of administrators is missing or wrong")}
	}
	if media, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type")); r.Method != http.MethodGet && r.ContentLength != 0 && media != "application/json" {
		return &adminError{status: http.StatusUnsupportedMediaType, err: errors.New("the body has to be application/json")}
	}
	return nil
}

func (a *admin) fail(w http.ResponseWriter, err error) {
	status := http.StatusBadRequest // what package access refuses
	var known *adminError
	if errors.As(err, &known) {
		if status = known.status; known.allow != "" {
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
	_ = json.NewEncoder(w).Encode(map[string]any{"error": map[string]string{"message": err.Error()}}) // who is gone needs no answer
}

// read reads a JSON object. Members that nobody knows, that stand there twice or that are null are an error, as they would not do
// what they say. Without a body nothing is read.
func read(r *http.Request, into any) error {
	body, err := io.ReadAll(r.Body)
	if large := new(http.MaxBytesError); errors.As(err, &large) {
		return &adminError{status: http.StatusRequestEntityTooLarge, err: fmt.Errorf("the body has more than %d bytes", large.Limit)}
	}
	if err != nil {
		return bad("the body cannot be read: %v", err)
	}
	if body = js.Trim(body); len(body) == 0 {
		return nil
	}
	if !js.Valid(body) || js.Kind(body) != '{' {
		return bad("the body is no JSON object")
	}
	if name := js.Repeated(body); name != nil {
		return bad("the member %.40q stands in the body twice", name)
	}
	for key, value := range js.Members(body) {
		if js.Kind(value) == 'n' {
			return bad("the member %.40q is null: leave it out, or say what it is", key)
		}
	}
	d := json.NewDecoder(bytes.NewReader(body))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return bad("the body cannot be read: %v", js.Explain(err))
	}
	return nil
}

// newKey is what an administrator says of a key.
type newKey struct {
	Team    string         `json:"team"`
	Name    string         `json:"name"`
	Models  []string       `json:"models"`
	Tools   []string       `json:"tools"`
	Routes  []string       `json:"routes"`
	Limits  []access.Quota `json:"limits"`
	Expires *string        `json:"expires"` // as access.ParseTime reads it
}

// madeKey is a key with its secret, which is shown once.
type madeKey struct {
	access.Key
	Secret string `json:"secret"`
}

func (a *admin) keys(r *http.Request) (any, error) {
	keys, err := a.book.Keys(r.Context())
	return map[string]any{"keys": notNil(keys)}, err
}

func (a *admin) create(r *http.Request) (any, error) {
	var n newKey
	if err := read(r, &n); err != nil {
		return nil, err
	}
	k := access.Key{Team: n.Team, Name: n.Name, Models: n.Models, Tools: n.Tools, Routes: n.Routes, Limits: n.Limits}
	if n.Expires != nil {
		var err error
		if k.Expires, err = access.ParseTime(*n.Expires, time.Now(), false); err != nil {
			return nil, bad("expires: %v", err)
		}
	}
	k, secret, err := a.book.Create(r.Context(), k)
	return madeKey{k, secret}, err
}

// change gives a key other bounds: those that are named, in the place of what they were.
func (a *admin) change(r *http.Request) (any, error) {
	var n struct {
		Name    *string        `json:"name"`
		Models  []string       `json:"models"`
		Tools   []string       `json:"tools"`
		Routes  []string       `json:"routes"`
		Limits  []access.Quota `json:"limits"`
		Expires *string        `json:"expires"` // "never" takes the end away
	}
	if err := read(r, &n); err != nil {
		return nil, err
	}
	if n.Name == nil && n.Models == nil && n.Tools == nil && n.Routes == nil && n.Limits == nil && n.Expires == nil {
		return nil, bad("nothing says what to change: give name, models, tools, routes, limits or expires")
	}
	var expires time.Time
	if n.Expires != nil && *n.Expires != "never" {
		var err error
		if expires, err = access.ParseTime(*n.Expires, time.Now(), false); err != nil {
			return nil, bad("expires: %v", err)
		}
	}
	return a.book.Change(r.Context(), r.PathValue("id"), func(k *access.Key) {
		if n.Name != nil {
			k.Name = *n.Name
		}
		for _, bound := range []struct{ into, list *[]string }{{&k.Models, &n.Models}, {&k.Tools, &n.Tools}, {&k.Routes, &n.Routes}} {
			if *bound.list != nil {
				*bound.into = *bound.list
			}
		}
		if n.Limits != nil {
			if k.Limits = n.Limits; len(n.Limits) == 0 { // as of a team
				k.Limits = nil
			}
		}
		if n.Expires != nil {
			k.Expires = expires
		}
	})
}

func (a *admin) rotate(r *http.Request) (any, error) {
	var n struct {
		Grace string `json:"grace"` // like 24h
	}
	if err := read(r, &n); err != nil {
		return nil, err
	}
	grace := time.Duration(0)
	if n.Grace != "" {
		var err error
		if grace, err = access.ParseDuration(n.Grace); err != nil {
			return nil, bad("grace: %v", err)
		}
	}
	k, secret, err := a.book.Rotate(r.Context(), r.PathValue("id"), grace)
	return madeKey{k, secret}, err
}

func (a *admin) revoke(r *http.Request) (any, error) {
	return a.book.Revoke(r.Context(), r.PathValue("id"))
}

func (a *admin) teams(r *http.Request) (any, error) {
	teams, err := a.book.Teams(r.Context())
	return map[string]any{"teams": notNil(teams)}, err
}

func (a *admin) setTeam(r *http.Request) (any, error) {
	var n struct {
		Limits []access.Quota `json:"limits"`
	}
	if err := read(r, &n); err != nil {
		return nil, err
	}
	if n.Limits == nil {
		return nil, bad("the member limits is missing; [] takes all limits of the team away")
	}
	t := access.Team{Name: r.PathValue("name"), Limits: n.Limits}
	return t, a.book.SetTeam(r.Context(), t)
}

// bodies answers with what a request asked and was answered.
func (a *admin) bodies(r *http.Request) (any, error) {
	return a.book.Bodies(r.Context(), r.PathValue("id"))
}

// defaultLog is how many lines of the log are told if nobody says it.
const defaultLog = 100

// requests answers with the latest requests, as JSON or as a table.
func (a *admin) requests(w http.ResponseWriter, r *http.Request) {
	most := defaultLog
	if query := r.URL.Query(); query.Has("limit") {
		s := query.Get("limit")
		n, err := strconv.Atoi(s)
		if err != nil || n < 0 || n > access.MaxLog {
			a.fail(w, bad("limit: %.40q is no number from 0 to %d", s, access.MaxLog))
			return
		}
		most = n
	}
	only, err := a.picked(r)
	if err != nil {
		a.fail(w, err)
		return
	}
	log, err := a.book.LogOf(r.Context(), only, most)
	a.list(w, r, err, map[string]any{"requests": notNil(log)}, func() error { return access.WriteLog(w, log) })
}

// list answers with a list, as JSON or as a table.
func (a *admin) list(w http.ResponseWriter, r *http.Request, err error, asJSON any, asCSV func() error) {
	switch format := r.URL.Query().Get("format"); {
	case err != nil:
		a.fail(w, err)
	case format == "" || format == "json":
		vendorapi.WriteJSON(w, asJSON)
	case format == "csv":
		w.Header().Set("Content-Type", "text/csv; charset=utf-8")
		_ = asCSV() // who is gone needs no answer
	default:
		a.fail(w, bad("format: %.40q is neither json nor csv", format))
	}
}

// usage answers with what was used, as JSON or as a table.
func (a *admin) usage(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	var by []access.Grouping
	for word := range strings.SplitSeq(query.Get("by"), ",") {
		if word != "" {
			by = append(by, access.Grouping(word))
		}
	}
	var since time.Time
	var err error
	if query.Has("since") {
		if since, err = access.ParseTime(query.Get("since"), time.Now(), true); err != nil {
			a.fail(w, bad("since: %v", err))
			return
		}
		if access.PartOfDay(query.Get("since")) {
			a.fail(w, bad("since: sums are kept by day (of UTC), and less than one cannot be told: give a day like %s, or 1d or more; /admin/requests lists single requests with their time", time.Now().UTC().Format(time.DateOnly)))
			return
		}
	}
	only, err := a.picked(r)
	if err != nil {
		a.fail(w, err)
		return
	}
	spend, err := a.book.UsageOf(r.Context(), only, since, by...)
	a.list(w, r, err, map[string]any{"usage": notNil(spend)}, func() error { return access.WriteCSV(w, spend, by...) })
}

// notNil makes an empty list one in JSON, too.
func notNil[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

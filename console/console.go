package console

import (
	"context"
	"embed"
	"errors"
	"iter"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/toolpost/toolpost/catalog"
	"github.com/toolpost/toolpost/journal"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/provider"
)

// RunStore is a store of runs that can be listed and verified.
type RunStore interface {
	journal.Store
	journal.Lister
	Lines(ctx context.Context, run string) iter.Seq2[[]byte, error]
}

// Permission is what a user may do. The zero value may only read.
type Permission int

// The roles, each with the rights of those before it.
const (
	Viewer   Permission = iota // reads pages
	Operator                   // decides about waiting calls
	Admin                      // creates, rotates and revokes keys of the gateway
)

// String returns the word for the role.
func (r Permission) String() string {
	switch r {
	case Operator:
		return "operator"
	case Admin:
		return "admin"
	}
	return "viewer"
}

// Account is a person who may open the console.
type Account struct {
	Name       string // in the record of decisions
	Permission Permission
	Token      string // logs in; at least 16 bytes
}

// Console serves the pages. Its fields must not change once it serves.
type Console struct {
	Store    RunStore
	Accounts []Account
	// Evaluations shows results, drift and labels; nil hides those pages.
	Evaluations *Evaluations
	// Tools returns the definitions of the tools for runs; nil hides the page.
	Tools func(ctx context.Context) ([]llm.ToolDef, error)
	// Servers shows MCP servers; nil hides the page.
	Servers *MCPServers
	// Probe asks a model what it can do, and may keep the findings; nil hides the button.
	Probe func(ctx context.Context, id string) (*provider.Probe, error)
	// Gateway shows requests, keys and usage; nil hides those pages.
	Gateway *AdminAPI
	// Models are the models that the page of models knows; nil means the embedded catalogue.
	Models *catalog.Catalog
	// Hosts are accepted in the Host header besides localhost and loopback addresses.
	Hosts []string
	// Base is the path below which the console is mounted, like "/console". Empty means the root.
	Base string
	// Secure marks the session cookie for https only.
	Secure bool
	// Poll is how often a live page looks for new entries; 0 means a quarter of a second.
	Poll time.Duration

	once     sync.Once
	mux      *http.ServeMux
	sessions sessions
	index    *index
}

//go:embed assets
var assets embed.FS

// page is a request of a person who has logged in.
type page struct {
	*Console
	*http.Request
	session *session
}

// statusError is an error that a page reports with a status of its own.
type statusError struct {
	status int
	text   string
}

func (e *statusError) Error() string { return e.text }

func notFound(text string) error { return &statusError{http.StatusNotFound, text} }
func wrong(text string) error    { return &statusError{http.StatusBadRequest, text} }

// routes are the pages. A page of a role above viewer is for that role only.
var routes = []struct {
	pattern string
	role    Permission
	serve   func(page, http.ResponseWriter) error
}{
	{"GET /{$}", Viewer, (page).runs},
	{"GET /runs/{run}", Viewer, (page).run},
	{"GET /runs/{run}/live", Viewer, (page).live},
	{"GET /runs/{run}/text/{seq}", Viewer, (page).wholeText},
	{"GET /runs/{run}/script", Viewer, (page).script},
	{"GET /runs/{run}/case", Viewer, (page).evalCase},
	{"GET /runs/{run}/curl", Viewer, (page).curl},
	{"GET /runs/{run}/steps", Viewer, (page).replay},
	{"POST /runs/{run}/label", Operator, (page).label},
	{"GET /compare", Viewer, (page).compare},
	{"GET /approvals", Viewer, (page).approvals},
	{"POST /approvals/{run}/{call}", Operator, (page).decide},
	{"GET /explain", Viewer, (page).explain},
	{"POST /explain", Viewer, (page).explain},
	{"GET /models", Viewer, (page).models},
	{"POST /models", Operator, (page).probe},
	{"GET /tools", Viewer, (page).tools},
	{"GET /servers", Viewer, (page).servers},
	{"POST /servers/{name}/check", Operator, (page).checkServer},
	{"GET /evaluations", Viewer, (page).evaluations},
	{"GET /evaluations/{run}", Viewer, (page).evaluation},
	{"GET /evaluations/history", Viewer, (page).evaluationHistory},
	{"GET /evaluations/compare", Viewer, (page).evaluationCompare},
	{"GET /evaluations/drift", Viewer, (page).evaluationDrift},
	{"GET /evaluations/labels", Viewer, (page).labels},
	{"GET /evaluations/labels.jsonl", Viewer, (page).labelledSuite},
	{"GET /gateway", Viewer, (page).gateway},
	{"GET /gateway/requests", Viewer, (page).requests},
	{"GET /gateway/requests/{id}", Viewer, (page).request},
	{"GET /gateway/keys", Admin, (page).keys},
	{"POST /gateway/keys", Admin, (page).createKey},
	{"POST /gateway/keys/{id}/rotate", Admin, (page).rotateKey},
	{"POST /gateway/keys/{id}/revoke", Admin, (page).revokeKey},
	{"GET /gateway/usage", Viewer, (page).usage},
	{"GET /gateway/audit", Admin, (page).audit},
}

func (c *Console) prepare() {
	c.index = newIndex(c.Store)
	c.sessions.users = c.Accounts
	c.mux = http.NewServeMux()
	c.mux.HandleFunc("GET /login", c.loginPage)
	c.mux.HandleFunc("POST /login", c.login)
	c.mux.HandleFunc("POST /logout", c.logout)
	files := http.FileServerFS(assets)
	c.mux.Handle("GET /assets/", files)
	for _, r := range routes {
		c.mux.HandleFunc(r.pattern, func(w http.ResponseWriter, req *http.Request) { c.servePage(w, req, r.role, r.serve) })
	}
	c.mux.HandleFunc("/", func(w http.ResponseWriter, req *http.Request) {
		c.servePage(w, req, Viewer, func(page, http.ResponseWriter) error { return notFound("There is no such page.") })
	})
}

// ServeHTTP implements [http.Handler].
func (c *Console) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c.once.Do(c.prepare)
	setHeaders(w.Header())
	if !c.knownHost(r.Host) {
		http.Error(w, "The console does not answer for this host. Add it to the accepted hosts, or use localhost.", http.StatusMisdirectedRequest)
		return
	}
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		if !sameOrigin(r) {
			http.Error(w, "This request came from another page.", http.StatusForbidden)
			return
		}
		r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	}
	if c.Base != "" {
		rest, ok := strings.CutPrefix(r.URL.Path, c.Base)
		if rest == "" {
			http.Redirect(w, r, c.Base+"/", http.StatusSeeOther)
			return
		}
		if !ok || rest[0] != '/' {
			http.NotFound(w, r)
			return
		}
		inner := r.Clone(r.Context())
		inner.URL.Path, inner.URL.RawPath = rest, ""
		inner.Body = r.Body
		r = inner
	}
	c.mux.ServeHTTP(w, r)
}

// maxForm limits what a person may send, in bytes.
const maxForm = 2 << 20

// servePage answers a request of a person with a session and the role of the page.
func (c *Console) servePage(w http.ResponseWriter, r *http.Request, role Permission, serve func(page, http.ResponseWriter) error) {
	s := c.sessions.of(r)
	if s == nil {
		if r.Method == http.MethodGet {
			http.Redirect(w, r, c.Base+"/login", http.StatusSeeOther)
			return
		}
		http.Error(w, "Log in first.", http.StatusUnauthorized)
		return
	}
	p := page{c, r, s}
	var err error
	switch {
	case s.user.Permission < role:
		err = &statusError{http.StatusForbidden, "This page is for the role " + role.String() + ". You are " + s.user.Name + ", " + s.user.Permission.String() + "."}
	case r.Method == http.MethodPost && !s.formIsOurs(r):
		err = &statusError{http.StatusForbidden, "The form is out of date. Load the page again."}
	default:
		err = serve(p, w)
	}
	if err != nil {
		p.fail(w, err)
	}
}

// fail answers with an error.
func (p page) fail(w http.ResponseWriter, err error) {
	status := http.StatusInternalServerError
	var own *statusError
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &own):
		status = own.status
	case errors.As(err, &large):
		status = http.StatusRequestEntityTooLarge
	case p.Context().Err() != nil:
		return
	}
	w.WriteHeader(status)
	p.write(w, "Error", errorBody(err.Error()))
}

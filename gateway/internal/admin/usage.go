package admin

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/toolpost/toolpost/internal/access"
	"github.com/toolpost/toolpost/internal/vendorapi"
)

// filterNames returns the query parameters that filter requests.
func filterNames() (names []string) {
	for _, g := range access.Filters {
		names = append(names, string(g))
	}
	return names
}

// filter reads the filter of a request.
func (a *Handler) filter(r *http.Request) (access.Filter, error) {
	query, only := r.URL.Query(), access.Filter{}
	for _, g := range access.Filters {
		if query.Has(string(g)) {
			only[g] = query.Get(string(g))
		}
	}
	return a.Book.Resolve(r.Context(), only)
}

// bodies answers with the logged bodies of a request and its answer.
func (a *Handler) bodies(r *http.Request) (any, error) {
	return a.Book.Bodies(r.Context(), r.PathValue("id"))
}

// defaultLog is the default number of log lines.
const defaultLog = 100

// limitOf returns how many entries of a log are asked for.
func limitOf(r *http.Request) (int, error) {
	query := r.URL.Query()
	if !query.Has("limit") {
		return defaultLog, nil
	}
	s := query.Get("limit")
	n, err := strconv.Atoi(s)
	if err != nil || n < 0 || n > access.MaxLog {
		return 0, Invalidf("limit: %.40q is not a number from 0 to %d", s, access.MaxLog)
	}
	return n, nil
}

// audit answers with the latest changes of keys and teams.
func (a *Handler) audit(r *http.Request) (any, error) {
	most, err := limitOf(r)
	if err != nil {
		return nil, err
	}
	changes, err := a.Book.Audit(r.Context(), most)
	return map[string]any{"changes": notNil(changes)}, err
}

func (a *Handler) requests(w http.ResponseWriter, r *http.Request) {
	most, err := limitOf(r)
	if err != nil {
		a.fail(w, err)
		return
	}
	only, err := a.filter(r)
	if err != nil {
		a.fail(w, err)
		return
	}
	query := r.URL.Query()
	q := access.LogQuery{Only: only, Most: most, ID: query.Get("id"), Before: query.Get("before"), Failed: query.Get("status") == "failed"}
	if status := query.Get("status"); status != "" && !q.Failed {
		a.fail(w, Invalidf("status: %.40q is not failed", status))
		return
	}
	log, err := a.Book.Search(r.Context(), q)
	a.list(w, r, err, map[string]any{"requests": notNil(log)}, func() error { return access.WriteLog(w, log) })
}

// list answers with a list, as JSON or CSV.
func (a *Handler) list(w http.ResponseWriter, r *http.Request, err error, asJSON any, asCSV func() error) {
	switch format := r.URL.Query().Get("format"); {
	case err != nil:
		a.fail(w, err)
	case format == "" || format == "json":
		vendorapi.WriteJSON(w, asJSON)
	case format == "csv":
		w.Header().Set("Content-Type", "text/csv; charset=utf-8")
		_ = asCSV() // the client may be gone
	default:
		a.fail(w, Invalidf("format: %.40q is neither json nor csv", format))
	}
}

// usage answers with the usage by key, team or another grouping, as JSON or CSV.
func (a *Handler) usage(w http.ResponseWriter, r *http.Request) {
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
			a.fail(w, Invalidf("since: %v", err))
			return
		}
		if access.PartOfDay(query.Get("since")) {
			a.fail(w, Invalidf("since: sums are kept per UTC day: give a day like %s, or 1d or more; /admin/requests lists single requests with their time", time.Now().UTC().Format(time.DateOnly)))
			return
		}
	}
	only, err := a.filter(r)
	if err != nil {
		a.fail(w, err)
		return
	}
	spend, err := a.Book.UsageOf(r.Context(), only, since, by...)
	a.list(w, r, err, map[string]any{"usage": notNil(spend)}, func() error { return access.WriteCSV(w, spend, by...) })
}

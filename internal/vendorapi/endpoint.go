package vendorapi

import (
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/toolpost/toolpost/internal/wire/serverapi"
	"github.com/toolpost/toolpost/wire"
)

// Endpoint is the operation that a request asks for, and the codec of the client's format.
type Endpoint struct {
	Action serverapi.Operation
	Codec  wire.Codec
	path   *requestPath // of the codec that Find chose
}

// requestPath describes what the path of a request contains. A route computes it once: properties are large, and the
// request of a stream is read on a small stack.
type requestPath struct {
	format        string
	model, stream bool // the path contains the model, and whether the answer is a stream
	emptyLoads    bool
	deployments   string
}

func describePath(c wire.Codec) *requestPath {
	p, server := c.Properties(), c.Server()
	return &requestPath{c.Format, p.ModelInPath(), p.StreamInPath(), p.EmptyLoads, server.Deployments}
}

// route is a route of a format.
type route struct {
	serverapi.ServerPath
	name string // of the format
	path *requestPath
}

// routes are the routes of all formats. Exact paths and patterns come before prefixes.
var routes = sync.OnceValue(func() []route {
	var list []route
	for _, name := range wire.Formats() {
		for _, r := range (wire.Codec{Format: name}).Server().Routes {
			list = append(list, route{r, name, describePath(wire.Codec{Format: name, Quirks: r.Quirks})})
		}
	}
	slices.SortStableFunc(list, func(a, b route) int {
		switch a, b := a.isPrefix(), b.isPrefix(); {
		case a == b:
			return 0
		case a:
			return 1
		}
		return -1
	})
	return list
})

func (r route) isPrefix() bool { return strings.HasSuffix(r.Path, "/") }

func (r route) matches(method, path string) bool {
	if r.Method != method {
		return false
	}
	if r.isPrefix() {
		return strings.HasPrefix(path, r.Path)
	}
	rest, after := path, r.Path
	for {
		var before string
		var more bool
		if before, after, more = strings.Cut(after, "*"); !more {
			return before == rest || before != r.Path && strings.HasSuffix(rest, before)
		}
		i := strings.Index(rest, before)
		if i < 0 {
			return false
		}
		rest = rest[i+len(before):]
	}
}

// Find returns the endpoint of a request. For an unknown path the action is [format.NoOperation], in the client's format as
// far as path and headers tell it.
func Find(r *http.Request) Endpoint {
	for _, p := range routes() {
		if p.matches(r.Method, r.URL.Path) {
			name := p.name
			if p.Shared {
				name = formatOf(r)
			}
			return Endpoint{p.Action, wire.Codec{Format: name, Quirks: p.Quirks}, p.path}
		}
	}
	return Endpoint{Action: serverapi.NoOperation, Codec: wire.Codec{Format: formatOf(r)}}
}

// Route returns the path of a request with * in place of names and ids, and "" for unknown paths. The number of results
// is limited, so they can be labels of metrics.
func Route(r *http.Request) string {
	for _, p := range routes() {
		if !p.matches(r.Method, r.URL.Path) {
			continue
		}
		if !p.isPrefix() {
			return p.Path
		}
		model, _, ok := wire.Codec{Format: p.name}.SplitPath(r.URL.Path)
		if verb, found := strings.CutPrefix(r.URL.Path, p.Path+model); p.Action == serverapi.Generate && ok && found {
			return p.Path + "*" + verb
		}
		return p.Path + "*"
	}
	return ""
}

// formatOf returns the format that the headers of a request identify, or else its path. The default is the first format.
func formatOf(r *http.Request) string {
	names := wire.Formats()
	byPath := names[0]
	for _, name := range slices.Backward(names) {
		if prefix := (wire.Codec{Format: name}).Server().Prefix; prefix != "" && strings.HasPrefix(r.URL.Path, prefix) {
			byPath = name
		}
	}
	for _, name := range names {
		if header := (wire.Codec{Format: name}).Server().Header; header != "" && r.Header.Get(header) != "" {
			return name
		}
	}
	return byPath
}

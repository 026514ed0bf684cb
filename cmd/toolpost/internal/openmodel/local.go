package openmodel

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/toolpost/toolpost/catalog"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/cli"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/settings"
	"github.com/toolpost/toolpost/internal/near"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/sim"
	"github.com/toolpost/toolpost/wire"
)

// server is a server on this machine that answers, with its models.
type server struct {
	vendor, base string
	models       []string
}

// localServers asks the usual local servers concurrently for their models. The result is in the order of locals. A server
// without models did not answer.
func localServers(ctx context.Context, o *settings.ModelOptions) []server {
	out := make([]server, len(settings.LocalServers))
	var asking sync.WaitGroup
	for i, vendor := range settings.LocalServers {
		out[i].vendor = vendor
		if !slices.Contains(o.Local, vendor) {
			continue
		}
		var format string
		if out[i].base, format = addressOf(o, vendor); out[i].base == "" {
			continue // opening a model of this server reports the error
		}
		asking.Go(func() { out[i].models, _ = modelsOf(ctx, out[i].base, format, Patience) })
	}
	asking.Wait()
	return out
}

// addressOf returns the address and the format of a vendor or of one of the user's providers, or "" if it has none.
func addressOf(o *settings.ModelOptions, vendor string) (base, format string) {
	row := settings.Vendors()[vendor]
	if len(row.Wires) > 0 {
		format = row.Wires[0]
	}
	if p, ok := o.Providers[vendor]; ok {
		return p.BaseURL, cmp.Or(p.Wire, format, "chat")
	}
	base, err := row.Root()
	if err != nil || format == "" {
		return "", ""
	}
	return base, format
}

// maxServed limits the models taken from one server.
const maxServed = 1000

// modelsOf returns a server's list of models, nil if it gives none. The error means that no server answers.
func modelsOf(ctx context.Context, base, format string, limit time.Duration) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	codec := wire.Codec{Format: format}
	list := codec.Properties().Models
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimSuffix(base, "/")+"/"+list.Path, nil)
	if err != nil {
		return nil, nil
	}
	resp, err := local.Do(req)
	if err != nil {
		return nil, &llm.Error{Kind: llm.Network, Err: fmt.Errorf("no server answers at %s", cli.InOneLine(req.URL.Host))}
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	if err != nil || resp.StatusCode != http.StatusOK {
		return nil, nil
	}
	names := list.Names(body)
	names = names[:min(len(names), maxServed)]
	for i, name := range names {
		if strings.HasSuffix(name, ".gguf") { // a model file of the server
			names[i] = path.Base(name)
		}
	}
	return names, nil
}

// FindLocal returns the first model of each server, in the order of locals. Without one, the id is empty and the reason
// names the address.
func FindLocal(ctx context.Context, o *settings.ModelOptions) []Choice {
	out := make([]Choice, len(settings.LocalServers))
	for i, srv := range localServers(ctx, o) {
		out[i].Why = "no answer at " + cmp.Or(settings.RedactAddress(srv.base), "its address")
		if len(srv.models) > 0 {
			out[i] = Choice{srv.vendor + "/" + srv.models[0], "a server answers at " + srv.base}
		}
	}
	return out
}

// Usable returns the models that are usable now: those of vendors whose key is set, those of local servers that
// answer, agent programs, and the offline model. It sends no requests to other machines.
func Usable(ctx context.Context, o *settings.ModelOptions) []Choice {
	out := WithKey(o)
	for _, srv := range localServers(ctx, o) {
		for _, model := range srv.models {
			out = append(out, Choice{srv.vendor + "/" + model, "a server answers at " + srv.base})
		}
	}
	for _, p := range AgentPrograms(o) {
		if p.Why == nil {
			out = append(out, Choice{p.ID, "an agent program of the configuration, " + cli.InOneLine(p.Path)})
		}
	}
	return append(out, Choice{OfflineID, "it is always there; it follows rules and is not a language model"})
}

// WithKey returns the default models of vendors whose key is set, and the user's own servers.
func WithKey(o *settings.ModelOptions) []Choice {
	var out []Choice
	table := settings.Vendors()
	for _, k := range Keyed {
		if env := table[k.Vendor].KeyEnv; env != "" && os.Getenv(env) != "" {
			out = append(out, Choice{k.Vendor + "/" + k.Model, env + " is set; so are all its other models, as " + k.Vendor + "/…"})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(o.Providers)) {
		if !slices.Contains(settings.LocalServers, name) {
			out = append(out, Choice{name + "/…", "one of your providers, " + o.Providers[name].Where()})
		}
	}
	return out
}

// onServer returns the model of a local server for an id without a provider.
func onServer(ctx context.Context, o *settings.ModelOptions, id string) (f Choice, ok bool) {
	for _, srv := range localServers(ctx, o) {
		for _, model := range srv.models {
			if model == id || model == id+":latest" {
				return Choice{srv.vendor + "/" + model, "the server at " + srv.base + " has " + id}, true
			}
		}
	}
	return Choice{}, false
}

// Open opens a model. An id without a provider is looked up on local servers, and a server without a model is asked for
// its models. The error for an unknown model suggests a similar name.
func Open(ctx context.Context, o *settings.ModelOptions, f Choice, open func(string) (llm.Model, error)) (llm.Model, Choice, error) {
	m, err := open(f.ID)
	if err == nil {
		return m, f, nil
	}
	there, found := Choice{}, false
	if srv, ok := serverNamed(o, f.ID); ok {
		there, err = onlyModel(ctx, srv, f.ID)
		found = err == nil
	} else if llm.KindOf(err) == llm.NotFound {
		there, found = onServer(ctx, o, f.ID)
	}
	if found {
		m, err := open(there.ID)
		return m, there, err
	}
	near, more := nearModel(ctx, o, f.ID)
	switch {
	case llm.KindOf(err) == llm.NotFound && strings.Contains(err.Error(), "nobody is known"):
		err = misnamed{err, f.ID, near, more}
	case near == "":
	default:
		err = fmt.Errorf("%w; did you mean %s?", err, near)
	}
	return nil, f, err
}

// misnamed is the error for a model that nobody serves. Its message leaves out the list of all vendors.
type misnamed struct {
	error
	id   string
	near string // the model that is probably meant
	more string // what else helps
}

func (m misnamed) Error() string {
	said := fmt.Sprintf("nobody is known to serve %q", cli.InOneLine(m.id))
	switch {
	case m.more != "":
		return said + "; " + m.more
	case m.near != "":
		return said + "; did you mean " + m.near + "?"
	}
	return said + "; put who serves it in front, like ollama/" + cli.InOneLine(m.id) + ", or an address, like http://host/v1#" + cli.InOneLine(m.id)
}

func (m misnamed) Unwrap() error { return m.error }

// digits returns the digits of a name: versions and sizes are no misspellings.
func digits(name string) string {
	return strings.Map(func(r rune) rune {
		if r < '0' || r > '9' {
			return -1
		}
		return r
	}, name)
}

// nearModel returns the known model closest to an id, "" if none is close, and for names in the style of Ollama what
// can be done.
func nearModel(ctx context.Context, o *settings.ModelOptions, id string) (like, more string) {
	name, model, slash := strings.Cut(id, "/")
	_, own := o.Providers[name]
	if _, server := serverNamed(o, id); server || own && slash || strings.Contains(id, "://") {
		return "", ""
	}
	switch {
	case name == "sim" && slash:
		return near.Word(id, append(sim.Models(), "sim/offline")), ""
	case slash:
		vendor := near.Word(name, slices.Sorted(maps.Keys(settings.Vendors())))
		if vendor == "" || vendor == name {
			return "", ""
		}
		return vendor + "/" + model, ""
	}
	usable := Usable(ctx, o)
	base, tag, _ := strings.Cut(id, ":")
	var here []string // models of servers on this machine
	for _, f := range usable {
		vendor, model, _ := strings.Cut(f.ID, "/")
		if !slices.Contains(settings.LocalServers, vendor) {
			continue
		}
		if here = append(here, f.ID); tag == "" && strings.HasPrefix(model, base+":") { // qwen3 for qwen3:8b
			return f.ID, ""
		}
	}
	for _, f := range usable {
		_, model, _ := strings.Cut(f.ID, "/")
		if near.Word(id, []string{model}) != "" && digits(id) == digits(model) {
			return f.ID, ""
		}
	}
	if base != "" && tag != "" { // the way Ollama writes names
		if len(here) == 0 {
			return "ollama/" + id, "try ollama/" + id + ", which needs a running Ollama"
		}
		return "ollama/" + id, fmt.Sprintf("on this machine there are %s; 'ollama pull %s' would add it", strings.Join(here[:min(len(here), maxListed)], ", "), id)
	}
	var names []string
	for _, m := range catalog.Default().Models() {
		names = append(names, m.ID.Raw)
	}
	return near.Word(id, names), ""
}

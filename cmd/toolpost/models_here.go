package main

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

	tea "charm.land/bubbletea/v2"

	"github.com/toolpost/toolpost/catalog"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/cli"
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

// servers asks the usual local servers concurrently for their models. The result is in the order of locals. A server
// without models did not answer.
func (s *settings) servers(ctx context.Context) []server {
	table := vendors()
	out := make([]server, len(locals))
	var asking sync.WaitGroup
	for i, vendor := range locals {
		out[i].vendor = vendor
		if !slices.Contains(s.Local, vendor) {
			continue
		}
		base, err := table[vendor].Root()
		codec := wire.Codec{Format: table[vendor].Wires[0]}
		if p, ok := s.Providers[vendor]; ok {
			base, codec.Format = p.BaseURL, cmp.Or(p.Wire, codec.Format)
		} else if err != nil {
			continue // opening a model of this server reports the error
		}
		list := codec.Properties().Models
		out[i].base = base
		asking.Go(func() { out[i].models = modelsOf(ctx, strings.TrimSuffix(base, "/")+"/"+list.Path, list) })
	}
	asking.Wait()
	return out
}

// maxServed limits the models taken from one server.
const maxServed = 1000

// modelsOf returns a server's list of models, nil if the server does not answer.
func modelsOf(ctx context.Context, address string, list wire.ModelList) []string {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil
	}
	resp, err := local.Do(req)
	if err != nil {
		return nil
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	if err != nil || resp.StatusCode != http.StatusOK {
		return nil
	}
	names := list.Names(body)
	names = names[:min(len(names), maxServed)]
	for i, name := range names {
		if strings.HasSuffix(name, ".gguf") { // a model file of the server
			names[i] = path.Base(name)
		}
	}
	return names
}

// findLocal returns the first model of each server, in the order of locals. The id is empty if there is none.
func (s *settings) findLocal(ctx context.Context) []found {
	out := make([]found, len(locals))
	for i, srv := range s.servers(ctx) {
		if len(srv.models) > 0 {
			out[i] = found{srv.vendor + "/" + srv.models[0], "a server answers at " + srv.base}
		}
	}
	return out
}

// usableModels returns the models that are usable now: those of vendors whose key is set, those of local servers that
// answer, agent programs, and the offline model. It sends no requests to other machines.
func (s *settings) usableModels(ctx context.Context) []found {
	out := s.keyedModels()
	for _, srv := range s.servers(ctx) {
		for _, model := range srv.models {
			out = append(out, found{srv.vendor + "/" + model, "a server answers at " + srv.base})
		}
	}
	for _, p := range s.findAgents() {
		if p.why == nil {
			out = append(out, found{p.id, "an agent program of the configuration, " + cli.InOneLine(p.path)})
		}
	}
	return append(out, found{offlineID, "it is always there; it follows rules and is no language model"})
}

// keyedModels returns the default models of vendors whose key is set, and the user's own servers.
func (s *settings) keyedModels() []found {
	var out []found
	table := vendors()
	for _, k := range keyed {
		if env := table[k.vendor].KeyEnv; env != "" && os.Getenv(env) != "" {
			out = append(out, found{k.vendor + "/" + k.model, env + " is set; so are all its other models, as " + k.vendor + "/…"})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.Providers)) {
		if !slices.Contains(locals, name) {
			out = append(out, found{name + "/…", "one of your providers, " + s.Providers[name].where()})
		}
	}
	return out
}

// printUsable prints models and the reasons why they are usable.
func printUsable(w io.Writer, models []found) error {
	p := cli.Colours(w)
	width := 0
	for _, m := range models {
		width = max(width, len(m.ID))
	}
	for _, m := range models {
		if _, err := fmt.Fprintf(w, "%-*s  %s\n", width, m.ID, p.Dim(m.Why)); err != nil {
			return err
		}
	}
	return nil
}

// onServer returns the model of a local server for an id without a provider.
func (s *settings) onServer(ctx context.Context, id string) (f found, ok bool) {
	for _, srv := range s.servers(ctx) {
		for _, model := range srv.models {
			if model == id || model == id+":latest" {
				return found{srv.vendor + "/" + model, "the server at " + srv.base + " has " + id}, true
			}
		}
	}
	return found{}, false
}

// open opens a model. An id without a provider is looked up on local servers. The error for an unknown model suggests a
// similar name.
func (s *settings) open(ctx context.Context, f found, open func(string) (llm.Model, error)) (llm.Model, found, error) {
	m, err := open(f.ID)
	if err == nil {
		return m, f, nil
	}
	if llm.KindOf(err) == llm.NotFound {
		if there, ok := s.onServer(ctx, f.ID); ok {
			m, err := open(there.ID)
			return m, there, err
		}
	}
	switch near := s.nearModel(ctx, f.ID); {
	case near == "":
	case llm.KindOf(err) == llm.NotFound:
		err = misnamed{err, f.ID, near}
	default:
		err = fmt.Errorf("%w; did you mean %s?", err, near)
	}
	return nil, f, err
}

// misnamed is the error for an unknown model with a similar name. Its message leaves out the general help about model
// names.
type misnamed struct {
	error
	id, near string
}

func (m misnamed) Error() string {
	return fmt.Sprintf("nobody is known to serve %q; did you mean %s?", m.id, m.near)
}

func (m misnamed) Unwrap() error { return m.error }

// nearModel returns the known model closest to an id, "" if none is close.
func (s *settings) nearModel(ctx context.Context, id string) string {
	first := func(word string, names []string) string {
		return strings.Join(near.Names(word, names, 1), "")
	}
	name, model, slash := strings.Cut(id, "/")
	switch {
	case strings.Contains(id, "://"):
		return ""
	case name == "sim" && slash:
		return first(id, append(sim.Models(), "sim/offline"))
	case slash:
		vendor := first(name, slices.Sorted(maps.Keys(vendors())))
		if vendor == "" || vendor == name {
			return ""
		}
		return vendor + "/" + model
	}
	var names []string
	for _, f := range s.usableModels(ctx) {
		_, model, _ := strings.Cut(f.ID, "/")
		if len(near.Names(id, []string{model}, 1)) > 0 {
			return f.ID
		}
	}
	for _, m := range catalog.Default().Models() {
		names = append(names, m.ID.Raw)
	}
	return first(id, names)
}

// modelsFound reports the usable models to the screen.
type modelsFound []found

// listModels lists the usable models. It asks the servers in the background.
func (c *chat) listModels(string) tea.Cmd {
	ctx, s := c.ctx, c.w.settings
	return func() tea.Msg { return modelsFound(s.usableModels(ctx)) }
}

// showModels shows the result of listModels.
func (c *chat) showModels(models modelsFound) {
	var b strings.Builder
	c.served = nil
	for _, m := range models {
		c.served = append(c.served, m.ID)
		mark := "  "
		if m.ID == c.w.found.ID {
			mark = "→ "
		}
		fmt.Fprintf(&b, "%s%s %s\n", mark, c.p.Bold(cli.Printable(m.ID)), c.p.Dim(cli.Printable(m.Why)))
	}
	b.WriteString(c.p.Dim("/model ID goes on with another one"))
	c.log.add(shownAs, b.String())
}

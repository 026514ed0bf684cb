package serve

import (
	"slices"
	"strings"

	"github.com/toolpost/toolpost/catalog"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/codingagents"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/openmodel"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/settings"
	"github.com/toolpost/toolpost/provider"
)

// maxAgentNames limits the names that are written into the configuration of an agent.
const maxAgentNames = 50

// agentNames are the names that a coding agent can use, with what is known of their models.
type agentNames struct {
	c      settings.GatewayConfig
	format string
	client *provider.Client
}

// valuesFor returns what a coding agent is told about the gateway. The name is that of its model, or "" to choose one.
// The result has no main name if no route answers clients of the format by a known name.
func valuesFor(s *settings.Settings, a codingagents.Agent, name string) (v codingagents.Values, err error) {
	n := agentNames{c: s.Gateway, format: a.WireFormat()}
	if n.client, err = openmodel.Client(&s.ModelOptions); err != nil {
		return v, err
	}
	if name == "" && a.Prefers != "" {
		name = n.sized(a.Prefers, "")
	}
	if name == "" {
		name = nameFor(s.Gateway, n.format)
	}
	if name == "" {
		return v, nil
	}
	v.Main, v.Key = n.model(name), NoKey
	v.Opus, v.Sonnet, v.Haiku = n.sized("opus", name), n.sized("sonnet", name), n.sized("haiku", name)
	v.Small = name
	for _, word := range []string{"haiku", "small", "mini", "flash", "nano"} {
		if r := n.named(word); r != "" {
			v.Small = r
			break
		}
	}
	v.All = []codingagents.Model{v.Main}
	if v.Small != name {
		v.All = append(v.All, n.model(v.Small))
	}
	for _, r := range s.Gateway.Routes {
		taken := slices.ContainsFunc(v.All, func(m codingagents.Model) bool { return m.Name == r.Model })
		if !taken && n.shown(r) && len(v.All) < maxAgentNames {
			v.All = append(v.All, n.model(r.Model))
		}
	}
	return v, nil
}

// serves reports whether clients of the format may use a route.
func (n agentNames) serves(r settings.RouteConfig) bool {
	return r.From == nil || slices.Contains(r.From, n.format)
}

// shown reports whether a route has one name, which lists of models show.
func (n agentNames) shown(r settings.RouteConfig) bool {
	return n.serves(r) && !r.Hidden && !strings.HasSuffix(r.Model, "*") && r.Model != ""
}

// named returns the name of the first route that has a word in its name, "" if there is none.
func (n agentNames) named(word string) string {
	for _, r := range n.c.Routes {
		if n.shown(r) && strings.Contains(strings.ToLower(r.Model), word) {
			return r.Model
		}
	}
	return ""
}

// sized returns the name for one of the sizes of Claude. If no route has one, it is the name of the main model.
func (n agentNames) sized(word, main string) string {
	if name := n.named(word); name != "" {
		return name
	}
	if strings.Contains(main, word) {
		return main
	}
	for _, r := range n.c.Routes {
		prefix, star := strings.CutSuffix(r.Model, "*")
		like := "claude-" + word
		if !star || !n.serves(r) || r.Hidden || prefix == "" || !strings.HasPrefix(like, strings.TrimSuffix(prefix, "-")) && !strings.HasPrefix(prefix, like) {
			continue
		}
		if name := newest(prefix, word); name != "" {
			return name
		}
		if len(r.To) > 0 && !strings.Contains(r.To[0].Model, "*") { // every name leads to one model
			return prefix + strings.TrimPrefix(like, prefix)
		}
	}
	return main
}

// newest returns the newest model of the catalogue whose name begins so and has a word, "" if there is none.
func newest(prefix, word string) string {
	var best catalog.ID
	for _, m := range catalog.Default().Models() {
		if strings.HasPrefix(m.ID.Raw, prefix) && strings.Contains(m.ID.Raw, word) && (best.Raw == "" || m.ID.Version.Compare(best.Version) > 0) {
			best = m.ID
		}
	}
	return best.Raw
}

// route returns the route of a name, as the gateway finds it.
func (n agentNames) route(name string) (best settings.RouteConfig, found bool) {
	length := -1
	for _, r := range n.c.Routes {
		prefix, star := strings.CutSuffix(r.Model, "*")
		switch {
		case !n.serves(r):
		case !star && r.Model == name:
			return r, true
		case star && strings.HasPrefix(name, prefix) && len(prefix) > length:
			best, found, length = r, true, len(prefix)
		}
	}
	return best, found
}

// model returns what is known of the model that answers for a name.
func (n agentNames) model(name string) codingagents.Model {
	out := codingagents.Model{Name: name}
	r, found := n.route(name)
	if !found || len(r.To) == 0 {
		return out
	}
	prefix, _ := strings.CutSuffix(r.Model, "*")
	info, known := n.info(strings.Replace(r.To[0].Model, "*", strings.TrimPrefix(name, prefix), 1))
	if !known {
		return out
	}
	out.Context, out.Output = info.ContextWindow, info.MaxOutput
	if p := info.Price; p.Known {
		out.Priced, out.In, out.Out, out.Cached = true, perMillion(p.Input), perMillion(p.Output), perMillion(p.CacheRead)
	}
	return out
}

// perMillion returns the price of a million tokens in dollars.
func perMillion(m catalog.Money) float64 { return float64(m) / 1e6 }

// info returns what the catalogue knows of an upstream, also if its vendor has no key yet.
func (n agentNames) info(id string) (info catalog.Model, known bool) {
	if m, err := n.client.Open(id); err == nil {
		if p, ok := m.(*provider.Model); ok {
			return p.Info(), p.Info().Known()
		}
		return info, false
	}
	info = n.client.Catalog.Lookup(id)
	return info, info.Known()
}

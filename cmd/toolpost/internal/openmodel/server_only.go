package openmodel

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/toolpost/toolpost/cmd/toolpost/internal/cli"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/settings"
	"github.com/toolpost/toolpost/llm"
)

// unnamed is a server that an id names without a model.
type unnamed struct {
	base, format string
	prefix       string // with the name of a model, the id of the model
}

// serverNamed returns the server of an id that names no model: a local server ("ollama"), a provider of the user, or an
// address ("http://host/v1").
func serverNamed(o *settings.ModelOptions, id string) (unnamed, bool) {
	if scheme, rest, ok := strings.Cut(id, "://"); ok {
		vendor, transport, named := strings.Cut(scheme, "+")
		if !named {
			vendor, transport = "openai", scheme
		}
		usual, format := addressOf(o, vendor)
		if transport != "http" && transport != "https" || format == "" || strings.Contains(id, "#") {
			return unnamed{}, false
		}
		base, err := url.Parse(transport + "://" + rest)
		if err != nil || base.User != nil || base.RawQuery != "" { // opening refuses it; a password must not be sent or printed
			return unnamed{}, false
		}
		if u, err := url.Parse(usual); named && err == nil && base.Path == "" {
			base.Path = u.Path
		}
		return unnamed{base: base.String(), format: format, prefix: id + "#"}, true
	}
	name := strings.TrimSuffix(id, "/")
	_, own := o.Providers[name]
	if !own && !slices.Contains(settings.LocalServers, name) {
		return unnamed{}, false
	}
	base, format := addressOf(o, name)
	return unnamed{base: base, format: format, prefix: name + "/"}, base != ""
}

// maxListed limits the models that an error lists.
const maxListed = 12

// onlyModel returns the model of a server that has one. The error lists the models of a server that has several.
func onlyModel(ctx context.Context, srv unnamed, id string) (Choice, error) {
	models, err := modelsOf(ctx, srv.base, srv.format, 10*Patience)
	if err != nil {
		return Choice{}, err
	}
	shown := make([]string, 0, maxListed)
	for _, m := range models[:min(len(models), maxListed)] {
		shown = append(shown, cli.InOneLine(srv.prefix+m))
	}
	switch len(models) {
	case 0:
		return Choice{}, &llm.Error{Kind: llm.NotFound, Err: fmt.Errorf("%s names no model, and the server lists none; write %sMODEL", cli.InOneLine(id), cli.InOneLine(srv.prefix))}
	case 1:
		return Choice{srv.prefix + models[0], "it is the only model of " + cli.InOneLine(id)}, nil
	}
	more := ""
	if len(models) > maxListed {
		more = fmt.Sprintf("\n  and %d more", len(models)-maxListed)
	}
	return Choice{}, &llm.Error{Kind: llm.NotFound, Err: fmt.Errorf("%s has %d models; choose one with -m:\n  %s%s", cli.InOneLine(id), len(models), strings.Join(shown, "\n  "), more)}
}

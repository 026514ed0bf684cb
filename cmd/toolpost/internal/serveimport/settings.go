package serveimport

import (
	"slices"

	"github.com/goccy/go-yaml/ast"

	"github.com/toolpost/toolpost/cmd/toolpost/internal/configcheck"
)

// setting imports one setting, or reports why it is left out.
func (in *importer) setting(section string, k, v ast.Node) {
	switch name := keyName(k); name {
	case "fallbacks", "context_window_fallbacks", "content_policy_fallbacks":
		if len(items(v)) == 0 {
			in.skip(k, "%s is no list of models and their fallbacks", name)
		} else if name != "fallbacks" {
			in.skip(k, "%s are fallbacks for every failure here, not only for the one in their name", name)
		}
		for _, row := range items(v) {
			for from, to := range configcheck.Members(row) {
				in.fallbacks(from, to)
			}
		}
	case "model_group_alias":
		if len(items(v)) > 0 || configcheck.Scalar(v) != "" {
			in.skip(k, "model_group_alias is no mapping of names to models")
		}
		for name, of := range configcheck.Members(v) {
			in.alias(name, of)
		}
	case "cache":
		switch on, known := truth(v); {
		case !known:
			in.skip(k, "cache is not taken over: it is neither true nor false")
		case on:
			for _, r := range in.routes {
				r.cache = "10m"
			}
			in.skip(k, "cache: answers are given again for 10 minutes, to requests without tools; see cache and cache_tools")
		}
	case "master_key", "database_url", "store_model_in_db":
		in.keys = true
		in.skip(k, "%s is not taken over: 'toolpost keys' makes keys, and keys: in the configuration says where they are kept", name)
	case "num_retries", "allowed_fails", "cooldown_time", "routing_strategy", "enable_pre_call_checks":
		in.skip(k, "%s is not taken over: an upstream is asked again, and the next one when it fails, by rules of the gateway (docs/gateway/operations.md)", name)
	case "drop_params":
		if on, _ := truth(v); !on {
			in.skip(k, "drop_params: what an upstream cannot do is always left out with a warning in a header")
		}
	case "request_timeout", "timeout":
		in.skip(k, "%s is not taken over: limits at the top of the configuration bounds how long an answer may take (limits: {time: 10m, idle: 1m})", name)
	case "success_callback", "failure_callback", "callbacks":
		in.skip(k, "%s is not taken over: the gateway has metrics and a log of requests", name)
	default:
		in.skip(k, "%s of %s is not taken over%s", name, section, hints[name])
	}
}

// fallbacks imports the fallbacks of one model.
func (in *importer) fallbacks(from, to ast.Node) {
	name := keyName(from)
	i := slices.IndexFunc(in.routes, func(r *route) bool { return r.model == name })
	if i < 0 && name == "*" {
		in.skip(from, "fallbacks of * are not taken over: give each route that needs one a fallback of its own")
		return
	}
	if i < 0 {
		in.skip(from, "fallbacks of %s: there is no such model", name)
		return
	}
	for _, t := range items(to) {
		if other := configcheck.Scalar(t); other != "" && !slices.Contains(in.routes[i].fallback, other) {
			in.routes[i].fallback = append(in.routes[i].fallback, other)
			if in.routes[i].places == nil {
				in.routes[i].places = map[string]ast.Node{}
			}
			in.routes[i].places[other] = t
		} else if other == "" {
			in.skip(t, "a fallback of %s is no name of a model and is left out", name)
		}
	}
}

// dropBadFallbacks removes fallbacks to missing routes and to the route itself.
func (in *importer) dropBadFallbacks() {
	for _, r := range in.routes {
		if r.aliasOf != nil && r.fallback == nil {
			r.fallback, r.places = slices.Clone(r.aliasOf.fallback), r.aliasOf.places
		}
		if r.aliasOf != nil {
			r.cache = r.aliasOf.cache
		}
		r.fallback = slices.DeleteFunc(r.fallback, func(name string) bool {
			bad := name == r.model || !slices.ContainsFunc(in.routes, func(o *route) bool { return o.model == name })
			if bad {
				in.skip(r.places[name], "the fallback %s of %s leads to no other model and is left out", name, r.model)
			}
			return bad
		})
	}
}

// alias imports an alias of a model. The value is the name of the model, or an object with the name.
func (in *importer) alias(key, of ast.Node) {
	name, target, hidden := keyName(key), configcheck.Scalar(of), false
	for k, v := range configcheck.Members(of) {
		switch keyName(k) {
		case "model":
			target = configcheck.Scalar(v)
		case "hidden":
			hidden, _ = truth(v)
		default:
			in.skip(k, "%s of the alias %s is not taken over", keyName(k), name)
		}
	}
	named := func(name string) int {
		return slices.IndexFunc(in.routes, func(r *route) bool { return r.model == name })
	}
	switch i := named(target); {
	case target == "":
		in.skip(key, "the alias %s is left out: it names no model", name)
	case named(name) >= 0:
		in.skip(key, "the alias %s is left out: there is a model of that name", name)
	case i < 0:
		in.skip(key, "the alias %s is left out: there is no model %s", name, target)
	case nameContainsKey(name):
		in.skip(key, "an alias is left out: its name holds what looks like a key, which is not copied")
	default:
		r := in.routes[i]
		in.routes = append(in.routes, &route{model: name, to: slices.Clone(r.to), pass: r.pass, hidden: hidden, aliasOf: r})
	}
}

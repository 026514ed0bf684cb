package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/toolpost/toolpost/gateway"
	"github.com/toolpost/toolpost/internal/child"
)

// liteSections are what a configuration of LiteLLM's proxy has at its top.
var liteSections = []string{"model_list", "litellm_settings", "general_settings", "router_settings"}

// nameProblem says why no client asks for a name as it stands in the file, and no vendor knows it, "" if one may.
func nameProblem(name string) string {
	ref := variableIn.FindString(name)
	switch {
	case strings.ContainsFunc(name, child.IsControl):
		return fmt.Sprintf("%q has characters that cannot be seen; take them away", name)
	case strings.TrimSpace(name) != name:
		return fmt.Sprintf("%q has spaces at its ends, and no model is called so; take them away", name)
	case ref != "":
		return fmt.Sprintf("variables are not replaced here, and %s would be part of the name; write the name itself", ref)
	}
	return ""
}

// wordProblems refuses names that nobody can mean, and numbers where a word is expected.
func (c gatewayConfig) wordProblems() error {
	var list []error
	for i, r := range c.Routes {
		wrong := func(setting, format string, args ...any) {
			list = append(list, &gateway.RouteError{Route: i, Model: r.Model, Setting: setting, Err: fmt.Errorf(format, args...)})
		}
		named := func(setting, name string) {
			if problem := nameProblem(name); problem != "" {
				wrong(setting, "%s", problem)
			}
		}
		named("model", r.Model)
		for k, u := range r.To {
			named(fmt.Sprintf("to[%d].model", k), u.Model)
		}
		for k, name := range r.Fallback {
			named(fmt.Sprintf("fallback[%d]", k), name)
		}
		named("pass_team", r.PassTeam)
		if r.Thinking != "" && strings.Trim(r.Thinking, "0123456789.-") == "" {
			wrong("thinking", "%q is no word for how much to think, like off, low, medium or high", r.Thinking)
		}
	}
	return errors.Join(list...)
}

// idleTeams warns of teams that count only where there are keys.
func (c gatewayConfig) idleTeams(m *mistakes, noKeys bool) {
	for i, r := range c.Routes {
		if r.PassTeam != "" && noKeys {
			m.warn(fmt.Sprintf("gateway.routes[%d].pass_team", i), "it is for keys, which are not set: everybody may use what the route passes on")
		}
	}
}

// circles warns of routes whose fallbacks lead back to them. Each is asked once all the same.
func (c gatewayConfig) circles(m *mistakes) {
	next := map[string]routeConfig{}
	for _, r := range c.Routes {
		next[r.Model] = r
	}
	said := map[string]bool{}
	for i, r := range c.Routes {
		if way := circle(next, r.Model, []string{r.Model}, map[string]bool{}); way != nil && !said[r.Model] {
			for _, name := range way {
				said[name] = true
			}
			m.warn(fmt.Sprintf("gateway.routes[%d].fallback", i), "fallbacks lead in a circle (%s); each is asked once, so nothing is wrong if it is meant so", strings.Join(way, " → "))
		}
	}
}

// circle returns a way along fallbacks that ends where it begins, nil if there is none. Each route is looked at once.
func circle(next map[string]routeConfig, first string, way []string, seen map[string]bool) []string {
	for _, name := range next[way[len(way)-1]].Fallback {
		if name == first && len(way) > 1 {
			return append(slices.Clone(way), name)
		}
		if seen[name] {
			continue
		}
		seen[name] = true
		if found := circle(next, first, append(slices.Clone(way), name), seen); found != nil {
			return found
		}
	}
	return nil
}

// noLimits warns of limits that are switched off: one who writes less than 0 may have meant something else.
func (l limitsConfig) noLimits(m *mistakes) {
	for _, row := range []struct {
		name  string
		value int64
	}{{"bytes", l.Bytes}, {"text", l.Text}, {"thinking", l.Thinking}, {"events", l.Events}, {"time", int64(l.Time)}, {"idle", int64(l.Idle)}} {
		if row.value < 0 {
			m.warn("limits."+row.name, "less than 0 means no limit: an answer that does not end is not given up for it; leave it out for the default")
		}
	}
}

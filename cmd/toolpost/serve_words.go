package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/toolpost/toolpost/gateway"
	"github.com/toolpost/toolpost/internal/child"
)

// liteSections are the top keys of a LiteLLM proxy configuration.
var liteSections = []string{"model_list", "litellm_settings", "general_settings", "router_settings"}

// nameProblem describes why a model name is probably a mistake, "" if it is plausible.
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

// wordProblems refuses implausible names, and numbers in place of words.
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

// idleTeams warns about teams without keys, where they have no effect.
func (c gatewayConfig) idleTeams(m *mistakes, noKeys bool) {
	for i, r := range c.Routes {
		if r.PassTeam != "" && noKeys {
			m.warn(fmt.Sprintf("gateway.routes[%d].pass_team", i), "it is for keys, which are not set: everybody may use what the route passes on")
		}
	}
}

// circles warns about routes whose fallbacks form a cycle. At run time each route is tried only once.
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

// circle returns a cycle of fallbacks, nil if there is none. It visits each route once.
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

// noLimits warns about limits below 0, which mean no limit and may be a mistake.
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

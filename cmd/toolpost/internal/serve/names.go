package serve

import (
	"fmt"
	"slices"
	"strings"

	"github.com/toolpost/toolpost/cmd/toolpost/internal/settings"
	"github.com/toolpost/toolpost/gateway"
)

// names refuses implausible names, and numbers in place of words.
func (x *examination) names() {
	for i, r := range x.s.Gateway.Routes {
		wrong := func(setting, problem string) {
			if problem != "" {
				x.AddError(&gateway.RouteError{Route: i, Model: r.Model, Setting: setting, Err: fmt.Errorf("%s", problem)})
			}
		}
		wrong("model", settings.NameProblem(r.Model))
		for k, u := range r.To {
			wrong(fmt.Sprintf("to[%d].model", k), settings.NameProblem(u.Model))
		}
		for k, name := range r.Fallback {
			wrong(fmt.Sprintf("fallback[%d]", k), settings.NameProblem(name))
		}
		wrong("pass_team", settings.NameProblem(r.PassTeam))
		if r.Thinking != "" && strings.Trim(r.Thinking, "0123456789.-") == "" {
			wrong("thinking", fmt.Sprintf("%q is not a level of thinking; write a word like off, low, medium or high", r.Thinking))
		}
	}
}

// fallbackCycles warns about routes whose fallbacks form a cycle. At run time each route is tried only once.
func (x *examination) fallbackCycles() {
	next := map[string]settings.RouteConfig{}
	for _, r := range x.s.Gateway.Routes {
		next[r.Model] = r
	}
	reported := map[string]bool{}
	for i, r := range x.s.Gateway.Routes {
		if cycle := fallbackCycle(next, r.Model, []string{r.Model}, map[string]bool{}); cycle != nil && !reported[r.Model] {
			for _, name := range cycle {
				reported[name] = true
			}
			x.Warn(fmt.Sprintf("gateway.routes[%d].fallback", i), "these fallbacks form a cycle (%s); each route is tried once, so this may be intended", strings.Join(cycle, " → "))
		}
	}
}

// fallbackCycle returns a cycle of fallbacks, nil if there is none. It visits each route once.
func fallbackCycle(next map[string]settings.RouteConfig, first string, path []string, seen map[string]bool) []string {
	for _, name := range next[path[len(path)-1]].Fallback {
		if name == first && len(path) > 1 {
			return append(slices.Clone(path), name)
		}
		if seen[name] {
			continue
		}
		seen[name] = true
		if found := fallbackCycle(next, first, append(slices.Clone(path), name), seen); found != nil {
			return found
		}
	}
	return nil
}

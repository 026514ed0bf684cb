package gateway

import (
	"fmt"
	"slices"

	"github.com/toolpost/toolpost/llm"
)

// defaultLongOver is the default of ModelRoute.LongOver, in tokens.
const defaultLongOver = 60_000

// taskRoutes returns the settings that name the routes for tasks.
func (r *ModelRoute) taskRoutes() map[string]string {
	return map[string]string{"image_route": r.ImageRoute, "long_route": r.LongRoute, "thinking_route": r.ThinkingRoute}
}

// forTask returns the name of the route that answers a request of this kind, "" if it is this one.
func (r *ModelRoute) forTask(req *llm.Request) string {
	switch {
	case r.ImageRoute != "" && hasImage(req):
		return r.ImageRoute
	case r.LongRoute != "" && llm.EstimateRequest(req) > r.longOver():
		return r.LongRoute
	case r.ThinkingRoute != "" && req.Reasoning != nil && !req.Reasoning.Off:
		return r.ThinkingRoute
	}
	return ""
}

func (r *ModelRoute) longOver() int {
	if r.LongOver > 0 {
		return r.LongOver
	}
	return defaultLongOver
}

// hasImage reports whether a message, or a result in it, has an image.
func hasImage(req *llm.Request) bool {
	image := func(p llm.Part) bool { m, ok := p.(llm.Media); return ok && m.Kind == llm.Image }
	return slices.ContainsFunc(req.Messages, func(m llm.Message) bool {
		return slices.ContainsFunc(m.Parts, func(p llm.Part) bool {
			r, ok := p.(llm.Result)
			return image(p) || ok && slices.ContainsFunc(r.Parts, image)
		})
	})
}

// byTask returns the route for the task of a request, and the name under which it is asked. The key must have a right to
// it. A request is passed on once.
func (x *chain) byTask(first *route, name string, req *llm.Request) (*route, string) {
	to := first.forTask(req)
	if to == "" || x.MayUseModel(to) != nil {
		return first, name
	}
	if r := x.find(to, x.Codec.Format); r != nil && x.MayUseRoute(r.Model) == nil {
		return r, to
	}
	return first, name
}

// checkTasks reports errors in the routes for tasks of a route.
func (g *Gateway) checkTasks(r *route, add func(setting, format string, args ...any)) {
	for setting, name := range r.taskRoutes() {
		if name == "" {
			continue
		}
		if to := g.find(name, ""); to == nil || to == r {
			add(setting, "no other route is for %q", name)
		} else if !overlap(r.From, to.From) {
			add(setting, "the route for %q is for clients of other formats", name)
		}
	}
}

// checkLong reports an error in LongOver.
func (r *ModelRoute) checkLong(add func(string, error)) {
	switch {
	case r.LongOver < 0:
		add("long_over", fmt.Errorf("%d is less than 0", r.LongOver))
	case r.LongOver > 0 && r.LongRoute == "":
		add("long_over", fmt.Errorf("it is for long_route, which the route does not have"))
	}
}

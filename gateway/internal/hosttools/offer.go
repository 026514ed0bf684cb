package hosttools

import (
	"slices"
	"strings"

	"github.com/toolpost/toolpost/gateway/access"
	"github.com/toolpost/toolpost/invoke"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/tool"
)

// offer is the choice of tools that the model is offered. It stays the same in every round, except for tools that the
// model finds.
type offer struct {
	set    *tool.Set     // all tools that the client may use
	kept   *tool.Set     // tools offered from the start; same as set if all are
	found  []string      // tools that the model found
	hidden []string      // tools of the route that the client's key may not use
	client []llm.ToolDef // the client's tools
}

// mayRun reports whether a key may use a tool of the gateway. Tools that find tools or read results are always allowed.
func mayRun(rights *access.Rights, name string) bool {
	return rights == nil || name == invoke.ReaderName || name == tool.FinderName || rights.Key.AllowsTool(name)
}

// allowedTools returns the tools that the client's key may use.
func allowedTools(rights *access.Rights, set *tool.Set) *tool.Set {
	if rights == nil {
		return set
	}
	names := slices.DeleteFunc(set.Names(), func(name string) bool { return !mayRun(rights, name) })
	if len(names) == set.Len() {
		return set
	}
	only, err := set.Only(append([]string{}, names...))
	if err != nil {
		return new(tool.Set) // cannot happen: the names come from the set
	}
	return only
}

// hide notes the names of route tools that the client's key may not use and that are not the client's own.
func (o *offer) hide(all *tool.Set, theirs []llm.ToolDef) {
	if all == o.set {
		return
	}
	for _, name := range all.Names() {
		if _, ok := o.set.Lookup(name); !ok && !named(theirs, name) {
			o.hidden = append(o.hidden, name)
		}
	}
}

// withheld reports whether the client may not use a tool of the route. A model that calls it is told that the tool does
// not exist.
func (o *offer) withheld(name string) bool {
	return slices.ContainsFunc(o.hidden, func(h string) bool { return strings.EqualFold(h, name) }) && !named(o.client, name)
}

// clash returns the name of a client's tool that equals the name of a gateway tool. Case is ignored, because vendors
// map names.
func (o *offer) clash(tools []llm.ToolDef) string {
	own := o.set.Names()
	if o.kept != o.set {
		own = append(own, tool.FinderName)
	}
	for _, t := range tools {
		if t.Kind != llm.HostedTool && slices.ContainsFunc(own, func(name string) bool { return strings.EqualFold(name, t.Name) }) {
			return t.Name
		}
	}
	return ""
}

// choose selects the tools offered to the model. The selection stays the same in every round, which keeps the vendor's
// prompt cache valid.
func (o *offer) choose(budget tool.SelectionBudget, conv *llm.Request) {
	budget.Pinned = append(slices.Concat(budget.Pinned, conv.Choice.Allowed), conv.Choice.Name, invoke.ReaderName)
	o.kept, _ = o.set.Follow(conv.Messages, budget)
}

// defs returns the definitions of the gateway tools that the model is offered.
func (o *offer) defs() []llm.ToolDef {
	if o.kept == o.set {
		return o.set.Defs()
	}
	defs := append([]llm.ToolDef{o.set.Finder(nil).Def()}, o.kept.Defs()...)
	for _, name := range o.found {
		if t, ok := o.set.Lookup(name); ok && !named(defs, name) {
			defs = append(defs, t.Def())
		}
	}
	return defs
}

func named(defs []llm.ToolDef, name string) bool {
	return slices.ContainsFunc(defs, func(d llm.ToolDef) bool { return d.Name == name })
}

// owns reports whether the gateway runs the tool of that name.
func (o *offer) owns(name string) bool {
	_, ok := o.set.Lookup(name)
	return ok || name == tool.FinderName && o.kept != o.set || o.withheld(name)
}

// finder returns the set with the search tool, or nil if all tools are offered.
func (o *offer) finder() *tool.Set {
	if o.kept == o.set {
		return nil
	}
	offered := o.defs()
	set, err := tool.NewSet(o.set.Finder(func(name string) bool { return named(offered, name) }))
	if err != nil {
		return nil
	}
	return set
}

// find adds the tools that a find_tools call finds to the offered tools.
func (o *offer) find(c llm.Call) {
	offered := o.defs()
	for _, i := range o.set.Ranker().Found(c.Args, func(name string) bool { return named(offered, name) }) {
		if name := o.set.Names()[i]; !slices.Contains(o.found, name) {
			o.found = append(o.found, name)
		}
	}
}
